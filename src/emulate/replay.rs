//! Explaining by replay: a program that the fast path found suspect runs again, on the dense tape,
//! lane by lane and in words.
//!
//! What the first attempt wrote is undone before (in-place launches keep an undo log; in others the
//! same elements are simply written again). When the replay finds no fault, the fast path was over-
//! cautious (a sum that may have left its type, say), and the replay's results stand. For a race the
//! other program is replayed too, to find the line with which it touched the element.

use super::check::race;
use super::exec::{Launch, Machine, Stop};
use super::launch::RunReport;
use super::memory::{Journal, Port};
use crate::diag::{self, Diagnostic};

/// Runs one program dense and traced. Gives the port back.
pub fn replay<'l>(launch: &'l Launch<'l>, port: Port<'l>, program: u32, report: &mut RunReport) -> (Port<'l>, diag::Result<()>) {
    let mut machine = Machine::new(launch, &launch.program.dense, port);
    machine.explain = true;
    let outcome = machine.prepare().and_then(|()| machine.run(program));
    report.replayed += 1;
    report.instructions += machine.report.instructions;
    report.lines_gathered += machine.report.lines_gathered;
    let outcome = match outcome {
        Ok(()) => Ok(()),
        Err(Stop::Suspect) => Err(internal(launch, program)),
        Err(Stop::Fault(diagnostic)) => Err(match machine.conflict {
            Some(race::Conflict { other: Some(other), buffer, element, kind: _ }) => {
                Box::new(with_other(&machine, *diagnostic, other, race::Watch { buffer, element, span: None }))
            }
            Some(race::Conflict { other: None, buffer: _, element: _, kind: _ }) | None => diagnostic,
        }),
    };
    let (_, port) = machine.take_apart();
    (port, outcome)
}

/// The dense tape always says why; a bare suspicion there is a fault of ours.
fn internal(launch: &Launch<'_>, program: u32) -> Box<Diagnostic> {
    let name = &launch.program.kernel.name;
    Box::new(Diagnostic::new(
        &diag::codes::INTERNAL,
        format!("program {program} of {name} is suspect on the dense tape, and nothing says why"),
    ))
}

/// Replays the other program of a race on a journal that is thrown away.
fn with_other(machine: &Machine<'_>, diagnostic: Diagnostic, other: u32, watch: race::Watch) -> Diagnostic {
    let Port::Direct(committer) = &machine.port else { return diagnostic };
    let port = Port::Journalled { memory: committer.memory, journal: Journal::default() };
    let mut replayed = Machine::new(machine.launch, &machine.launch.program.dense, port);
    replayed.watch = Some(watch);
    let ran = replayed.prepare().and_then(|()| replayed.run(other));
    match replayed.watch.and_then(|w| w.span) {
        Some(span) if ran.is_ok() => race::with_other(diagnostic, machine, other, span),
        Some(_) | None => diagnostic,
    }
}
