//! Which names of a function reach an address.
//!
//! A backward closure over assignments, without regard to order: a name that some address mentions, a name that
//! is mentioned in an assignment to such a name, and so on; calls of helpers carry it to the arguments.
//! Does not catch: what a helper returns into an address.

use std::collections::BTreeSet;

use super::subject::{Call, Function, Subject, calls, stmts};
use crate::kernel::lower::sizes::sizes;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, StmtKind};
use crate::syntax::walk::each_expr;

/// Builtins whose first argument is an address; in the dialect the second is part of it.
const MEMORY: &[&str] = &[
    "load",
    "store",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xchg",
    "atomic_xor",
];

/// Whether a call loads or stores, or does both.
pub fn memory(subject: &Subject<'_>, call: &Call<'_>) -> Option<&'static str> {
    let member = subject.builtin(call.func)?;
    MEMORY.iter().copied().find(|name| *name == member)
}

/// The expressions that make up a memory call's address.
pub fn address<'a>(subject: &Subject<'_>, call: &Call<'a>) -> Vec<&'a Expr> {
    let mut parts: Vec<&Expr> = call.argument("pointer", 0).into_iter().collect();
    let values = usize::from(memory(subject, call) != Some("load"));
    if subject.dialect && call.args.len() >= 2 + values {
        parts.extend(call.args.get(1));
    }
    parts
}

/// Names that reach an address of the function.
pub fn addressing<'a>(subject: &Subject<'a>, function: &Function<'a>) -> BTreeSet<&'a str> {
    let roots = calls(function).into_iter().filter(|call| memory(subject, call).is_some());
    let mut names = BTreeSet::new();
    for root in roots {
        address(subject, &root).into_iter().for_each(|e| mention(e, &mut names));
    }
    closure(function, names)
}

/// Whether a parameter must be known when the kernel is compiled, annotated or not.
pub fn is_size(subject: &Subject<'_>, function: &Function<'_>, param: &str) -> bool {
    sizes(subject.module, &subject.imports, function.def).contains(param)
}

/// Parameters that an address begins with.
pub fn bases<'a>(subject: &Subject<'a>, function: &Function<'a>) -> BTreeSet<&'a str> {
    bases_at(subject, function, 0)
}

fn bases_at<'a>(subject: &Subject<'a>, function: &Function<'a>, depth: usize) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    for call in calls(function) {
        if memory(subject, &call).is_some() || subject.builtin(call.func).as_deref() == Some("make_block_ptr") {
            found.extend(call.args.first().or_else(|| call.argument("base", 0)).and_then(base));
        }
        let Some(helper) = call.func.as_name().and_then(|name| subject.function(name)).filter(|_| depth < 8) else { continue };
        let inner = bases_at(subject, helper, depth + 1);
        for (i, param) in helper.def.params.iter().enumerate() {
            if inner.contains(param.name.as_str()) {
                found.extend(call.argument(&param.name, i).and_then(base));
            }
        }
    }
    // A pointer that was moved before it is used.
    loop {
        let known = found.len();
        for stmt in stmts(function) {
            if let StmtKind::Assign { targets, value } = &stmt.kind
                && targets.iter().filter_map(Expr::as_name).any(|name| found.contains(name))
            {
                found.extend(base(value));
            }
        }
        if found.len() == known {
            break;
        }
    }
    found
}

/// The leftmost name of a sum.
pub fn base(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, left, _) => base(left),
        _ => None,
    }
}

fn mention<'a>(expr: &'a Expr, names: &mut BTreeSet<&'a str>) {
    each_expr(expr, &mut |e| names.extend(e.as_name()));
}

/// Adds names that assignments to known names mention, until nothing changes.
fn closure<'a>(function: &Function<'a>, mut names: BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    loop {
        let known = names.len();
        for stmt in stmts(function) {
            let (target, value) = match &stmt.kind {
                StmtKind::Assign { targets, value } => match targets.as_slice() {
                    [target] => (target, value),
                    _ => continue,
                },
                StmtKind::AugAssign { target, op: _, value } => (target, value),
                _ => continue,
            };
            if target.as_name().is_some_and(|name| names.contains(name)) {
                mention(value, &mut names);
            }
        }
        if names.len() == known {
            return names;
        }
    }
}
