//! Accesses that many operators share: an operand's own coordinates, and broadcasting.

use super::op::{Access, Map, OutOfBounds};
use crate::expr::Expr;
use crate::expr::index::Index;
use crate::shape::Shape;

impl Access {
    /// Operand `input` of shape `operand` read under `dims` by the rules of numpy: axes are aligned
    /// at the right, an axis of size 1 is read at 0.
    pub fn broadcast(input: usize, operand: &[usize], dims: &[usize]) -> Access {
        let skip = dims.len() - operand.len();
        let index = operand
            .iter()
            .enumerate()
            .map(|(i, &size)| if size == dims[skip + i] { Index::Dim(skip + i) } else { Index::Constant(0) });
        Access { input, index: index.collect(), oob: OutOfBounds::InBounds }
    }

    /// Whether the operand is read at the coordinates of an output of this rank.
    pub fn is_identity(&self, rank: usize) -> bool {
        self.oob == OutOfBounds::InBounds
            && self.index.len() == rank
            && self.index.iter().enumerate().all(|(i, index)| *index == Index::Dim(i))
    }
}

impl Map {
    /// A Map that reads each operand once, broadcast to `dims`.
    pub fn pointwise(label: &str, dims: &[usize], operands: &[&[usize]], body: Expr) -> Map {
        let reads = operands.iter().enumerate().map(|(i, shape)| Access::broadcast(i, shape, dims)).collect();
        Map { label: label.to_owned(), dims: Shape::from_slice(dims), reads, body }
    }
}
