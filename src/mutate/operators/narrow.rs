//! Flat indices and offsets in too narrow an integer. Unit shapes fit 32 bits easily, so the slip is
//! made in 8: what is tested is whether a wrapped index is noticed, whatever its width. A coordinate
//! along one axis is no candidate: an axis has fewer elements than 32 bits count.

use super::{KERNEL, Operator, is_stride};
use crate::mutate::mutation::Edit;
use crate::mutate::site::{Site, target};
use crate::syntax::ast::{BinaryOp, StmtKind};
use crate::syntax::walk::each_stmt;

pub const INDEX: Operator = Operator {
    name: "integer narrowed",
    what: "a flat index or offset in int8 (as in int32 at real sizes)",
    parts: KERNEL,
    edits,
};

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    let cast = |text: &str| format!("({text}).to(tl.int8)");
    if let StmtKind::Assign { targets: _, value } = &site.stmt.kind
        && !site.calls(&["arange"]).is_empty()
        && site.calls(&["load"]).is_empty()
        && target(site.stmt).is_some_and(|name| is_flat(site, name))
    {
        found.push(Edit::new(value.span, cast(site.text(value.span))));
    }
    for (whole, op, _, b) in site.binaries() {
        if op == BinaryOp::Mul && b.as_name().is_some_and(is_stride) {
            found.push(Edit::new(whole.span, cast(site.text(whole.span))));
        }
    }
    found
}

/// Whether a name is a flat index: it is taken apart, or added to a pointer as it is.
fn is_flat(site: &Site, name: &str) -> bool {
    let mut flat = false;
    each_stmt(&site.function.body, &mut |stmt| {
        for (_, op, a, b) in (Site { stmt, ..*site }).binaries() {
            let taken_apart = matches!(op, BinaryOp::FloorDiv | BinaryOp::Mod) && a.as_name() == Some(name);
            let added = op == BinaryOp::Add && b.as_name() == Some(name) && a.as_name().is_some_and(|p| p.ends_with("_ptr"));
            flat |= taken_apart || added;
        }
    });
    flat
}
