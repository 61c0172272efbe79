//! Which names of a file's functions differ between lanes, programs or steps of a loop: everything
//! that comes from a range, a program id or memory. Sizes, strides and what is made of them alone do not.
//!
//! A fixed point over assignments and calls of helpers, order not regarded. A parameter of a helper
//! varies when some call passes what varies; one of a kernel that nobody calls does not.

use std::collections::BTreeSet;

use super::flow::called;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Module, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// Names that vary, with their function.
pub struct Varying {
    names: BTreeSet<(String, String)>,
}

impl Varying {
    pub fn of(module: &Module) -> Varying {
        let mut varying = Varying { names: BTreeSet::new() };
        loop {
            let known = varying.names.len();
            for function in functions(module) {
                varying.grow(module, function);
            }
            if varying.names.len() == known {
                return varying;
            }
        }
    }

    pub fn name(&self, function: &str, name: &str) -> bool {
        self.names.contains(&(function.to_owned(), name.to_owned()))
    }

    /// Whether an expression of a function varies.
    pub fn expr(&self, function: &str, expr: &Expr) -> bool {
        let mut found = false;
        each_expr(expr, &mut |e| match &e.kind {
            ExprKind::Name(name) => found |= self.name(function, name),
            ExprKind::Call { func, .. } => found |= matches!(called(func).as_str(), "arange" | "program_id" | "load"),
            _ => {}
        });
        found
    }

    fn grow(&mut self, module: &Module, function: &FunctionDef) {
        let here = function.name.as_str();
        each_stmt(&function.body, &mut |stmt| {
            let (targets, varies) = match &stmt.kind {
                StmtKind::Assign { targets, value } => (targets.iter().collect(), self.expr(here, value)),
                StmtKind::AugAssign { target, op: _, value } => (vec![target], self.expr(here, value)),
                StmtKind::AnnAssign { target, annotation: _, value: Some(value) } => (vec![target], self.expr(here, value)),
                StmtKind::For { target, .. } => (vec![target], true),
                _ => (Vec::new(), false),
            };
            for name in targets.into_iter().filter(|_| varies).filter_map(Expr::as_name) {
                self.names.insert((here.to_owned(), name.to_owned()));
            }
            for expr in own_exprs(stmt) {
                each_expr(expr, &mut |e| self.pass(module, here, e));
            }
        });
    }

    /// A call of a helper passes what varies on to its parameters.
    fn pass(&mut self, module: &Module, here: &str, expr: &Expr) {
        let ExprKind::Call { func, args, keywords } = &expr.kind else { return };
        let Some(helper) = func.as_name().and_then(|name| functions(module).find(|f| f.name == name)) else { return };
        let by_place = helper.params.iter().map(|p| p.name.as_str()).zip(args);
        let by_name = keywords.iter().filter_map(|k| Some((k.name.as_deref()?, &k.value)));
        for (param, arg) in by_place.chain(by_name) {
            if self.expr(here, arg) {
                self.names.insert((helper.name.clone(), param.to_owned()));
            }
        }
    }
}

/// The functions of a file.
pub fn functions(module: &Module) -> impl Iterator<Item = &FunctionDef> {
    module.body.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Function(function) => Some(function),
        _ => None,
    })
}
