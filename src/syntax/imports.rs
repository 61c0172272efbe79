//! What a file's names stand for by its imports: `tl.load` is `triton.language.load`, whatever `tl` is
//! called in the file.
//!
//! A module may hand Triton on under its usual names, so that `from compat import tl, triton` stands for Triton whatever
//! `compat` is: libraries that must import without Triton do so, and `from common import tl` is the emulator dialect.
//! Does not catch: a name bound again after its import, and what lies behind `import *`.

use std::collections::BTreeMap;

use super::ast::{Expr, ExprKind, Module, StmtKind};

/// What `from module import name` stands for when the module hands Triton on.
pub fn handed_on(module: &str, name: &str) -> Option<&'static str> {
    match name {
        _ if module.is_empty() || module.split('.').next() == Some("triton") => None,
        "tl" => Some("triton.language"),
        "triton" => Some("triton"),
        _ => None,
    }
}

/// Dotted names by alias.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    names: BTreeMap<String, String>,
}

impl Imports {
    /// The imports at a module's top level.
    pub fn of(module: &Module) -> Imports {
        let mut names = BTreeMap::new();
        for stmt in &module.body {
            match &stmt.kind {
                StmtKind::Import(list) => {
                    for (path, alias) in list {
                        let root = path.split('.').next().unwrap_or(path);
                        match alias {
                            Some(alias) => names.insert(alias.clone(), path.clone()),
                            None => names.insert(root.to_owned(), root.to_owned()),
                        };
                    }
                }
                StmtKind::ImportFrom { module, names: list, level: _ } => {
                    for (name, alias) in list {
                        let path = handed_on(module, name).map_or_else(|| format!("{module}.{name}"), str::to_owned);
                        names.insert(alias.clone().unwrap_or_else(|| name.clone()), path);
                    }
                }
                StmtKind::Function(_)
                | StmtKind::Class { .. }
                | StmtKind::Assign { .. }
                | StmtKind::AnnAssign { .. }
                | StmtKind::AugAssign { .. }
                | StmtKind::Expr(_)
                | StmtKind::If { .. }
                | StmtKind::For { .. }
                | StmtKind::While { .. }
                | StmtKind::Return(_)
                | StmtKind::Raise(_)
                | StmtKind::Assert { .. }
                | StmtKind::Pass
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Other(_) => {}
            }
        }
        Imports { names }
    }

    /// The full dotted name of an expression that is names and attributes under an import.
    pub fn path(&self, expr: &Expr) -> Option<String> {
        match &expr.kind {
            ExprKind::Name(name) => self.names.get(name).cloned(),
            ExprKind::Attribute { value, name } => Some(format!("{}.{name}", self.path(value)?)),
            _ => None,
        }
    }

    /// The member of `triton.language` that an expression names.
    pub fn triton(&self, expr: &Expr) -> Option<String> {
        self.path(expr)?.strip_prefix("triton.language.").map(str::to_owned)
    }
}
