//! Whether a name of the task's module means the same in the file that answers it: `Block(64)` draws what the task's draws
//! only if `Block` is the task's.
//!
//! Imports must lead to the same place; classes must have the same bases and the same statements but for `forward` and
//! docstrings; other definitions must be the same statements. What these read in turn is compared, too.

use std::collections::BTreeSet;

use super::HELP;
use crate::diag::{Diagnostic, Place, Result, codes};
use crate::host::modules::{Global, HostModule, names};
use crate::import::task::Task;
use crate::import::task::source::{binding, is_forward, reads};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Stmt, StmtKind};
use crate::syntax::same::same_statements;

/// Compares a name and what its definition reads; `compared` are those that were, `used` is where the file uses it.
pub fn check(compared: &mut BTreeSet<String>, task: &Task, file: &HostModule, name: &str, used: Span) -> Result<()> {
    let theirs = &task.source.module;
    let Some(original) = binding(theirs, name).filter(|_| compared.insert(name.to_owned())) else { return Ok(()) };
    let differs = |span: Span, what: String| {
        let error = Diagnostic::new(&codes::PARAMETERS_DIFFER, what).at(&file.ast.file, span);
        let there = Place::Text { file: theirs.file.clone(), span: original.span };
        Box::new(error.related(there, "the task's").help(HELP))
    };
    let Some(own) = binding(&file.ast, name) else {
        return Err(differs(used, format!("`{name}` of the task is not defined in this file")));
    };
    if !same((&theirs.file, original), (&file.ast.file, own)) && !same_import(task, original, file, name) {
        return Err(differs(own.span, format!("`{name}` is not the task's")));
    }
    reads(original).iter().try_for_each(|inner| check(compared, task, file, inner, used))
}

fn same((a_file, a): (&SourceFile, &Stmt), (b_file, b): (&SourceFile, &Stmt)) -> bool {
    let all = |a: Span, b: Span| same_statements((a_file, a), (b_file, b));
    match (&a.kind, &b.kind) {
        (StmtKind::Class { .. }, StmtKind::Class { .. }) => {
            let (a, b) = (parts(a), parts(b));
            a.len() == b.len() && a.into_iter().zip(b).all(|(a, b)| all(a, b))
        }
        _ => all(a.span, b.span),
    }
}

/// Of a class: decorators, bases, keywords and statements, but for docstrings and `forward`.
fn parts(stmt: &Stmt) -> Vec<Span> {
    let StmtKind::Class { name: _, decorators, bases, keywords, body } = &stmt.kind else { return Vec::new() };
    let head = decorators.iter().chain(bases).map(|e| e.span).chain(keywords.iter().map(|keyword| keyword.span));
    head.chain(body.iter().filter(|stmt| !is_forward(stmt) && !stmt.is_text()).map(|stmt| stmt.span)).collect()
}

/// Whether both files import a name from one place.
fn same_import(task: &Task, original: &Stmt, file: &HostModule, name: &str) -> bool {
    let theirs = names(&task.source.module, original, false).unwrap_or_default();
    let theirs = theirs.into_iter().find(|(bound, _)| bound == name).map(|(_, global)| global);
    match (theirs, file.globals.get(name)) {
        (Some(Global::Import(a)), Some(Global::Import(b))) => a == *b,
        _ => false,
    }
}
