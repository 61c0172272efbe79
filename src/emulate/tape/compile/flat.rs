//! Blocks of more axes than a layout has: their lanes lie in cells as one line, in row-major order.
//!
//! Triton's sorts and flips see a block as a hypercube, one axis of size 2 for every bit of an index. Operations
//! lane by lane do not ask for axes and work on lines as they are; those that name axes are rewritten here:
//! an axis of a line is the middle one of three, and what moves lanes becomes a list of places.

use std::sync::Arc;

use super::*;
use crate::emulate::tape::whole::{Whole, WholeOp};
use crate::kernel::ir::BlockShape;

/// Whether lanes of this shape lie in a line.
pub(super) fn is_flat(shape: &[usize]) -> bool {
    shape.len() > MAX_RANK
}

/// The shape in which a block lies in its cell.
pub fn held(shape: &[usize]) -> BlockShape {
    if is_flat(shape) { SmallVec::from_elem(shape.iter().product(), 1) } else { SmallVec::from_slice(shape) }
}

/// An axis in the middle: what is before it, itself, what is behind it.
fn around(shape: &[usize], axis: usize) -> BlockShape {
    SmallVec::from_slice(&[shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product()])
}

/// For each lane of the result, in row-major order, the place of a source lane whose strides along the
/// result's axes are given.
fn places(shape: &[usize], strides: &[usize]) -> Arc<[u32]> {
    let numel: usize = shape.iter().product();
    let mut index = vec![0usize; shape.len()];
    let mut at = 0usize;
    let mut out = Vec::with_capacity(numel);
    for _ in 0..numel {
        out.push(at as u32);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    out.into()
}

/// Row-major strides; axes of size 1 repeat.
fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![0; shape.len()];
    let mut stride = 1;
    for axis in (0..shape.len()).rev() {
        strides[axis] = if shape[axis] == 1 { 0 } else { stride };
        stride *= shape[axis];
    }
    strides
}

impl Builder<'_> {
    /// An instruction of which some block lies in a line; `None` where that changes nothing.
    pub(super) fn flat(&mut self, inst: &Inst) -> Option<diag::Result<()>> {
        let kernel = self.kernel;
        let flat = |v: Value| is_flat(&kernel.ty(v).shape);
        if !walk::operands(&inst.kind).into_iter().any(flat) && !inst.results.iter().any(|&r| flat(r)) {
            return None;
        }
        let result = *inst.results.first()?;
        let shape = kernel.ty(result).shape.clone();
        let span = inst.span;
        let form = if let InstKind::Splat(v) = &inst.kind {
            let slot = self.cell(*v);
            self.splat(slot, kernel.ty(result).elem, &held(&shape), span)
        } else if let InstKind::Constant(literal) = &inst.kind {
            let elem = kernel.ty(result).elem;
            let slot = self.place.pure(Code::Constant(*literal, elem), true, span);
            self.splat(slot, elem, &held(&shape), span)
        } else if let InstKind::Reshape(v) | InstKind::ExpandDims { value: v, axis: _ } = &inst.kind {
            let slot = self.cell(*v);
            self.regrouped(slot, &held(&shape), span)
        } else if let InstKind::Broadcast(v) = &inst.kind {
            let list = places(&shape, &strides(&kernel.ty(*v).shape));
            self.picked(*v, list, &shape, span)
        } else if let InstKind::Trans { value, order } = &inst.kind {
            let from = strides(&kernel.ty(*value).shape);
            let along: Vec<usize> = order.iter().map(|&axis| from[axis as usize]).collect();
            self.picked(*value, places(&shape, &along), &shape, span)
        } else if let InstKind::Gather { source, index, axis } = &inst.kind {
            let axis = *axis as usize;
            let shapes = [*source, *index].map(|v| around(&kernel.ty(v).shape, axis));
            let slot = self.whole_of(WholeOp::Gather(1), &[*source, *index], &shapes, kernel.ty(result).elem, &shapes[1], span);
            self.regrouped(slot, &held(&shape), span)
        } else if let InstKind::Join(a, b) = &inst.kind {
            let line = SmallVec::from_slice(&[kernel.ty(*a).numel()]);
            let both = SmallVec::from_slice(&[kernel.ty(*a).numel(), 2]);
            let shapes = [line.clone(), line];
            let slot = self.whole_of(WholeOp::Join, &[*a, *b], &shapes, kernel.ty(result).elem, &both, span);
            self.regrouped(slot, &held(&shape), span)
        } else if let InstKind::Split(v) = &inst.kind {
            let both: BlockShape = SmallVec::from_slice(&[kernel.ty(*v).numel() / 2, 2]);
            let line = SmallVec::from_slice(&[kernel.ty(*v).numel() / 2]);
            for (half, &result) in inst.results.iter().enumerate() {
                let shapes = [both.clone()];
                let slot = self.whole_of(WholeOp::Half(half), &[*v], &shapes, kernel.ty(result).elem, &line, span);
                let form = self.regrouped(slot, &held(&shape), span);
                self.forms.insert(result, form);
            }
            return Some(Ok(()));
        } else if let InstKind::Reduce { operands, axis, combine } = &inst.kind {
            return Some(self.flat_lines(inst, operands, *axis as usize, |builder, lines, at, results| {
                builder.reduce_lines(lines, at, combine, results, span)
            }));
        } else if let InstKind::Scan { operands, axis, reverse, combine } = &inst.kind {
            return Some(self.flat_lines(inst, operands, *axis as usize, |builder, lines, at, results| {
                builder.scan_lines(lines, at, *reverse, combine, results, span)
            }));
        } else {
            return None;
        };
        self.forms.insert(result, form);
        Some(Ok(()))
    }

    fn regrouped(&mut self, slot: Slot, shape: &BlockShape, span: Span) -> Form {
        let scalar = self.place.is_scalar(slot);
        Form::Cell(self.place.pure(Code::Reshape(slot, shape.clone()), scalar, span))
    }

    /// The halves along an axis of size 2, exchanged.
    pub(super) fn swapped(&mut self, value: Value, axis: usize, span: Span) -> Form {
        let shape = self.kernel.ty(value).shape.clone();
        let inner: usize = shape[axis + 1..].iter().product();
        let list: Arc<[u32]> = (0..self.kernel.ty(value).numel()).map(|place| (place ^ inner) as u32).collect();
        self.picked(value, list, &shape, span)
    }

    /// Lanes at given places, as a block that is held in a line or not.
    pub(super) fn picked(&mut self, value: Value, places: Arc<[u32]>, shape: &[usize], span: Span) -> Form {
        let ty = self.kernel.ty(value).clone();
        let slot = self.cell(value);
        if self.place.is_scalar(slot) && self.place.lazy {
            return Form::Cell(slot);
        }
        let whole = Whole {
            op: WholeOp::Pick(places),
            operands: vec![slot],
            elems: vec![ty.elem],
            shapes: vec![held(&ty.shape)],
            result: ty.elem,
            result_shape: held(shape),
        };
        Form::Cell(self.place.pure(Code::Whole(Box::new(whole)), false, span))
    }

    /// An operation on operands seen in other shapes of as many lanes.
    fn whole_of(
        &mut self,
        op: WholeOp,
        operands: &[Value],
        shapes: &[BlockShape],
        result: Elem,
        result_shape: &BlockShape,
        span: Span,
    ) -> Slot {
        let mut slots = Vec::with_capacity(operands.len());
        for (&value, shape) in operands.iter().zip(shapes) {
            let slot = self.cell(value);
            let scalar = self.place.is_scalar(slot);
            slots.push(self.place.pure(Code::Reshape(slot, shape.clone()), scalar, span));
        }
        let whole = Whole {
            op,
            operands: slots,
            elems: operands.iter().map(|&v| self.kernel.ty(v).elem).collect(),
            shapes: shapes.to_vec(),
            result,
            result_shape: result_shape.clone(),
        };
        self.place.pure(Code::Whole(Box::new(whole)), false, span)
    }

    /// A reduction or scan along the middle one of three axes.
    fn flat_lines(
        &mut self,
        inst: &Inst,
        operands: &[Value],
        axis: usize,
        run: impl FnOnce(&mut Self, Lines, usize, Vec<Slot>) -> diag::Result<()>,
    ) -> diag::Result<()> {
        let kernel = self.kernel;
        let shape = around(&kernel.ty(operands[0]).shape, axis);
        let elems = operands.iter().map(|&v| kernel.ty(v).elem).collect();
        let mut slots = Vec::with_capacity(operands.len());
        for &value in operands {
            let slot = self.cell(value);
            let scalar = self.place.is_scalar(slot);
            slots.push(self.place.pure(Code::Reshape(slot, shape.clone()), scalar, inst.span));
        }
        let current = self.place.current;
        let raw: Vec<Slot> = inst.results.iter().map(|_| self.place.local(current, false)).collect();
        run(self, Lines { slots, elems, shape }, 1, raw.clone())?;
        for (&result, slot) in inst.results.iter().zip(raw) {
            let form = self.regrouped(slot, &held(&kernel.ty(result).shape), inst.span);
            self.forms.insert(result, form);
        }
        Ok(())
    }
}

/// Operands of a reduction or scan.
pub(super) struct Lines {
    pub slots: Vec<Slot>,
    pub elems: Vec<Elem>,
    pub shape: BlockShape,
}
