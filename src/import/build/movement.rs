//! Slices, concatenation, padding, gathering: Maps that move elements.

use super::{Failure, Operand, Site};
use crate::dtype::DType;
use crate::expr::index::Index;
use crate::expr::{Compare, Constant, Expr, ExprBuilder, Node};
use crate::graph::Role;
use crate::graph::op::{Access, Map, Op, OutOfBounds};
use crate::shape::{Shape, display};
use crate::tensor::{Storage, Tensor};

/// What a slice keeps of one axis: `count` elements from `start` on, `step` apart (it may be negative).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub start: i64,
    pub step: i64,
    pub count: usize,
}

impl Part {
    /// A whole axis.
    pub fn whole(size: usize) -> Part {
        Part { start: 0, step: 1, count: size }
    }

    /// `start:end:step` of an axis, clamped as numpy does.
    pub fn clamped(size: usize, start: i64, end: i64, step: i64) -> Result<Part, Failure> {
        let size = i128::try_from(size).unwrap_or(i128::MAX);
        let wide = i128::from(step);
        if step == 0 {
            return Err(Failure::invalid("a step is 0"));
        }
        let resolve = |at: i64, low: i128, high: i128| {
            let at = i128::from(at);
            (if at < 0 { at + size } else { at }).clamp(low, high)
        };
        let (start, end) = if step > 0 {
            (resolve(start, 0, size), resolve(end, 0, size))
        } else {
            (resolve(start, -1, size - 1), resolve(end, -1, size - 1))
        };
        let distance = if step > 0 { end - start } else { start - end };
        let count = if distance <= 0 { 0 } else { (distance - 1) / wide.abs() + 1 };
        Ok(Part { start: start.max(0) as i64, step, count: count as usize })
    }
}

impl Site<'_> {
    /// The parts of every axis; the operand itself when they are whole.
    pub fn slice(&mut self, x: Operand, parts: &[Part]) -> Result<Operand, Failure> {
        let ty = self.ty(&x);
        if parts.iter().zip(&ty.shape).all(|(&part, &size)| part == Part::whole(size)) {
            return Ok(x);
        }
        let index = |(axis, part): (usize, &Part)| {
            let dim = Index::Dim(axis);
            let dim = if part.step == 1 { dim } else { Index::Mul(Box::new(dim), part.step) };
            shifted(dim, part.start)
        };
        let access = Access { input: 0, index: parts.iter().enumerate().map(index).collect(), oob: OutOfBounds::InBounds };
        let dims = parts.iter().map(|part| part.count).collect();
        let label = "slice".to_owned();
        self.emit(Op::Map(Map { label, dims, reads: vec![access], body: Expr::read(0, ty.dtype) }), &[x])
    }

    /// The operands one after the other along an axis: a Map that reads each shifted by where it begins and
    /// selects by the coordinate. An operand without elements along the axis takes no part.
    pub fn concat(&mut self, mut operands: Vec<Operand>, axis: usize) -> Result<Operand, Failure> {
        let dtype = self.common_dtype(&operands)?;
        let is_empty = |o: &Operand| self.shape(o).get(axis) == Some(&0);
        if !operands.iter().all(is_empty) {
            operands.retain(|operand| !is_empty(operand));
        }
        let first = self.shape(&operands[0]);
        if operands.len() == 1 {
            return Ok(operands.remove(0));
        }
        let mut reads = Vec::new();
        let mut ends = Vec::new();
        let mut begin = 0usize;
        for (input, operand) in operands.iter().enumerate() {
            let shape = self.shape(operand);
            let same = |i: usize| i == axis || shape[i] == first[i];
            if shape.len() != first.len() || !(0..first.len()).all(same) {
                return Err(Failure::shapes(format!(
                    "{} and {} differ in more than axis {axis}",
                    display(&first),
                    display(&shape)
                )));
            }
            let at = |i| if i == axis { shifted(Index::Dim(i), -(begin as i64)) } else { Index::Dim(i) };
            reads.push(Access { input, index: (0..first.len()).map(at).collect(), oob: OutOfBounds::Fill(0.0) });
            begin = begin.checked_add(shape[axis]).ok_or_else(|| Failure::shapes("the sizes along the axis overflow"))?;
            ends.push(begin);
        }
        let mut dims = first;
        dims[axis] = begin;
        let mut b = ExprBuilder::new();
        let coordinate = b.node(Node::Coordinate(axis as u32), DType::I64);
        let last = operands.len() - 1;
        let mut value = b.read(last as u32, dtype);
        for piece in (0..last).rev() {
            let end = b.node(Node::Constant(Constant::Int(ends[piece] as i64)), DType::I64);
            let before = b.compare(Compare::Lt, coordinate, end);
            let read = b.read(piece as u32, dtype);
            value = b.select(before, read, value);
        }
        self.emit(Op::Map(Map { label: "concat".to_owned(), dims, reads, body: b.finish(value) }), &operands)
    }

    /// A constant around the operand, `(before, after)` an axis; negative numbers crop.
    pub fn pad(&mut self, x: Operand, pads: &[(i64, i64)], value: f64) -> Result<Operand, Failure> {
        if pads.iter().all(|&pad| pad == (0, 0)) {
            return Ok(x);
        }
        let ty = self.ty(&x);
        let mut dims = Shape::new();
        let mut index = Vec::new();
        for (axis, &(before, after)) in pads.iter().enumerate() {
            let size = ty.shape[axis] as i128 + i128::from(before) + i128::from(after);
            dims.push(usize::try_from(size).map_err(|_| {
                Failure::shapes(format!("pads {before} and {after} leave nothing of axis {axis} of {}", display(&ty.shape)))
            })?);
            let offset = before.checked_neg().ok_or_else(|| Failure::shapes(format!("pad {before} is out of range")))?;
            index.push(shifted(Index::Dim(axis), offset));
        }
        let access = Access { input: 0, index, oob: OutOfBounds::Fill(ty.dtype.round(value)) };
        let label = "pad".to_owned();
        self.emit(Op::Map(Map { label, dims, reads: vec![access], body: Expr::read(0, ty.dtype) }), &[x])
    }

    /// y[…, i…, …] = data[…, indices[i…], …] along an axis. Negative indices count from the end; an index outside
    /// the axis is an error of the model's user, told here when it is known.
    pub fn gather(&mut self, data: Operand, indices: Operand, axis: usize) -> Result<Operand, Failure> {
        let (ty, chosen) = (self.ty(&data), self.ty(&indices));
        if !matches!(chosen.dtype, DType::I64 | DType::I32) {
            return Err(Failure::invalid(format!("indices have element type {}", chosen.dtype)));
        }
        let (size, rank) = (ty.shape[axis], chosen.shape.len());
        let dims: Shape = ty.shape[..axis].iter().chain(&chosen.shape).chain(&ty.shape[axis + 1..]).copied().collect();
        let lanes = indices.known().and_then(Tensor::as_i64).map(<[i64]>::to_vec);
        let length = size as i64;
        if let Some(&outside) = lanes.as_ref().and_then(|lanes| lanes.iter().find(|&&i| i < -length || i >= length)) {
            return Err(Failure::shapes(format!("index {outside} is outside axis {axis} of size {size}")));
        }
        let along = |index: Index| -> Vec<Index> {
            let before = (0..axis).map(Index::Dim);
            let after = (axis + 1..ty.shape.len()).map(|i| Index::Dim(i - 1 + rank));
            before.chain([index]).chain(after).collect()
        };
        let read = |input, index| Access { input, index, oob: OutOfBounds::InBounds };
        let label = "gather".to_owned();
        if let Some(&[index]) = lanes.as_deref() {
            let access = read(0, along(Index::Constant(index.rem_euclid(length))));
            return self.emit(Op::Map(Map { label, dims, reads: vec![access], body: Expr::read(0, ty.dtype) }), &[data]);
        }
        let (indices, index) = match lanes {
            Some(lanes) if lanes.iter().all(|&i| i >= 0) => (indices, Index::Read(0)),
            Some(lanes) => {
                let lanes = lanes.iter().map(|i| i.rem_euclid(length)).collect();
                (self.known("indices", Tensor::new(chosen.dtype, chosen.shape, Storage::I64(lanes))), Index::Read(0))
            }
            // The remainder turns an index from the end into one from the beginning.
            None => (self.set_entering_role(&indices, Role::IndexBelow(size)), Index::Mod(Box::new(Index::Read(0)), length)),
        };
        let reads = vec![read(0, (axis..axis + rank).map(Index::Dim).collect()), read(1, along(index))];
        self.emit(Op::Map(Map { label, dims, reads, body: Expr::read(1, ty.dtype) }), &[indices, data])
    }
}

/// `index + offset`.
fn shifted(index: Index, offset: i64) -> Index {
    if offset == 0 { index } else { Index::Add(Box::new(index), Box::new(Index::Constant(offset))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numpys() {
        let of = |size, start, end, step| Part::clamped(size, start, end, step).ok().map(|p| (p.start, p.count));
        assert_eq!(of(5, 1, 3, 1), Some((1, 2)));
        assert_eq!(of(5, -2, i64::MAX, 1), Some((3, 2)));
        assert_eq!(of(5, 0, -1, 2), Some((0, 2)));
        assert_eq!(of(5, -1, i64::MIN, -1), Some((4, 5)));
        assert_eq!(of(5, 3, 0, -2), Some((3, 2)));
        assert_eq!(of(5, 4, 2, 1), Some((4, 0)));
        assert_eq!(of(5, 9, 99, 1), Some((5, 0)));
        assert_eq!(of(5, 0, 5, 0), None);
    }
}
