//! F007: the file has no Triton kernel at all.

use super::Ban;
use super::events::Walked;
use crate::lint::rule::Found;
use crate::source::Span;
use crate::syntax::ast::StmtKind;

pub fn check(walked: &Walked<'_>, _: &Ban, found: &mut Found<'_>) {
    if walked.file.kernels.is_empty() {
        found
            .at(model_new(walked), "no function of the file is a Triton kernel")
            .help("write one with `@triton.jit`, and launch it");
    }
}

/// The line that defines `ModelNew`, or the beginning of the file.
pub(super) fn model_new(walked: &Walked<'_>) -> Span {
    let body = &walked.file.module.body;
    let class = body.iter().find(|stmt| matches!(&stmt.kind, StmtKind::Class { name, .. } if name == "ModelNew"));
    let text = walked.file.module.file.text();
    let start = class.map_or(0, |stmt| stmt.span.start);
    let line = text.get(start as usize..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    Span { start, end: start + line.len() as u32 }
}
