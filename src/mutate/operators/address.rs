//! Addresses of loads and stores with a term left out.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::{Site, mentions};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind};

pub const TERM: Operator = Operator { name: "address term", what: "an address without one of its terms", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for call in site.calls(&["load", "store"]) {
        let Some(mut sum) = call.args.first() else { continue };
        while let ExprKind::Binary(BinaryOp::Add, rest, _) = &sum.kind {
            found.push(Edit::new(sum.span, site.text(rest.span)));
            sum = rest;
            // The first term behind the pointer: the second one takes its place.
            if let ExprKind::Binary(BinaryOp::Add, first, second) = &sum.kind
                && is_pointer(first)
            {
                found.push(Edit::new(sum.span, site.text(first.span)));
                let _ = second;
                break;
            }
        }
    }
    found.dedup();
    found
}

fn is_pointer(expr: &Expr) -> bool {
    expr.as_name().is_some_and(|name| name.ends_with("_ptr")) && mentions(expr, |_| true)
}
