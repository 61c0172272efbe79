//! Explaining by replay: a program that the fast path found suspect runs again, on the dense tape,
//! lane by lane and in words.
//!
//! What the first attempt wrote is undone before (in-place launches keep an undo log; in others the
//! same elements are simply written again). When the replay finds no fault, the fast path was over-
//! cautious (a sum that may have left its type, say), and the replay's results stand. For a race the
//! other program is replayed too, to find the line with which it touched the element.

use super::check::race;
use super::exec::{Launch, Machine, Step, Stop};
use super::fair::Waiting;
use super::launch::RunReport;
use super::memory::{Journal, Port};
use crate::diag::{self, Diagnostic};

/// Instructions that the other program of a race may take until it has touched the element.
const OTHER_FUEL: u64 = 1 << 22;

/// Runs one program dense and traced. Gives the port back, and the program when it waits for others.
pub fn replay<'l>(
    launch: &'l Launch<'l>,
    port: Port<'l>,
    program: u32,
    report: &mut RunReport,
) -> (Port<'l>, diag::Result<Option<Waiting>>) {
    let mut machine = Machine::new(launch, &launch.program.dense, port);
    machine.explain = true;
    machine.talk.may_wait = matches!(&machine.port, Port::Direct(committer) if committer.undo.is_some());
    let outcome = machine.prepare().and_then(|()| machine.run(program));
    report.replayed += 1;
    report.instructions += machine.report.instructions;
    report.lines_gathered += machine.report.lines_gathered;
    report.noticed.merge(&machine.report.noticed);
    let outcome = explained(&mut machine, program, outcome);
    let (_, port) = machine.take_apart();
    (port, outcome)
}

/// What a program that ran dense and traced came to.
pub fn explained(machine: &mut Machine<'_>, program: u32, outcome: Step) -> diag::Result<Option<Waiting>> {
    match outcome {
        Ok(()) => Ok(None),
        Err(Stop::Yield) => {
            let talk = machine.talk;
            Ok(Some(Waiting { program, state: std::mem::take(&mut machine.state), talk }))
        }
        Err(Stop::Suspect) => Err(internal(machine.launch, program)),
        Err(Stop::Fault(diagnostic)) => Err(match machine.conflict {
            Some(race::Conflict { other: Some(other), buffer, element, kind: _, lanes: _ }) => {
                Box::new(with_other(machine, *diagnostic, other, race::Watch { buffer, element, span: None, all: [None; 2] }))
            }
            Some(race::Conflict { other: None, buffer: _, element: _, kind: _, lanes: _ }) | None => diagnostic,
        }),
    }
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
    // In a launch whose programs talk it may wait in vain: what others wrote since is not undone.
    let launch = Launch { fuel: machine.launch.fuel.min(OTHER_FUEL), ..machine.launch.shortened() };
    let mut replayed = Machine::new(&launch, &launch.program.dense, port);
    replayed.watch = Some(watch);
    let ran = replayed.prepare().and_then(|()| replayed.run(other));
    match replayed.watch.and_then(|w| w.span) {
        Some(span) if ran.is_ok() || launch.program.uses.programs_talk() => race::with_other(diagnostic, machine, other, span),
        Some(_) | None => diagnostic,
    }
}
