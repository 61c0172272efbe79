//! One arithmetic operator for another, in indices and in values.

use super::{KERNEL, Operator, RUNNER};
use crate::mutate::mutation::Edit;
use crate::mutate::site::{Part, Site};
use crate::syntax::ast::BinaryOp;

pub const OPERATOR: Operator = Operator { name: "arithmetic", what: "`-` for `+`, `+` for `*`, and back", parts: PARTS, edits };

const PARTS: &[Part] = &[KERNEL[0], RUNNER[0]];

fn edits(site: &Site) -> Vec<Edit> {
    let swap = |op: BinaryOp| match op {
        BinaryOp::Add => Some(("+", "-")),
        BinaryOp::Sub => Some(("-", "+")),
        BinaryOp::Mul => Some(("*", "+")),
        BinaryOp::Div => Some(("/", "*")),
        BinaryOp::BitAnd => Some(("&", "|")),
        BinaryOp::BitOr => Some(("|", "&")),
        BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::Pow | BinaryOp::MatMul => None,
        BinaryOp::BitXor | BinaryOp::Shl | BinaryOp::Shr => None,
    };
    let binaries = site.binaries().into_iter();
    binaries.filter_map(|(_, op, a, b)| swap(op).and_then(|(from, to)| site.operator(a, b, from, to))).collect()
}
