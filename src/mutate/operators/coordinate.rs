//! One coordinate for another: `p` where `q` belongs.

use super::{KERNEL, Operator, is_size, is_stride};
use crate::mutate::mutation::Edit;
use crate::mutate::site::{Site, target};
use crate::syntax::ast::ExprKind;
use crate::syntax::walk::each_stmt;

pub const SWAPPED: Operator =
    Operator { name: "coordinate swapped", what: "another coordinate in an index or mask", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let coordinates = coordinates(site);
    let mut found = Vec::new();
    for expr in site.exprs() {
        let ExprKind::Name(name) = &expr.kind else { continue };
        if target(site.stmt) == Some(name) || !coordinates.contains(name) {
            continue;
        }
        let at = coordinates.iter().position(|c| c == name).unwrap_or(0);
        let other = &coordinates[(at + 1) % coordinates.len()];
        if other != name && defined_before(site, other) {
            found.push(Edit::new(expr.span, other.as_str()));
        }
    }
    found
}

/// Local names of the function that hold indices: lower case, at most two letters, assigned in it.
fn coordinates(site: &Site) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    each_stmt(&site.function.body, &mut |stmt| {
        if let Some(name) = target(stmt)
            && name.len() <= 2
            && !is_size(name)
            && !is_stride(name)
            && is_index(site, stmt)
            && !found.iter().any(|known| known == name)
        {
            found.push(name.to_owned());
        }
    });
    found
}

/// Whether what is assigned is made of program ids, ranges and sizes alone: no load, no call of
/// arithmetic.
fn is_index(site: &Site, stmt: &crate::syntax::ast::Stmt) -> bool {
    let other = Site { stmt, ..*site };
    other.calls(&["load", "sum", "max", "exp", "zeros", "full", "where", "dot", "to", "div_rn", "maximum", "sqrt_rn"]).is_empty()
        && other.exprs().iter().all(|e| !matches!(e.kind, ExprKind::Float(_)))
        && !other.exprs().iter().any(|e| e.as_name().is_some_and(|n| matches!(n, "x" | "a" | "y")))
}

fn defined_before(site: &Site, name: &str) -> bool {
    let mut defined = false;
    each_stmt(&site.function.body, &mut |stmt| {
        defined |= stmt.span.end <= site.stmt.span.start && target(stmt) == Some(name);
    });
    defined
}
