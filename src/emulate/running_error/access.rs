//! Loads and stores: errors of memory, and of masks and addresses.

use std::sync::Arc;

use super::float::clean;
use super::lanes::{at, error, values};
use super::rounding::apart;
use super::{Errors, Shadow};
use crate::emulate::exec::Machine;
use crate::emulate::launch::{Arg, BufferId};
use crate::emulate::tape::{Instruction, Slot};
use crate::emulate::value::Origin;

/// Which elements of which buffer lanes name.
pub(super) enum Target {
    /// Offsets count this buffer's elements.
    Elements(usize),
    /// They count something else of it.
    Inside(usize),
    /// An address: any buffer.
    Anywhere,
}

pub(super) fn target(machine: &Machine<'_>, origin: Origin) -> Target {
    let buffer = |arg: usize| match &machine.launch.args[arg] {
        Arg::Pointer(view) => Some(view.buffer.0),
        Arg::Int(_) | Arg::Float(_) => None,
    };
    match origin {
        Origin::Argument(arg) => buffer(arg).map_or(Target::Anywhere, Target::Elements),
        Origin::Cast { arg: None, pointee: _ } => Target::Anywhere,
        Origin::Cast { arg: Some(arg), pointee } => match buffer(arg) {
            None => Target::Anywhere,
            Some(id) => {
                let pointee = machine.launch.program.uses.pointees.get(pointee).map(|dtype| dtype.size());
                let own = machine.launch.dtypes.get(id).map(|dtype| dtype.size());
                if pointee == own { Target::Elements(id) } else { Target::Inside(id) }
            }
        },
    }
}

impl Shadow {
    /// The error of an element in memory.
    pub(super) fn held(&self, buffer: usize, element: i64) -> f64 {
        let errors = self.memory[buffer].as_ref();
        errors.and_then(|errors| usize::try_from(element).ok().and_then(|at| errors.get(at))).copied().unwrap_or(0.0)
    }

    pub(super) fn load(
        &mut self,
        machine: &mut Machine<'_>,
        at_: &Instruction,
        (ptr, mask, other): (Slot, Option<Slot>, Option<Slot>),
        shape: &[usize],
    ) -> Option<Errors> {
        let slots: Vec<Slot> = [Some(ptr), mask, other].into_iter().flatten().collect();
        if self.exact(&slots) && self.memory.iter().all(Option::is_none) {
            return None;
        }
        let (origin, elements, active) = machine.addresses(ptr, mask, shape);
        let target = target(machine, origin);
        let (moved, masks, others) = (self.of(ptr), mask.and_then(|m| self.of(m)), other.and_then(|o| self.of(o)));
        let mut astray = false;
        let lane = |i: usize| {
            let on = active.get(i).copied().unwrap_or(true);
            let held = match target {
                Target::Elements(buffer) => self.held(buffer, elements[i]),
                Target::Inside(buffer) => self.memory[buffer].as_ref().map_or(0.0, |_| f64::INFINITY),
                Target::Anywhere => {
                    if self.memory.iter().all(Option::is_none) {
                        0.0
                    } else {
                        f64::INFINITY
                    }
                }
            };
            if error(&masks, i) != 0.0 {
                // Either what memory holds, which may be nothing, or the other value.
                return f64::INFINITY;
            }
            if on && error(&moved, i) != 0.0 {
                astray = true;
                return f64::INFINITY;
            }
            if on { held } else { error(&others, i) }
        };
        let errors: Vec<f64> = (0..elements.len()).map(lane).collect();
        if astray {
            self.note(at_, "an address hangs on a value within its error");
        }
        Some(Arc::new(errors))
    }

    pub(super) fn store(
        &mut self,
        machine: &mut Machine<'_>,
        at_: &Instruction,
        (ptr, value, mask): (Slot, Slot, Option<Slot>),
        shape: &[usize],
    ) {
        let slots: Vec<Slot> = [Some(ptr), Some(value), mask].into_iter().flatten().collect();
        let exact = self.exact(&slots) && self.memory.iter().all(Option::is_none);
        if exact && elements_are_one(shape) {
            return;
        }
        let (origin, elements, active) = machine.addresses(ptr, mask, shape);
        let met = meeting(&elements, &active);
        if exact && met.is_empty() {
            return;
        }
        let target = target(machine, origin);
        let (moved, new, masks) = (self.of(ptr), self.of(value), mask.and_then(|m| self.of(m)));
        let stored = masks.as_ref().map(|_| values(machine, value));
        for (i, &element) in elements.iter().enumerate() {
            let on = active.get(i).copied().unwrap_or(true);
            let undecided = error(&masks, i) != 0.0;
            if !on && !undecided {
                continue;
            }
            if error(&moved, i) != 0.0 {
                self.lost = true;
                self.note(at_, "the address of a store hangs on a value within its error");
                continue;
            }
            let mut found = error(&new, i);
            let Target::Elements(buffer) = target else {
                if found != 0.0 || undecided {
                    self.lost = true;
                    self.note(at_, "a value with an error is stored as another type");
                }
                continue;
            };
            let old = element.try_into().ok().filter(|&at: &usize| at < machine.port.buffer(BufferId(buffer)).lanes.len());
            let Some(place) = old else { continue };
            if let (true, Some(stored)) = (undecided, &stored) {
                let apart = at(stored, i) - machine.port.buffer(BufferId(buffer)).lanes.get_f64(place);
                found = clean(apart.abs() + found.max(self.held(buffer, element)));
            }
            self.hold(machine, buffer, place, found);
        }
        let Target::Elements(buffer) = target else { return };
        if met.is_empty() {
            return;
        }
        // Which of several lanes writes last is not determined.
        let stored = values(machine, value);
        for lanes in met {
            let Some(place) = usize::try_from(elements[lanes[0]]).ok() else { continue };
            let last = lanes.last().map_or(0.0, |&i| at(&stored, i));
            let found = lanes.iter().map(|&i| apart(at(&stored, i), last) + error(&new, i)).fold(0.0, f64::max);
            if place < machine.port.buffer(BufferId(buffer)).lanes.len() {
                self.hold(machine, buffer, place, clean(found));
            }
        }
    }

    /// Sets the error of an element.
    pub(super) fn hold(&mut self, machine: &Machine<'_>, buffer: usize, element: usize, error: f64) {
        if error == 0.0 && self.memory[buffer].is_none() {
            return;
        }
        let n = machine.port.buffer(BufferId(buffer)).lanes.len();
        let errors = self.memory[buffer].get_or_insert_with(|| vec![0.0; n]);
        if let Some(held) = errors.get_mut(element) {
            *held = error;
        }
    }
}

fn elements_are_one(shape: &[usize]) -> bool {
    shape.iter().product::<usize>() <= 1
}

/// Active lanes that name one element, where there are several.
fn meeting(elements: &[i64], active: &[bool]) -> Vec<Vec<usize>> {
    let mut lanes: Vec<usize> = (0..elements.len()).filter(|&i| active.get(i).copied().unwrap_or(true)).collect();
    lanes.sort_by_key(|&i| (elements[i], i));
    lanes.chunk_by(|&a, &b| elements[a] == elements[b]).filter(|group| group.len() > 1).map(<[usize]>::to_vec).collect()
}
