//! Stores of tiles: runs of consecutive addresses, line by line.

use super::line::{LineMask, for_each_run};
use super::masks::Masks;
use super::tile::{Resolved, Scratch, extent, resolve};
use super::{Machine, Step, Stop};
use crate::emulate::check::overlap::{Marks, conflict};
use crate::emulate::check::poison;
use crate::emulate::check::race::{Touch, TouchKind};
use crate::emulate::launch::Event;
use crate::emulate::memory::Line;
use crate::emulate::tape::{Slot, Tile};
use crate::emulate::value::int::unsigned;
use crate::emulate::value::{Cell, Floats, Layout, misfit};
use crate::kernel::ir::Elem;
use crate::tensor::Storage;

/// One line of values, gathered.
#[derive(Default)]
pub struct Values {
    pub f32: Vec<f32>,
    pub f64: Vec<f64>,
    pub i64: Vec<i64>,
    pub bool: Vec<u8>,
}

/// The lanes to be stored.
enum Block<'c> {
    F32(&'c [f32]),
    F64(&'c [f64]),
    I64(&'c [i64]),
    Mask(&'c [u8]),
}

impl Machine<'_> {
    pub(super) fn store_tile(&mut self, tile: &Tile, value: Slot, elem: Elem) -> Step {
        // A uniform or affine value is rare here: give it lanes.
        let dense;
        let cells = &self.state.cells;
        let Scratch { axes, masks, values: gathered, marks, .. } = &mut self.scratch;
        let resolved = resolve(tile, cells, self.launch, axes).ok_or(Stop::Suspect)?;
        if resolved.empty {
            return Ok(());
        }
        let shape = resolved.shape;
        let cell = match cells.get(value) {
            Cell::Floats(_) => cells.get(value),
            Cell::Int(_) | Cell::Float(_) => {
                dense = super::shape::materialise(cells.get(value), elem, shape, &mut self.pool);
                &dense
            }
            other @ (Cell::Ints(_) | Cell::Mask(_)) => {
                dense = super::shape::ordered(&super::int::wrapped(other, elem), &Layout::row_major(shape));
                &dense
            }
            // The dense tape refuses a store of pointers by name.
            Cell::Ptr(_) | Cell::Ptrs(_) => return Err(Stop::Suspect),
            empty @ Cell::Empty => misfit(empty, "a value"),
        };
        let layout = *cell.layout().unwrap_or_else(|| misfit(cell, "a block"));
        let values;
        let flags;
        let block = match cell {
            Cell::Floats(block) => match &block.lanes {
                Floats::F32(lanes) => Block::F32(lanes),
                Floats::F64(lanes) => Block::F64(lanes),
            },
            Cell::Ints(block) => {
                values = block.values();
                Block::I64(&values)
            }
            Cell::Mask(block) => {
                flags = block.values();
                Block::Mask(&flags)
            }
            Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) | Cell::Ptrs(_) => misfit(cell, "a block of numbers"),
        };
        let watched = poison::watched(self.launch.checks);
        let taints = cell.taints().as_ref().filter(|t| t.iter().any(|t| t & watched != 0));
        let arg = resolved.arg;
        let extent = extent(self.launch, arg);
        let inner = resolved.best_axis(layout.inner_axis());
        let step = layout.stride(inner);
        let bounds = self.launch.checks.bounds;
        let (program, id) = (self.linear, extent.buffer);
        if self.launch.checks.read_only && self.port.buffer(id).read_only {
            return Err(Stop::Suspect);
        }
        let unsigned_elem = unsigned_pointee(self.launch, arg).then_some(elem);
        let to_bool = matches!(self.port.buffer(id).lanes, Storage::Bool(_));
        let overlap = self.launch.checks.overlap;
        if overlap && !resolved.lanes_apart() && disagree(&resolved, &layout, &block, masks, marks) {
            return Err(Stop::Suspect);
        }
        let numbers = Layout::row_major(shape);
        let step_of_lanes = numbers.stride(inner) as u32;
        let touch = Touch {
            program,
            phase: self.talk.phase,
            lane: 0,
            step: step_of_lanes,
            kind: TouchKind::Plain,
            number: self.talk.stores + 1,
        };
        self.talk.changes += 1;
        self.talk.stores += 1;
        let births = self.launch.checks.births && self.report.noticed.not_finite.is_none();
        let (port, report) = (&mut self.port, &mut self.report);
        resolved.begin(masks);
        resolved.for_each_line(inner, |index| {
            let base = resolved.line_base(index, inner);
            let mask = resolved.line_mask(index, inner, masks);
            let (range, active) = match mask {
                LineMask::Range(from, to) => ((from, to), None),
                LineMask::Lanes(from, to) => ((from, to), Some(masks.lanes())),
            };
            if range.0 >= range.1 {
                return Ok(());
            }
            let place = resolved.line_place(index, inner, &layout);
            let first_lane = resolved.line_place(index, inner, &numbers) as u32;
            if let Some(taints) = taints {
                let bad = |i: usize| active.is_none_or(|l| l[i] != 0) && taints[place + i * step] & watched != 0;
                if (range.0..range.1).any(bad) {
                    return Err(Stop::Suspect);
                }
            }
            match active {
                Some(_) => report.lines_masked += 1,
                None if step == 1 => report.lines_copied += 1,
                None => report.lines_gathered += 1,
            }
            for_each_run(base, &resolved.term(inner), range, active, |start, len, from| {
                let end = start.saturating_add(len as i64 - 1);
                if !resolved.inside && bounds && !extent.contains_range(start, end) {
                    for at in start..=end {
                        if !extent.contains(at) {
                            return Err(Stop::Suspect);
                        }
                    }
                }
                if start < 0 || end as usize >= port.buffer(id).lanes.len() {
                    return Err(Stop::Suspect);
                }
                let first = place + from * step;
                let line = match &block {
                    Block::F32(v) if step == 1 => Line::F32(&v[first..first + len]),
                    Block::F32(v) => Line::F32(strided(v, first, step, len, &mut gathered.f32)),
                    Block::F64(v) => Line::F64(strided(v, first, step, len, &mut gathered.f64)),
                    Block::I64(v) if to_bool => {
                        gathered.bool.clear();
                        gathered.bool.extend((0..len).map(|i| u8::from(v[first + i * step] != 0)));
                        Line::Bool(&gathered.bool)
                    }
                    Block::I64(v) => {
                        gathered.i64.clear();
                        gathered.i64.extend((0..len).map(|i| {
                            let value = v[first + i * step];
                            unsigned_elem.map_or(value, |e| unsigned(value, e) as i64)
                        }));
                        Line::I64(&gathered.i64)
                    }
                    Block::Mask(v) if to_bool => Line::Bool(strided(v, first, step, len, &mut gathered.bool)),
                    Block::Mask(v) => {
                        gathered.i64.clear();
                        gathered.i64.extend((0..len).map(|i| i64::from(v[first + i * step])));
                        Line::I64(&gathered.i64)
                    }
                };
                if births && report.noticed.not_finite.is_none() {
                    let found = first_not_finite(&line).map(|i| start as usize + i);
                    report.noticed.not_finite = found.map(|element| Event { program, buffer: id, element });
                }
                let touch = Touch { lane: first_lane + from as u32 * step_of_lanes, ..touch };
                port.write(touch, id, start as usize, line).map_err(|_| Stop::Suspect)
            })
        })
    }
}

/// The first lane that is NaN or infinite.
fn first_not_finite(line: &Line<'_>) -> Option<usize> {
    match line {
        Line::F32(v) => v.iter().position(|x| !x.is_finite()),
        Line::F64(v) => v.iter().position(|x| !x.is_finite()),
        Line::I64(_) | Line::Bool(_) => None,
    }
}

/// Whether two active lanes of one address have different values. The addresses are marked first: they
/// are rarely equal, and sorting them is not cheap.
#[cold]
fn disagree(tile: &Resolved<'_>, layout: &Layout, block: &Block<'_>, masks: &mut Masks, marks: &mut Marks) -> bool {
    let (lo, hi) = tile.hull();
    if marks.begin(lo, hi) {
        let mut twice = false;
        each_active(tile, layout, masks, |address, _| twice |= marks.mark(address));
        if !twice {
            return false;
        }
    }
    let mut lanes = Vec::new();
    each_active(tile, layout, masks, |address, place| lanes.push((address, place as u32)));
    let differ = |a: u32, b: u32| {
        let (a, b) = (a as usize, b as usize);
        match block {
            Block::F32(v) => v[a].to_bits() != v[b].to_bits(),
            Block::F64(v) => v[a].to_bits() != v[b].to_bits(),
            Block::I64(v) => v[a] != v[b],
            Block::Mask(v) => v[a] != v[b],
        }
    };
    conflict(&mut lanes, differ).is_some()
}

/// Calls `visit(address, place)` for every active lane, where `place` is the lane's in the block.
fn each_active(tile: &Resolved<'_>, layout: &Layout, masks: &mut Masks, mut visit: impl FnMut(i64, usize)) {
    let inner = layout.inner_axis();
    let (term, step) = (tile.term(inner), layout.stride(inner));
    tile.begin(masks);
    let every: Result<(), std::convert::Infallible> = tile.for_each_line(inner, |index| {
        let (base, place) = (tile.line_base(index, inner), tile.line_place(index, inner, layout));
        let (range, bytes) = match tile.line_mask(index, inner, masks) {
            LineMask::Range(from, to) => (from..to, None),
            LineMask::Lanes(from, to) => (from..to, Some(masks.lanes())),
        };
        for i in range.filter(|&i| bytes.is_none_or(|b| b[i] != 0)) {
            visit(base.wrapping_add(term.at(i)), place + i * step);
        }
        Ok(())
    });
    let Ok(()) = every;
}

/// Whether the buffer behind a pointer holds unsigned integers.
pub fn unsigned_pointee(launch: &super::Launch<'_>, arg: usize) -> bool {
    let kernel = &launch.program.kernel;
    matches!(kernel.ty(kernel.params[arg].value).elem, Elem::Ptr(dtype) if dtype.is_unsigned())
}

fn strided<'v, T: Copy>(values: &'v [T], first: usize, step: usize, len: usize, out: &'v mut Vec<T>) -> &'v [T] {
    if step == 1 {
        return &values[first..first + len];
    }
    out.clear();
    out.extend((0..len).map(|i| values[first + i * step]));
    out
}
