//! Whether Python can import a file that answers a task: where its modules come from, and that the names are there which
//! are looked up while it is imported (decorators, defaults, annotations, bases).
//!
//! Not caught: whether a module of torch or Triton has a name that is imported from it.

use std::collections::BTreeSet;

use super::super::modules::{HostModule, is_main_guard};
use crate::diag::{Diagnostic, Result, codes};
use crate::import::task::Task;
use crate::source::Span;
use crate::syntax::ast::{Expr, FunctionDef, Stmt, StmtKind};
use crate::syntax::python::{is_builtin, is_standard};
use crate::syntax::walk::each_expr;

/// What a harness for Triton has, besides Python's own modules and what the task imports.
const THERE: [&str; 4] = ["torch", "triton", "numpy", "torch_npu"];

/// # Errors
/// H005 at what Python would stop at.
pub fn check(host: &HostModule, task: &Task) -> Result<()> {
    let future = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::ImportFrom { module, .. } if module == "__future__");
    let lazy = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::ImportFrom { module, names, .. } if module == "__future__" && names.iter().any(|(name, _)| name == "annotations"));
    let mut file = Importing {
        host,
        roots: THERE.iter().map(|root| (*root).to_owned()).chain(task.source.imported_roots()).collect(),
        known: BTreeSet::new(),
        annotations: !host.ast.body.iter().any(lazy),
    };
    let body = &host.ast.body;
    for (i, stmt) in body.iter().enumerate() {
        if future(stmt) && !body[..i].iter().enumerate().all(|(i, before)| future(before) || i == 0 && before.is_text()) {
            return Err(file.stops(stmt.span, "`from __future__` stands behind other statements".to_owned()));
        }
        file.statement(stmt, None)?;
    }
    Ok(())
}

struct Importing<'m> {
    host: &'m HostModule,
    /// Modules that are there, by the first part of their names.
    roots: BTreeSet<String>,
    /// Names that the module has so far.
    known: BTreeSet<&'m str>,
    /// Whether annotations are looked up.
    annotations: bool,
}

impl<'m> Importing<'m> {
    fn stops(&self, span: Span, what: String) -> Box<Diagnostic> {
        let error = Diagnostic::new(&codes::HOST_ERROR, what).at(&self.host.ast.file, span);
        Box::new(error.note("Python stops here when it imports the file"))
    }

    /// A statement of the module, or of a class that binds `own` so far.
    fn statement(&mut self, stmt: &'m Stmt, own: Option<&mut BTreeSet<&'m str>>) -> Result<()> {
        let mut bound: Vec<&'m str> = Vec::new();
        let inside = own.as_deref().cloned().unwrap_or_default();
        match &stmt.kind {
            StmtKind::Import(list) => {
                for (path, alias) in list {
                    self.module(path, stmt.span)?;
                    bound.push(alias.as_deref().unwrap_or_else(|| path.split('.').next().unwrap_or(path)));
                }
            }
            StmtKind::ImportFrom { module, names, level: _ } => {
                self.module(module, stmt.span)?;
                bound.extend(names.iter().map(|(name, alias)| alias.as_deref().unwrap_or(name)));
            }
            StmtKind::Function(def) => {
                self.head(def, &inside)?;
                bound.push(&def.name);
            }
            StmtKind::Class { name, decorators, bases, keywords, body } => {
                for e in decorators.iter().chain(bases).chain(keywords.iter().map(|keyword| &keyword.value)) {
                    self.reads(e, &inside)?;
                }
                let mut names = BTreeSet::new();
                for stmt in body {
                    self.statement(stmt, Some(&mut names))?;
                }
                bound.push(name);
            }
            StmtKind::Assign { targets, value } => {
                self.reads(value, &inside)?;
                bound.extend(targets.iter().filter_map(Expr::as_name));
            }
            StmtKind::AnnAssign { target, annotation, value } => {
                let annotation = Some(annotation).filter(|_| self.annotations);
                annotation.into_iter().chain(value).try_for_each(|e| self.reads(e, &inside))?;
                bound.extend(target.as_name());
            }
            StmtKind::If { test, .. } if is_main_guard(test) => {}
            _ => {}
        }
        match own {
            Some(own) => own.extend(bound),
            None => self.known.extend(bound),
        }
        Ok(())
    }

    fn module(&self, path: &str, span: Span) -> Result<()> {
        let root = path.split('.').next().unwrap_or(path);
        if is_standard(root) || self.roots.contains(root) {
            return Ok(());
        }
        let what = format!("`{root}` is no module of Python, torch or Triton, and the task does not import it");
        Err(self.stops(span, what))
    }

    /// What is looked up when a function is defined.
    fn head(&self, def: &'m FunctionDef, own: &BTreeSet<&'m str>) -> Result<()> {
        for (i, param) in def.params.iter().enumerate() {
            if def.params[..i].iter().any(|before| before.name == param.name) {
                return Err(self.stops(param.span, format!("`{}` is a parameter twice", param.name)));
            }
        }
        let defaults = def.params.iter().filter_map(|param| param.default.as_ref());
        let annotations = def.params.iter().filter_map(|param| param.annotation.as_ref()).chain(&def.returns);
        let annotations = annotations.filter(|_| self.annotations);
        def.decorators.iter().chain(defaults).chain(annotations).try_for_each(|e| self.reads(e, own))
    }

    fn reads(&self, e: &'m Expr, own: &BTreeSet<&'m str>) -> Result<()> {
        let mut missing = None;
        each_expr(e, &mut |e| {
            if let Some(name) = e.as_name()
                && !self.known.contains(name)
                && !own.contains(name)
                && !is_builtin(name)
            {
                missing = missing.or(Some((name, e.span)));
            }
        });
        match missing {
            Some((name, span)) => Err(self.stops(span, format!("`{name}` is not defined here"))),
            None => Ok(()),
        }
    }
}
