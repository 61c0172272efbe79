//! A function being run: its module, its definition, the names it binds; and the messages that point
//! into it.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{HostModule, refuse};
use super::value::Value;
use crate::diag::{self, Code, Diagnostic, codes};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Stmt, StmtKind};
use crate::syntax::constant::MAX_TUPLE;

/// A function being run.
pub(super) struct Frame<'m> {
    pub module: &'m HostModule,
    pub def: &'m FunctionDef,
    pub locals: BTreeMap<&'m str, Value<'m>>,
    /// Names that an assignment or loop of the function binds.
    pub assigned: BTreeSet<&'m str>,
}

impl<'m> Frame<'m> {
    pub fn new(module: &'m HostModule, def: &'m FunctionDef) -> Frame<'m> {
        let mut assigned = BTreeSet::new();
        collect_assigned(&def.body, &mut assigned);
        Frame { module, def, locals: BTreeMap::new(), assigned }
    }

    pub fn unsupported(&self, span: Span, construct: &str) -> Box<Diagnostic> {
        refuse(&self.module.ast, span, construct)
    }

    pub fn error(&self, code: &'static Code, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(code, message).at(&self.module.ast.file, span))
    }

    /// An error that Python or torch would raise.
    pub fn raises(&self, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        self.error(&codes::HOST_ERROR, span, message)
    }
}

/// Refuses a tuple of more than [`MAX_TUPLE`] items.
pub(super) fn fits(frame: &Frame, items: usize, span: Span) -> diag::Result<()> {
    if items <= MAX_TUPLE {
        return Ok(());
    }
    Err(frame.error(&codes::MEMORY, span, format!("a tuple of {items} items; the limit is {MAX_TUPLE}")))
}

/// Names that statements bind, nested ones included.
pub(super) fn collect_assigned<'m>(body: &'m [Stmt], names: &mut BTreeSet<&'m str>) {
    fn target<'m>(e: &'m Expr, names: &mut BTreeSet<&'m str>) {
        match &e.kind {
            ExprKind::Name(name) => drop(names.insert(name)),
            ExprKind::Tuple(items) => items.iter().for_each(|item| target(item, names)),
            _ => {}
        }
    }
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign { targets, .. } => targets.iter().for_each(|t| target(t, names)),
            StmtKind::AugAssign { target: t, .. } | StmtKind::AnnAssign { target: t, .. } => target(t, names),
            StmtKind::If { body, orelse, .. } => {
                collect_assigned(body, names);
                collect_assigned(orelse, names);
            }
            StmtKind::For { target: t, body, orelse, .. } => {
                target(t, names);
                collect_assigned(body, names);
                collect_assigned(orelse, names);
            }
            _ => {}
        }
    }
}
