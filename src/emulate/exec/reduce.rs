//! `tt.reduce`: a fixed tree along one axis.
//!
//! The tree: while more than one lane is left, lane i is combined with lane i + h, where h is half
//! the number of lanes rounded up (with an odd number, lane h − 1 stays as it is). For powers of two
//! these are pairs n/2 apart, then n/4, …, 1. Every form follows it, so results do not depend on
//! layouts, vectors or threads. A combine function that is one known operation runs as a loop; any
//! other is run by the tape on whole halves at once, all pairs of a level as one block.

use std::borrow::Cow;
use std::sync::Arc;

use super::elementwise::{Side, reorder};
use super::float::{combine_f32, combine_f64, combine_lanes_f32, combine_lanes_f64};
use super::lines::{first_lane, join, slice};
use super::shape::materialise;
use super::{Machine, Step};
use crate::emulate::tape::Reduce;
use crate::emulate::value::round::round_lanes;
use crate::emulate::value::{Cell, FloatBlock, Floats, Layout, Pool, Scalar, taint};
use crate::kernel::ir::FloatBinary;

impl Machine<'_> {
    pub(super) fn reduce(&mut self, reduce: &Reduce) -> Step {
        let n = reduce.shape[reduce.axis];
        if self.pool.lazy
            && let (Some(op), [operand], [result]) = (reduce.known, reduce.operands.as_slice(), reduce.results.as_slice())
            && let Some(cell) = float_reduce(op, reduce, self.state.cells.get(*operand), &mut self.pool)
        {
            self.set(*result, cell);
            return Ok(());
        }
        // Lanes with the reduced axis slowest, so that halves are contiguous.
        let shape = &reduce.shape;
        let rest: usize = shape.iter().product::<usize>() / n.max(1);
        let slowest = Layout::ordered(shape, |i| match shape.len() - 1 - i {
            0 => reduce.axis,
            p if p <= reduce.axis => p - 1,
            p => p,
        });
        let mut lanes: Vec<Cell> = Vec::new();
        for (&slot, &elem) in reduce.operands.iter().zip(&reduce.elems) {
            let cell = super::int::wrapped(self.state.cells.get(slot), elem);
            let full = if cell.layout().is_none() { materialise(&cell, elem, shape, &mut self.pool) } else { cell };
            lanes.push(super::shape::ordered(&full, &slowest).with_layout(Layout::line(n * rest), &mut self.pool));
        }
        let mut count = n;
        while count > 1 {
            let half = count.div_ceil(2);
            let pairs = (count - half) * rest;
            for (i, lane) in lanes.iter().enumerate() {
                let (left, right) = (slice(lane, 0, pairs), slice(lane, half * rest, pairs));
                self.set(reduce.combine.args[i], left);
                self.set(reduce.combine.args[i + lanes.len()], right);
            }
            let back = std::mem::replace(&mut self.state.pc, reduce.combine.start);
            self.resume()?;
            self.state.pc = back;
            for (i, lane) in lanes.iter_mut().enumerate() {
                let elem = reduce.elems[i];
                let combined = super::int::wrapped(self.state.cells.get(reduce.combine.yields[i]), elem);
                let combined = materialise(&combined, elem, &[pairs], &mut self.pool);
                *lane = if pairs == half * rest { combined } else { join(&combined, &slice(lane, pairs, half * rest - pairs)) };
            }
            count = half;
        }
        let out_shape: Vec<usize> = shape.iter().enumerate().filter(|(a, _)| *a != reduce.axis).map(|(_, &s)| s).collect();
        for (lane, &result) in lanes.iter().zip(&reduce.results) {
            let cell = if out_shape.is_empty() {
                first_lane(lane)
            } else {
                lane.with_layout(Layout::row_major(&out_shape), &mut self.pool)
            };
            self.set(result, cell);
        }
        Ok(())
    }
}

/// A known float operation; `None` for operands that this loop does not take.
fn float_reduce(op: FloatBinary, reduce: &Reduce, cell: &Cell, pool: &mut Pool) -> Option<Cell> {
    let Cell::Floats(block) = cell else { return None };
    let (axis, shape) = (reduce.axis, &reduce.shape);
    let n = shape[axis];
    if n == 0 {
        return None;
    }
    let rest = block.layout.numel() / n;
    let out_shape: Vec<usize> = shape.iter().enumerate().filter(|(a, _)| *a != axis).map(|(_, &s)| s).collect();
    let taints = block.taints.as_ref().and_then(|taints| {
        let order = Layout::with_inner(shape, axis);
        let taints = reorder(Cow::Borrowed(taints.as_slice()), &block.layout, &order);
        taint::seal(taints.chunks(n).map(|line| line.iter().fold(0, |a, b| a | b)).collect())
    });
    let elem = reduce.elems[0];
    // The reduced axis fastest: a line a result, halved in place. Else slowest: halves of rows.
    let fastest = block.layout.is_full() && block.layout.inner_axis() == axis && n > 1 || out_shape.is_empty();
    let order = if fastest {
        Layout::with_inner(shape, axis)
    } else {
        Layout::ordered(shape, |i| match shape.len() - 1 - i {
            0 => axis,
            p if p <= axis => p - 1,
            p => p,
        })
    };
    macro_rules! run {
        ($lanes:expr, $take:ident, $combine:ident, $one:ident, $round:expr) => {{
            let lanes = reorder(Cow::Borrowed($lanes.as_slice()), &block.layout, &order);
            let mut out = pool.$take(rest);
            if fastest {
                let mut work = pool.$take(n.div_ceil(2));
                for (line, out) in lanes.chunks(n).zip(out.iter_mut()) {
                    let mut count = n;
                    let mut source: &[_] = line;
                    let mut first = true;
                    while count > 1 {
                        let half = count.div_ceil(2);
                        let pairs = count - half;
                        if first {
                            let (left, right) = (&source[..pairs], &source[half..count]);
                            $combine(op, &Side::Many(left.into()), &Side::Many(right.into()), &mut work[..pairs]);
                            work[pairs..half].copy_from_slice(&source[pairs..half]);
                        } else if pairs >= 8 {
                            let (left, right) = work.split_at_mut(half);
                            let copy = left[..pairs].to_vec();
                            $combine(
                                op,
                                &Side::Many((&copy[..]).into()),
                                &Side::Many((&right[..pairs]).into()),
                                &mut left[..pairs],
                            );
                        } else {
                            for i in 0..pairs {
                                work[i] = $one(op, work[i], work[half + i]);
                            }
                        }
                        $round(&mut work[..pairs]);
                        first = false;
                        source = &[];
                        count = half;
                    }
                    *out = if first { line[0] } else { work[0] };
                    let _ = source;
                }
            } else {
                let mut work = lanes.into_owned();
                let mut count = n;
                while count > 1 {
                    let half = count.div_ceil(2);
                    let pairs = (count - half) * rest;
                    let (left, right) = work.split_at_mut(half * rest);
                    let copy = left[..pairs].to_vec();
                    $combine(op, &Side::Many((&copy[..]).into()), &Side::Many((&right[..pairs]).into()), &mut left[..pairs]);
                    $round(&mut left[..pairs]);
                    count = half;
                }
                out.copy_from_slice(&work[..rest]);
            }
            out
        }};
    }
    let flag = taints.as_ref().map_or(0, |t: &Arc<Vec<u8>>| t[0]);
    let layout = Layout::row_major(&out_shape);
    Some(match &block.lanes {
        Floats::F32(lanes) => {
            let out = run!(lanes, f32, combine_lanes_f32, combine_f32, |lanes: &mut [f32]| round_lanes(elem, lanes));
            if out_shape.is_empty() {
                return Some(Cell::Float(Scalar { value: out[0].into(), taint: flag }));
            }
            Cell::f32_block(layout, out, taints)
        }
        Floats::F64(lanes) => {
            let out = run!(lanes, f64, combine_lanes_f64, combine_f64, |_: &mut [f64]| {});
            if out_shape.is_empty() {
                return Some(Cell::Float(Scalar { value: out[0], taint: flag }));
            }
            Cell::Floats(FloatBlock { layout, lanes: Floats::F64(Arc::new(out)), taints })
        }
    })
}
