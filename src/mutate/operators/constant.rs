//! Numbers that are off by one or have the wrong sign.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::source::Span;
use crate::syntax::ast::ExprKind;

pub const VALUE: Operator = Operator {
    name: "constant",
    what: "an integer less or more by one, a float that is not 0 turned to 0",
    parts: KERNEL,
    edits,
};

fn edits(site: &Site) -> Vec<Edit> {
    // Shapes, axes and ranges have operators of their own.
    let mut taken: Vec<Span> = Vec::new();
    for call in site.calls(&["zeros", "full", "arange", "program_id", "num_programs", "range", "static_range", "static_assert"]) {
        taken.push(call.expr.span);
    }
    for call in site.calls(&["load", "sum", "max", "min"]) {
        taken.extend(call.keywords.iter().filter(|k| matches!(k.name.as_deref(), Some("other" | "axis"))).map(|k| k.span));
    }
    let free = |span: Span| !taken.iter().any(|t| t.start <= span.start && span.end <= t.end);
    let mut found = Vec::new();
    for expr in site.exprs().into_iter().filter(|e| free(e.span)) {
        match expr.kind {
            ExprKind::Int(value) => {
                found.push(Edit::new(expr.span, (value + 1).to_string()));
                if value > 0 {
                    found.push(Edit::new(expr.span, (value - 1).to_string()));
                }
            }
            ExprKind::Float(value) => found.push(Edit::new(expr.span, if value == 0.0 { "1.0" } else { "0.0" })),
            _ => {}
        }
    }
    found
}
