//! Flat numbers taken apart wrongly: program ids and flattened indices.

use super::{KERNEL, Operator, is_size};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::{BinaryOp, ExprKind};

pub const PROGRAM_ID: Operator =
    Operator { name: "decoding", what: "`//` for `%`, a wrap left out, another grid axis", parts: KERNEL, edits: program_id };
pub const DIVISOR: Operator =
    Operator { name: "divisor", what: "the size of another axis in a decoding", parts: KERNEL, edits: divisor };

fn program_id(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for (whole, op, a, b) in site.binaries() {
        match op {
            BinaryOp::FloorDiv => found.extend(site.operator(a, b, "//", "%")),
            BinaryOp::Mod => {
                found.extend(site.operator(a, b, "%", "//"));
                found.push(site.keep(whole, a));
            }
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Pow
            | BinaryOp::MatMul
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::Shl
            | BinaryOp::Shr => {}
        }
    }
    for call in site.calls(&["program_id", "num_programs"]) {
        if let [axis] = call.args
            && let ExprKind::Int(0) = axis.kind
        {
            found.push(Edit::new(axis.span, "1"));
        }
    }
    found
}

fn divisor(site: &Site) -> Vec<Edit> {
    let local = |name: &str| name.starts_with("tiles_");
    let (sizes, tiles) = (site.names(is_size), site.names(local));
    let blocks = |name: &str| name.starts_with('B') && name.len() <= 2;
    let mut found = Vec::new();
    for (_, op, _, b) in site.binaries() {
        if !matches!(op, BinaryOp::FloorDiv | BinaryOp::Mod) {
            continue;
        }
        match &b.kind {
            ExprKind::Name(name) => {
                let pool = if local(name) { &tiles } else { &sizes };
                let same: Vec<&str> =
                    pool.iter().copied().filter(|n| n.contains('_') == name.contains('_') && !blocks(n)).collect();
                let next = same.iter().position(|n| n == name).map(|i| same[(i + 1) % same.len()]);
                found.extend(next.filter(|n| n != name).map(|n| Edit::new(b.span, n)));
            }
            ExprKind::Binary(BinaryOp::Mul, first, second) => {
                found.push(site.keep(b, first));
                found.push(site.keep(b, second));
            }
            _ => {}
        }
    }
    found
}
