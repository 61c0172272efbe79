//! Stores to operands that a launch only reads (A014).
//!
//! The caller protects the buffers that hold such operands ([`crate::emulate::Memory::protect`]). Every store
//! looks at its buffer once; on the fast path a store to a protected one makes the program suspect, and its
//! replay says which lane of which statement it was. A store whose lanes are all masked off touches nothing
//! and is no fault.
//!
//! Misses: an operand that is written and read at once (in place) is not protected.

use crate::diag::{Diagnostic, codes};
use crate::emulate::exec::Machine;
use crate::emulate::tape::Instruction;

/// The message for one active lane's store to an element of argument `arg`.
pub fn message(machine: &Machine<'_>, arg: usize, element: i64, lane: &str, at: &Instruction) -> Diagnostic {
    let name = &machine.launch.names[arg];
    let parameter = &machine.launch.program.kernel.params[arg].name;
    machine
        .message(&codes::READ_ONLY_STORED, format!("{lane} stores to {name}[{element}], which this launch only reads"), at)
        .note(format!("tensor: {name} (parameter `{parameter}`)"))
        .help("store to the output's pointer; what reads this operand after the launch expects it as it was")
}
