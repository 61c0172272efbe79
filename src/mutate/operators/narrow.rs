//! Indices in too narrow an integer. Unit shapes fit 32 bits easily, so the slip is made in 8: what
//! is tested is whether a wrapped index is noticed, whatever its width.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::{BinaryOp, ExprKind, StmtKind};

pub const INDEX: Operator =
    Operator { name: "integer narrowed", what: "an index cast to int8 (as int32 at real sizes)", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for call in site.calls(&["arange", "program_id"]) {
        found.push(Edit::new(call.expr.span, format!("{}.to(tl.int8)", site.text(call.expr.span))));
    }
    // An index that is computed.
    if let StmtKind::Assign { targets: _, value } = &site.stmt.kind
        && let ExprKind::Binary(BinaryOp::Add | BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::Mul, ..) = value.kind
        && site.calls(&["load", "to", "exp", "div_rn", "dot", "sum", "cdiv"]).is_empty()
        && site.exprs().iter().any(|e| e.as_name().is_some_and(|n| super::is_size(n) || n.starts_with("tiles_")))
    {
        found.push(Edit::new(value.span, format!("({}).to(tl.int8)", site.text(value.span))));
    }
    found
}
