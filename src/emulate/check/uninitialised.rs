//! Loads of memory that nothing has written (A010): an active lane reads an element of a buffer from
//! `torch.empty` before any launch, or this program, wrote it.
//!
//! A buffer keeps one bit an element until all are written. Misses: an element that a program of the
//! same launch writes later is caught as a race only when both programs run.

use crate::diag::{Diagnostic, codes};
use crate::emulate::exec::Machine;
use crate::emulate::tape::Instruction;

pub fn undefined(machine: &Machine<'_>, arg: usize, offset: i64, lane: &str, at: &Instruction) -> Diagnostic {
    message(machine, &machine.launch.names[arg], offset, lane, at)
}

/// The same of a buffer that no argument names.
pub fn message(machine: &Machine<'_>, name: &str, offset: i64, lane: &str, at: &Instruction) -> Diagnostic {
    machine
        .message(&codes::UNINITIALISED_READ, format!("{lane} loads {name}[{offset}], which nothing has written"), at)
        .help("write the whole buffer first, or allocate it with torch.zeros")
}
