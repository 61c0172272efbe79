//! What a file defines, as the ban follows it: functions, kernels, classes with their bases and methods, and the values of
//! names at module level.
//!
//! Does not catch: definitions inside `if`, `try` and `with` at module level; their names are unknown, and an unknown
//! function that is given a tensor is reported (F012).

use std::collections::BTreeMap;

use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Module, Stmt, StmtKind};
use crate::syntax::imports::Imports;

pub struct Class<'a> {
    pub bases: &'a [Expr],
    pub methods: BTreeMap<&'a str, &'a FunctionDef>,
    /// Assignments in the body.
    pub fields: BTreeMap<&'a str, &'a Expr>,
}

pub struct File<'a> {
    pub module: &'a Module,
    pub imports: Imports,
    pub functions: BTreeMap<&'a str, &'a FunctionDef>,
    pub kernels: Vec<&'a FunctionDef>,
    pub classes: BTreeMap<&'a str, Class<'a>>,
    pub globals: BTreeMap<&'a str, &'a Expr>,
}

impl<'a> File<'a> {
    pub fn of(module: &'a Module) -> File<'a> {
        let imports = Imports::of(module);
        let (mut functions, mut kernels) = (BTreeMap::new(), Vec::new());
        let (mut classes, mut globals) = (BTreeMap::new(), BTreeMap::new());
        for stmt in &module.body {
            match &stmt.kind {
                StmtKind::Function(def) if is_kernel(def, &imports) => kernels.push(def),
                StmtKind::Function(def) => {
                    functions.insert(def.name.as_str(), def);
                }
                StmtKind::Class { name, bases, body, .. } => {
                    classes.insert(name.as_str(), class(bases, body));
                }
                _ => assigned(stmt, &mut globals),
            }
        }
        File { module, imports, functions, kernels, classes, globals }
    }

    /// A method of a class or of its bases in the file, with the class that defines it.
    pub fn method(&self, class: &str, name: &str) -> Option<(&'a str, &'a FunctionDef)> {
        self.lineage(class).into_iter().find_map(|class| Some((class, *self.classes[class].methods.get(name)?)))
    }

    /// A class and its bases in the file, nearest first.
    pub fn lineage(&self, class: &str) -> Vec<&'a str> {
        let mut found: Vec<&'a str> = Vec::new();
        let mut next = vec![class];
        while let Some(name) = next.pop() {
            let Some((&name, class)) = self.classes.get_key_value(name).filter(|(name, _)| !found.contains(name)) else {
                continue;
            };
            found.push(name);
            next.extend(class.bases.iter().rev().filter_map(Expr::as_name));
        }
        found
    }

    /// Whether a base of a class, or of its bases, is this member of an imported module.
    pub fn derives(&self, class: &str, path: &str) -> bool {
        let bases = self.lineage(class).into_iter().flat_map(|class| self.classes[class].bases);
        bases.into_iter().any(|base| self.imports.path(base).is_some_and(|found| found == path))
    }
}

fn class<'a>(bases: &'a [Expr], body: &'a [Stmt]) -> Class<'a> {
    let (mut methods, mut fields) = (BTreeMap::new(), BTreeMap::new());
    for stmt in body {
        match &stmt.kind {
            StmtKind::Function(def) => {
                methods.insert(def.name.as_str(), def);
            }
            _ => assigned(stmt, &mut fields),
        }
    }
    Class { bases, methods, fields }
}

fn assigned<'a>(stmt: &'a Stmt, into: &mut BTreeMap<&'a str, &'a Expr>) {
    let (targets, value) = match &stmt.kind {
        StmtKind::Assign { targets, value } => (targets.as_slice(), value),
        StmtKind::AnnAssign { target, annotation: _, value: Some(value) } => (std::slice::from_ref(target), value),
        _ => return,
    };
    for name in targets.iter().filter_map(Expr::as_name) {
        into.insert(name, value);
    }
}

/// A function that Triton compiles, by its decorators.
fn is_kernel(def: &FunctionDef, imports: &Imports) -> bool {
    def.decorators.iter().any(|decorator| {
        let called = match &decorator.kind {
            ExprKind::Call { func, .. } => func,
            _ => decorator,
        };
        let path = imports.path(called).unwrap_or_default();
        path.starts_with("triton.") && path.ends_with(".jit") || path == "triton.jit"
    })
}
