//! A file as the rules see it: which functions run on the device, what is known at compile time in them,
//! who calls whom, and where the file launches them.
//!
//! A device function is one with `@triton.jit`; in the emulator dialect, which has no decorators, one that
//! names something of `tl`, or that a launch or a device function names. An entry is a device function that
//! no other calls.
//! Does not catch: functions made by calls (`kernel = triton.jit(f)`), and functions inside functions.

use std::collections::{BTreeMap, BTreeSet};

use super::rank::Ranks;
use crate::kernel::lower::dialect::{device_functions as device_functions_of, is_dialect, is_launcher};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Keyword, Module, Stmt, StmtKind};
use crate::syntax::imports::Imports;
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};
use crate::syntax::{Constant, eval};

/// A function that runs on the device.
pub struct Function<'a> {
    pub def: &'a FunctionDef,
    /// Whether no other device function calls it.
    pub entry: bool,
    /// Parameters annotated `tl.constexpr`.
    pub constexprs: BTreeSet<&'a str>,
}

/// A call with its parts.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub span: Span,
    pub func: &'a Expr,
    pub args: &'a [Expr],
    pub keywords: &'a [Keyword],
}

/// A launch that the file makes.
pub struct Launch<'a> {
    pub kernel: &'a str,
    pub span: Span,
    /// As far as it is known from constants of the file.
    pub grid: Option<Vec<i64>>,
    pub grid_span: Span,
    /// Arguments given by name whose values are constants of the file, `num_warps` and `num_stages` included.
    pub named: BTreeMap<&'a str, Constant>,
}

pub struct Subject<'a> {
    pub module: &'a Module,
    pub imports: Imports,
    pub dialect: bool,
    pub functions: Vec<Function<'a>>,
    /// Constants of the module, `tl.constexpr(…)` unwrapped.
    pub constants: BTreeMap<String, Constant>,
    pub launches: Vec<Launch<'a>>,
    pub ranks: Ranks<'a>,
}

impl<'a> Subject<'a> {
    pub fn of(module: &'a Module) -> Subject<'a> {
        let imports = Imports::of(module);
        let dialect = is_dialect(module);
        let constants = constants(module, &imports);
        let functions = device_functions(module, &imports, dialect);
        let launches = launches(module, &constants);
        let mut subject = Subject { module, imports, dialect, functions, constants, launches, ranks: Ranks::default() };
        subject.ranks = Ranks::of(&subject);
        subject
    }

    pub fn function(&self, name: &str) -> Option<&Function<'a>> {
        self.functions.iter().find(|f| f.def.name == name)
    }

    /// The member of `triton.language` that a call calls.
    pub fn builtin(&self, func: &Expr) -> Option<String> {
        self.imports.triton(func)
    }

    /// Whether an expression's value is known when the kernel is compiled: literals, constants of the module,
    /// constexpr parameters, and what is computed of these.
    pub fn is_constant(&self, function: &Function<'_>, expr: &Expr) -> bool {
        let mut known = true;
        each_expr(expr, &mut |e| match &e.kind {
            ExprKind::Name(name) => {
                let constant = function.constexprs.contains(name.as_str()) || self.constants.contains_key(name);
                known &= constant || self.imports.path(e).is_some();
            }
            ExprKind::Call { func, .. } => known &= self.builtin(func).as_deref() == Some("cdiv"),
            _ => {}
        });
        known
    }
}

/// Every call of a function's body, in order.
pub fn calls<'a>(function: &Function<'a>) -> Vec<Call<'a>> {
    let mut found = Vec::new();
    for expr in exprs(function) {
        if let ExprKind::Call { func, args, keywords } = &expr.kind {
            found.push(Call { span: expr.span, func, args, keywords });
        }
    }
    found
}

/// Every expression of a function's body, in order.
pub fn exprs<'a>(function: &Function<'a>) -> Vec<&'a Expr> {
    let mut found = Vec::new();
    each_stmt(&function.def.body, &mut |stmt| {
        for expr in own_exprs(stmt) {
            each_expr(expr, &mut |e| found.push(e));
        }
    });
    found
}

/// Every statement of a function's body, in order.
pub fn stmts<'a>(function: &Function<'a>) -> Vec<&'a Stmt> {
    let mut found = Vec::new();
    each_stmt(&function.def.body, &mut |stmt| found.push(stmt));
    found
}

impl<'a> Call<'a> {
    /// An argument by name or by position; a starred one hides all positions behind it.
    pub fn argument(&self, name: &str, position: usize) -> Option<&'a Expr> {
        let by_name = self.keywords.iter().find(|k| k.name.as_deref() == Some(name)).map(|k| &k.value);
        let starred = self.args.iter().take(position + 1).any(|a| matches!(a.kind, ExprKind::Starred(_)));
        by_name.or_else(|| self.args.get(position).filter(|_| !starred))
    }
}

fn constants(module: &Module, imports: &Imports) -> BTreeMap<String, Constant> {
    let mut known: BTreeMap<String, Constant> = BTreeMap::new();
    for stmt in &module.body {
        let (target, value) = match &stmt.kind {
            StmtKind::Assign { targets, value } => match targets.as_slice() {
                [target] => (target, value),
                _ => continue,
            },
            StmtKind::AnnAssign { target, annotation: _, value: Some(value) } => (target, value),
            _ => continue,
        };
        let value = match &value.kind {
            ExprKind::Call { func, args, .. } if imports.triton(func).as_deref() == Some("constexpr") && args.len() == 1 => {
                &args[0]
            }
            _ => value,
        };
        if let (Some(name), Ok(value)) = (target.as_name(), eval::evaluate(&module.file, value, &known)) {
            known.insert(name.to_owned(), value);
        }
    }
    known
}

fn device_functions<'a>(module: &'a Module, imports: &Imports, dialect: bool) -> Vec<Function<'a>> {
    let all: Vec<&'a FunctionDef> = module
        .body
        .iter()
        .filter_map(|stmt| match &stmt.kind {
            StmtKind::Function(def) => Some(def),
            _ => None,
        })
        .collect();
    let names = |def: &FunctionDef, wanted: &mut dyn FnMut(&Expr) -> bool| {
        let mut hit = false;
        each_stmt(&def.body, &mut |s| own_exprs(s).into_iter().for_each(|e| each_expr(e, &mut |e| hit |= wanted(e))));
        hit
    };
    let is_jit = |def: &FunctionDef| {
        def.decorators.iter().any(|decorator| {
            let callee = if let ExprKind::Call { func, .. } = &decorator.kind { func } else { decorator };
            matches!(imports.path(callee).as_deref(), Some("triton.jit" | "triton.runtime.jit"))
        })
    };
    let of_dialect = if dialect { device_functions_of(module) } else { Default::default() };
    let device: BTreeSet<&str> =
        all.iter().filter(|d| is_jit(d) || of_dialect.contains(d.name.as_str())).map(|d| d.name.as_str()).collect();
    let mut called: BTreeSet<&str> = BTreeSet::new();
    for &def in all.iter().filter(|d| device.contains(d.name.as_str())) {
        names(def, &mut |e| {
            if let ExprKind::Call { func, .. } = &e.kind
                && let Some(helper) = func.as_name().and_then(|name| all.iter().find(|d| d.name == name))
            {
                called.insert(&helper.name);
            }
            false
        });
    }
    let constexpr = |annotation: &Expr| match &annotation.kind {
        ExprKind::Str(text) => text.rsplit('.').next() == Some("constexpr"),
        _ => imports.triton(annotation).as_deref() == Some("constexpr"),
    };
    all.into_iter()
        .filter(|def| device.contains(def.name.as_str()))
        .map(|def| Function {
            def,
            entry: !called.contains(def.name.as_str()),
            constexprs: def
                .params
                .iter()
                .filter(|p| p.annotation.as_ref().is_some_and(constexpr))
                .map(|p| p.name.as_str())
                .collect(),
        })
        .collect()
}

/// Launches in functions and at the module's top level.
fn launches<'a>(module: &'a Module, constants: &BTreeMap<String, Constant>) -> Vec<Launch<'a>> {
    let mut found = Vec::new();
    for stmt in &module.body {
        let known = match &stmt.kind {
            StmtKind::Function(def) => locals(module, def, constants),
            _ => constants.clone(),
        };
        each_stmt(std::slice::from_ref(stmt), &mut |inner| {
            for expr in own_exprs(inner) {
                each_expr(expr, &mut |e| found.extend(launch(module, e, &known)));
            }
        });
    }
    found
}

/// Constants that a host function knows: those of the module, and variables that are assigned once, a constant.
fn locals(module: &Module, def: &FunctionDef, constants: &BTreeMap<String, Constant>) -> BTreeMap<String, Constant> {
    let mut known = constants.clone();
    def.params.iter().for_each(|param| {
        known.remove(&param.name);
    });
    let mut assigned: BTreeSet<&str> = BTreeSet::new();
    each_stmt(&def.body, &mut |stmt| {
        let (targets, value): (Vec<&Expr>, Option<&Expr>) = match &stmt.kind {
            StmtKind::Assign { targets, value } => (targets.iter().collect(), Some(value)),
            StmtKind::AnnAssign { target, annotation: _, value } => (vec![target], value.as_ref()),
            StmtKind::AugAssign { target, .. } | StmtKind::For { target, .. } => (vec![target], None),
            _ => return,
        };
        let value = value.and_then(|value| eval::evaluate(&module.file, value, &known).ok());
        for target in targets {
            each_expr(target, &mut |e| {
                let Some(name) = e.as_name() else { return };
                match value.clone().filter(|_| assigned.insert(name) && target.as_name().is_some()) {
                    Some(value) => known.insert(name.to_owned(), value),
                    None => known.remove(name),
                };
            });
        }
    });
    known
}

/// The launch that an expression is.
fn launch<'a>(module: &Module, expr: &'a Expr, known: &BTreeMap<String, Constant>) -> Option<Launch<'a>> {
    let ExprKind::Call { func, args, keywords } = &expr.kind else { return None };
    let (kernel, grid) = match &func.kind {
        ExprKind::Subscript { value, index } => (value.as_name()?, &**index),
        _ if is_launcher(func) => {
            let grid = keywords.iter().find(|k| matches!(k.name.as_deref(), Some("grid" | "grid_size")))?;
            (args.first()?.as_name()?, &grid.value)
        }
        _ => return None,
    };
    let value = |e: &Expr| eval::evaluate(&module.file, e, known).ok();
    let int = |value: &Constant| if let Constant::Int(i) = value { Some(*i) } else { None };
    let axes = match value(grid) {
        Some(Constant::Tuple(items)) => items.iter().map(int).collect(),
        Some(value) => int(&value).map(|n| vec![n]),
        None => None,
    };
    let named = keywords.iter().filter_map(|k| Some((k.name.as_deref()?, value(&k.value)?))).collect();
    Some(Launch { kernel, span: expr.span, grid: axes, grid_span: grid.span, named })
}
