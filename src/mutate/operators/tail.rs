//! A division that rounds down where the last, partial block needs one more.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;

pub const DROPPED: Operator = Operator { name: "tail dropped", what: "`a // b` for `tl.cdiv(a, b)`", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let calls = site.calls(&["cdiv"]);
    let edit = |call: &crate::mutate::site::Call| {
        let [a, b] = call.args else { return None };
        Some(Edit::new(call.expr.span, format!("({} // {})", site.grouped(a), site.grouped(b))))
    };
    calls.iter().filter_map(edit).collect()
}
