//! `tt.dot`.
//!
//! The accumulator's layout says which axis is the vector axis; a first dot chooses it from its
//! operands: m when A's addresses run along m (a convolution's pixels), else n. A load that only
//! this dot uses is made here, straight into the layout that the inner loop wants. Every element is
//! summed in the order of k (see `simd::dot`), so none of these choices shows in the result.
//!
//! Precision: `ieee` uses the operands as they are; `tf32` truncates f32 operands to 10 mantissa
//! bits (as the H200 does); the split classes are those of [`super::dot_split`]. f16 and bf16 operands
//! are exact in f32 and have no class. An f16 accumulator is rounded once a dot.

use std::sync::Arc;

use super::dot_split::{Split, truncate};
use super::float::scalar as float_scalar;
use super::int::wrapped;
use super::load::{Filled, Source, TileCopy};
use super::shape::ordered;
use super::tile::{self, extent, resolve};
use super::{Machine, Step, Stop};
use crate::emulate::launch::BufferId;
use crate::emulate::simd;
use crate::emulate::tape::{self, DotOperand, Instruction, LoadTile};
use crate::emulate::value::round::round_lanes;
use crate::emulate::value::{Cell, FloatBlock, Floats, IntBlock, Layout, misfit, taint};
use crate::kernel::ir::{DotPrecision, Elem};
use crate::tensor::Storage;

/// Operand buffers.
#[derive(Default)]
pub struct Scratch {
    a: Vec<f32>,
    b: Vec<f32>,
}

/// An operand ready for the inner loop.
struct Operand {
    k_stride: usize,
    outer_stride: usize,
    /// The taint of each lane of the outer (non-k) axis.
    outer_taints: Option<Vec<u8>>,
    /// Read where it lies, from this element of this buffer on; else it is in the scratch.
    view: Option<(BufferId, usize)>,
}

impl Operand {
    /// In the scratch, with `inner` fastest.
    fn copied(inner: usize, shape: [usize; 2], outer: usize, outer_taints: Option<Vec<u8>>) -> Operand {
        let layout = Layout::with_inner(&shape, inner);
        Operand { k_stride: layout.stride(1 - outer), outer_stride: layout.stride(outer), outer_taints, view: None }
    }
}

impl Machine<'_> {
    pub(super) fn dot(&mut self, dot: &tape::Dot, at: &Instruction) -> Step<Cell> {
        if matches!(dot.acc_elem, Elem::F32 | Elem::F16) && dot.elem.is_float() && dot.elem != Elem::F64 {
            return self.dot_f32(dot);
        }
        self.dot_wide(dot, at)
    }

    fn dot_f32(&mut self, dot: &tape::Dot) -> Step<Cell> {
        let (m, n, k) = (dot.m, dot.n, dot.k);
        let acc = if dot.take_acc { self.take(dot.acc) } else { self.cell(dot.acc).clone() };
        let vector_m = match acc.layout() {
            Some(layout) if layout.is_full() => layout.inner_axis() == 0 && m > 1,
            _ => self.prefers_m(dot),
        };
        let mut scratch = std::mem::take(&mut self.dots);
        let tf32 = dot.precision == DotPrecision::Tf32 && dot.elem == Elem::F32;
        let split = Split::of(dot.precision, dot.elem);
        let may_view = self.tape.lazy && !tf32 && split.is_none();
        // The vector operand with its non-k axis fastest, the scalar operand as it comes.
        let a = self.operand(&dot.a, m, k, 0, vector_m, may_view, &mut scratch.a)?;
        let b = self.operand(&dot.b, k, n, 1, !vector_m, may_view, &mut scratch.b)?;
        if tf32 {
            scratch.a.iter_mut().chain(&mut scratch.b).for_each(|x| *x = truncate(*x));
        }
        let layout = if vector_m { Layout::with_inner(&[m, n], 0) } else { Layout::row_major(&[m, n]) };
        let (mut sums, mut taints) = self.accumulator(acc, layout);
        let lanes = Arc::get_mut(&mut sums).expect("invariant: nobody else holds the accumulator");
        let dot_fn = if self.tape.lazy { simd::dot::dot } else { simd::dot::dot_plain };
        let (lanes_a, lanes_b) = (self.lanes_of(&a, &scratch.a), self.lanes_of(&b, &scratch.b));
        let (v, s, vector, scalar, vector_lanes, scalar_lanes) =
            if vector_m { (m, n, &a, &b, lanes_a, lanes_b) } else { (n, m, &b, &a, lanes_b, lanes_a) };
        let shape = simd::dot::Shape {
            k,
            v,
            s,
            vector_k: vector.k_stride,
            scalar_k: scalar.k_stride,
            scalar_s: scalar.outer_stride,
            acc_s: v,
            vector_streams: vector.view.is_some(),
            scalar_streams: scalar.view.is_some(),
        };
        match split {
            None => dot_fn(shape, vector_lanes, scalar_lanes, lanes),
            Some(split) => split.add(dot_fn, shape, vector_lanes, scalar_lanes, vector_m, lanes),
        }
        if dot.acc_elem == Elem::F16 {
            round_lanes(Elem::F16, lanes);
        }
        if a.outer_taints.is_some() || b.outer_taints.is_some() {
            let taints = taints.get_or_insert_with(|| vec![0; m * n]);
            let flag = |t: &Option<Vec<u8>>, i: usize| t.as_ref().map_or(0, |t| t[i]);
            for i in 0..m {
                for j in 0..n {
                    taints[layout.place(&[i, j])] |= flag(&a.outer_taints, i) | flag(&b.outer_taints, j);
                }
            }
        }
        self.dots = scratch;
        Ok(Cell::Floats(FloatBlock { layout, lanes: Floats::F32(sums), taints: taints.and_then(taint::seal) }))
    }

    fn take(&mut self, slot: tape::Slot) -> Cell {
        self.state.cells.take(slot).unwrap_or_else(|| self.cell(slot).clone())
    }

    /// Whether A's lanes run along m better than B's along n.
    fn prefers_m(&mut self, dot: &tape::Dot) -> bool {
        let (cells, launch, axes) = (&self.state.cells, self.launch, &mut self.scratch.axes);
        let mut runs = |operand: &DotOperand, axis: usize| match operand {
            DotOperand::Cell(slot) => cells.get(*slot).layout().is_some_and(|l| l.is_full() && l.inner_axis() == axis),
            DotOperand::Load(load, _) => resolve(&load.tile, cells, launch, axes).is_some_and(|t| t.best_axis(1 - axis) == axis),
        };
        runs(&dot.a, 0) && dot.m.is_multiple_of(8) && (!runs(&dot.b, 1) || dot.m >= dot.n)
    }

    /// Lanes and taints of the accumulator in a layout; nobody else holds the lanes.
    fn accumulator(&mut self, acc: Cell, layout: Layout) -> (Arc<Vec<f32>>, Option<Vec<u8>>) {
        let n = layout.numel();
        if let Cell::Float(s) = acc {
            let mut lanes = self.pool.f32(n);
            lanes.fill(s.value as f32);
            return (Arc::new(lanes), (s.taint != 0).then(|| vec![s.taint; n]));
        }
        let block = match acc {
            Cell::Floats(block) if block.layout.same_order(&layout) => block,
            other => match ordered(&other, &layout) {
                Cell::Floats(block) => block,
                other => misfit(&other, "an accumulator of floats"),
            },
        };
        let Floats::F32(mut lanes) = block.lanes else { unreachable!("invariant: an accumulator below f64 has f32 lanes") };
        if Arc::get_mut(&mut lanes).is_none() {
            let mut own = self.pool.f32(n);
            own.copy_from_slice(&lanes);
            lanes = Arc::new(own);
        }
        (lanes, block.taints.map(|t| t.as_ref().clone()))
    }

    /// An operand's lanes in `out`. `outer` is its axis that is not k; it runs fastest when `vector`.
    #[expect(clippy::too_many_arguments, reason = "one way to read an operand, whatever holds it")]
    fn operand(
        &mut self,
        operand: &DotOperand,
        rows: usize,
        columns: usize,
        outer: usize,
        vector: bool,
        may_view: bool,
        out: &mut Vec<f32>,
    ) -> Step<Operand> {
        let shape = [rows, columns];
        out.resize(rows * columns, 0.0);
        match operand {
            DotOperand::Load(load, _) => self.operand_load(load, shape, outer, vector, may_view, out),
            DotOperand::Cell(slot) => {
                let cell = self.state.cells.get(*slot);
                match cell {
                    Cell::Float(s) => {
                        out.fill(s.value as f32);
                        let outer_taints = (s.taint != 0).then(|| vec![s.taint; shape[outer]]);
                        Ok(Operand::copied(outer, shape, outer, outer_taints))
                    }
                    Cell::Floats(FloatBlock { layout, lanes: Floats::F32(lanes), taints }) => {
                        let inner = if vector || !layout.is_full() { outer } else { layout.inner_axis() };
                        let to = Layout::with_inner(&shape, inner);
                        out.copy_from_slice(&super::elementwise::reorder(lanes.as_slice().into(), layout, &to));
                        let outer_taints = taints.as_ref().map(|taints| {
                            let mut by_lane = vec![0; shape[outer]];
                            for i in 0..rows {
                                for j in 0..columns {
                                    by_lane[[i, j][outer]] |= taints[layout.place(&[i, j])];
                                }
                            }
                            by_lane
                        });
                        Ok(Operand::copied(inner, shape, outer, outer_taints))
                    }
                    other => misfit(other, "an operand of f32 lanes"),
                }
            }
        }
    }

    fn operand_load(
        &mut self,
        load: &LoadTile,
        shape: [usize; 2],
        outer: usize,
        vector: bool,
        may_view: bool,
        out: &mut [f32],
    ) -> Step<Operand> {
        let tile::Scratch { axes, masks, touched, .. } = &mut self.scratch;
        let resolved = resolve(&load.tile, &self.state.cells, self.launch, axes).ok_or(Stop::Suspect)?;
        let extent = extent(self.launch, resolved.arg);
        let buffer = self.port.buffer(extent.buffer);
        let observed = buffer.undefined.is_some() || self.port.watches_reads(extent.buffer);
        let Storage::F32(memory) = &buffer.lanes else { return Err(Stop::Suspect) };
        if may_view
            && !observed
            && let Some(strides) = resolved.strides()
            && (!vector || strides[outer] == 1 && keeps_to_its_sets(strides[1 - outer], shape[1 - outer]))
            && let Ok(first) = usize::try_from(resolved.first())
        {
            self.report.tiles_viewed += 1;
            return Ok(Operand {
                k_stride: strides[1 - outer],
                outer_stride: strides[outer],
                outer_taints: None,
                view: Some((extent.buffer, first)),
            });
        }
        let best = resolved.best_axis(outer);
        let inner = if vector { outer } else { best };
        let (other, missing) = match load.other.map(|slot| self.state.cells.get(slot)) {
            Some(other) => {
                let s = float_scalar(other);
                (s.value as f32, s.taint)
            }
            None => (0.0, taint::MASKED),
        };
        let layout = Layout::with_inner(&shape, inner);
        let mut taints = None;
        touched.clear();
        let bounds = self.launch.checks.bounds;
        let source = Source { memory, extent, bounds, touched: observed.then_some(touched) };
        if best == inner || resolved.empty {
            let filled = Filled { out, taints: &mut taints, masks, report: &mut self.report };
            TileCopy::new(&resolved, source, inner, &layout, (other, missing)).run(filled)?;
        } else {
            // Copy along the axis that runs, then turn.
            let natural = Layout::with_inner(&shape, best);
            let mut copy = self.pool.f32(out.len());
            let mut natural_taints = None;
            let filled = Filled { out: &mut copy, taints: &mut natural_taints, masks, report: &mut self.report };
            TileCopy::new(&resolved, source, best, &natural, (other, missing)).run(filled)?;
            transpose(&copy, shape[best], shape[1 - best], out);
            taints = natural_taints.map(|t| super::elementwise::reorder(t.into(), &natural, &layout).into_owned());
            self.pool.give_back_f32(copy);
        }
        let arg = resolved.arg;
        let outer_taints = taints.map(|taints| by_outer(&taints, &layout, outer));
        drop(resolved);
        if observed {
            self.observe(arg)?;
        }
        Ok(Operand::copied(inner, shape, outer, outer_taints))
    }

    fn lanes_of<'s>(&'s self, operand: &Operand, scratch: &'s [f32]) -> &'s [f32] {
        match operand.view {
            None => scratch,
            Some((id, first)) => match &self.port.buffer(id).lanes {
                Storage::F32(memory) => &memory[first..],
                Storage::F64(_) | Storage::I64(_) | Storage::Bool(_) => unreachable!("invariant: only f32 buffers are viewed"),
            },
        }
    }

    /// Dots in f64, and of integers: plain loops.
    fn dot_wide(&mut self, dot: &tape::Dot, at: &Instruction) -> Step<Cell> {
        let (m, n, k) = (dot.m, dot.n, dot.k);
        let mut cells = Vec::new();
        for (operand, shape) in [(&dot.a, [m, k]), (&dot.b, [k, n])] {
            let cell = match operand {
                DotOperand::Cell(slot) => self.cell(*slot).clone(),
                DotOperand::Load(load, _) => self.load_tile(load, at)?,
            };
            cells.push(super::shape::materialise(&wrapped(&cell, dot.elem), dot.elem, &shape, &mut self.pool));
        }
        let acc = wrapped(self.cell(dot.acc), dot.acc_elem);
        let acc = super::shape::materialise(&acc, dot.acc_elem, &[m, n], &mut self.pool);
        let layout = Layout::row_major(&[m, n]);
        let mut flags = vec![0u8; m * n];
        for i in 0..m {
            for j in 0..n {
                let flag = |c: &Cell, at: usize| c.taints().as_ref().map_or(0, |t| t[at]);
                flags[i * n + j] =
                    (0..k).fold(flag(&acc, i * n + j), |f, p| f | flag(&cells[0], i * k + p) | flag(&cells[1], p * n + j));
            }
        }
        match (&cells[0], &cells[1], &acc) {
            (Cell::Floats(a), Cell::Floats(b), Cell::Floats(c)) => {
                let at = |block: &FloatBlock, i: usize| match &block.lanes {
                    Floats::F32(v) => f64::from(v[i]),
                    Floats::F64(v) => v[i],
                };
                let sum = |i: usize| {
                    let (row, column) = (i / n, i % n);
                    (0..k).fold(at(c, i), |s, p| at(a, row * k + p).mul_add(at(b, p * n + column), s))
                };
                let lanes = Floats::F64(Arc::new((0..m * n).map(sum).collect()));
                Ok(Cell::Floats(FloatBlock { layout, lanes, taints: taint::seal(flags) }))
            }
            (Cell::Ints(a), Cell::Ints(b), Cell::Ints(c)) => {
                let (a, b, c) = (a.values(), b.values(), c.values());
                let sum = |i: usize| {
                    let (row, column) = (i / n, i % n);
                    let exact =
                        (0..k).fold(i128::from(c[i]), |s, p| s + i128::from(a[row * k + p]) * i128::from(b[p * n + column]));
                    let wrapped = crate::emulate::value::int::wrap(exact as i64, dot.acc_elem);
                    (wrapped, if i128::from(wrapped) == exact { 0 } else { taint::WRAPPED })
                };
                let (lanes, new): (Vec<i64>, Vec<u8>) = (0..m * n).map(sum).unzip();
                flags.iter_mut().zip(new).for_each(|(flag, new)| *flag |= new);
                Ok(Cell::Ints(IntBlock::dense(layout, lanes, taint::seal(flags))))
            }
            _ => self.unsupported("a dot of these operands", at),
        }
    }
}

/// Whether `rows` lines, this many f32 apart, do not crowd each other out of a first-level cache of
/// 4 KiB ways: at most four to a set.
fn keeps_to_its_sets(stride: usize, rows: usize) -> bool {
    const WAY: usize = 4096;
    let bytes = (stride * 4) % WAY;
    let distance = if bytes == 0 { WAY } else { 1 << bytes.trailing_zeros() };
    rows.div_ceil((WAY / distance).max(1)) <= 4
}

/// United taints of the lanes along `outer`.
fn by_outer(taints: &[u8], layout: &Layout, outer: usize) -> Vec<u8> {
    let mut by_lane = vec![0; layout.size(outer)];
    for i in 0..layout.size(0) {
        for j in 0..layout.size(1) {
            by_lane[[i, j][outer]] |= taints[layout.place(&[i, j])];
        }
    }
    by_lane
}

/// `from` has lines of `n` lanes, `lines` of them; `to` gets lines of `lines` lanes.
fn transpose(from: &[f32], n: usize, lines: usize, to: &mut [f32]) {
    const TILE: usize = 8;
    for l0 in (0..lines).step_by(TILE) {
        for i0 in (0..n).step_by(TILE) {
            for l in l0..(l0 + TILE).min(lines) {
                for i in i0..(i0 + TILE).min(n) {
                    to[i * lines + l] = from[l * n + i];
                }
            }
        }
    }
}
