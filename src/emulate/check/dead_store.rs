//! Elements that one program stores twice (A026): the first value is never read.
//!
//! Algorithm: an element remembers the program and the number of the store that wrote it last; only buffers that the
//! launch does not load are watched, so that nobody can have read the first value. The lanes of one store count as
//! one. The message is written when the program has run again.
//!
//! Misses: buffers that the launch also loads; a first value that a later launch would have overwritten anyway.

use super::race::{Watch, coordinates};
use crate::diag::{Diagnostic, Place, codes};
use crate::emulate::exec::Machine;
use crate::emulate::launch::Event;

/// The machine has run the program again, with a watch on the element.
pub fn explain(machine: &Machine<'_>, event: Event) -> Diagnostic {
    let launch = machine.launch;
    let source = &launch.program.kernel.source;
    let element = name_of(machine, event);
    let mut diagnostic = Diagnostic::new(&codes::DEAD_STORE, format!("{element} is stored twice, and nothing reads it between"))
        .note(format!("program: {:?}", coordinates(launch.grid, event.program)))
        .help("store once, after the loop or branch; or mask the first store off where the second one follows");
    if let Some(Watch { all: [Some((_, first)), Some((_, second))], .. }) = machine.watch {
        diagnostic = diagnostic.at(source, second);
        if first != second {
            diagnostic = diagnostic.related(Place::Text { file: source.clone(), span: first }, "the first store");
        }
    }
    diagnostic
}

/// `y[5]`, counted from the pointer.
pub fn name_of(machine: &Machine<'_>, event: Event) -> String {
    let launch = machine.launch;
    let arg = launch.extents.iter().position(|e| e.as_ref().is_some_and(|e| e.buffer == event.buffer));
    let pointer = arg.and_then(|arg| launch.extents[arg].as_ref()).map_or(0, |e| e.pointer);
    let name = arg.map_or(&machine.port.buffer(event.buffer).name, |arg| &launch.names[arg]);
    format!("{name}[{}]", event.element as i64 - pointer)
}
