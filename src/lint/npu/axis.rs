//! N003: an axis given to the reduction of a one-dimensional block: `tl.sum(x, axis=0)`.
//!
//! Why: without an axis the NPU's compiler takes its fast reduction of a whole block; with one it lowers the
//! general form. Source: the coding rules for NPU-compatible kernels (no redundant axis on a 1-D reduction).
//! The number of axes is inferred from the text ([`crate::lint`]'s `rank`).
//! Does not catch: blocks whose number of axes the text does not give.

use crate::lint::between;
use crate::lint::rank::REDUCTIONS;
use crate::lint::rule::Found;
use crate::lint::subject::{Call, Subject, calls};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Expr, ExprKind};

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    for call in subject.functions.iter().flat_map(calls) {
        // `tl.sum(x, axis)`, or `x.sum(axis)`.
        let (member, block, position) = match (subject.builtin(call.func), &call.func.kind) {
            (Some(member), _) => (member, call.argument("input", 0), 1),
            (None, ExprKind::Attribute { value, name }) => (name.clone(), Some(&**value), 0),
            (None, _) => continue,
        };
        let (Some(block), Some(axis)) = (block, call.argument("axis", position)) else { continue };
        if !REDUCTIONS.contains(&member.as_str()) || matches!(axis.kind, ExprKind::None) || subject.ranks.get(block) != Some(1) {
            continue;
        }
        let edits = edits(&subject.module.file, &call, axis, position);
        let finding = found.at(axis.span, format!("`{member}` of a one-dimensional block is given an axis"));
        finding.help("leave the axis out").fix(edits.unwrap_or_default());
    }
}

/// Takes the argument out, with the comma before it.
fn edits(file: &SourceFile, call: &Call<'_>, axis: &Expr, position: usize) -> Option<Vec<(Span, String)>> {
    let (start, end) = match call.keywords.iter().find(|k| k.name.as_deref() == Some("axis")) {
        Some(keyword) => (keyword.span.start, keyword.span.end),
        // What follows by position would move forward.
        None if call.args.len() > position + 1 => return None,
        None => (axis.span.start, axis.span.end),
    };
    let before = between(file, call.func.span.end, start);
    let kept = before.trim_end();
    let start = match kept.strip_suffix(',') {
        Some(kept) => call.func.span.end + kept.len() as u32,
        None if kept.ends_with('(') => call.func.span.end + kept.len() as u32,
        None => return None,
    };
    Some(vec![(Span { start, end }, String::new())])
}
