//! Masks: left out, one condition of several left out, the wrong way round.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::BinaryOp;

pub const MISSING: Operator =
    Operator { name: "mask missing", what: "a load or store without its mask", parts: KERNEL, edits: missing };
pub const TERM: Operator =
    Operator { name: "mask term", what: "one condition of a conjunction left out", parts: KERNEL, edits: term };
pub const NEGATED: Operator = Operator { name: "mask negated", what: "`mask=~(…)`", parts: KERNEL, edits: negated };

fn missing(site: &Site) -> Vec<Edit> {
    let calls = site.calls(&["load", "store"]);
    let edit = |call: &crate::mutate::site::Call| {
        let mask = call.keyword("mask")?;
        // `other` without a mask is refused by Triton: whoever forgets one forgets both.
        let span = call.keyword("other").map_or(mask.span, |other| mask.span.to(other.span));
        Some(site.without(span))
    };
    calls.iter().filter_map(edit).collect()
}

fn term(site: &Site) -> Vec<Edit> {
    let conjunctions = site.binaries().into_iter().filter(|(_, op, _, _)| *op == BinaryOp::BitAnd);
    conjunctions.flat_map(|(whole, _, a, b)| [site.keep(whole, a), site.keep(whole, b)]).collect()
}

fn negated(site: &Site) -> Vec<Edit> {
    let masks = site.calls(&["load", "store"]).into_iter().filter_map(|call| call.keyword("mask"));
    masks.map(|mask| Edit::new(mask.value.span, format!("~({})", site.text(mask.value.span)))).collect()
}
