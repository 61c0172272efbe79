//! What stands in masked lanes of a load.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::{Expr, ExprKind};

pub const MISSING: Operator =
    Operator { name: "other missing", what: "a masked load without `other`", parts: KERNEL, edits: missing };
pub const VALUE: Operator = Operator { name: "other value", what: "another number in masked lanes", parts: KERNEL, edits: value };

fn missing(site: &Site) -> Vec<Edit> {
    let others = site.calls(&["load"]).into_iter().filter_map(|call| call.keyword("other"));
    others.map(|other| site.without(other.span)).collect()
}

fn value(site: &Site) -> Vec<Edit> {
    let others = site.calls(&["load"]).into_iter().filter_map(|call| call.keyword("other"));
    others.map(|other| Edit::new(other.value.span, if is_zero(&other.value) { "1" } else { "0" })).collect()
}

fn is_zero(expr: &Expr) -> bool {
    match expr.kind {
        ExprKind::Int(value) => value == 0,
        ExprKind::Float(value) => value == 0.0,
        _ => false,
    }
}
