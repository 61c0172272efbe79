//! NaN that disappears: `tl.maximum` without its keyword, or in place of a `where`.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::{CompareOp, ExprKind};

pub const DROPPED: Operator =
    Operator { name: "NaN dropped", what: "`tl.maximum(v, 0)` for `tl.where(v < 0, 0, v)`", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let maxima = site.calls(&["maximum", "minimum"]);
    let mut found: Vec<Edit> =
        maxima.iter().filter_map(|call| call.keyword("propagate_nan")).map(|k| site.without(k.span)).collect();
    for call in site.calls(&["where"]) {
        if let [test, zero, value] = call.args
            && let ExprKind::Compare { left, rest } = &test.kind
            && matches!(rest.as_slice(), [(CompareOp::Lt, _)])
            && site.text(left.span) == site.text(value.span)
        {
            found.push(Edit::new(call.expr.span, format!("tl.maximum({}, {})", site.text(value.span), site.text(zero.span))));
        }
    }
    found
}
