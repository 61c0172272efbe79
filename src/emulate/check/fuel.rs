//! Limits: instructions a program may execute (L001) and bytes of block values it may hold (L002).
//!
//! Fuel is counted an instruction of the tape, so a limit hits at the same place on every machine;
//! the dense tape has other instructions than the lazy one. Memory counts what the pool has handed
//! out and not dropped.

use crate::diag::{Diagnostic, codes};
use crate::emulate::exec::{Launch, Machine};
use crate::emulate::tape::Instruction;

pub fn spent(machine: &Machine<'_>, at: &Instruction) -> Box<Diagnostic> {
    let what = format!("a program executed {} instructions without reaching its end", machine.launch.fuel);
    Box::new(
        machine
            .message(&codes::FUEL, what, at)
            .help("look for a loop whose bound or step never lets it end; or raise the fuel of `emulate` (--fuel)"),
    )
}

/// Programs that wait hold too much.
pub fn waiting(launch: &Launch<'_>, programs: usize, bytes: usize) -> Box<Diagnostic> {
    let what = format!("{programs} programs that wait hold {} MiB, over the limit of {} MiB", bytes >> 20, launch.memory >> 20);
    let diagnostic = Diagnostic::new(&codes::MEMORY, what).help("launch fewer programs; or raise the memory limit");
    Box::new(diagnostic)
}

pub fn memory(machine: &Machine<'_>, at: &Instruction) -> Box<Diagnostic> {
    let what = format!(
        "the block values of one program take {} MiB, over the limit of {} MiB",
        machine.pool.held >> 20,
        machine.launch.memory >> 20
    );
    Box::new(machine.message(&codes::MEMORY, what, at).help("use smaller blocks; or raise the memory limit"))
}
