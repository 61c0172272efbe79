//! Reductions along the wrong axis, vectors spread along the wrong one.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::ExprKind;

pub const AXIS: Operator = Operator { name: "axis", what: "a reduction along another axis", parts: KERNEL, edits: axis };
pub const EXPANDED: Operator =
    Operator { name: "axis expanded", what: "`[None, :]` for `[:, None]`", parts: KERNEL, edits: expanded };

fn axis(site: &Site) -> Vec<Edit> {
    let axes = site.calls(&["sum", "max", "min", "reduce"]).into_iter().filter_map(|call| call.keyword("axis"));
    axes.filter_map(|axis| match axis.value.kind {
        ExprKind::Int(1) => Some(Edit::new(axis.value.span, "0")),
        ExprKind::Int(0) => Some(Edit::new(axis.value.span, "1")),
        _ => None,
    })
    .collect()
}

fn expanded(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for expr in site.exprs() {
        let ExprKind::Subscript { value: _, index } = &expr.kind else { continue };
        let ExprKind::Tuple(items) = &index.kind else { continue };
        match items.as_slice() {
            [a, b] if matches!((&a.kind, &b.kind), (ExprKind::None, ExprKind::Slice { .. })) => {
                found.push(Edit::new(a.span.to(b.span), ":, None"));
            }
            [a, b] if matches!((&a.kind, &b.kind), (ExprKind::Slice { .. }, ExprKind::None)) => {
                found.push(Edit::new(a.span.to(b.span), "None, :"));
            }
            _ => {}
        }
    }
    found
}
