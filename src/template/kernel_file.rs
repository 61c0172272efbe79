//! `kernel.py` as text with known parts: functions, their parameters, who calls whom, and anchors.
//!
//! Binding edits the text by span, so whatever it does not touch stays as its author wrote it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::anchors::{self, Anchor};
use crate::diag::{Diagnostic, Result, codes};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{ExprKind, StmtKind};
use crate::syntax::parse_module;
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub constexpr: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub params: Vec<Param>,
    /// Decorators included, to the end of the body.
    pub span: Span,
    /// Functions of the same file that it calls.
    pub calls: Vec<String>,
}

/// A parsed `kernel.py`.
#[derive(Clone, Debug)]
pub struct KernelFile {
    pub file: Arc<SourceFile>,
    pub functions: Vec<Function>,
    pub anchors: Vec<Anchor>,
    /// Every identifier in it: fresh names avoid them.
    pub names: BTreeSet<String>,
    /// Calls of `tl.program_id` and `tl.arange`, from which every address is built.
    pub index_roots: Vec<Span>,
    pub uses_dot: bool,
}

impl KernelFile {
    pub fn parse(file: &Arc<SourceFile>) -> Result<KernelFile> {
        // A template is the user's own input, no kernel that was to be verified.
        let module = parse_module(file).map_err(|mut error| {
            error.code = &codes::TEMPLATE_INVALID;
            error
        })?;
        let defined: Vec<&str> = module
            .body
            .iter()
            .filter_map(|s| match &s.kind {
                StmtKind::Function(f) => Some(f.name.as_str()),
                _ => None,
            })
            .collect();
        let (mut functions, mut names, mut index_roots) = (Vec::new(), BTreeSet::new(), Vec::new());
        let mut uses_dot = false;
        for stmt in &module.body {
            let StmtKind::Function(f) = &stmt.kind else { continue };
            let mut calls = Vec::new();
            names.insert(f.name.clone());
            names.extend(f.params.iter().map(|p| p.name.clone()));
            each_stmt(&f.body, &mut |inner| {
                for expr in own_exprs(inner) {
                    each_expr(expr, &mut |e| match &e.kind {
                        ExprKind::Name(name) => {
                            names.insert(name.clone());
                            if defined.contains(&name.as_str()) && !calls.contains(name) {
                                calls.push(name.clone());
                            }
                        }
                        ExprKind::Call { func, .. } => match func.as_dotted().as_deref() {
                            Some("tl.program_id" | "tl.arange") => index_roots.push(e.span),
                            Some("tl.dot") => uses_dot = true,
                            _ => {}
                        },
                        _ => {}
                    });
                }
            });
            let start = f.decorators.first().map_or(stmt.span.start, |d| (d.span.start - 1).min(stmt.span.start));
            functions.push(Function {
                name: f.name.clone(),
                params: f
                    .params
                    .iter()
                    .map(|p| Param {
                        name: p.name.clone(),
                        constexpr: p.annotation.as_ref().and_then(|a| a.as_dotted()).as_deref() == Some("tl.constexpr"),
                        span: p.span,
                    })
                    .collect(),
                span: Span { start, end: stmt.span.end },
                calls,
            });
        }
        let anchors = anchors::find(&module)?;
        Ok(KernelFile { file: file.clone(), functions, anchors, names, index_roots, uses_dot })
    }

    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.name == name)
    }

    /// Functions that these entries reach, in the order of the file.
    pub fn reached(&self, entries: &[&str]) -> Vec<&Function> {
        let mut wanted: BTreeSet<&str> = entries.iter().copied().collect();
        loop {
            let more: Vec<&str> = self
                .functions
                .iter()
                .filter(|f| wanted.contains(f.name.as_str()))
                .flat_map(|f| f.calls.iter().map(String::as_str))
                .filter(|c| !wanted.contains(c))
                .collect();
            if more.is_empty() {
                return self.functions.iter().filter(|f| wanted.contains(f.name.as_str())).collect();
            }
            wanted.extend(more);
        }
    }

    /// T001 for the file as a whole.
    pub fn invalid(&self, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&codes::TEMPLATE_INVALID, message).in_file(self.file.name()))
    }
}
