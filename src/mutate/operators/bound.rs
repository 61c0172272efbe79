//! Comparisons that are off by one.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::{CompareOp, ExprKind};

pub const OFF_BY_ONE: Operator =
    Operator { name: "bound off by one", what: "`<` for `<=`, or a bound less one", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for expr in site.exprs() {
        let ExprKind::Compare { left, rest } = &expr.kind else { continue };
        let [(op, right)] = rest.as_slice() else { continue };
        let (from, to) = match op {
            CompareOp::Lt => ("<", "<="),
            CompareOp::Le => ("<=", "<"),
            CompareOp::Gt => (">", ">="),
            CompareOp::Ge => (">=", ">"),
            CompareOp::Eq => ("==", "!="),
            CompareOp::Ne => ("!=", "=="),
            CompareOp::Is | CompareOp::IsNot | CompareOp::In | CompareOp::NotIn => continue,
        };
        found.extend(site.operator(left, right, from, to));
        if matches!(op, CompareOp::Lt | CompareOp::Le) && matches!(right.kind, ExprKind::Name(_) | ExprKind::Subscript { .. }) {
            found.push(Edit::new(right.span, format!("{} - 1", site.text(right.span))));
        }
    }
    found
}
