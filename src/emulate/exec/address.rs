//! Pointers, and sums and conjunctions of one-axis terms (`tape::split`) where they need all their lanes.

use super::cells::hull_of;
use super::tile::extent;
use super::{Machine, Step, Stop, compare, int, shape};
use crate::emulate::tape::{Conjunct, Guards, Slot, Sum};
use crate::emulate::value::int::bounds;
use crate::emulate::value::{Cell, IntBlock, Origin, Pointer, Pool, PtrBlock, Scalar, Taints, misfit, taint};
use crate::kernel::ir::{Elem, IntBinary, IntPredicate};

impl Machine<'_> {
    pub(super) fn add_ptr(&mut self, ptr: Slot, offset: Slot, elem: Elem) -> Cell {
        let offset = int::wrapped(self.state.cells.get(offset), elem);
        match (self.state.cells.get(ptr), &offset) {
            (Cell::Ptr(p), Cell::Int(s)) => {
                Cell::Ptr(Pointer { offset: p.offset.wrapping_add(s.value), taint: p.taint | s.taint, ..*p })
            }
            (Cell::Ptr(p), Cell::Ints(_)) => {
                let base = Cell::Int(Scalar { value: p.offset, taint: p.taint });
                pointers(p.arg, int::binary(IntBinary::Add, Elem::I64, &base, &offset, &mut self.pool))
            }
            (Cell::Ptrs(block), Cell::Int(_) | Cell::Ints(_)) => {
                let base = Cell::Ints(block.offsets.clone());
                pointers(block.arg, int::binary(IntBinary::Add, Elem::I64, &base, &offset, &mut self.pool))
            }
            (Cell::Ptr(_) | Cell::Ptrs(_), other) => misfit(other, "an offset"),
            (other, _) => misfit(other, "a pointer"),
        }
    }

    /// The address of offset zero, and the bytes between offsets.
    pub(super) fn origin(&self, arg: u32) -> (i64, i64) {
        let launch = self.launch;
        let base = |arg: usize| self.port.buffer(extent(launch, arg).buffer).base;
        match Origin::of(arg) {
            Origin::Argument(arg) => (base(arg), launch.dtypes[extent(launch, arg).buffer.0].size() as i64),
            Origin::Cast { arg, pointee } => (arg.map_or(0, base), launch.program.uses.pointees[pointee].size() as i64),
        }
    }

    /// A pointer as its address, an address as a pointer, or a pointer seen as one to another type.
    pub(super) fn cast_pointer(&mut self, from: Slot, to: Elem) -> Cell {
        let cell = self.state.cells.get(from);
        let (arg, offsets) = match cell {
            Cell::Ptr(p) => (Some(p.arg), Cell::Int(Scalar { value: p.offset, taint: p.taint })),
            Cell::Ptrs(block) => (Some(block.arg), Cell::Ints(block.offsets.clone())),
            number => (None, int::wrapped(number, Elem::I64)),
        };
        let (start, size) = arg.map_or((0, 1), |arg| self.origin(arg));
        let Elem::Ptr(dtype) = to else { return mapped(&offsets, |offset| (start.wrapping_add(offset.wrapping_mul(size)), 0)) };
        let pointee = self.launch.program.uses.pointees.iter().position(|p| *p == dtype);
        let pointee = pointee.expect("invariant: the tape knows what pointers are seen as");
        let known = arg.and_then(|arg| match Origin::of(arg) {
            Origin::Argument(arg) => Some(arg),
            Origin::Cast { arg, pointee: _ } => arg,
        });
        let unit = dtype.size() as i64;
        let offsets = mapped(&offsets, |offset| {
            let bytes = offset.wrapping_mul(size);
            (bytes.div_euclid(unit), if bytes.rem_euclid(unit) == 0 { 0 } else { taint::MISALIGNED })
        });
        pointers(Origin::Cast { arg: known, pointee }.packed(), offsets)
    }

    /// A sum lane by lane.
    pub(super) fn materialise(&mut self, sum: &Sum, elem: Elem, to: &[usize]) -> Cell {
        let (arg, mut total) = match self.state.cells.get(sum.base) {
            Cell::Ptr(p) => (Some(p.arg), Cell::Int(Scalar { value: p.offset, taint: p.taint })),
            Cell::Int(s) => (None, Cell::Int(*s)),
            other => misfit(other, "the base of a sum"),
        };
        let wide = if matches!(elem, Elem::Ptr(_)) { Elem::I64 } else { elem };
        for (axis, term) in sum.terms.iter().enumerate() {
            let Some(term) = term else { continue };
            let spread = along(self.state.cells.get(*term), axis, to, &mut self.pool);
            total = int::binary(IntBinary::Add, wide, &total, &spread, &mut self.pool);
        }
        let total = shape::materialise(&total, wide, to, &mut self.pool);
        match arg {
            Some(arg) => pointers(arg, total),
            None => total,
        }
    }

    /// A conjunction lane by lane.
    pub(super) fn conjunction(&mut self, mask: &[Conjunct], to: &[usize]) -> Cell {
        let mut all = Cell::int(1);
        for conjunct in mask {
            let factor = match conjunct {
                Conjunct::Scalar(slot) | Conjunct::Block(slot) => self.state.cells.get(*slot).clone(),
                Conjunct::Axis(axis, slot) => along(self.state.cells.get(*slot), *axis, to, &mut self.pool),
                Conjunct::Band { sum, lo, hi } => {
                    let sum = self.materialise(sum, Elem::I64, to);
                    let mut inside = Cell::int(1);
                    for (limit, predicate) in [(lo, IntPredicate::GeS), (hi, IntPredicate::LtS)] {
                        if let Some(limit) = limit {
                            let limit = self.state.cells.get(*limit);
                            let side = compare::ints(predicate, Elem::I64, &sum, limit, &mut self.pool);
                            inside = int::binary(IntBinary::And, Elem::I1, &inside, &side, &mut self.pool);
                        }
                    }
                    inside
                }
            };
            all = int::binary(IntBinary::And, Elem::I1, &all, &factor, &mut self.pool);
        }
        all
    }

    /// Suspect unless every lane of the sum fits the type.
    pub(super) fn guard(&self, sum: &Sum, elem: Elem) -> Step {
        let cells = &self.state.cells;
        let fits = fits(sum, elem, |slot| hull_of(cells.get(slot)));
        if fits { Ok(()) } else { Err(Stop::Suspect) }
    }

    /// All guards of an iteration. Where they hold for every kept row at once, they are not asked again in this program
    /// until the table has another row: all other cells that they read stay until the program ends.
    pub(super) fn guards(&mut self, guards: &Guards) -> Step {
        let cells = &self.state.cells;
        let proven = self.scratch.proven(guards.number);
        let rows = cells.kept_row(guards.table).map(|_| cells.kept(guards.table));
        if rows.is_some() && *proven == rows {
            return Ok(());
        }
        if rows.is_some() && guards.sums.iter().all(|(sum, elem)| fits(sum, *elem, |slot| cells.hull_of_rows(slot))) {
            *proven = rows;
            return Ok(());
        }
        guards.sums.iter().try_for_each(|(sum, elem)| self.guard(sum, *elem))
    }
}

/// Whether a sum of cells with these ranges fits a type.
fn fits(sum: &Sum, elem: Elem, hull: impl Fn(Slot) -> Option<(i64, i64)>) -> bool {
    let (mut lo, mut hi) = (0i64, 0i64);
    for slot in std::iter::once(sum.base).chain(sum.terms.iter().flatten().copied()) {
        let (least, most) = hull(slot).expect("invariant: the terms of a guarded sum are integers");
        lo = lo.saturating_add(least);
        hi = hi.saturating_add(most);
    }
    let (min, max) = bounds(elem);
    lo >= min && hi <= max
}

/// A one-axis block along an axis of a shape.
fn along(cell: &Cell, axis: usize, to: &[usize], pool: &mut Pool) -> Cell {
    let Some(mut layout) = cell.layout().copied() else { return cell.clone() };
    for a in 0..to.len() {
        if a != axis {
            layout = layout.expanded(a);
        }
    }
    cell.with_layout(layout.broadcast(to), pool)
}

fn pointers(arg: u32, offsets: Cell) -> Cell {
    match offsets {
        Cell::Ints(offsets) => Cell::Ptrs(PtrBlock { arg, offsets }),
        Cell::Int(s) => Cell::Ptr(Pointer { arg, offset: s.value, taint: s.taint }),
        other => misfit(&other, "offsets"),
    }
}

/// Every lane by a function, which may add a taint.
fn mapped(cell: &Cell, f: impl Fn(i64) -> (i64, u8)) -> Cell {
    match cell {
        Cell::Int(s) => {
            let (value, flag) = f(s.value);
            Cell::Int(Scalar { value, taint: s.taint | flag })
        }
        Cell::Ints(block) => {
            let (lanes, flags): (Vec<i64>, Vec<u8>) = block.values().iter().map(|&lane| f(lane)).unzip();
            let before = |lane: usize| block.taints.as_ref().map_or(0, |t| t[lane]);
            let taints = taint::seal(flags.iter().enumerate().map(|(lane, flag)| flag | before(lane)).collect());
            Cell::Ints(IntBlock::dense(block.layout, lanes, taints))
        }
        other => misfit(other, "addresses"),
    }
}

pub fn only_lane(cell: &Cell) -> Cell {
    let flag = |taints: &Taints| taints.as_ref().map_or(0, |t| t[0]);
    match cell {
        Cell::Ints(block) => Cell::Int(Scalar { value: block.at(0), taint: flag(&block.taints) }),
        Cell::Mask(block) => Cell::Int(Scalar { value: block.values()[0].into(), taint: flag(&block.taints) }),
        Cell::Int(_) => cell.clone(),
        Cell::Empty | Cell::Float(_) | Cell::Ptr(_) | Cell::Floats(_) | Cell::Ptrs(_) => misfit(cell, "integers"),
    }
}
