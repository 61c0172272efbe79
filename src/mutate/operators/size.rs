//! Sizes and strides of host code, of another axis.

use super::{HOST, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::ExprKind;

pub const AXIS: Operator =
    Operator { name: "host axis", what: "`x.stride(2)` for `x.stride(1)`, `x.shape[2]` for `x.shape[1]`", parts: HOST, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    let mut other = |axis: i64, span| {
        found.push(Edit::new(span, (axis + 1).to_string()));
        if axis > 0 {
            found.push(Edit::new(span, (axis - 1).to_string()));
        }
    };
    for call in site.calls(&["stride", "size"]) {
        if let [axis] = call.args
            && let ExprKind::Int(number) = axis.kind
        {
            other(number, axis.span);
        }
    }
    for expr in site.exprs() {
        if let ExprKind::Subscript { value, index } = &expr.kind
            && value.as_dotted().is_some_and(|name| name.ends_with(".shape"))
            && let ExprKind::Int(number) = index.kind
        {
            other(number, index.span);
        }
    }
    found
}
