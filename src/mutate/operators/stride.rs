//! Run-time strides: that of another axis, that of another operand's same axis, none.

use super::{KERNEL, Operator, is_stride, stride_owner};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::BinaryOp;

pub const SWAPPED: Operator =
    Operator { name: "stride swapped", what: "another axis's or another operand's stride", parts: KERNEL, edits: swapped };
pub const DROPPED: Operator =
    Operator { name: "stride dropped", what: "an index without its stride", parts: KERNEL, edits: dropped };

fn swapped(site: &Site) -> Vec<Edit> {
    // At a call of a helper the order is `arguments`' to break.
    if !site.calls(&["load", "store"]).iter().any(|_| true) {
        return Vec::new();
    }
    let strides = site.names(is_stride);
    let mut found = Vec::new();
    for expr in site.exprs() {
        let Some(name) = expr.as_name().filter(|name| is_stride(name)) else { continue };
        let own: Vec<&str> = strides.iter().copied().filter(|s| stride_owner(s) == stride_owner(name)).collect();
        let next = own.iter().position(|s| *s == name).map(|i| own[(i + 1) % own.len()]);
        let axis = name.rsplit('_').next().unwrap_or_default();
        let foreign =
            strides.iter().copied().find(|s| stride_owner(s) != stride_owner(name) && s.rsplit('_').next() == Some(axis));
        found.extend([next, foreign].into_iter().flatten().filter(|s| *s != name).map(|s| Edit::new(expr.span, s)));
    }
    found
}

fn dropped(site: &Site) -> Vec<Edit> {
    let products = site.binaries().into_iter().filter(|(_, op, _, _)| *op == BinaryOp::Mul);
    let stride = |name: &str| is_stride(name) || name.starts_with("STRIDE_");
    products
        .filter_map(|(whole, _, a, b)| {
            let (left, right) = (a.as_name().is_some_and(stride), b.as_name().is_some_and(stride));
            match (left, right) {
                (false, true) => Some(site.keep(whole, a)),
                (true, false) => Some(site.keep(whole, b)),
                (true, true) | (false, false) => None,
            }
        })
        .collect()
}
