//! Padding, stride and dilation of windows: left out, of the wrong sign, of the other axis.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::BinaryOp;

pub const TERM: Operator =
    Operator { name: "padding term", what: "padding added, or left out; dilation left out", parts: KERNEL, edits: term };
pub const AXIS: Operator =
    Operator { name: "padding axis", what: "an attribute of the other spatial axis", parts: KERNEL, edits: axis };

fn term(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for (whole, op, a, b) in site.binaries() {
        let named = |prefix: &str| b.as_name().is_some_and(|name| name.starts_with(prefix));
        match op {
            BinaryOp::Sub if named("PAD_") => {
                found.extend(site.operator(a, b, "-", "+"));
                found.push(site.keep(whole, a));
            }
            BinaryOp::Mul if named("DILATION_") => found.push(site.keep(whole, a)),
            _ => {}
        }
    }
    found
}

fn axis(site: &Site) -> Vec<Edit> {
    let params: Vec<&str> = site.function.params.iter().map(|p| p.name.as_str()).collect();
    // At a call of a helper the order is `arguments`' to break.
    if site.exprs().iter().filter(|e| e.as_name().is_some_and(|n| other_axis(n).is_some())).count() > 4 {
        return Vec::new();
    }
    let swap = |e: &&crate::syntax::ast::Expr| {
        let other = other_axis(e.as_name()?)?;
        params.contains(&other.as_str()).then(|| Edit::new(e.span, other))
    };
    site.exprs().iter().filter_map(swap).collect()
}

/// `PAD_W` for `PAD_H`; also a bare `W` for `H`.
fn other_axis(name: &str) -> Option<String> {
    let (stem, axis) = name.rsplit_once('_').map_or(("", name), |(stem, axis)| (stem, axis));
    let other = match axis {
        "H" => "W",
        "W" => "H",
        _ => return None,
    };
    Some(if stem.is_empty() { other.to_owned() } else { format!("{stem}_{other}") })
}
