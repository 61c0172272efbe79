//! The wrong reduction, or one that forgets what it has.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::source::Span;
use crate::syntax::ast::StmtKind;

pub const KIND: Operator =
    Operator { name: "reduction", what: "a minimum for a maximum, a maximum for a sum", parts: KERNEL, edits: kind };
pub const ACCUMULATION: Operator =
    Operator { name: "accumulation", what: "`=` or `-=` for `+=`", parts: KERNEL, edits: accumulation };

fn kind(site: &Site) -> Vec<Edit> {
    let pairs = [("max", "min"), ("sum", "max"), ("maximum", "minimum"), ("minimum", "maximum"), ("min", "max")];
    let mut found = Vec::new();
    for (from, to) in pairs {
        for call in site.calls(&[from]) {
            let text = site.text(call.func.span);
            if let Some(stem) = text.strip_suffix(from) {
                found.push(Edit::new(call.func.span, format!("{stem}{to}")));
            }
        }
    }
    found
}

fn accumulation(site: &Site) -> Vec<Edit> {
    let StmtKind::AugAssign { target, op: _, value } = &site.stmt.kind else { return Vec::new() };
    let gap = Span { start: target.span.end, end: value.span.start };
    let Some(at) = site.text(gap).find("+=") else { return Vec::new() };
    let span = Span::new(gap.start as usize + at, gap.start as usize + at + 2);
    vec![Edit::new(span, "="), Edit::new(span, "-=")]
}
