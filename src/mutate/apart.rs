//! Layouts in which every operand lies apart in its storage, differently from every other operand.
//!
//! What a plan makes of slices and transposes has gaps and strides of its own; what it makes of dense
//! values of one shape has the same strides everywhere, so that a stride of another operand, or none,
//! is no mistake there. Weights are prepared dense and stay so. Strides are large enough that an
//! offset in 8 bits wraps along every axis of more than one element, which costs storage, not elements;
//! the storage ends with the last element, so that whoever reads past it is seen.
//!
//! Not caught: mistakes that only negative strides, strides of 0 or operands in one storage show.

use crate::graph::{Graph, Producer, ValueId};
use crate::shape::Strides;
use crate::template::Layout;

/// How operands lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    pub name: &'static str,
    /// The innermost stride is 1: a slice of parts of rows, not one with steps.
    unit: bool,
    /// The axes of what is read stand the other way round than those of what is written.
    reversed: bool,
    /// The first element is not the storage's.
    inside: bool,
}

impl Apart {
    pub const ALL: [Apart; 5] = [
        Apart { name: "lying in steps", unit: false, reversed: false, inside: false },
        Apart { name: "lying in steps, from inside", unit: false, reversed: false, inside: true },
        Apart { name: "lying in parts of rows", unit: true, reversed: false, inside: true },
        Apart { name: "lying in parts of columns", unit: true, reversed: true, inside: false },
        Apart { name: "lying in parts of columns, from inside", unit: true, reversed: true, inside: true },
    ];

    /// The layout of a value that a plan lays out as `dense` (a view of it, perhaps).
    pub fn layout(self, graph: &Graph, value: ValueId, dense: &Layout) -> Layout {
        if graph.is_prepared(value) {
            return dense.clone();
        }
        let number = graph.values().position(|(v, _)| v == value).unwrap_or(0);
        let mut axes: Vec<usize> = (0..dense.shape.len()).collect();
        axes.sort_by_key(|&axis| (dense.strides[axis].unsigned_abs(), std::cmp::Reverse(axis)));
        if self.reversed && matches!(graph.value(value).producer, Producer::Input(_)) {
            axes.reverse();
        }
        let offset = if self.inside { 5 + 2 * number } else { 0 };
        spread(dense, &axes, self.unit, number, offset)
    }
}

/// Strides for axes, innermost first: each leaves a gap behind the one before it.
pub fn spread(dense: &Layout, axes: &[usize], unit: bool, number: usize, offset: usize) -> Layout {
    /// Offsets of 8 bits end below it.
    const WRAPS: usize = 128;
    let mut strides: Strides = dense.strides.clone();
    let (mut taken, mut first, mut last) = (1, unit, 0);
    for &axis in axes {
        let size = dense.shape[axis];
        let wrapping = if size > 1 { WRAPS.div_ceil(size - 1) } else { 1 };
        let step = if first { 1 } else { taken.max(wrapping) + 1 + number };
        strides[axis] = step as i64;
        last += step * size.saturating_sub(1);
        taken = step * size;
        first &= size == 1;
    }
    let apart = Layout { shape: dense.shape.clone(), strides, offset: offset as i64, storage: offset + last + 1 };
    // Of one axis with more than one element, innermost and from the first: nothing lies apart.
    if apart.is_contiguous() { dense.clone() } else { apart }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_has_a_gap_and_the_storage_ends_with_the_last_element() {
        let dense = Layout::contiguous(&[3, 1, 20]);
        let rows = spread(&dense, &[2, 1, 0], true, 0, 5);
        assert_eq!((rows.strides.as_slice(), rows.offset, rows.storage), (&[65, 21, 1][..], 5, 5 + 19 + 130 + 1));
        let steps = spread(&dense, &[0, 1, 2], false, 2, 0);
        assert_eq!((steps.strides.as_slice(), steps.storage), (&[67, 204, 207][..], 134 + 19 * 207 + 1));
    }
}
