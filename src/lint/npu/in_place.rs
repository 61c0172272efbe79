//! N002: `acc = acc + e` instead of `acc += e`.
//!
//! Why: the two make different IR on NPU backends; only the second is recognised as an accumulation in place.
//! Source: the coding rules for NPU-compatible kernels (in-place accumulation).
//! The fix keeps the order of additions: `acc = acc + a + b` is `(acc + a) + b` and is reported without one.
//! Does not catch: accumulators that are elements of tuples.

use crate::lint::between;
use crate::lint::rule::Found;
use crate::lint::subject::{Subject, stmts};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, StmtKind};

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    for stmt in subject.functions.iter().flat_map(stmts) {
        let StmtKind::Assign { targets, value } = &stmt.kind else { continue };
        let [target] = targets.as_slice() else { continue };
        let (Some(name), ExprKind::Binary(BinaryOp::Add, left, right)) = (target.as_name(), &value.kind) else { continue };
        let is_target = |e: &Expr| e.as_name() == Some(name);
        if !first_term(left, name) && !is_target(right) {
            continue;
        }
        let edits = if is_target(left) { edits(&subject.module.file, target, left, right) } else { None };
        let finding = found.at(stmt.span, format!("`{name}` is accumulated by an assignment"));
        finding.help(format!("write `{name} += …`")).fix(edits.unwrap_or_default());
    }
}

/// Whether a sum begins with the name.
fn first_term(expr: &Expr, name: &str) -> bool {
    match &expr.kind {
        ExprKind::Name(first) => first == name,
        ExprKind::Binary(BinaryOp::Add, left, _) => first_term(left, name),
        _ => false,
    }
}

/// `=` becomes `+=`, and `acc +` goes; only where nothing but blanks stands between these tokens.
fn edits(file: &SourceFile, target: &Expr, left: &Expr, right: &Expr) -> Option<Vec<(Span, String)>> {
    let equals = between(file, target.span.end, left.span.start).find('=')? as u32 + target.span.end;
    let plus = between(file, left.span.end, right.span.start).find('+')? as u32 + left.span.end;
    let blank = |start, end| between(file, start, end).trim().is_empty();
    // Parentheses before the sum stay where they are.
    let before = between(file, equals + 1, left.span.start).trim_matches(|c: char| c == '(' || c.is_whitespace());
    if !blank(target.span.end, equals) || !blank(left.span.end, plus) || !before.is_empty() {
        return None;
    }
    let behind = between(file, plus + 1, right.span.start);
    let spaces = (behind.len() - behind.trim_start_matches([' ', '\t']).len()) as u32;
    let drop = Span { start: left.span.start, end: plus + 1 + spaces };
    Some(vec![(Span { start: equals, end: equals + 1 }, "+=".to_owned()), (drop, String::new())])
}
