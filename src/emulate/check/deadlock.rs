//! Programs that wait for ever (A015).
//!
//! A program that loops without changing memory lets the others run (`fair`). When none of those that have
//! not finished changes memory in a whole round, and each is afterwards where it was before with the same values, then
//! nothing will ever change: all programs are deterministic.
//!
//! Misses: a program that waits and counts its turns is only out of fuel (L001); waits for programs that a GPU does
//! not run at the same time, since all programs of a launch do here.

use crate::diag::{Diagnostic, Place, codes};
use crate::emulate::check::race::coordinates;
use crate::emulate::exec::Launch;
use crate::emulate::exec::atomic::LookedAt;
use crate::emulate::launch::Memory;

/// Programs that a message lists.
const LISTED: usize = 3;

/// The message for programs that wait, and what each looked at last.
pub fn explain(launch: &Launch<'_>, memory: &Memory, waiting: &[(u32, Option<LookedAt>)]) -> Box<Diagnostic> {
    let source = &launch.program.kernel.source;
    let at = |program: u32| format!("{:?}", coordinates(launch.grid, program));
    let looks = |seen: &LookedAt| {
        let buffer = &memory.buffers[seen.buffer.0];
        let arg = launch.extents.iter().position(|e| e.as_ref().is_some_and(|e| e.buffer == seen.buffer));
        let pointer = arg.and_then(|arg| launch.extents[arg].as_ref()).map_or(0, |e| e.pointer);
        let name = arg.map_or(&buffer.name, |arg| &launch.names[arg]);
        format!("{name}[{}], which holds {}", seen.element as i64 - pointer, buffer.lanes.get_f64(seen.element))
    };
    let what = match waiting {
        [_] => "a program waits for a value that nobody writes".to_owned(),
        many => format!("{} programs wait for values that none of them writes", many.len()),
    };
    let mut diagnostic = Diagnostic::new(&codes::DEADLOCK, what);
    if let Some((program, seen)) = waiting.first() {
        diagnostic = diagnostic.note(format!("program: {}", at(*program)));
        if let Some(seen) = seen {
            diagnostic = diagnostic.at(source, seen.span).note(format!("it looks at {}", looks(seen)));
        }
    }
    for (program, seen) in waiting.iter().skip(1).take(LISTED) {
        if let Some(seen) = seen {
            let place = Place::Text { file: source.clone(), span: seen.span };
            diagnostic = diagnostic.related(place, format!("program {} looks at {}", at(*program), looks(seen)));
        }
    }
    let help =
        "every way out of the loop needs somebody to write: release each lock on every path, take several locks in one order";
    Box::new(diagnostic.help(help))
}
