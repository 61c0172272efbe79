//! `tt.scan`: one lane after the other along an axis.
//!
//! The order is sequential: lane i is the combination of what lane i − 1 got, on the left, with lane i; a
//! reversed scan starts at the last lane. Compiled Triton splits the axis among threads and warps and so may
//! round float sums elsewhere: any order is right, and this is the plainest. A combine function that is one
//! known operation runs as a loop; any other is run by the tape on all lines of the block at once.

use std::borrow::Cow;
use std::sync::Arc;

use super::elementwise::{Side, reorder};
use super::float::{combine_f32, combine_f64, combine_lanes_f32, combine_lanes_f64};
use super::int::{clears_wrap, lane, wrapped};
use super::lines::{concat, slice};
use super::shape::{materialise, ordered};
use super::{Machine, Step};
use crate::emulate::tape::{Known, Scan};
use crate::emulate::value::round::{round_f32, round_lanes};
use crate::emulate::value::{Cell, FloatBlock, Floats, IntBlock, Layout, Pool, taint};
use crate::kernel::ir::{Elem, FloatBinary, IntBinary};

impl Machine<'_> {
    pub(super) fn scan(&mut self, scan: &Scan) -> Step {
        let shape = &scan.shape;
        let n = shape[scan.axis];
        let rest: usize = shape.iter().product::<usize>() / n.max(1);
        // The axis slowest, so that what is combined at once is a run.
        let slowest = Layout::ordered(shape, |i| match shape.len() - 1 - i {
            0 => scan.axis,
            p if p <= scan.axis => p - 1,
            p => p,
        });
        let mut lines: Vec<Cell> = Vec::with_capacity(scan.operands.len());
        for (&slot, &elem) in scan.operands.iter().zip(&scan.elems) {
            let full = materialise(&wrapped(self.state.cells.get(slot), elem), elem, shape, &mut self.pool);
            lines.push(ordered(&full, &slowest));
        }
        if self.pool.lazy
            && let (Some(known), [line], [result]) = (scan.known, lines.as_slice(), scan.results.as_slice())
            && let Some(cell) = known_scan(known, scan.elems[0], line, [n, rest], scan.reverse, &slowest, &mut self.pool)
        {
            self.set(*result, cell);
            return Ok(());
        }
        for line in &mut lines {
            *line = line.with_layout(Layout::line(n * rest), &mut self.pool);
        }
        let at = |step: usize| if scan.reverse { n - 1 - step } else { step };
        let mut last: Vec<Cell> = lines.iter().map(|line| slice(line, at(0) * rest, rest)).collect();
        let mut steps: Vec<Vec<Cell>> = last.iter().map(|cell| vec![cell.clone()]).collect();
        for step in 1..n {
            for (i, line) in lines.iter().enumerate() {
                self.set(scan.combine.args[i], last[i].clone());
                self.set(scan.combine.args[i + lines.len()], slice(line, at(step) * rest, rest));
            }
            let back = std::mem::replace(&mut self.state.pc, scan.combine.start);
            self.resume()?;
            self.state.pc = back;
            for (i, last) in last.iter_mut().enumerate() {
                let elem = scan.elems[i];
                let combined = wrapped(self.state.cells.get(scan.combine.yields[i]), elem);
                *last = materialise(&combined, elem, &[rest], &mut self.pool);
                steps[i].push(last.clone());
            }
        }
        for (mut steps, &result) in steps.into_iter().zip(&scan.results) {
            if scan.reverse {
                steps.reverse();
            }
            let cell = concat(&steps).with_layout(slowest, &mut self.pool);
            self.set(result, cell);
        }
        Ok(())
    }
}

/// A scan by one operation; `None` for lanes that these loops do not take.
fn known_scan(
    known: Known,
    elem: Elem,
    cell: &Cell,
    [n, rest]: [usize; 2],
    reverse: bool,
    layout: &Layout,
    pool: &mut Pool,
) -> Option<Cell> {
    match (known, cell) {
        (Known::Float(op), Cell::Floats(block)) => {
            let taints = block.taints.as_ref().and_then(|t| {
                let mut flags = reorder(Cow::Borrowed(t.as_slice()), &block.layout, layout).into_owned();
                rows(&mut flags, n, rest, reverse, |before, row| row.iter_mut().zip(before).for_each(|(t, b)| *t |= b));
                taint::seal(flags)
            });
            let lanes = match &block.lanes {
                Floats::F32(lanes) => Floats::F32(Arc::new(floats_f32(op, elem, lanes, [n, rest], reverse))),
                Floats::F64(lanes) => Floats::F64(Arc::new(floats_f64(op, lanes, [n, rest], reverse))),
            };
            Some(Cell::Floats(FloatBlock { layout: *layout, lanes, taints }))
        }
        (Known::Int(op), Cell::Ints(block)) if elem != Elem::I1 => {
            Some(Cell::Ints(ints(op, elem, block, [n, rest], reverse, layout, pool)))
        }
        _ => None,
    }
}

/// Calls `f` with each row and the one before it, in the order of the scan.
fn rows<T: Copy>(lanes: &mut [T], n: usize, rest: usize, reverse: bool, mut f: impl FnMut(&[T], &mut [T])) {
    for step in 1..n {
        if reverse {
            let (head, tail) = lanes.split_at_mut((n - step) * rest);
            f(&tail[..rest], &mut head[(n - 1 - step) * rest..]);
        } else {
            let (head, tail) = lanes.split_at_mut(step * rest);
            f(&head[(step - 1) * rest..], &mut tail[..rest]);
        }
    }
}

fn floats_f32(op: FloatBinary, elem: Elem, lanes: &[f32], [n, rest]: [usize; 2], reverse: bool) -> Vec<f32> {
    let mut out = lanes.to_vec();
    let mut work = vec![0.0; rest];
    rows(&mut out, n, rest, reverse, |before, row| {
        if rest == 1 {
            row[0] = round_f32(elem, combine_f32(op, before[0], row[0]));
            return;
        }
        combine_lanes_f32(op, &Side::Many(before.into()), &Side::Many((&*row).into()), &mut work);
        round_lanes(elem, &mut work);
        row.copy_from_slice(&work);
    });
    out
}

fn floats_f64(op: FloatBinary, lanes: &[f64], [n, rest]: [usize; 2], reverse: bool) -> Vec<f64> {
    let mut out = lanes.to_vec();
    let mut work = vec![0.0; rest];
    rows(&mut out, n, rest, reverse, |before, row| {
        if rest == 1 {
            row[0] = combine_f64(op, before[0], row[0]);
            return;
        }
        combine_lanes_f64(op, &Side::Many(before.into()), &Side::Many((&*row).into()), &mut work);
        row.copy_from_slice(&work);
    });
    out
}

fn ints(
    op: IntBinary,
    elem: Elem,
    block: &IntBlock,
    [n, rest]: [usize; 2],
    reverse: bool,
    layout: &Layout,
    pool: &mut Pool,
) -> IntBlock {
    let keep = if clears_wrap(op) { !taint::WRAPPED } else { !0 };
    let flags = block.taints.as_deref().cloned();
    let mut lanes: Vec<(i64, u8)> =
        block.values().iter().enumerate().map(|(i, &v)| (v, flags.as_ref().map_or(0, |f| f[i]))).collect();
    rows(&mut lanes, n, rest, reverse, |before, row| {
        for (lane_, &(x, fx)) in row.iter_mut().zip(before) {
            let (y, fy) = *lane_;
            let (value, new) = lane(op, elem, x, y);
            *lane_ = (value, (fx | fy) & keep | new);
        }
    });
    let mut out = pool.i64(lanes.len());
    out.iter_mut().zip(&lanes).for_each(|(o, l)| *o = l.0);
    let taints = taint::seal(lanes.iter().map(|l| l.1).collect());
    IntBlock::dense(*layout, out, taints)
}
