//! Atomic operations: any order of programs is right, so a float sum has the error of a sum in any order, and what an
//! operation returns hangs on the order.

use std::sync::Arc;

use super::access::{Target, target};
use super::float::{clean, law};
use super::lanes::{at, count, error, values};
use super::rounding::unit;
use super::{Errors, Shadow};
use crate::emulate::exec::Machine;
use crate::emulate::launch::BufferId;
use crate::emulate::tape::{Atomic, AtomicKind, Instruction, Slot};
use crate::kernel::ir::AtomicOp;

/// The terms that atomics added to an element.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    terms: usize,
    squares: f64,
    /// Their errors, and that of what was there before.
    errors: f64,
}

impl Shadow {
    /// After the operation; memory holds what it made.
    pub(super) fn atomic(&mut self, machine: &mut Machine<'_>, at_: &Instruction, atomic: &Atomic, out: Slot) -> Option<Errors> {
        let AtomicKind::Modify(op) = atomic.kind else {
            return self.other(machine, at_, atomic, out);
        };
        let value = atomic.value?;
        let (origin, elements, active) = machine.addresses(atomic.ptr, atomic.mask, &atomic.shape);
        let masks = atomic.mask.and_then(|mask| self.of(mask));
        let Target::Elements(buffer) = target(machine, origin) else {
            if !self.exact(&[atomic.ptr, value]) || op == AtomicOp::FAdd {
                self.lost = true;
                self.note(at_, "an atomic operation on memory of another type");
            }
            return self.returned(machine, atomic, out);
        };
        if self.of(atomic.ptr).is_some() || masks.is_some() {
            self.lost = true;
            self.note(at_, "which element an atomic operation changes hangs on a value within its error");
            return self.returned(machine, atomic, out);
        }
        let (x, ex) = (values(machine, value), self.of(value));
        for (i, &element) in elements.iter().enumerate() {
            let place = usize::try_from(element).ok().filter(|&at| at < machine.port.buffer(BufferId(buffer)).lanes.len());
            let (Some(place), true) = (place, active.get(i).copied().unwrap_or(true)) else { continue };
            let (x, ex) = (at(&x, i), error(&ex, i));
            let held = self.held(buffer, element);
            let now = machine.port.buffer(BufferId(buffer)).lanes.get_f64(place);
            let found = match op {
                AtomicOp::FAdd => {
                    let sum = self.sums.entry((buffer, place)).or_insert(Sum { errors: held, ..Sum::default() });
                    if sum.terms == 0 {
                        // What was there is a term, too, unless it is nothing.
                        let before = now - x;
                        sum.squares = before * before;
                        sum.terms = usize::from(before.abs() > 4.0 * unit(atomic.elem) * now.abs());
                    }
                    sum.terms += usize::from(x != 0.0);
                    sum.squares += x * x;
                    sum.errors += ex;
                    // Two terms have one sum, whose rounding is the same where they are.
                    let rounded = sum.terms > 2 || sum.errors > 0.0;
                    sum.errors + if rounded { law(unit(atomic.elem), sum.terms, sum.squares, now) } else { 0.0 }
                }
                AtomicOp::Add => held + ex,
                AtomicOp::Max | AtomicOp::Min | AtomicOp::UMax | AtomicOp::UMin => held.max(ex),
                AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Exchange => {
                    if held == 0.0 && ex == 0.0 {
                        0.0
                    } else {
                        f64::INFINITY
                    }
                }
            };
            self.hold(machine, buffer, place, clean(found));
        }
        self.returned(machine, atomic, out)
    }

    /// The old value: whatever the order made of it, unless there is but one program and one lane.
    fn returned(&self, machine: &Machine<'_>, atomic: &Atomic, out: Slot) -> Option<Errors> {
        let alone = machine.launch.grid.iter().all(|&n| n == 1) && atomic.shape.iter().all(|&n| n == 1);
        (atomic.looked_at && !alone).then(|| Arc::new(vec![f64::INFINITY; count(machine, out)]))
    }

    fn other(&mut self, machine: &mut Machine<'_>, at_: &Instruction, atomic: &Atomic, out: Slot) -> Option<Errors> {
        if let AtomicKind::VolatileLoad = atomic.kind {
            return self.load(machine, at_, (atomic.ptr, atomic.mask, atomic.other), &atomic.shape);
        }
        let slots: Vec<Slot> = [Some(atomic.ptr), atomic.value, atomic.expected, atomic.mask].into_iter().flatten().collect();
        if !self.exact(&slots) {
            self.lost = true;
            self.note(at_, "a compare-and-swap of a value with an error");
        }
        self.returned(machine, atomic, out)
    }
}
