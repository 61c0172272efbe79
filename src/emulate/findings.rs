//! Warnings: what a launch that went well shows of its kernel.
//!
//! While it ran, little was noted: the first program that stored a NaN or an infinity, the first that stored an
//! element twice (`launch::Noticed`). Here such a program runs once more, dense and traced, on a journal that is thrown
//! away. Of a launch that stores to what it loads the memory is no longer what it was: where the trace then finds
//! nothing, the element is named without the instruction.

use super::check::race::Shadows;
use super::check::{dead_store, finite, lossy, mask, order_of_programs, race};
use super::exec::{Launch, Machine};
use super::launch::{Arg, BufferId, Checks, Event, Memory, Noticed, Options};
use super::memory::{Committer, Journal, Port};
use super::tape::Program;
use crate::diag::{self, Diagnostic, Severity};

/// Instructions that a traced program may take.
const FUEL: u64 = 1 << 22;

pub fn after(launch: &Launch<'_>, memory: &Memory, noticed: &Noticed) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if launch.checks.masks {
        found.extend(mask::unused(&launch.program.kernel));
    }
    let short = Launch { fuel: launch.fuel.min(FUEL), ..launch.shortened() };
    if let Some(event) = noticed.not_finite {
        let mut machine = traced(&short, memory);
        machine.trace = Some(Box::new(finite::Trace::new(event)));
        again(&mut machine, event);
        found.push(finite::explain(&machine, event));
    }
    if let Some(event) = noticed.twice {
        let mut machine = traced(&short, memory);
        machine.watch = Some(race::Watch { buffer: event.buffer, element: event.element, span: None, all: [None; 2] });
        again(&mut machine, event);
        found.push(dead_store::explain(&machine, event));
    }
    found.into_iter().map(|diagnostic| diagnostic.severity(Severity::Warning)).collect()
}

/// The first cast that loses a value. A launch that loads what it stores runs on memory as it was `before`.
pub fn lossy(launch: &Launch<'_>, programs: u32, memory: &Memory, before: Option<&mut Memory>) -> Option<Diagnostic> {
    let short = Launch { fuel: launch.fuel.min(FUEL), ..launch.shortened() };
    let port = match before {
        Some(memory) => Port::Direct(Committer { memory, shadows: Shadows::default(), undo: None }),
        None => Port::Journalled { memory, journal: Journal::default() },
    };
    lossy::first(&short, programs, port).map(|diagnostic| diagnostic.severity(Severity::Warning))
}

fn traced<'l>(launch: &'l Launch<'l>, memory: &'l Memory) -> Machine<'l> {
    let port = Port::Journalled { memory, journal: Journal::default() };
    let mut machine = Machine::new(launch, &launch.program.dense, port);
    machine.explain = true;
    machine
}

/// Whatever becomes of it: what it met on the way is what is asked for.
fn again(machine: &mut Machine<'_>, event: Event) {
    let ran = machine.prepare().and_then(|()| machine.run(event.program));
    drop(ran);
}

/// What differs when programs run in the reverse order; an error when only that order shows a fault.
pub fn in_reverse(
    program: &Program,
    mut before: Memory,
    after: &Memory,
    (grid, args, stored): ([u32; 3], &[Arg], &[BufferId]),
    options: &Options,
) -> diag::Result<Option<Diagnostic>> {
    let checks = Checks { order: false, births: false, casts: false, masks: false, dead_stores: false, ..options.checks };
    let reverse = Options { reverse: true, checks, ..options.clone() };
    super::run(program, &mut before, grid, args, &reverse).map_err(|mut error| {
        error.notes.push("this happens when programs run in the reverse order of the grid".to_owned());
        error
    })?;
    let differs = order_of_programs::first_difference(program, after, &before, args, stored);
    Ok(differs.map(|diagnostic| diagnostic.severity(Severity::Warning)))
}
