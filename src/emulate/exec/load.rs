//! Loads of tiles: line by line along the axis whose addresses run on.
//!
//! A line whose addresses are consecutive is one copy; other lines are gathered. Masked-off lanes get
//! `other`, or poison. A line is checked against the view only when the whole tile was not proven
//! inside; an active lane outside makes the program suspect.

use std::ops::Range;
use std::sync::Arc;

use super::float::scalar as float_scalar;
use super::int::{scalar as int_scalar, wrapped};
use super::line::LineMask;
use super::masks::{Masks, word};
use super::term::Term;
use super::tile::{Resolved, Scratch, extent, resolve};
use super::{Machine, Step, Stop};
use crate::emulate::check::race::{Touch, TouchKind};
use crate::emulate::launch::{Buffer, RunReport};
use crate::emulate::simd::lines::{self, Lane};
use crate::emulate::tape::{Instruction, LoadTile};
use crate::emulate::value::int::wrap;
use crate::emulate::value::layout::MAX_RANK;
use crate::emulate::value::{Cell, FloatBlock, Floats, IntBlock, Layout, MaskBlock, taint};
use crate::emulate::view::Extent;
use crate::kernel::ir::Elem;
use crate::tensor::Storage;

/// Where a copy reads.
pub struct Source<'s, T> {
    pub memory: &'s [T],
    pub extent: &'s Extent,
    pub bounds: bool,
    /// Runs of addresses that were read, when somebody asks.
    pub touched: Option<&'s mut Vec<Run>>,
}

/// Consecutive elements, read by lanes that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub start: usize,
    pub len: usize,
    /// The first lane, by its number in row-major order, and how much further the next one is.
    pub lane: u32,
    pub step: u32,
}

impl Machine<'_> {
    pub(super) fn load_tile(&mut self, load: &LoadTile, _at: &Instruction) -> Step<Cell> {
        let Scratch { axes, masks, touched, .. } = &mut self.scratch;
        let resolved = resolve(&load.tile, &self.state.cells, self.launch, axes).ok_or(Stop::Suspect)?;
        let arg = resolved.arg;
        // An integer beyond its type wraps here, and says so.
        let other = load.other.map(|slot| wrapped(self.state.cells.get(slot), load.elem));
        let other_taint = other.as_ref().map_or(0, Cell::scalar_taint);
        let extent = extent(self.launch, arg);
        let buffer = self.port.buffer(extent.buffer);
        let observed = buffer.undefined.is_some() || self.port.watches_reads(extent.buffer);
        let inner = resolved.best_axis(resolved.rank - 1);
        let layout = Layout::with_inner(resolved.shape, inner);
        let n = layout.numel();
        let mut taints = None;
        let bounds = self.launch.checks.bounds;
        touched.clear();
        let missing = if load.other.is_none() { taint::MASKED } else { other_taint };
        macro_rules! load {
            ($memory:expr, $out:expr, $other:expr) => {{
                let source = Source { memory: $memory, extent, bounds, touched: observed.then_some(&mut *touched) };
                let filled = Filled { out: $out, taints: &mut taints, masks, report: &mut self.report };
                TileCopy::new(&resolved, source, inner, &layout, ($other, missing)).run(filled)?
            }};
        }
        let float = || other.as_ref().map_or(0.0, |other| float_scalar(other).value);
        let int = || other.as_ref().map_or(0, |other| int_scalar(other).value);
        let cell = match &buffer.lanes {
            Storage::F32(memory) => {
                let mut out = self.pool.f32(n);
                load!(memory, &mut out, float() as f32);
                Cell::f32_block(layout, out, taints.map(Arc::new))
            }
            Storage::F64(memory) => {
                let mut out = self.pool.f64(n);
                load!(memory, &mut out, float());
                Cell::Floats(FloatBlock { layout, lanes: Floats::F64(Arc::new(out)), taints: taints.map(Arc::new) })
            }
            Storage::I64(memory) => {
                let mut out = self.pool.i64(n);
                load!(memory, &mut out, int());
                if load.elem != Elem::I64 {
                    out.iter_mut().for_each(|v| *v = wrap(*v, load.elem));
                }
                Cell::Ints(IntBlock::dense(layout, out, taints.map(Arc::new)))
            }
            Storage::Bool(memory) => {
                let mut out = self.pool.u8(n);
                load!(memory, &mut out, int() as u8);
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
            let Run { start, len, lane, step } = self.scratch.touched[i];
            if self.launch.checks.uninitialised && first_undefined(self.port.buffer(id), start, len).is_some() {
                return Err(Stop::Suspect);
            }
            let touch = Touch { lane, step, ..self.touch(0, TouchKind::Plain) };
            if self.port.read(touch, id, start, len).is_err() {
                return Err(Stop::Suspect);
            }
        }
        Ok(())
    }
}

pub fn first_undefined(buffer: &Buffer, start: usize, len: usize) -> Option<usize> {
    buffer.undefined.as_ref().and_then(|bits| bits.first_set(start, len))
}

/// The copy of a tile into lanes whose `layout` has `inner` fastest.
pub struct TileCopy<'r, 'c, T> {
    tile: &'r Resolved<'c>,
    source: Source<'r, T>,
    /// The axis of the lines, and the addresses' term along it.
    inner: usize,
    term: Term<'c>,
    layout: &'r Layout,
    /// What masked-off lanes get, and their taint.
    other: T,
    missing: u8,
    /// Numbers of lanes in row-major order.
    numbers: Layout,
}

/// What a copy fills, works with and counts.
pub struct Filled<'f, T> {
    pub out: &'f mut [T],
    pub taints: &'f mut Option<Vec<u8>>,
    pub masks: &'f mut Masks,
    pub report: &'f mut RunReport,
}

impl<'r, 'c, T: Lane> TileCopy<'r, 'c, T> {
    pub fn new(
        tile: &'r Resolved<'c>,
        source: Source<'r, T>,
        inner: usize,
        layout: &'r Layout,
        (other, missing): (T, u8),
    ) -> TileCopy<'r, 'c, T> {
        let numbers = Layout::row_major(tile.shape);
        TileCopy { tile, source, inner, term: tile.term(inner), layout, other, missing, numbers }
    }

    pub fn run(self, filled: Filled<'_, T>) -> Step {
        if self.tile.empty {
            filled.out.fill(self.other);
            if self.missing != 0 {
                *filled.taints = Some(vec![self.missing; filled.out.len()]);
            }
            return Ok(());
        }
        #[cfg(target_arch = "x86_64")]
        {
            if crate::emulate::simd::has_avx512() {
                // SAFETY: the processor has these parts of AVX-512.
                return unsafe { self.lines_avx512(filled) };
            }
            if crate::emulate::simd::has_avx2() {
                // SAFETY: the processor has AVX2 and FMA.
                return unsafe { self.lines_avx2(filled) };
            }
        }
        self.lines(filled)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
    fn lines_avx512(self, filled: Filled<'_, T>) -> Step {
        self.lines(filled)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn lines_avx2(self, filled: Filled<'_, T>) -> Step {
        self.lines(filled)
    }

    #[inline(always)]
    fn lines(mut self, filled: Filled<'_, T>) -> Step {
        if let Some(window) = self.window() {
            self.runs(window, filled.out);
            filled.report.lines_copied += self.tile.shape[1 - self.inner] as u64;
            return Ok(());
        }
        self.tile.begin(filled.masks);
        if self.missing == 0
            && self.source.touched.is_none()
            && let Some(classes) = self.tile.classes(self.inner)
        {
            return self.classed(classes, filled);
        }
        let Filled { out, taints, masks, report } = filled;
        let (tile, inner, layout, other, missing) = (self.tile, self.inner, self.layout, self.other, self.missing);
        let n = tile.shape[inner];
        let total = out.len();
        tile.for_each_line(inner, |index| {
            let place = tile.line_place(index, inner, layout);
            let line = &mut out[place..place + n];
            let base = tile.line_base(index, inner);
            let first = tile.line_place(index, inner, &self.numbers);
            if tile.rank == 2 {
                self.fetch_ahead(index[1 - inner]);
            }
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
                        self.range(base, first, from..to, &mut line[from..to], report)?;
                    }
                }
                LineMask::Lanes(from, to) => {
                    report.lines_masked += 1;
                    let lanes = masks.lanes();
                    if !self.whole_line(base, from..to, &mut line[from..to]) {
                        for i in from..to {
                            if lanes[i] != 0 {
                                line[i] = self.one(base.wrapping_add(self.term.at(i)), first, i)?;
                            }
                        }
                    }
                    line.iter_mut().zip(lanes).for_each(|(lane, &active)| *lane = lane.kept(word(active), other));
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

    /// The addresses of the active lanes, where these are the tile but for its margins, every line's follow one
    /// another, all lie inside the view, and nobody asks which were read.
    #[inline(always)]
    fn window(&self) -> Option<&'r [T]> {
        let tile = self.tile;
        let plain = tile.rank == 2 && tile.inside && tile.is_plain() && self.source.touched.is_none();
        if !plain || !matches!(self.term, Term::Affine { base: _, step: 1 }) || (self.missing != 0 && !tile.is_full()) {
            return None;
        }
        let (lo, hi) = tile.hull();
        run(self.source.memory, lo, (hi - lo + 1) as usize)
    }

    /// Copies the lines of such a tile.
    #[inline(always)]
    fn runs(&self, window: &[T], out: &mut [T]) {
        let (tile, inner) = (self.tile, self.inner);
        let ((from, to), (first, end)) = (tile.active(inner), tile.active(1 - inner));
        let outer = tile.term(1 - inner);
        let start = tile.base.wrapping_add(self.term.at(from)).wrapping_sub(tile.hull().0);
        for (i, line) in out.chunks_exact_mut(tile.shape[inner]).enumerate() {
            if i < first || i >= end {
                line.fill(self.other);
                continue;
            }
            self.fetch_ahead(i);
            let at = start.wrapping_add(outer.at(i)) as usize;
            lines::copy(&window[at..at + to - from], &mut line[from..to]);
            line[..from].fill(self.other);
            line[to..].fill(self.other);
        }
    }

    /// The lines of a tile of two axes whose masks are known by class.
    #[inline(always)]
    fn classed(mut self, classes: &[u32], filled: Filled<'_, T>) -> Step {
        let Filled { out, taints: _, masks, report } = filled;
        let (tile, inner, other) = (self.tile, self.inner, self.other);
        let outer = tile.term(1 - inner);
        let numbers = self.numbers.stride(1 - inner);
        let mut index = [0; MAX_RANK];
        for (i, line) in out.chunks_exact_mut(tile.shape[inner]).enumerate() {
            index[1 - inner] = i;
            if !tile.is_line_active(&index, inner) {
                line.fill(other);
                continue;
            }
            let class = classes[i] as usize;
            self.fetch_ahead(i);
            let (mask, words) = match masks.made(tile.tile.number, class) {
                Some(made) => made,
                None => {
                    tile.narrowed(&index, inner, masks);
                    masks.made(tile.tile.number, class).expect("invariant: it was made just now")
                }
            };
            let base = tile.base.wrapping_add(outer.at(i));
            match mask {
                LineMask::Range(from, to) => {
                    line[..from].fill(other);
                    line[to..].fill(other);
                    if from < to {
                        self.range(base, i * numbers, from..to, &mut line[from..to], report)?;
                    }
                }
                LineMask::Lanes(from, to) => {
                    report.lines_masked += 1;
                    if !self.whole_line(base, from..to, &mut line[from..to]) {
                        for lane in (from..to).filter(|&lane| words[lane] != 0) {
                            line[lane] = self.one(base.wrapping_add(self.term.at(lane)), i * numbers, lane)?;
                        }
                    }
                    lines::blend(line, words, other);
                }
            }
        }
        Ok(())
    }

    /// Asks for a line that comes soon after one of a tile of two axes: they lie too far apart for the processor to
    /// foresee.
    #[inline(always)]
    fn fetch_ahead(&self, line: usize) {
        /// Lanes that are asked for of a line; what follows them the processor foresees.
        const MOST: usize = 256;
        /// Lines ahead.
        const AHEAD: usize = 4;
        let (tile, inner) = (self.tile, self.inner);
        let next = line + AHEAD;
        if let Term::Affine { base, step: 1 } = self.term
            && next < tile.shape[1 - inner]
        {
            let start = tile.base.wrapping_add(tile.term(1 - inner).at(next)).wrapping_add(base);
            lines::fetch(self.source.memory, start, tile.shape[inner].min(MOST));
        }
    }

    /// Reads these lanes of a line whether masked or not, when all their addresses lie inside the view
    /// and nobody asks which were read.
    #[inline(always)]
    fn whole_line(&self, base: i64, lanes: Range<usize>, line: &mut [T]) -> bool {
        let (from, to) = (lanes.start, lanes.end);
        let (lo, hi) = self.tile.line_hull(self.inner, from, to);
        let inside = || self.source.extent.contains_range(base.saturating_add(lo), base.saturating_add(hi));
        if self.source.touched.is_some() || !(self.tile.inside || inside()) {
            return false;
        }
        let Some(window) = run(self.source.memory, base + lo, (hi - lo + 1) as usize) else { return false };
        match self.term {
            Term::Affine { base: _, step: 1 } => lines::copy(window, line),
            Term::Affine { base, step } => {
                for (i, lane) in (from as i64..).zip(line) {
                    *lane = window[(base + step * i - lo) as usize];
                }
            }
            // SAFETY: `lo..=hi` is the hull of these terms, and `window` has a lane for each of it.
            Term::Dense { lanes, lo: _, hi: _ } => unsafe { lines::gather(window, &lanes[from..to], lo, line) },
        }
        true
    }

    /// Active lanes, all of them.
    #[inline(always)]
    fn range(&mut self, base: i64, first: usize, lanes: Range<usize>, line: &mut [T], report: &mut RunReport) -> Step {
        if matches!(self.term, Term::Affine { base: _, step: 1 }) {
            report.lines_copied += 1;
        } else {
            report.lines_gathered += 1;
        }
        if self.whole_line(base, lanes.clone(), line) {
            return Ok(());
        }
        for (i, lane) in lanes.zip(line) {
            *lane = self.one(base.wrapping_add(self.term.at(i)), first, i)?;
        }
        Ok(())
    }

    /// One active lane, the i-th of the line whose first is that number.
    #[inline(always)]
    fn one(&mut self, at: i64, first: usize, i: usize) -> Step<T> {
        let source = &mut self.source;
        if !self.tile.inside && source.bounds && !source.extent.contains(at) {
            return Err(Stop::Suspect);
        }
        let value = usize::try_from(at).ok().and_then(|at| source.memory.get(at)).ok_or(Stop::Suspect)?;
        if let Some(touched) = source.touched.as_deref_mut() {
            let lane = (first + i * self.numbers.stride(self.inner)) as u32;
            match touched.last_mut() {
                Some(run)
                    if run.start + run.len == at as usize
                        && (run.len == 1 || run.lane.wrapping_add((run.len as u32).wrapping_mul(run.step)) == lane) =>
                {
                    if run.len == 1 {
                        run.step = lane.wrapping_sub(run.lane);
                    }
                    run.len += 1;
                }
                Some(_) | None => touched.push(Run { start: at as usize, len: 1, lane, step: 0 }),
            }
        }
        Ok(*value)
    }
}

/// `len` elements from `first` on, when the buffer has them.
#[inline]
fn run<T>(memory: &[T], first: i64, len: usize) -> Option<&[T]> {
    let first = usize::try_from(first).ok()?;
    memory.get(first..first.checked_add(len)?)
}
