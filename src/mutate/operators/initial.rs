//! Accumulators that begin with the wrong number.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::{ExprKind, StmtKind, UnaryOp};

pub const VALUE: Operator =
    Operator { name: "initial value", what: "an accumulator that begins with 1, or with 0 for −∞", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for call in site.calls(&["zeros"]) {
        if let [shape] = call.args {
            let rest: String = call.keywords.iter().map(|k| format!(", {}", site.text(k.span))).collect();
            found.push(Edit::new(call.expr.span, format!("tl.full({}, 1.0{rest})", site.text(shape.span))));
        }
    }
    for call in site.calls(&["full"]) {
        if let [_, value] = call.args {
            found.push(Edit::new(value.span, "0.0"));
        }
    }
    if let StmtKind::Assign { targets: _, value } = &site.stmt.kind {
        match &value.kind {
            ExprKind::Float(number) => found.push(Edit::new(value.span, if *number == 0.0 { "1.0" } else { "0.0" })),
            ExprKind::Unary(UnaryOp::Neg, inner) if matches!(inner.kind, ExprKind::Float(_)) => {
                found.push(Edit::new(value.span, "0.0"));
            }
            _ => {}
        }
    }
    found
}
