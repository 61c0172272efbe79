//! Integer operations on masks.

use super::elementwise::{common_layout, reorder, united_taints};
use super::int::{lane, scalar};
use crate::emulate::value::{Cell, MaskBlock, MaskLanes, Scalar, taint};
use crate::kernel::ir::{Elem, IntBinary};

/// The clean value that decides a result by itself.
fn decisive(op: IntBinary) -> Option<u8> {
    match op {
        IntBinary::And => Some(0),
        IntBinary::Or => Some(1),
        _ => None,
    }
}

/// The flags of an operation on two truth values, its own aside.
pub fn united(op: IntBinary, x: Scalar<i64>, y: Scalar<i64>) -> u8 {
    let decides = |s: Scalar<i64>| s.taint == 0 && decisive(op) == Some((s.value & 1) as u8);
    if decides(x) || decides(y) { 0 } else { x.taint | y.taint }
}

/// Operations on masks. In `and` and `or` a clean lane that decides the result by itself (`false and _`,
/// `true or _`) hides the other operand's taint.
pub fn binary(op: IntBinary, a: &Cell, b: &Cell) -> Cell {
    if let (Cell::Mask(x), Cell::Mask(y), IntBinary::And | IntBinary::Mul) = (a, b, op)
        && let (MaskLanes::Range { from: f, to: t }, MaskLanes::Range { from: g, to: u }) = (&x.lanes, &y.lanes)
        && x.taints.is_none()
        && y.taints.is_none()
    {
        let from = *f.max(g);
        return Cell::Mask(MaskBlock::range(x.layout.size(0), from, from.max(*t.min(u))));
    }
    let layout = common_layout(&[a, b]).expect("invariant: one operand is a block");
    let side = |cell: &Cell| -> Vec<u8> {
        match cell {
            Cell::Mask(block) => reorder(block.values(), &block.layout, &layout).into_owned(),
            other => vec![(scalar(other).value & 1) as u8; layout.stored()],
        }
    };
    let (x, y) = (side(a), side(b));
    let clean = a.taints().is_none() && b.taints().is_none() && a.scalar_taint() == 0 && b.scalar_taint() == 0;
    let decisive = decisive(op);
    let bits: fn(u8, u8) -> u8 = match op {
        IntBinary::And => |x, y| x & y,
        IntBinary::Or => |x, y| x | y,
        IntBinary::Xor => |x, y| x ^ y,
        IntBinary::Add
        | IntBinary::Sub
        | IntBinary::Mul
        | IntBinary::DivS
        | IntBinary::DivU
        | IntBinary::RemS
        | IntBinary::RemU
        | IntBinary::Shl
        | IntBinary::ShrS
        | IntBinary::ShrU
        | IntBinary::MinS
        | IntBinary::MinU
        | IntBinary::MaxS
        | IntBinary::MaxU
        | IntBinary::MulHiU => {
            let (out, new): (Vec<u8>, Vec<u8>) = x
                .iter()
                .zip(&y)
                .map(|(&x, &y)| {
                    let (value, flag) = lane(op, Elem::I1, x.into(), y.into());
                    (value as u8, flag)
                })
                .unzip();
            let mut taints = united_taints(&[a, b], &layout).unwrap_or_else(|| vec![0; out.len()]);
            taints.iter_mut().zip(new).for_each(|(t, flag)| *t |= flag);
            return Cell::Mask(MaskBlock::dense(layout, out, taint::seal(taints)));
        }
    };
    let out: Vec<u8> = x.iter().zip(&y).map(|(&x, &y)| bits(x, y)).collect();
    let flags = |cell: &Cell| united_taints(&[cell], &layout).unwrap_or_else(|| vec![0; out.len()]);
    let taints = if clean {
        None
    } else {
        let (p, q) = (flags(a), flags(b));
        let decides = |value: u8, flag: u8| flag == 0 && decisive == Some(value);
        let flag = |i: usize| if decides(x[i], p[i]) || decides(y[i], q[i]) { 0 } else { p[i] | q[i] };
        taint::seal((0..out.len()).map(flag).collect())
    };
    Cell::Mask(MaskBlock::dense(layout, out, taints))
}
