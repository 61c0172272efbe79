//! Every mutation of a file: each operator at each statement of the functions that run.
//!
//! In a kernel's file these are the `@triton.jit` functions and `launch`; in `run.py`, `prepare` and
//! `forward`. What never runs in a verification (torch references, tests, `main`, the wrapper's
//! `check`, which only refuses) is not mutated: no emulation could tell.

use std::collections::{BTreeMap, HashSet};

use crate::conform::diagnose::header;
use crate::source::Span;
use crate::syntax::ast::{FunctionDef, Module, Stmt, StmtKind};

use super::mutation::{Edit, Key, Mutation, joined};
use super::operators::{ALL, Operator};
use super::site::{Part, Site};

/// The mutations of a module, in source order; `operators` of [`ALL`] by default.
pub fn mutations(module: &Module, operators: &[Operator]) -> Vec<Mutation> {
    let mut found = Vec::new();
    let mut ordinals: BTreeMap<Key, usize> = BTreeMap::new();
    for stmt in &module.body {
        let StmtKind::Function(function) = &stmt.kind else { continue };
        let Some(part) = part(function) else { continue };
        each_in_blocks(&function.body, &mut |stmt, next| {
            let site = Site { part, file: &module.file, function, stmt, next };
            let mut seen: HashSet<(Span, String)> = HashSet::new();
            for operator in operators.iter().filter(|o| o.parts.contains(&part)) {
                for edit in (operator.edits)(&site) {
                    let from = site.text(edit.span);
                    if joined(from) == joined(&edit.text) || !seen.insert((edit.span, edit.text.clone())) {
                        continue;
                    }
                    let mut key = key(&site, operator.name, &edit);
                    let ordinal = ordinals.entry(key.clone()).or_default();
                    key.ordinal = *ordinal;
                    *ordinal += 1;
                    found.push(Mutation { key, edit, statement: header(stmt) });
                }
            }
        });
    }
    found
}

/// All operators.
pub fn all(module: &Module) -> Vec<Mutation> {
    mutations(module, ALL)
}

fn part(function: &FunctionDef) -> Option<Part> {
    let jit = function.decorators.iter().any(|d| d.as_dotted().is_some_and(|name| name.ends_with("jit")));
    match function.name.as_str() {
        _ if jit => Some(Part::Kernel),
        "launch" => Some(Part::Wrapper),
        "prepare" | "forward" => Some(Part::Runner),
        _ => None,
    }
}

fn key(site: &Site, operator: &'static str, edit: &Edit) -> Key {
    let line = site.file.position(edit.span.start).line;
    Key {
        function: site.function.name.clone(),
        operator,
        line: site.file.line(line).trim().to_owned(),
        from: joined(site.text(edit.span)),
        to: joined(&edit.text),
        ordinal: 0,
    }
}

/// Every statement with the one behind it in its block.
fn each_in_blocks<'a>(block: &'a [Stmt], visit: &mut dyn FnMut(&'a Stmt, Option<&'a Stmt>)) {
    for (i, stmt) in block.iter().enumerate() {
        visit(stmt, block.get(i + 1));
        match &stmt.kind {
            StmtKind::If { body, orelse, .. } | StmtKind::For { body, orelse, .. } | StmtKind::While { body, orelse, .. } => {
                each_in_blocks(body, visit);
                each_in_blocks(orelse, visit);
            }
            _ => {}
        }
    }
}
