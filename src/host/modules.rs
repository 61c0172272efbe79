//! The set of files that host code is read from, by import name (`run`, `kernels.relu__0123`).
//!
//! A file may hold a docstring, imports, constants, `@triton.jit` kernels, functions,
//! classes and the `if __name__ == "__main__":` block, which is never run. Any other statement at
//! module level could change what the functions do, and is refused. A kernel's file may not import
//! other files of its suite: its verdict is known by its own text alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::HostArg;
use crate::diag::{self, Diagnostic, codes};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Module, Stmt, StmtKind, UnaryOp};

/// What the import name of a kernel's file starts with.
const KERNELS: &str = "kernels.";

/// What a suite has to import, besides the files of the set.
const SUITE: [&str; 3] = ["kernels", "run", "weights"];

/// What a module-level name stands for.
#[derive(Clone, Debug)]
pub(super) enum Global {
    /// A literal: a number, a string, a truth value, `None`, or a tuple of these.
    Constant(HostArg),
    Function(Arc<FunctionDef>),
    /// A `@triton.jit` function.
    Kernel(Arc<FunctionDef>),
    Class(BTreeMap<String, Arc<FunctionDef>>),
    /// A dotted name brought in by an import.
    Import(String),
}

/// One parsed file.
#[derive(Debug)]
pub(super) struct HostModule {
    pub name: String,
    pub ast: Module,
    pub globals: BTreeMap<String, Global>,
}

/// Parsed files by import name.
#[derive(Debug, Default)]
pub struct Modules {
    modules: BTreeMap<String, HostModule>,
}

impl Modules {
    pub fn new() -> Modules {
        Modules::default()
    }

    /// Adds a parsed file under its import name; a file of the same name is replaced.
    ///
    /// # Errors
    /// H001 for a module-level statement that is not in the list above, and for a name defined twice.
    pub fn add(&mut self, name: &str, ast: Module) -> diag::Result<()> {
        let mut globals = BTreeMap::new();
        for (i, stmt) in ast.body.iter().enumerate() {
            for (bound, global) in names(&ast, stmt, i == 0)? {
                if globals.insert(bound.clone(), global).is_some() {
                    return Err(refuse(&ast, stmt.span, &format!("defining `{bound}` twice")));
                }
            }
        }
        self.modules.insert(name.to_owned(), HostModule { name: name.to_owned(), ast, globals });
        Ok(())
    }

    /// Whether a file of this import name was added.
    pub fn contains(&self, name: &str) -> bool {
        self.modules.contains_key(name)
    }

    /// The parsed file of an import name: a launch's kernel is found in the file of its module.
    pub fn ast(&self, name: &str) -> Option<&Module> {
        self.modules.get(name).map(|m| &m.ast)
    }

    /// Refuses a kernel's file that imports another file of the suite, under its own name or, as
    /// Python finds it beside a file that is run, under that of its stem.
    ///
    /// # Errors
    /// H001 at the import.
    pub(super) fn stands_alone(&self, module: &HostModule) -> diag::Result<()> {
        if !module.name.starts_with(KERNELS) {
            return Ok(());
        }
        for stmt in &module.ast.body {
            let imported: Vec<&str> = match &stmt.kind {
                StmtKind::Import(list) => list.iter().map(|(module, _)| module.as_str()).collect(),
                StmtKind::ImportFrom { module, .. } => vec![module],
                _ => continue,
            };
            let root = |path: &str| path.split('.').next().unwrap_or(path).to_owned();
            let own = |root: &String| {
                SUITE.contains(&root.as_str()) || self.contains(root) || self.contains(&(KERNELS.to_owned() + root))
            };
            if let Some(path) = imported.into_iter().map(root).find(own) {
                let construct = format!("importing `{path}`, which is part of the suite, into a kernel's file");
                let refused = *refuse(&module.ast, stmt.span, &construct);
                return Err(Box::new(refused.help("write what the kernel needs in its own file")));
            }
        }
        Ok(())
    }

    /// Where a method of a class of a file is named.
    pub fn method(&self, module: &str, class: &str, name: &str) -> Option<(&Arc<SourceFile>, Span)> {
        let module = self.modules.get(module)?;
        match module.globals.get(class)? {
            Global::Class(methods) => Some((&module.ast.file, methods.get(name)?.name_span)),
            Global::Constant(_) | Global::Function(_) | Global::Kernel(_) | Global::Import(_) => None,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&HostModule> {
        self.modules.get(name)
    }
}

/// An H001 at a span of a file.
pub(super) fn refuse(ast: &Module, span: Span, construct: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::HOST_SYNTAX, format!("{construct} is not in the host subset")).at(&ast.file, span))
}

/// The names that a module-level statement binds.
pub(super) fn names(ast: &Module, stmt: &Stmt, first: bool) -> diag::Result<Vec<(String, Global)>> {
    let bound = match &stmt.kind {
        StmtKind::Expr(_) if first && stmt.is_text() => Vec::new(),
        StmtKind::Import(list) => list
            .iter()
            .map(|(module, alias)| match alias {
                Some(alias) => (alias.clone(), Global::Import(module.clone())),
                // `import a.b` binds `a`.
                None => {
                    let root = module.split('.').next().unwrap_or(module).to_owned();
                    (root.clone(), Global::Import(root))
                }
            })
            .collect(),
        StmtKind::ImportFrom { names, level: 0, .. } if names.iter().any(|(name, _)| name == "*") => {
            return Err(refuse(ast, stmt.span, "`import *`, which may bind any name,"));
        }
        StmtKind::ImportFrom { module, names, level: 0 } => names
            .iter()
            .map(|(name, alias)| (alias.as_ref().unwrap_or(name).clone(), Global::Import(format!("{module}.{name}"))))
            .collect(),
        StmtKind::ImportFrom { .. } => return Err(refuse(ast, stmt.span, "a relative import")),
        StmtKind::Function(def) => vec![(def.name.clone(), function(ast, def)?)],
        StmtKind::Class { name, body, .. } => {
            let methods = body.iter().filter_map(|s| match &s.kind {
                StmtKind::Function(def) => Some((def.name.clone(), Arc::new(def.clone()))),
                _ => None,
            });
            vec![(name.clone(), Global::Class(methods.collect()))]
        }
        StmtKind::Assign { targets, value } => match (targets.as_slice(), literal(value)) {
            ([target], Some(constant)) if target.as_name().is_some() => {
                vec![(target.as_name().unwrap_or_default().to_owned(), Global::Constant(constant))]
            }
            _ => return Err(refuse(ast, stmt.span, "a module-level assignment other than NAME = literal")),
        },
        StmtKind::AnnAssign { target, annotation: _, value: Some(value) } => match (target.as_name(), literal(value)) {
            (Some(name), Some(constant)) => vec![(name.to_owned(), Global::Constant(constant))],
            _ => return Err(refuse(ast, stmt.span, "a module-level assignment other than NAME = literal")),
        },
        StmtKind::If { test, .. } if is_main_guard(test) => Vec::new(),
        _ => return Err(refuse(ast, stmt.span, "this module-level statement")),
    };
    Ok(bound)
}

/// The value of a literal.
pub(super) fn literal(e: &Expr) -> Option<HostArg> {
    Some(match &e.kind {
        ExprKind::Int(v) => HostArg::Int(*v),
        ExprKind::Float(v) => HostArg::Float(*v),
        ExprKind::Str(s) => HostArg::Str(s.clone()),
        ExprKind::Bool(v) => HostArg::Bool(*v),
        ExprKind::None => HostArg::None,
        ExprKind::Unary(UnaryOp::Neg, inner) => match literal(inner)? {
            HostArg::Int(v) => HostArg::Int(v.checked_neg()?),
            HostArg::Float(v) => HostArg::Float(-v),
            _ => return None,
        },
        ExprKind::Tuple(items) => HostArg::Tuple(items.iter().map(literal).collect::<Option<_>>()?),
        _ => return None,
    })
}

fn function(ast: &Module, def: &FunctionDef) -> diag::Result<Global> {
    match def.decorators.as_slice() {
        [] => Ok(Global::Function(Arc::new(def.clone()))),
        [jit] if jit.as_dotted().as_deref() == Some("triton.jit") => Ok(Global::Kernel(Arc::new(def.clone()))),
        [jit] => Err(refuse(ast, jit.span, "a decorator other than @triton.jit")),
        [_, second, ..] => Err(refuse(ast, second.span, "more than one decorator")),
    }
}

/// Whether a condition is `__name__ == "__main__"`.
pub fn is_main_guard(test: &Expr) -> bool {
    match &test.kind {
        ExprKind::Compare { left, rest } => {
            left.as_name() == Some("__name__")
                && matches!(rest.as_slice(), [(crate::syntax::ast::CompareOp::Eq, e)] if matches!(&e.kind, ExprKind::Str(s) if s == "__main__"))
        }
        _ => false,
    }
}
