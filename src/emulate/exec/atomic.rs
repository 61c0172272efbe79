//! Atomic operations and volatile loads, and loads and stores through pointers of another type: lane by lane, in
//! row-major order, on the bits that memory holds.
//!
//! A lane of an atomic sees what the lanes before it wrote. Lanes that are masked off have no old value. A float sum
//! is rounded to the element's type each time.

use super::assemble::{assemble, float_of, lane_bits, size};
use super::int::wrapped;
use super::lanes::Access;
use super::shape::materialise;
use super::{Machine, Step, Stop};
use crate::emulate::check::poison;
use crate::emulate::check::race::{Touch, TouchKind};
use crate::emulate::launch::BufferId;
use crate::emulate::tape::{Atomic, AtomicKind, Instruction, Slot};
use crate::emulate::value::int::wrap;
use crate::emulate::value::{Cell, taint};
use crate::kernel::ir::{AtomicOp, Elem, MemoryOrder};
use crate::source::Span;

/// Phases of a program that is run again begin here, later than any of its first run.
const AGAIN: u32 = 1 << 31;

/// How the running program gets along with the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Talk {
    /// Goes up where lanes of the program wait for each other.
    pub phase: u32,
    /// Stores that the program has made.
    pub stores: u32,
    /// How often memory was changed, by any program of this machine.
    pub changes: u64,
    /// As it was at the end of the last turn of a waiting loop.
    seen: u64,
    /// Turns since then.
    idle: u32,
    /// Other programs may run while this one waits.
    pub may_wait: bool,
    /// It has waited: one idle turn is enough.
    pub has_waited: bool,
    /// The last access that others can change the outcome of.
    pub looked_at: Option<LookedAt>,
}

/// What a waiting program looked at.
#[derive(Clone, Copy, Debug)]
pub struct LookedAt {
    pub buffer: BufferId,
    pub element: usize,
    pub span: Span,
}

impl Talk {
    /// A program begins; `again` where it is run once more, and what its lanes did the first time is marked still.
    pub fn start(&mut self, again: bool) {
        let phase = if again { AGAIN } else { 1 };
        *self = Talk { phase, changes: self.changes, seen: self.changes, may_wait: self.may_wait, ..Talk::default() };
    }
}

/// Which operands an access has, materialised.
struct Operands {
    access: Access,
    value: Option<Cell>,
    expected: Option<Cell>,
    other: Option<Cell>,
}

impl Machine<'_> {
    /// Who touches memory, by one lane.
    pub(super) fn touch(&self, lane: usize, kind: TouchKind) -> Touch {
        Touch { program: self.linear, phase: self.talk.phase, lane: lane as u32, step: 0, kind, number: self.talk.stores }
    }

    /// The end of a turn of a loop that may wait.
    pub(super) fn end_of_turn(&mut self, patience: u32) -> Step {
        let talk = &mut self.talk;
        if !talk.may_wait {
            return Ok(());
        }
        if talk.changes != talk.seen {
            (talk.seen, talk.idle) = (talk.changes, 0);
            return Ok(());
        }
        talk.idle += 1;
        if talk.idle < patience && !talk.has_waited {
            return Ok(());
        }
        talk.idle = 0;
        Err(Stop::Yield)
    }

    fn block(&mut self, slot: Slot, elem: Elem, shape: &[usize]) -> Cell {
        materialise(&wrapped(self.state.cells.get(slot), elem), elem, shape, &mut self.pool)
    }

    pub(super) fn atomic(&mut self, atomic: &Atomic, at: &Instruction) -> Step<Cell> {
        let (elem, shape) = (atomic.elem, atomic.shape.as_slice());
        let access = self.access(atomic.ptr, atomic.mask, shape);
        let [value, expected, other] =
            [atomic.value, atomic.expected, atomic.other].map(|slot| slot.map(|slot| self.block(slot, elem, shape)));
        let operands = Operands { access, value, expected, other };
        self.report.lines_gathered += 1;
        let mut places: Vec<(BufferId, Option<usize>)> = Vec::new();
        let n = operands.access.offsets.len();
        let (mut bits, mut taints) = (vec![0; n], vec![taint::MASKED; n]);
        for lane in 0..n {
            if !operands.access.active(lane) && operands.access.mask_flag(lane) == 0 {
                if let Some(other) = &operands.other {
                    bits[lane] = self.known(lane_bits(other, lane, elem), elem, at)?;
                    taints[lane] = other.taints().as_ref().map_or(0, |t| t[lane]);
                }
                continue;
            }
            taints[lane] = 0;
            if let Some(old) = self.atomic_lane(atomic, &operands, lane, &mut places, at)? {
                bits[lane] = old;
            }
        }
        if matches!(atomic.order, MemoryOrder::Release | MemoryOrder::AcquireRelease) {
            for (buffer, element) in places {
                self.port.release(self.linear, buffer, element);
            }
        }
        self.known(assemble(elem, shape, &bits, taints), elem, at)
    }

    /// One active lane; its old value, if it lies in memory.
    fn atomic_lane(
        &mut self,
        atomic: &Atomic,
        operands: &Operands,
        lane: usize,
        places: &mut Vec<(BufferId, Option<usize>)>,
        at: &Instruction,
    ) -> Step<Option<u64>> {
        let (elem, shape) = (atomic.elem, atomic.shape.as_slice());
        let modifies = atomic.kind != AtomicKind::VolatileLoad;
        let Some(spot) = self.spot(&operands.access, lane, shape, size(elem), modifies, at)? else { return Ok(None) };
        let watched = poison::watched(self.launch.checks);
        for operand in [&operands.value, &operands.expected].into_iter().flatten() {
            let flags = operand.taints().as_ref().map_or(0, |t| t[lane]);
            if flags & watched != 0 {
                let name = &self.port.buffer(spot.buffer).name;
                return self.stop(|| poison::in_atomic(self, flags, &self.lane_name(shape, lane), name, at));
            }
        }
        self.check_written(&spot, shape, lane, at)?;
        let element = spot.elements().start;
        let place = (spot.buffer, shape.is_empty().then_some(element));
        if !places.contains(&place) {
            places.push(place);
            let acquires = matches!(atomic.order, MemoryOrder::Acquire | MemoryOrder::AcquireRelease) || !modifies;
            if acquires && atomic.looked_at {
                self.port.acquire(self.linear, place.0, place.1);
            }
        }
        self.talk.looked_at = Some(LookedAt { buffer: spot.buffer, element, span: at.span });
        self.note_access(spot.buffer, element, at);
        let old = self.spot_bits(&spot, at)?;
        let operand = |machine: &Self, cell: &Option<Cell>| {
            let cell = cell.as_ref().expect("invariant: the tape gives an atomic its operands");
            machine.known(lane_bits(cell, lane, elem), elem, at)
        };
        let new = match atomic.kind {
            AtomicKind::VolatileLoad => {
                let touch = self.touch(lane, TouchKind::Volatile);
                return match self.port.read(touch, spot.buffer, element, spot.elements().len()) {
                    Ok(()) => Ok(Some(old)),
                    Err(conflict) => self.conflict_at(conflict, at),
                };
            }
            AtomicKind::CompareAndSwap => {
                if operand(self, &operands.expected)? != old {
                    return Ok(Some(old));
                }
                operand(self, &operands.value)?
            }
            AtomicKind::Modify(op) => {
                let value = operand(self, &operands.value)?;
                self.known(modify(op, elem, old, value), elem, at)?
            }
        };
        self.talk.changes += u64::from(new != old);
        let touch = self.touch(lane, TouchKind::Atomic);
        match self.write_spot(&spot, new, touch, at)? {
            Ok(()) => Ok(Some(old)),
            Err(conflict) => self.conflict_at(conflict, at),
        }
    }

    /// Bits of a type that nobody knows are not offered.
    fn known<T>(&self, bits: Option<T>, elem: Elem, at: &Instruction) -> Step<T> {
        match bits {
            Some(bits) => Ok(bits),
            None => self.unsupported(&format!("{elem} as bits in memory"), at),
        }
    }

    /// A plain load through a pointer of another type; `other` is in row-major lanes.
    pub(super) fn load_cast(
        &mut self,
        access: &Access,
        other: Option<&Cell>,
        elem: Elem,
        shape: &[usize],
        at: &Instruction,
    ) -> Step<Cell> {
        if matches!(elem, Elem::Ptr(_)) {
            return self.unsupported("a load of pointers", at);
        }
        let n = access.offsets.len();
        let (mut bits, mut taints) = (vec![0; n], vec![taint::MASKED; n]);
        for lane in 0..n {
            if !access.active(lane) && access.mask_flag(lane) == 0 {
                if let Some(other) = other {
                    bits[lane] = self.known(lane_bits(other, lane, elem), elem, at)?;
                    taints[lane] = other.taints().as_ref().map_or(0, |t| t[lane]);
                }
                continue;
            }
            taints[lane] = 0;
            let Some(spot) = self.spot(access, lane, shape, size(elem), false, at)? else { continue };
            self.check_written(&spot, shape, lane, at)?;
            let elements = spot.elements();
            let touch = self.touch(lane, TouchKind::Plain);
            if self.port.watches_reads(spot.buffer)
                && let Err(conflict) = self.port.read(touch, spot.buffer, elements.start, elements.len())
            {
                return self.conflict_at(conflict, at);
            }
            self.note_access(spot.buffer, elements.start, at);
            bits[lane] = self.spot_bits(&spot, at)?;
        }
        self.known(assemble(elem, shape, &bits, taints), elem, at)
    }

    /// A plain store through a pointer of another type.
    pub(super) fn store_cast(&mut self, access: &Access, value: &Cell, elem: Elem, shape: &[usize], at: &Instruction) -> Step {
        let watched = poison::watched(self.launch.checks);
        self.talk.stores += 1;
        for lane in 0..access.offsets.len() {
            if !access.active(lane) && access.mask_flag(lane) == 0 {
                continue;
            }
            let Some(spot) = self.spot(access, lane, shape, size(elem), true, at)? else { continue };
            let flags = value.taints().as_ref().map_or(0, |t| t[lane]);
            if flags & watched != 0 {
                let name = &self.port.buffer(spot.buffer).name;
                return self.stop(|| poison::in_store(self, flags, &self.lane_name(shape, lane), name, at));
            }
            let bits = self.known(lane_bits(value, lane, elem), elem, at)?;
            self.note_access(spot.buffer, spot.elements().start, at);
            let touch = self.touch(lane, TouchKind::Plain);
            self.talk.changes += 1;
            if let Err(conflict) = self.write_spot(&spot, bits, touch, at)? {
                return self.conflict_at(conflict, at);
            }
        }
        Ok(())
    }
}

/// The bits that an atomic leaves.
fn modify(op: AtomicOp, elem: Elem, old: u64, value: u64) -> Option<u64> {
    let (a, b) = (wrap(old as i64, elem), wrap(value as i64, elem));
    let low = super::assemble::mask(size(elem));
    Some(match op {
        AtomicOp::Add => a.wrapping_add(b) as u64 & low,
        AtomicOp::Max => a.max(b) as u64 & low,
        AtomicOp::Min => a.min(b) as u64 & low,
        AtomicOp::UMax => old.max(value),
        AtomicOp::UMin => old.min(value),
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::Exchange => value,
        AtomicOp::FAdd => {
            let (a, b) = (float_of(elem, old)?, float_of(elem, value)?);
            match elem {
                Elem::F64 => (a + b).to_bits(),
                // fp32 is wide enough that rounding twice is rounding once.
                Elem::F16 => half::f16::from_f32(a as f32 + b as f32).to_bits().into(),
                Elem::BF16 => half::bf16::from_f32(a as f32 + b as f32).to_bits().into(),
                _ => (a as f32 + b as f32).to_bits().into(),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_atomics_leave() {
        let bits = |x: f32| u64::from(x.to_bits());
        assert_eq!(modify(AtomicOp::Add, Elem::I32, u32::MAX.into(), 1), Some(0));
        assert_eq!(modify(AtomicOp::Max, Elem::I32, u32::MAX.into(), 3), Some(3));
        assert_eq!(modify(AtomicOp::UMax, Elem::I32, u32::MAX.into(), 3), Some(u32::MAX.into()));
        assert_eq!(modify(AtomicOp::Min, Elem::I64, u64::MAX, 3), Some(u64::MAX));
        assert_eq!(modify(AtomicOp::UMin, Elem::I64, u64::MAX, 3), Some(3));
        assert_eq!(modify(AtomicOp::FAdd, Elem::F32, bits(1.5), bits(2.25)), Some(bits(3.75)));
        let half = |x: f32| u64::from(half::f16::from_f32(x).to_bits());
        assert_eq!(modify(AtomicOp::FAdd, Elem::F16, half(2048.0), half(1.0)), Some(half(2048.0)));
        assert_eq!(modify(AtomicOp::Exchange, Elem::F32, bits(1.5), bits(-0.0)), Some(bits(-0.0)));
    }
}
