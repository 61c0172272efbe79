//! Which functions of a file can be launched, and which of them is meant.
//!
//! A kernel is a function with a decorator whose last name is `jit`; one that another kernel of the file calls is a
//! helper and is only launched when it is named.
//!
//! Does not catch: helpers that only another file calls.

use std::collections::BTreeSet;

use crate::diag::{Diagnostic, Result, codes};
use crate::kernel::lower::dialect::{device_functions, is_dialect};
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Module, Stmt, StmtKind};
use crate::syntax::walk;

/// Every function with a `jit` decorator, in the order of the file; in the emulator dialect, which has none,
/// every function that runs on the device.
pub fn jitted(module: &Module) -> Vec<&FunctionDef> {
    let mut found = Vec::new();
    collect(&module.body, &mut found);
    let of_dialect = if is_dialect(module) { device_functions(module) } else { BTreeSet::new() };
    found.retain(|f| f.decorators.iter().any(is_jit) || of_dialect.contains(f.name.as_str()));
    found
}

/// Functions of a module, those under its conditions among them.
fn collect<'m>(stmts: &'m [Stmt], found: &mut Vec<&'m FunctionDef>) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Function(function) => found.push(function),
            StmtKind::If { body, orelse, .. } => {
                collect(body, found);
                collect(orelse, found);
            }
            _ => {}
        }
    }
}

fn is_jit(decorator: &Expr) -> bool {
    let callee = match &decorator.kind {
        ExprKind::Call { func, .. } => func,
        _ => decorator,
    };
    callee.as_dotted().is_some_and(|path| path.rsplit('.').next() == Some("jit"))
}

/// The kernels that no other kernel of the file uses.
pub fn kernels(module: &Module) -> Vec<&FunctionDef> {
    let all = jitted(module);
    let used: BTreeSet<&str> = all.iter().flat_map(|function| names_of(function)).collect();
    all.into_iter().filter(|function| !used.contains(function.name.as_str())).collect()
}

/// Names that a function's body reads, its own excepted.
fn names_of(function: &FunctionDef) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        for expr in walk::own_exprs(stmt) {
            walk::each_expr(expr, &mut |e| names.extend(e.as_name()));
        }
    });
    names.remove(function.name.as_str());
    names
}

/// The kernel of a name, or the only one.
///
/// # Errors
/// K004 names those that the file has.
pub fn choose<'m>(module: &'m Module, name: Option<&str>) -> Result<&'m FunctionDef> {
    let refuse = |message: String, known: Vec<&FunctionDef>| {
        let known: Vec<&str> = known.iter().map(|function| function.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let error = Diagnostic::new(&codes::KERNEL_ENTRY, message).in_file(module.file.name());
        error.note(format!("@triton.jit functions of the file: {known}"))
    };
    if let Some(name) = name {
        let found = jitted(module).into_iter().find(|function| function.name == name);
        return found.ok_or_else(|| Box::new(refuse(format!("no kernel `{name}`"), jitted(module))));
    }
    match kernels(module).as_slice() {
        [only] => Ok(only),
        [] => Err(Box::new(refuse("the file has no kernel".to_owned(), jitted(module)))),
        several => {
            let error = refuse(format!("the file has {} kernels", several.len()), several.to_vec());
            Err(Box::new(error.help(format!("name one: --entry {}", several[0].name))))
        }
    }
}

/// Parameters whose uses show that they are pointers: what a load, store or atomic takes as its address, through sums
/// and assignments.
pub fn pointers(function: &FunctionDef) -> BTreeSet<&str> {
    let mut bases: BTreeSet<&str> = BTreeSet::new();
    let mut assigned: Vec<(&str, &str)> = Vec::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Assign { targets, value } = &stmt.kind
            && let ([target], Some(base)) = (targets.as_slice(), base(value))
            && let Some(target) = target.as_name()
        {
            assigned.push((target, base));
        }
        for expr in walk::own_exprs(stmt) {
            walk::each_expr(expr, &mut |e| bases.extend(accessed(e).and_then(base)));
        }
    });
    // A name stands for what it was assigned from; the chain is as long as there are assignments.
    for _ in 0..assigned.len() {
        let more: Vec<&str> = assigned.iter().filter(|(to, _)| bases.contains(to)).map(|(_, from)| *from).collect();
        bases.extend(more);
    }
    bases.retain(|name| function.params.iter().any(|param| param.name == *name));
    bases
}

/// The address of a load, store, atomic or block pointer.
fn accessed(expr: &Expr) -> Option<&Expr> {
    let ExprKind::Call { func, args, keywords } = &expr.kind else { return None };
    let dotted = func.as_dotted()?;
    let name = dotted.rsplit('.').next()?;
    let takes = matches!(name, "load" | "store" | "make_block_ptr" | "make_tensor_descriptor") || name.starts_with("atomic_");
    let named = || keywords.iter().find(|k| matches!(k.name.as_deref(), Some("pointer" | "base"))).map(|k| &k.value);
    if takes { args.first().or_else(named) } else { None }
}

/// The leftmost name of a sum, which is where Triton has the pointer.
fn base(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Binary(_, left, _) => base(left),
        ExprKind::Call { func, .. } => match &func.kind {
            // `x.to(tl.pointer_type(…))`
            ExprKind::Attribute { value, name } if name == "to" => base(value),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;
    use crate::syntax::parse_module;

    const TEXT: &str = "\
import triton
from triton import jit

@triton.jit
def helper(p, q):
    return tl.load(p) + q

@jit
def first(x, y, n, BLOCK: tl.constexpr):
    ptrs = x + tl.arange(0, BLOCK)
    v = helper(ptrs, n) + tl.load(ptrs)
    tl.store(y + n, v)

@triton.autotune(configs=[], key=[])
@triton.jit(do_not_specialize=['n'])
def second(n):
    pass

def host(x):
    return x

if NEW:
    @jit
    def third(x):
        pass
";

    fn module() -> Module {
        parse_module(&SourceFile::new("k.py", TEXT)).unwrap()
    }

    #[test]
    fn helpers_are_no_kernels() {
        let module = module();
        let names = |list: Vec<&FunctionDef>| list.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(jitted(&module)), ["helper", "first", "second", "third"]);
        assert_eq!(names(kernels(&module)), ["first", "second", "third"]);
        assert_eq!(choose(&module, Some("helper")).unwrap().name, "helper");
        assert_eq!(choose(&module, None).unwrap_err().help.as_deref(), Some("name one: --entry first"));
        let error = choose(&module, Some("host")).unwrap_err();
        assert_eq!(
            (error.code.id, error.notes[0].as_str()),
            ("K004", "@triton.jit functions of the file: helper, first, second, third")
        );
    }

    #[test]
    fn pointers_are_what_is_loaded_and_stored() {
        let module = module();
        let of = |name: &str| pointers(choose(&module, Some(name)).unwrap()).into_iter().collect::<Vec<_>>();
        assert_eq!(of("first"), ["x", "y"]);
        assert_eq!(of("helper"), ["p"]);
        assert!(of("second").is_empty());
    }
}
