//! Operations that move no value: splat, expand_dims, broadcast, trans, reshape. All but a reshape
//! of lanes that are not in row-major order only write a new layout.

use std::borrow::Cow;
use std::sync::Arc;

use super::elementwise::reorder;
use crate::emulate::value::{Cell, FloatBlock, Floats, IntBlock, Layout, MaskBlock, Pool, PtrBlock, Taints};
use crate::kernel::ir::Elem;

/// The cell with its lanes in the order of `layout` (of the same shape).
pub fn ordered(cell: &Cell, layout: &Layout) -> Cell {
    let Some(from) = cell.layout().copied() else { return cell.clone() };
    if from.same_order(layout) {
        return cell.clone();
    }
    let taints: Taints =
        cell.taints().as_ref().map(|t| Arc::new(reorder(Cow::Borrowed(t.as_slice()), &from, layout).into_owned()));
    let ints = |block: &IntBlock| IntBlock::dense(*layout, reorder(block.values(), &from, layout).into_owned(), taints.clone());
    match cell {
        Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => cell.clone(),
        Cell::Ints(block) => Cell::Ints(ints(block)),
        Cell::Ptrs(block) => Cell::Ptrs(PtrBlock { arg: block.arg, offsets: ints(&block.offsets) }),
        Cell::Mask(block) => Cell::Mask(MaskBlock::dense(*layout, reorder(block.values(), &from, layout).into_owned(), taints)),
        Cell::Floats(block) => {
            let lanes = match &block.lanes {
                Floats::F32(l) => Floats::F32(Arc::new(reorder(Cow::Borrowed(l.as_slice()), &from, layout).into_owned())),
                Floats::F64(l) => Floats::F64(Arc::new(reorder(Cow::Borrowed(l.as_slice()), &from, layout).into_owned())),
            };
            Cell::Floats(FloatBlock { layout: *layout, lanes, taints })
        }
    }
}

/// The same lanes in row-major order under another shape.
pub fn reshape(cell: &Cell, shape: &[usize], pool: &mut Pool) -> Cell {
    let Some(from) = cell.layout() else { return cell.clone() };
    let row_major = Layout::row_major(&from.shape_vec());
    ordered(cell, &row_major).with_layout(Layout::row_major(shape), pool)
}

/// A scalar as a dense block; blocks with repeated axes get lanes of their own.
pub fn materialise(cell: &Cell, elem: Elem, shape: &[usize], pool: &mut Pool) -> Cell {
    let layout = Layout::row_major(shape);
    let n = layout.numel();
    let taints = |flag: u8| (flag != 0).then(|| Arc::new(vec![flag; n]));
    match cell {
        Cell::Int(s) if elem == Elem::I1 => Cell::Mask(MaskBlock::dense(layout, vec![(s.value & 1) as u8; n], taints(s.taint))),
        Cell::Int(s) => {
            let mut lanes = pool.i64(n);
            lanes.fill(s.value);
            Cell::Ints(IntBlock::dense(layout, lanes, taints(s.taint)))
        }
        Cell::Float(s) if elem == Elem::F64 => {
            Cell::Floats(FloatBlock { layout, lanes: Floats::F64(Arc::new(vec![s.value; n])), taints: taints(s.taint) })
        }
        Cell::Float(s) => {
            let mut lanes = pool.f32(n);
            lanes.fill(s.value as f32);
            Cell::f32_block(layout, lanes, taints(s.taint))
        }
        Cell::Ptr(p) => Cell::Ptrs(PtrBlock { arg: p.arg, offsets: IntBlock::dense(layout, vec![p.offset; n], taints(p.taint)) }),
        block => ordered(block, &layout),
    }
}
