//! Loads of tiles: line by line along the axis whose addresses run on.
//!
//! A line whose addresses are consecutive is one copy; other lines are gathered. Masked-off lanes get
//! `other`, or poison. A line is checked against the view only when the whole tile was not proven
//! inside; an active lane outside makes the program suspect.

use std::sync::Arc;

use super::tile::{LineMask, Resolved, Scratch, Term, extent, resolve};
use super::{Machine, Step, Stop};
use crate::emulate::launch::{Buffer, RunReport};
use crate::emulate::tape::{Instruction, LoadTile};
use crate::emulate::value::int::wrap;
use crate::emulate::value::{Cell, FloatBlock, Floats, IntBlock, Layout, MaskBlock, taint};
use crate::emulate::view::Extent;
use crate::kernel::ir::Elem;
use crate::tensor::Storage;

/// What a copy of lines needs besides the tile.
pub struct Source<'s, T> {
    pub memory: &'s [T],
    pub extent: &'s Extent,
    pub bounds: bool,
    /// Runs of addresses that were read, when somebody asks.
    pub touched: Option<&'s mut Vec<(usize, usize)>>,
}

impl Machine<'_> {
    pub(super) fn load_tile(&mut self, load: &LoadTile, _at: &Instruction) -> Step<Cell> {
        let resolved = resolve(&load.tile, &self.state.cells, self.launch).ok_or(Stop::Suspect)?;
        let arg = resolved.arg;
        let other = match load.other {
            None => None,
            Some(slot) => Some(self.state.cells.get(slot)),
        };
        let other_taint = other.map_or(0, Cell::scalar_taint);
        let extent = extent(self.launch, arg);
        let buffer = self.port.buffer(extent.buffer);
        let observed = buffer.undefined.is_some() || self.port.watches_reads(extent.buffer);
        let inner = resolved.best_axis(resolved.rank - 1);
        let shape = &resolved.shape[..resolved.rank];
        let layout = Layout::with_inner(shape, inner);
        let n = layout.numel();
        let mut taints = None;
        let bounds = self.launch.checks.bounds;
        let Scratch { lanes, touched, .. } = &mut self.scratch;
        touched.clear();
        let missing = if load.other.is_none() { taint::MASKED } else { other_taint };
        macro_rules! load {
            ($memory:expr, $out:expr, $other:expr) => {{
                let mut source = Source { memory: $memory, extent, bounds, touched: observed.then_some(&mut *touched) };
                lines(&resolved, inner, &layout, &mut source, $other, missing, $out, &mut taints, lanes, &mut self.report)?
            }};
        }
        let float = match other {
            Some(Cell::Float(s)) => s.value,
            _ => 0.0,
        };
        let int = match other {
            Some(Cell::Int(s)) => s.value,
            _ => 0,
        };
        let cell = match &buffer.lanes {
            Storage::F32(memory) => {
                let mut out = self.pool.f32(n);
                load!(memory, &mut out, float as f32);
                Cell::f32_block(layout, out, taints.map(Arc::new))
            }
            Storage::F64(memory) => {
                let mut out = self.pool.f64(n);
                load!(memory, &mut out, float);
                Cell::Floats(FloatBlock { layout, lanes: Floats::F64(Arc::new(out)), taints: taints.map(Arc::new) })
            }
            Storage::I64(memory) => {
                let mut out = self.pool.i64(n);
                load!(memory, &mut out, int);
                if load.elem != Elem::I64 {
                    out.iter_mut().for_each(|v| *v = wrap(*v, load.elem));
                }
                Cell::Ints(IntBlock::dense(layout, out, taints.map(Arc::new)))
            }
            Storage::Bool(memory) => {
                let mut out = self.pool.u8(n);
                load!(memory, &mut out, int as u8);
                if load.elem == Elem::I1 {
                    Cell::Mask(MaskBlock::dense(layout, out, taints.map(Arc::new)))
                } else {
                    let lanes = out.iter().map(|&v| v.into()).collect();
                    Cell::Ints(IntBlock::dense(layout, lanes, taints.map(Arc::new)))
                }
            }
        };
        drop(resolved);
        if observed {
            self.observe(arg)?;
        }
        Ok(cell)
    }

    /// Asks of the runs just read whether they were written, and notes them for race detection.
    pub(super) fn observe(&mut self, arg: usize) -> Step {
        let id = extent(self.launch, arg).buffer;
        for i in 0..self.scratch.touched.len() {
            let (start, len) = self.scratch.touched[i];
            if self.launch.checks.uninitialised && first_undefined(self.port.buffer(id), start, len).is_some() {
                return Err(Stop::Suspect);
            }
            if self.port.read(self.linear, id, start, len).is_err() {
                return Err(Stop::Suspect);
            }
        }
        Ok(())
    }
}

pub fn first_undefined(buffer: &Buffer, start: usize, len: usize) -> Option<usize> {
    buffer.undefined.as_ref().and_then(|bits| bits.first_set(start, len))
}

/// Copies a tile into `out`, whose `layout` has `inner` fastest.
#[allow(clippy::too_many_arguments)]
pub fn lines<T: Copy>(
    tile: &Resolved<'_>,
    inner: usize,
    layout: &Layout,
    source: &mut Source<'_, T>,
    other: T,
    missing: u8,
    out: &mut [T],
    taints: &mut Option<Vec<u8>>,
    lanes: &mut Vec<u8>,
    report: &mut RunReport,
) -> Step {
    let n = tile.shape[inner];
    let total = out.len();
    if tile.empty {
        out.fill(other);
        if missing != 0 {
            *taints = Some(vec![missing; total]);
        }
        return Ok(());
    }
    let term = tile.terms[inner];
    tile.for_each_line(inner, |index| {
        let mut place = 0;
        for axis in 0..tile.rank {
            if axis != inner {
                place += index[axis] * layout.stride(axis);
            }
        }
        let line = &mut out[place..place + n];
        let base = tile.line_base(index, inner);
        let mask = tile.line_mask(index, inner, lanes);
        let (from, to) = match mask {
            LineMask::Range(from, to) => (from, to),
            LineMask::Lanes => {
                report.lines_masked += 1;
                for i in 0..n {
                    line[i] = if lanes[i] == 0 {
                        other
                    } else {
                        let at = base + term.at(i);
                        if !tile.inside && source.bounds && !source.extent.contains(at) {
                            return Err(Stop::Suspect);
                        }
                        if let Some(touched) = source.touched.as_deref_mut() {
                            touched.push((at as usize, 1));
                        }
                        *source.memory.get(at as usize).ok_or(Stop::Suspect)?
                    };
                }
                if missing != 0 && lanes.contains(&0) {
                    let taints = taints.get_or_insert_with(|| vec![0; total]);
                    for (taint, &lane) in taints[place..place + n].iter_mut().zip(lanes.iter()) {
                        *taint = if lane == 0 { missing } else { 0 };
                    }
                }
                return Ok(());
            }
        };
        if from > 0 || to < n {
            line[..from.min(n)].fill(other);
            line[to..].fill(other);
            if missing != 0 {
                let taints = taints.get_or_insert_with(|| vec![0; total]);
                taints[place..place + from].fill(missing);
                taints[place + to..place + n].fill(missing);
            }
        }
        if from >= to {
            return Ok(());
        }
        match term {
            Term::Affine { base: start, step } => {
                let first = base + start + step * from as i64;
                let last = base + start + step * (to as i64 - 1);
                let (lo, hi) = (first.min(last), first.max(last));
                check(tile, source, lo, hi, (from..to).map(|i| base + start + step * i as i64))?;
                let line = &mut line[from..to];
                if step == 1 {
                    report.lines_copied += 1;
                    let run = run(source.memory, first, line.len()).ok_or(Stop::Suspect)?;
                    line.copy_from_slice(run);
                } else {
                    report.lines_gathered += 1;
                    for (i, lane) in line.iter_mut().enumerate() {
                        *lane = *source.memory.get((first + step * i as i64) as usize).ok_or(Stop::Suspect)?;
                    }
                }
                if let Some(touched) = source.touched.as_deref_mut() {
                    if step == 1 {
                        touched.push((lo as usize, to - from));
                    } else {
                        touched.extend((0..to - from).map(|i| ((first + step * i as i64) as usize, 1)));
                    }
                }
            }
            Term::Dense { lanes: term, .. } => {
                report.lines_gathered += 1;
                let (lo, hi) = crate::emulate::value::int::range(&term[from..to]);
                check(tile, source, base + lo, base + hi, term[from..to].iter().map(|v| base + v))?;
                for (lane, v) in line[from..to].iter_mut().zip(&term[from..to]) {
                    *lane = *source.memory.get((base + v) as usize).ok_or(Stop::Suspect)?;
                }
                if let Some(touched) = source.touched.as_deref_mut() {
                    touched.extend(term[from..to].iter().map(|v| ((base + v) as usize, 1)));
                }
            }
        }
        Ok(())
    })
}

/// `len` elements from `first` on, when the buffer has them.
#[inline]
fn run<T>(memory: &[T], first: i64, len: usize) -> Option<&[T]> {
    let first = usize::try_from(first).ok()?;
    memory.get(first..first.checked_add(len)?)
}

/// The addresses of a line's active lanes lie inside the view: proven for the tile, or for the
/// line's interval, or for each.
#[inline]
fn check<T>(tile: &Resolved<'_>, source: &Source<'_, T>, lo: i64, hi: i64, mut each: impl Iterator<Item = i64>) -> Step {
    if tile.inside || !source.bounds || source.extent.contains_range(lo, hi) || each.all(|at| source.extent.contains(at)) {
        Ok(())
    } else {
        Err(Stop::Suspect)
    }
}
