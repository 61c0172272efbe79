//! Loads of tiles: line by line along the axis whose addresses run on.
//!
//! A line whose addresses are consecutive is one copy; other lines are gathered. Masked-off lanes get
//! `other`, or poison. A line is checked against the view only when the whole tile was not proven
//! inside; an active lane outside makes the program suspect.

use std::sync::Arc;

use super::tile::{LineMask, Masks, Resolved, Scratch, Term, extent, resolve};
use super::{Machine, Step, Stop};
use crate::emulate::launch::{Buffer, RunReport};
use crate::emulate::simd::lines;
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
        let Scratch { masks, touched, .. } = &mut self.scratch;
        touched.clear();
        let missing = if load.other.is_none() { taint::MASKED } else { other_taint };
        macro_rules! load {
            ($memory:expr, $out:expr, $other:expr) => {{
                let mut source = Source { memory: $memory, extent, bounds, touched: observed.then_some(&mut *touched) };
                copy_lines(&resolved, inner, &layout, &mut source, $other, missing, $out, &mut taints, masks, &mut self.report)?
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
pub fn copy_lines<T: Copy>(
    tile: &Resolved<'_>,
    inner: usize,
    layout: &Layout,
    source: &mut Source<'_, T>,
    other: T,
    missing: u8,
    out: &mut [T],
    taints: &mut Option<Vec<u8>>,
    masks: &mut Masks,
    report: &mut RunReport,
) -> Step {
    if tile.empty {
        out.fill(other);
        if missing != 0 {
            *taints = Some(vec![missing; out.len()]);
        }
        return Ok(());
    }
    #[cfg(target_arch = "x86_64")]
    if crate::emulate::simd::has_avx2() {
        // SAFETY: the processor has AVX2.
        return unsafe { lines_avx2(tile, inner, layout, source, other, missing, out, taints, masks, report) };
    }
    lines_body(tile, inner, layout, source, other, missing, out, taints, masks, report)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[allow(clippy::too_many_arguments)]
fn lines_avx2<T: Copy>(
    tile: &Resolved<'_>,
    inner: usize,
    layout: &Layout,
    source: &mut Source<'_, T>,
    other: T,
    missing: u8,
    out: &mut [T],
    taints: &mut Option<Vec<u8>>,
    masks: &mut Masks,
    report: &mut RunReport,
) -> Step {
    lines_body(tile, inner, layout, source, other, missing, out, taints, masks, report)
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn lines_body<T: Copy>(
    tile: &Resolved<'_>,
    inner: usize,
    layout: &Layout,
    source: &mut Source<'_, T>,
    other: T,
    missing: u8,
    out: &mut [T],
    taints: &mut Option<Vec<u8>>,
    masks: &mut Masks,
    report: &mut RunReport,
) -> Step {
    let n = tile.shape[inner];
    let total = out.len();
    let term = tile.terms[inner];
    tile.for_each_line(inner, |index| {
        let place = tile.line_place(index, inner, layout);
        let line = &mut out[place..place + n];
        let base = tile.line_base(index, inner);
        match tile.line_mask(index, inner, masks) {
            LineMask::Range(from, to) => {
                if from > 0 || to < n {
                    line[..from].fill(other);
                    line[to..].fill(other);
                    if missing != 0 {
                        let taints = taints.get_or_insert_with(|| vec![0; total]);
                        taints[place..place + from].fill(missing);
                        taints[place + to..place + n].fill(missing);
                    }
                }
                if from < to {
                    range(tile, inner, &term, base, from, to, source, &mut line[from..to], report)?;
                }
            }
            LineMask::Lanes(from, to) => {
                report.lines_masked += 1;
                let lanes = &masks.lanes;
                if !whole_line(tile, inner, &term, base, from, to, source, &mut line[from..to]) {
                    for i in from..to {
                        if lanes[i] != 0 {
                            line[i] = one(tile, base.wrapping_add(term.at(i)), source)?;
                        }
                    }
                }
                lines::blend(line, lanes, other);
                if missing != 0 {
                    let taints = taints.get_or_insert_with(|| vec![0; total]);
                    for (taint, &lane) in taints[place..place + n].iter_mut().zip(lanes) {
                        *taint = if lane == 0 { missing } else { 0 };
                    }
                }
            }
        }
        Ok(())
    })
}

/// Reads lanes `from..to` of a line whether masked or not, when all their addresses lie inside the
/// view and nobody asks which were read.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn whole_line<T: Copy>(
    tile: &Resolved<'_>,
    inner: usize,
    term: &Term<'_>,
    base: i64,
    from: usize,
    to: usize,
    source: &Source<'_, T>,
    line: &mut [T],
) -> bool {
    let (lo, hi) = tile.line_hull(inner, from, to);
    if source.touched.is_some()
        || !(tile.inside || source.extent.contains_range(base.saturating_add(lo), base.saturating_add(hi)))
    {
        return false;
    }
    let Some(window) = run(source.memory, base + lo, (hi - lo + 1) as usize) else { return false };
    match *term {
        Term::Affine { step: 1, .. } => line.copy_from_slice(window),
        Term::Affine { base, step } => {
            for (i, lane) in (from as i64..).zip(line) {
                *lane = window[(base + step * i - lo) as usize];
            }
        }
        // SAFETY: `lo..=hi` is the hull of these terms, and `window` has a lane for each of it.
        Term::Dense { lanes, .. } => unsafe { lines::gather(window, &lanes[from..to], lo, line) },
    }
    true
}

/// Active lanes `from..to`, all of them.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn range<T: Copy>(
    tile: &Resolved<'_>,
    inner: usize,
    term: &Term<'_>,
    base: i64,
    from: usize,
    to: usize,
    source: &mut Source<'_, T>,
    line: &mut [T],
    report: &mut RunReport,
) -> Step {
    if matches!(term, Term::Affine { step: 1, .. }) {
        report.lines_copied += 1;
    } else {
        report.lines_gathered += 1;
    }
    if whole_line(tile, inner, term, base, from, to, source, line) {
        return Ok(());
    }
    for (i, lane) in (from..to).zip(line) {
        *lane = one(tile, base.wrapping_add(term.at(i)), source)?;
    }
    Ok(())
}

/// One active lane.
#[inline(always)]
fn one<T: Copy>(tile: &Resolved<'_>, at: i64, source: &mut Source<'_, T>) -> Step<T> {
    if !tile.inside && source.bounds && !source.extent.contains(at) {
        return Err(Stop::Suspect);
    }
    let value = usize::try_from(at).ok().and_then(|at| source.memory.get(at)).ok_or(Stop::Suspect)?;
    if let Some(touched) = source.touched.as_deref_mut() {
        match touched.last_mut() {
            Some((start, len)) if *start + *len == at as usize => *len += 1,
            _ => touched.push((at as usize, 1)),
        }
    }
    Ok(*value)
}

/// `len` elements from `first` on, when the buffer has them.
#[inline]
fn run<T>(memory: &[T], first: i64, len: usize) -> Option<&[T]> {
    let first = usize::try_from(first).ok()?;
    memory.get(first..first.checked_add(len)?)
}
