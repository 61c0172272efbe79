//! `tt.dot`.
//!
//! The accumulator's layout says which axis is the vector axis; a first dot chooses it from its
//! operands: m when A's addresses run along m (a convolution's pixels), else n. A load that only
//! this dot uses is made here, straight into the layout that the inner loop wants. Every element is
//! summed in the order of k (see `simd::dot`), so none of these choices shows in the result.
//!
//! Precision: `ieee` uses the operands as they are; `tf32` truncates f32 operands to 10 mantissa
//! bits (as the H200 does). f16 and bf16 operands are exact in f32. An f16 accumulator is rounded
//! once a dot.

use std::sync::Arc;

use super::load::{Source, lines};
use super::shape::ordered;
use super::tile::{extent, resolve};
use super::{Machine, Step, Stop};
use crate::emulate::simd;
use crate::emulate::tape::{self, DotOperand, Instruction, LoadTile};
use crate::emulate::value::round::round_lanes;
use crate::emulate::value::{Cell, FloatBlock, Floats, IntBlock, Layout, taint};
use crate::kernel::ir::{DotPrecision, Elem};
use crate::tensor::Storage;

/// Operand buffers.
#[derive(Default)]
pub struct Scratch {
    a: Vec<f32>,
    b: Vec<f32>,
}

/// A loaded operand: which axis runs fastest, and the taint of each lane of the outer (non-k) axis.
struct Loaded {
    inner: usize,
    outer_taints: Option<Vec<u8>>,
}

impl Machine<'_> {
    pub(super) fn dot(&mut self, dot: &tape::Dot, at: &Instruction) -> Step<Cell> {
        if matches!(dot.acc_elem, Elem::F32 | Elem::F16) && dot.elem.is_float() && dot.elem != Elem::F64 {
            return self.dot_f32(dot, at);
        }
        self.dot_wide(dot, at)
    }

    fn dot_f32(&mut self, dot: &tape::Dot, at: &Instruction) -> Step<Cell> {
        let (m, n, k) = (dot.m, dot.n, dot.k);
        let acc = if dot.take_acc { self.take(dot.acc) } else { self.cell(dot.acc).clone() };
        let vector_m = match acc.layout() {
            Some(layout) if layout.is_full() => layout.inner_axis() == 0 && m > 1,
            _ => self.prefers_m(dot),
        };
        let mut scratch = std::mem::take(&mut self.dots);
        // The vector operand with its non-k axis fastest, the scalar operand as it comes.
        let a = self.operand(&dot.a, m, k, 0, vector_m, &mut scratch.a, at)?;
        let b = self.operand(&dot.b, k, n, 1, !vector_m, &mut scratch.b, at)?;
        if dot.precision == DotPrecision::Tf32 && dot.elem == Elem::F32 {
            truncate(&mut scratch.a);
            truncate(&mut scratch.b);
        }
        let layout = if vector_m { Layout::with_inner(&[m, n], 0) } else { Layout::row_major(&[m, n]) };
        let (mut lanes, mut taints) = self.accumulator(acc, layout);
        let shape = |vector_k, scalar_k, scalar_s, v, s| simd::dot::Shape { k, v, s, vector_k, scalar_k, scalar_s, acc_s: v };
        let dot_fn = if self.tape.lazy { simd::dot::dot } else { simd::dot::dot_plain };
        if vector_m {
            let (scalar_k, scalar_s) = if b.inner == 0 { (1, k) } else { (n, 1) };
            dot_fn(shape(m, scalar_k, scalar_s, m, n), &scratch.a, &scratch.b, &mut lanes);
        } else {
            let (scalar_k, scalar_s) = if a.inner == 1 { (1, k) } else { (m, 1) };
            dot_fn(shape(n, scalar_k, scalar_s, n, m), &scratch.b, &scratch.a, &mut lanes);
        }
        if dot.acc_elem == Elem::F16 {
            round_lanes(Elem::F16, &mut lanes);
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
        Ok(Cell::f32_block(layout, lanes, taints.and_then(taint::seal)))
    }

    fn take(&mut self, slot: tape::Slot) -> Cell {
        match slot.space() {
            tape::Space::Local(i) => std::mem::take(&mut self.state.cells.local[i]),
            tape::Space::Launch(_) | tape::Space::Table(..) => self.cell(slot).clone(),
        }
    }

    /// Whether A's lanes run along m better than B's along n.
    fn prefers_m(&self, dot: &tape::Dot) -> bool {
        let runs = |operand: &DotOperand, axis: usize| match operand {
            DotOperand::Cell(slot) => self.cell(*slot).layout().is_some_and(|l| l.is_full() && l.inner_axis() == axis),
            DotOperand::Load(load, _) => {
                resolve(&load.tile, &self.state.cells, self.launch).is_some_and(|t| t.best_axis(1 - axis) == axis)
            }
        };
        runs(&dot.a, 0) && dot.m.is_multiple_of(8) && (!runs(&dot.b, 1) || dot.m >= dot.n)
    }

    /// Lanes and taints of the accumulator in a layout, in a buffer of their own.
    fn accumulator(&mut self, acc: Cell, layout: Layout) -> (Vec<f32>, Option<Vec<u8>>) {
        let n = layout.numel();
        match acc {
            Cell::Float(s) => {
                let mut lanes = self.pool.f32(n);
                lanes.fill(s.value as f32);
                (lanes, (s.taint != 0).then(|| vec![s.taint; n]))
            }
            cell => {
                let Cell::Floats(FloatBlock { lanes: Floats::F32(lanes), taints, .. }) = ordered(&cell, &layout) else {
                    return (vec![f32::NAN; n], Some(vec![taint::POISON; n]));
                };
                drop(cell);
                let lanes = match Arc::try_unwrap(lanes) {
                    Ok(lanes) => lanes,
                    Err(shared) => {
                        let mut own = self.pool.f32(n);
                        own.copy_from_slice(&shared);
                        own
                    }
                };
                (lanes, taints.map(|t| t.as_ref().clone()))
            }
        }
    }

    /// An operand's lanes in `out`. `outer` is its axis that is not k; it runs fastest when `vector`.
    #[allow(clippy::too_many_arguments)]
    fn operand(
        &mut self,
        operand: &DotOperand,
        rows: usize,
        columns: usize,
        outer: usize,
        vector: bool,
        out: &mut Vec<f32>,
        at: &Instruction,
    ) -> Step<Loaded> {
        let shape = [rows, columns];
        out.resize(rows * columns, 0.0);
        match operand {
            DotOperand::Load(load, _) => self.operand_load(load, shape, outer, vector, out),
            DotOperand::Cell(slot) => {
                let cell = self.state.cells.get(*slot);
                match cell {
                    Cell::Float(s) => {
                        out.fill(s.value as f32);
                        let outer_taints = (s.taint != 0).then(|| vec![s.taint; shape[outer]]);
                        Ok(Loaded { inner: outer, outer_taints })
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
                        Ok(Loaded { inner, outer_taints })
                    }
                    _ => self.unsupported("a dot of these operands", at),
                }
            }
        }
    }

    fn operand_load(&mut self, load: &LoadTile, shape: [usize; 2], outer: usize, vector: bool, out: &mut [f32]) -> Step<Loaded> {
        let resolved = resolve(&load.tile, &self.state.cells, self.launch).ok_or(Stop::Suspect)?;
        let extent = extent(self.launch, resolved.arg);
        let buffer = self.port.buffer(extent.buffer);
        let observed = buffer.undefined.is_some() || self.port.watches_reads(extent.buffer);
        let Storage::F32(memory) = &buffer.lanes else { return Err(Stop::Suspect) };
        let best = resolved.best_axis(outer);
        let inner = if vector { outer } else { best };
        let (other, missing) = match load.other.map(|slot| self.state.cells.get(slot)) {
            Some(Cell::Float(s)) => (s.value as f32, s.taint),
            Some(_) => return Err(Stop::Suspect),
            None => (0.0, taint::MASKED),
        };
        let layout = Layout::with_inner(&shape, inner);
        let mut taints = None;
        let scratch = &mut self.scratch;
        scratch.touched.clear();
        let bounds = self.launch.checks.bounds;
        let mut source = Source { memory, extent, bounds, touched: observed.then_some(&mut scratch.touched) };
        if best == inner || resolved.empty {
            let lanes = &mut scratch.lanes;
            lines(&resolved, inner, &layout, &mut source, other, missing, out, &mut taints, lanes, &mut self.report)?;
        } else {
            // Copy along the axis that runs, then turn.
            let natural = Layout::with_inner(&shape, best);
            let mut copy = self.pool.f32(out.len());
            let mut natural_taints = None;
            let lanes = &mut scratch.lanes;
            lines(
                &resolved,
                best,
                &natural,
                &mut source,
                other,
                missing,
                &mut copy,
                &mut natural_taints,
                lanes,
                &mut self.report,
            )?;
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
        Ok(Loaded { inner, outer_taints })
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
            cells.push(super::shape::materialise(&cell, dot.elem, &shape, &mut self.pool));
        }
        let acc = super::shape::materialise(&self.cell(dot.acc).clone(), dot.acc_elem, &[m, n], &mut self.pool);
        let layout = Layout::row_major(&[m, n]);
        let mut flags = vec![0u8; m * n];
        for i in 0..m {
            for j in 0..n {
                let flag = |c: &Cell, at: usize| c.taints().as_ref().map_or(0, |t| t[at]);
                flags[i * n + j] =
                    (0..k).fold(flag(&acc, i * n + j), |f, p| f | flag(&cells[0], i * k + p) | flag(&cells[1], p * n + j));
            }
        }
        let taints = taint::seal(flags);
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
                Ok(Cell::Floats(FloatBlock { layout, lanes: Floats::F64(Arc::new((0..m * n).map(sum).collect())), taints }))
            }
            (Cell::Ints(a), Cell::Ints(b), Cell::Ints(c)) => {
                let (a, b, c) = (a.values(), b.values(), c.values());
                let sum = |i: usize| {
                    let (row, column) = (i / n, i % n);
                    let total = (0..k).fold(c[i], |s, p| s.wrapping_add(a[row * k + p].wrapping_mul(b[p * n + column])));
                    crate::emulate::value::int::wrap(total, dot.acc_elem)
                };
                Ok(Cell::Ints(IntBlock::dense(layout, (0..m * n).map(sum).collect(), taints)))
            }
            _ => self.unsupported("a dot of these operands", at),
        }
    }
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

/// tf32: the upper 10 bits of the mantissa.
fn truncate(lanes: &mut [f32]) {
    lanes.iter_mut().for_each(|x| *x = f32::from_bits(x.to_bits() & 0xffff_e000));
}
