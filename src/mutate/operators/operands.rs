//! Operands in the wrong order, where order matters.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::BinaryOp;

pub const SWAPPED: Operator =
    Operator { name: "operands swapped", what: "`b - a`, `div_rn(b, a)`, `dot(b, a)`, exchanged branches", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for (whole, op, a, b) in site.binaries() {
        let sign = match op {
            BinaryOp::Sub => "-",
            BinaryOp::Div => "/",
            BinaryOp::FloorDiv => "//",
            BinaryOp::Mod => "%",
            _ => continue,
        };
        found.push(Edit::new(whole.span, format!("{} {sign} {}", site.grouped(b), site.grouped(a))));
    }
    for call in site.calls(&["dot", "div_rn", "fdiv", "cdiv"]) {
        if let [a, b] = call.args {
            found.push(site.exchange(a, b));
        }
    }
    for call in site.calls(&["where"]) {
        if let [_, a, b] = call.args {
            found.push(site.exchange(a, b));
        }
    }
    found
}
