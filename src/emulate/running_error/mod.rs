//! Running error analysis: by how much a GPU's result may differ from the emulator's, element by element.
//!
//! After Wilkinson's running error bounds (Higham, *Accuracy and Stability of Numerical Algorithms*, 3.3): beside every value
//! stands a bound on |emulated − computed by the GPU|, and every instruction of the dense tape says what becomes of it:
//!
//! * An operation that is rounded correctly on both sides adds nothing of its own: equal operands give equal results. Where
//!   operands may differ by e, the exact result lies in an interval, and as rounding is monotone, the rounded result lies
//!   between the rounded ends ([`rounding`]). So movements, integers, comparisons and plain arithmetic of given numbers are
//!   held to equality.
//! * A product that a sum takes may be contracted into one operation on the GPU: it then has the error that its own rounding
//!   made here.
//! * A function that the hardware approximates adds [`crate::tolerance::function_error`] and our own unit in the last place.
//! * A sum whose order is not determined (reductions, scans, dots, atomics) adds the contraction law of [`crate::tolerance`],
//!   with the unit of the type that it is accumulated in.
//! * A comparison whose sides lie within their errors is undecided: a select then has the distance of its two values as its
//!   error, a masked store that of the old and the new value. A branch, an address or the order of atomics that is
//!   undecided leaves everything that hangs on it without a bound (infinite), and [`Bounds::notes`] says where.
//!
//! First order: a function of one argument is looked at where its argument's interval ends. Not modelled: reassociation that
//! a compiler makes besides contraction, and flushing of subnormal numbers but by approximate functions.

mod access;
mod atomic;
mod cast;
mod combine;
mod contract;
mod float;
mod int;
mod lanes;
mod rounding;
mod shape;
mod whole;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::exec::Machine;
use super::launch::{Arg, BufferId, Checks, Memory, Options};
use super::observe::{Go, watched};
use super::tape::{Code, Instruction, Program, Slot, Tape};
use crate::diag;
use crate::kernel::ir::FloatBinary;
use crate::source::Span;

/// Errors of the lanes of a cell, in row-major order; one for all where it is a scalar.
type Errors = Arc<Vec<f64>>;

/// What may differ in memory after a launch.
#[derive(Debug, Default)]
pub struct Bounds {
    memory: Vec<Option<Vec<f64>>>,
    /// Why elements have no bound, each with the kernel's line.
    pub notes: Vec<String>,
}

impl Bounds {
    /// By element; empty where all are equal.
    pub fn of(&self, buffer: BufferId) -> &[f64] {
        self.memory.get(buffer.0).and_then(|errors| errors.as_deref()).unwrap_or_default()
    }
}

/// Runs a launch on memory and derives what a GPU may find there instead.
///
/// # Errors
/// As [`super::run`], but for races; launches whose programs wait for each other never end here but by fuel.
pub fn bounds(program: &Program, memory: &mut Memory, grid: [u32; 3], args: &[Arg], options: &Options) -> diag::Result<Bounds> {
    let mut shadow = Shadow {
        errors: HashMap::new(),
        memory: vec![None; memory.buffers.len()],
        contracted: contracted(&program.dense),
        sums: HashMap::new(),
        reassociated: false,
        before: Before::Nothing,
        program: u32::MAX,
        lost: false,
        notes: BTreeSet::new(),
    };
    let options = Options { checks: Checks::NONE, ..options.clone() };
    watched(program, memory, grid, args, &options, &mut |machine, instruction, after| {
        shadow.see(machine, instruction, after);
        Go::On
    })?;
    let lengths: Vec<usize> = memory.buffers.iter().map(|buffer| buffer.lanes.len()).collect();
    if shadow.lost {
        let touched: Vec<bool> = (0..lengths.len())
            .map(|id| {
                args.iter()
                    .zip(&program.stores)
                    .any(|(arg, stores)| *stores && matches!(arg, Arg::Pointer(view) if view.buffer.0 == id))
            })
            .collect();
        for (id, _) in touched.iter().enumerate().filter(|(_, touched)| **touched) {
            shadow.memory[id] = Some(vec![f64::INFINITY; lengths[id]]);
        }
    }
    let source = &program.kernel.source;
    let note = |(start, what): &(u32, &'static str)| {
        let (file, span) = source.origin(Span::new(*start as usize, *start as usize));
        format!("line {}: {what}", file.position(span.start).line)
    };
    Ok(Bounds { memory: shadow.memory, notes: shadow.notes.iter().map(note).collect() })
}

/// The state beside a running launch.
struct Shadow {
    /// By cell of the running program; a cell without errors is exact.
    errors: HashMap<Slot, Errors>,
    /// By buffer and element.
    memory: Vec<Option<Vec<f64>>>,
    /// Products that a GPU may contract with the sum that takes them.
    contracted: HashSet<Slot>,
    /// Float sums of atomics: by buffer and element.
    sums: HashMap<(usize, usize), atomic::Sum>,
    /// Inside of the combine function of a reduction: operands are partial results of another order.
    reassociated: bool,
    before: Before,
    program: u32,
    /// An undecided branch was met.
    lost: bool,
    /// Where (in the kernel's text) and why something has no bound.
    notes: BTreeSet<(u32, &'static str)>,
}

/// What was read before an instruction that overwrites it.
enum Before {
    Nothing,
    Lanes(Vec<f64>),
    /// The errors of the results, found by running the combine function under observation.
    Combined(Vec<Option<Errors>>),
}

impl Shadow {
    fn see(&mut self, machine: &mut Machine<'_>, at: &Instruction, after: bool) {
        if machine.linear != self.program {
            self.program = machine.linear;
            self.errors.clear();
        }
        if after { self.after(machine, at) } else { self.ahead(machine, at) }
    }

    /// What must be looked at before an instruction is executed.
    fn ahead(&mut self, machine: &mut Machine<'_>, at: &Instruction) {
        match &at.code {
            Code::StoreLanes(ptr, value, mask, _, shape) => self.store(machine, at, (*ptr, *value, *mask), shape),
            Code::Dot(dot) => self.before = Before::Lanes(lanes::values(machine, dot.acc)),
            Code::Reduce(_) | Code::Scan(_) => {
                let combined = self.combined(machine, at);
                self.before = combined.map_or(Before::Nothing, Before::Combined);
            }
            Code::BranchUnless(condition, _) => self.decides(at, &[*condition]),
            Code::LoopStart { lower, .. } => self.decides(at, &[*lower]),
            Code::LoopTest { variable, upper, step, .. } => self.decides(at, &[*variable, *upper, *step]),
            _ => {}
        }
    }

    fn after(&mut self, machine: &mut Machine<'_>, at: &Instruction) {
        let out = at.out;
        let errors = match &at.code {
            Code::ProgramId(_) | Code::NumPrograms(_) | Code::Argument(_) | Code::Constant(..) | Code::Range(..) => None,
            Code::Int(op, elem, a, b) => self.int(machine, *op, *elem, *a, *b, out),
            Code::Float(op, elem, a, b) => self.float(machine, *op, *elem, [*a, *b], out),
            Code::Unary(f, elem, a) => self.unary(machine, *f, *elem, *a, out),
            Code::Fma(elem, a, b, c) => self.fma(machine, *elem, [*a, *b, *c], out),
            Code::CompareInt(_, _, a, b) | Code::CompareFloat(_, _, a, b) => self.compare(machine, *a, *b, out),
            Code::Select(_, c, a, b) => self.select(machine, *c, [*a, *b], out),
            Code::Cast(kind, from, to, a) => self.cast(machine, *kind, [*from, *to], *a, out),
            // A pointer may be elsewhere where its offset may be another.
            Code::AddPtr(ptr, offset, _) => self.sum(machine, *ptr, *offset, out),
            Code::Splat(a, ..) | Code::OnlyLane(a) | Code::ExpandDims(a, _) | Code::Reshape(a, _) => self.of(*a),
            Code::Broadcast(a, to) => self.broadcast(machine, *a, to),
            Code::Trans(a, order) => self.trans(machine, *a, order),
            Code::LoadLanes(ptr, mask, other, _, shape) => self.load(machine, at, (*ptr, *mask, *other), shape),
            Code::Dot(dot) => self.dot(machine, dot, out),
            Code::Reduce(_) | Code::Scan(_) => return self.reduced(machine, at),
            Code::Whole(whole) => self.whole(machine, whole, out),
            Code::Asm(asm) => return self.asm(machine, asm),
            Code::Atomic(atomic) => self.atomic(machine, at, atomic, out),
            Code::Move(from, take) => {
                let moved = self.of(*from);
                if *take {
                    self.errors.remove(from);
                }
                moved
            }
            // What only the lazy tape has, and what makes no value.
            Code::Materialise(..)
            | Code::Conjunction(..)
            | Code::Guard(..)
            | Code::Guards(_)
            | Code::LoadTile(_)
            | Code::StoreTile(..)
            | Code::TableRow { .. }
            | Code::StoreLanes(..)
            | Code::Assert(..)
            | Code::Barrier
            | Code::Assume(_)
            | Code::Hint(..)
            | Code::Yield(_)
            | Code::Jump(_)
            | Code::BranchUnless(..)
            | Code::LoopStart { .. }
            | Code::LoopTest { .. }
            | Code::LoopNext { .. }
            | Code::Return => return,
        };
        self.put(out, errors);
    }

    fn of(&self, slot: Slot) -> Option<Errors> {
        self.errors.get(&slot).cloned()
    }

    fn put(&mut self, slot: Slot, errors: Option<Errors>) {
        match errors.filter(|errors| errors.iter().any(|&error| error != 0.0)) {
            Some(errors) => self.errors.insert(slot, errors),
            None => self.errors.remove(&slot),
        };
    }

    fn exact(&self, slots: &[Slot]) -> bool {
        slots.iter().all(|slot| !self.errors.contains_key(slot))
    }

    /// Where the program goes hangs on these.
    fn decides(&mut self, at: &Instruction, slots: &[Slot]) {
        if !self.exact(slots) {
            self.lost = true;
            self.note(at, "a branch hangs on a value within its error");
        }
    }

    fn note(&mut self, at: &Instruction, what: &'static str) {
        self.notes.insert((at.span.start, what));
    }
}

/// The products whose only way leads into a sum, or may: through what moves lanes, signs and copies.
fn contracted(tape: &Tape) -> HashSet<Slot> {
    let mut taken: HashSet<Slot> = HashSet::new();
    loop {
        let before = taken.len();
        for instruction in &tape.code {
            match &instruction.code {
                Code::Float(FloatBinary::Add | FloatBinary::Sub, _, a, b) => taken.extend([*a, *b]),
                Code::Reduce(reduce) => taken.extend(&reduce.operands),
                Code::Scan(scan) => taken.extend(&scan.operands),
                Code::Splat(a, ..)
                | Code::OnlyLane(a)
                | Code::ExpandDims(a, _)
                | Code::Reshape(a, _)
                | Code::Broadcast(a, _)
                | Code::Trans(a, _)
                | Code::Unary(crate::kernel::ir::FloatUnary::Neg, _, a)
                | Code::Move(a, _)
                    if taken.contains(&instruction.out) =>
                {
                    taken.insert(*a);
                }
                Code::Select(_, _, a, b) if taken.contains(&instruction.out) => taken.extend([*a, *b]),
                _ => {}
            }
        }
        if taken.len() == before {
            return taken;
        }
    }
}

#[cfg(test)]
mod tests;
