//! Pointer variables become offset variables.
//!
//! A pointer's *root* is the parameter that its sum begins with. `p = x_ptr + e` becomes `p = e`, an access through `p`
//! one of `x_ptr` at `p`. A parameter that is itself moved (`x_ptr += e`) gets a companion `x_ptr_offset`, which begins
//! at 0. Refused by name: a pointer with two roots, and every other use of one (a selection between pointers, a
//! pointer with an offset handed to a helper, its type).
//!
//! Algorithm: roots by a pass over assignments until nothing changes; then each mention of a pointer must be one of
//! the forms above, and gives its edits.

use std::collections::{BTreeMap, BTreeSet};

use super::{Work, scan};
use crate::lint::flow;
use crate::lint::subject::{Function, calls, exprs, stmts};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, StmtKind};

struct Pointers<'a> {
    /// The root of each pointer variable.
    roots: BTreeMap<&'a str, &'a str>,
    params: BTreeSet<&'a str>,
    /// Parameters that an assignment moves.
    moved: BTreeSet<&'a str>,
    /// Mentions that have their edits.
    done: BTreeSet<Span>,
}

pub fn convert<'a>(work: &mut Work<'_, 'a>, function: &Function<'a>) {
    let Some(mut pointers) = find(work, function) else { return };
    for &param in &pointers.moved {
        let companion = format!("{param}_offset");
        let taken = exprs(function).into_iter().find(|e| e.as_name() == Some(&companion));
        if let Some(taken) = taken {
            work.refuse(taken.span, format!("the name `{companion}`"), "give the variable another name: this one is needed");
        }
        let at = function.def.body.first().map_or(0, |stmt| first_statement(work, function, stmt.span));
        let text = work.subject.module.file.text();
        let line = text[..at as usize].rfind('\n').map_or(0, |i| i + 1);
        let indent = text[line..at as usize].to_owned();
        work.edits.insert(at, format!("{param}_offset = 0\n{indent}"));
    }
    for stmt in stmts(function) {
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                let [target] = targets.as_slice() else { continue };
                let Some(name) = target.as_name().filter(|name| pointers.is_pointer(name)) else { continue };
                pointers.target(work, name, target.span);
                pointers.offset(work, value, true);
            }
            StmtKind::AugAssign { target, op: BinaryOp::Add | BinaryOp::Sub, value: _ } => {
                if let Some(name) = target.as_name().filter(|name| pointers.is_pointer(name)) {
                    pointers.target(work, name, target.span);
                }
            }
            _ => {}
        }
    }
    for call in calls(function) {
        if flow::memory(work.subject, &call).is_some() {
            if let Some(address) = call.args.first() {
                pointers.access(work, &call, address);
            }
        } else if let Some(helper) = call.func.as_name().and_then(|name| work.subject.function(name)) {
            let bases = flow::bases(work.subject, helper);
            for (i, param) in helper.def.params.iter().enumerate() {
                let Some(value) = call.argument(&param.name, i) else { continue };
                // A parameter as it came is a base on the other side, too.
                let stays = |name: &str| pointers.params.contains(name) && !pointers.moved.contains(name);
                if value.as_name().is_some_and(stays) && bases.contains(param.name.as_str()) {
                    pointers.done.insert(value.span);
                }
            }
        }
    }
    for expr in exprs(function) {
        if let Some(name) = expr.as_name().filter(|name| pointers.is_pointer(name))
            && !pointers.done.contains(&expr.span)
        {
            let help = "in the dialect a pointer is a base: add offsets to it in the load or store, or in a variable of its own";
            work.refuse(expr.span, format!("this use of the pointer `{name}`"), help);
        }
    }
}

/// Behind the docstring.
fn first_statement(work: &Work<'_, '_>, function: &Function<'_>, first: Span) -> u32 {
    let docstring =
        matches!(function.def.body.first().map(|s| &s.kind), Some(StmtKind::Expr(Expr { kind: ExprKind::Str(_), span: _ })));
    let second = function.def.body.get(1).filter(|_| docstring).map(|stmt| stmt.span.start);
    let _ = work;
    second.unwrap_or(first.start)
}

fn find<'a>(work: &mut Work<'_, 'a>, function: &Function<'a>) -> Option<Pointers<'a>> {
    let names: BTreeSet<&str> = function.def.params.iter().map(|p| p.name.as_str()).collect();
    let bases = flow::bases(work.subject, function);
    let params: BTreeSet<&str> = bases.iter().copied().filter(|name| names.contains(name)).collect();
    let mut roots: BTreeMap<&str, &str> = params.iter().map(|name| (*name, *name)).collect();
    let mut moved = BTreeSet::new();
    let mut clean = true;
    loop {
        let known = roots.len();
        for stmt in stmts(function) {
            match &stmt.kind {
                StmtKind::Assign { targets, value } => {
                    let root = flow::base(value).and_then(|name| roots.get(name).copied());
                    let Some(root) = root else { continue };
                    for target in targets.iter().filter_map(Expr::as_name) {
                        if params.contains(target) && root == target {
                            moved.insert(target);
                        }
                        let old = *roots.entry(target).or_insert(root);
                        if old != root && clean {
                            clean = false;
                            let message = format!("`{target}` points into `{old}` and into `{root}`");
                            work.refuse(stmt.span, message, "give each base a variable of its own");
                        }
                    }
                }
                StmtKind::AugAssign { target, op: _, value: _ } => {
                    if let Some(name) = target.as_name().filter(|name| params.contains(name)) {
                        moved.insert(name);
                    }
                }
                _ => {}
            }
        }
        if roots.len() == known {
            break;
        }
    }
    clean.then_some(Pointers { roots, params, moved, done: BTreeSet::new() })
}

impl<'a> Pointers<'a> {
    fn is_pointer(&self, name: &str) -> bool {
        self.roots.contains_key(name)
    }

    /// An assigned variable: a moved parameter by its companion's name.
    fn target(&mut self, work: &mut Work<'_, '_>, name: &str, span: Span) {
        if self.params.contains(name) {
            work.edits.insert(span.end, "_offset");
        }
        self.done.insert(span);
    }

    /// Takes the root out of a sum; whether an offset is left. `alone` says that a bare parameter becomes 0.
    fn offset(&mut self, work: &mut Work<'_, '_>, expr: &Expr, alone: bool) -> bool {
        let Some((base, sum)) = leftmost(expr, None) else { return true };
        let Some(name) = base.as_name() else { return true };
        self.done.insert(base.span);
        if !self.params.contains(name) {
            return true;
        }
        if self.moved.contains(name) {
            work.edits.insert(base.span.end, "_offset");
            return true;
        }
        let Some((op, right)) = sum else {
            if alone {
                work.edits.replace(base.span, "0");
            }
            return false;
        };
        let sign = if op == BinaryOp::Add { '+' } else { '-' };
        let text = work.subject.module.file.text();
        match scan::find(text, base.span.end, right.span.start, sign) {
            Some(at) if text[base.span.end as usize..at as usize].trim().is_empty() => {
                let behind = &text[at as usize + 1..right.span.start as usize];
                let blanks = (behind.len() - behind.trim_start_matches([' ', '\t']).len()) as u32;
                let kept = if op == BinaryOp::Add { "" } else { "-" };
                work.edits.replace(Span { start: base.span.start, end: at + 1 + blanks }, kept);
            }
            _ => work.refuse(base.span, format!("`{name}` in parentheses of its own"), "write the sum without them"),
        }
        true
    }

    /// `tl.load(x_ptr + e, …)` becomes `tl.load(x_ptr, e, …)`.
    fn access(&mut self, work: &mut Work<'_, '_>, call: &crate::lint::subject::Call<'_>, address: &Expr) {
        let Some(root) = flow::base(address).and_then(|name| self.roots.get(name).copied()) else {
            let help = "begin the address with a parameter, or with a variable that does";
            return work.refuse(address.span, "an address whose base the text does not give", help);
        };
        let text = work.subject.module.file.text();
        let inside = Span { start: call.func.span.end + 1, end: call.span.end - 1 };
        let around = scan::outer(text, address.span, inside);
        if self.offset(work, address, false) {
            // Alone between commas, the last term needs no parentheses.
            if let ExprKind::Binary(BinaryOp::Add, left, right) = &address.kind
                && left.as_name().is_some_and(|name| self.params.contains(name) && !self.moved.contains(name))
            {
                let bounds = Span { start: left.span.end, end: inside.end };
                let wrapped = scan::outer(text, right.span, bounds);
                if wrapped != right.span && text[wrapped.start as usize + 1..right.span.start as usize].trim().is_empty() {
                    work.drop(Span { start: wrapped.start, end: right.span.start });
                    work.drop(Span { start: right.span.end, end: wrapped.end });
                }
            }
            work.edits.insert(around.start, format!("{root}, "));
        } else {
            work.edits.insert(around.end, ", 0");
        }
    }
}

/// The first term of a sum, and the operator and term behind it.
fn leftmost<'e>(expr: &'e Expr, behind: Option<(BinaryOp, &'e Expr)>) -> Option<(&'e Expr, Option<(BinaryOp, &'e Expr)>)> {
    match &expr.kind {
        ExprKind::Name(_) => Some((expr, behind)),
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), left, right) => leftmost(left, Some((*op, right))),
        _ => None,
    }
}
