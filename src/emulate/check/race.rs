//! Races between programs of one launch: two programs write one element (A007), or one reads what
//! another writes (A008), in whatever order they happen to run.
//!
//! Algorithm: every element of a written buffer remembers the program that wrote it last; buffers
//! that the launch also reads remember the one program that read each element, or that several did.
//! Programs run, or are committed, in order, so the report does not depend on threads. Equal values
//! are a race all the same: nothing orders the writes.
//!
//! Misses: lanes of one program that meet (see `overlap`); races through atomics (not offered yet).

use crate::diag::{Diagnostic, Place, codes};
use crate::emulate::exec::Machine;
use crate::emulate::launch::BufferId;
use crate::emulate::tape::Instruction;
use crate::source::Span;

/// Several programs have read the element.
const MANY: u32 = u32::MAX;

/// Two programs met at one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub buffer: BufferId,
    pub element: usize,
    /// The program that was there before; `None` when several were.
    pub other: Option<u32>,
    pub kind: ConflictKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both write.
    WriteWrite,
    /// The running program reads what the other wrote.
    ReadAfterWrite,
    /// The running program writes what the other read.
    WriteAfterRead,
}

/// Looks for the instruction with which another program touched an element.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    pub buffer: BufferId,
    pub element: usize,
    pub span: Option<Span>,
}

/// The message, with the other program's line still to be found ([`with_other`]).
pub fn explain(machine: &Machine<'_>, conflict: Conflict, at: &Instruction) -> Diagnostic {
    let arg = machine.launch.extents.iter().position(|e| e.as_ref().is_some_and(|e| e.buffer == conflict.buffer));
    let name = arg.map_or("a buffer", |a| &machine.launch.names[a]);
    let pointer = arg.and_then(|a| machine.launch.extents[a].as_ref()).map_or(0, |e| e.pointer);
    let element = format!("{name}[{}]", conflict.element as i64 - pointer);
    let other = match conflict.other {
        Some(program) => format!("program {:?}", coordinates(machine.launch.grid, program)),
        None => "several other programs".to_owned(),
    };
    let (code, what, help) = match conflict.kind {
        ConflictKind::WriteWrite => (
            &codes::WRITE_RACE,
            format!("this program and {other} both write {element}"),
            "give each program its own elements: check how the program id enters the offset, and the grid's size",
        ),
        ConflictKind::ReadAfterWrite => (
            &codes::READ_RACE,
            format!("this program reads {element}, which {other} writes in the same launch"),
            "nothing orders programs of one launch: write to another buffer, or split the kernel in two launches",
        ),
        ConflictKind::WriteAfterRead => (
            &codes::READ_RACE,
            format!("this program writes {element}, which {other} read in the same launch"),
            "nothing orders programs of one launch: write to another buffer, or split the kernel in two launches",
        ),
    };
    machine.message(code, what, at).help(help)
}

/// Adds the other program's line to a race's message.
pub fn with_other(diagnostic: Diagnostic, machine: &Machine<'_>, other: u32, span: Span) -> Diagnostic {
    let place = Place::Text { file: machine.launch.program.kernel.source.clone(), span };
    diagnostic.related(place, format!("program {:?} here", coordinates(machine.launch.grid, other)))
}

/// A program's place in the grid.
pub fn coordinates(grid: [u32; 3], linear: u32) -> (u32, u32, u32) {
    (linear % grid[0], linear / grid[0] % grid[1], linear / grid[0] / grid[1])
}

#[derive(Clone, Debug, Default)]
struct Shadow {
    /// Program + 1 of the last write; empty when the launch does not write the buffer.
    writer: Vec<u32>,
    /// Program + 1 of the only reader, or [`MANY`]; empty unless the launch reads and writes it.
    reader: Vec<u32>,
}

/// The shadows of all buffers during one launch.
#[derive(Clone, Debug, Default)]
pub struct Shadows {
    buffers: Vec<Shadow>,
}

impl Shadows {
    /// `watch` gives, for each buffer that the launch writes, its length and whether it is read too.
    pub fn new(buffers: usize, watch: impl Iterator<Item = (BufferId, usize, bool)>) -> Shadows {
        let mut all = vec![Shadow::default(); buffers];
        for (id, len, read) in watch {
            all[id.0].writer = vec![0; len];
            if read {
                all[id.0].reader = vec![0; len];
            }
        }
        Shadows { buffers: all }
    }

    #[inline]
    pub fn watches_reads(&self, buffer: BufferId) -> bool {
        self.buffers.get(buffer.0).is_some_and(|s| !s.reader.is_empty())
    }

    pub fn write(&mut self, program: u32, buffer: BufferId, start: usize, len: usize) -> Result<(), Conflict> {
        let Some(shadow) = self.buffers.get_mut(buffer.0).filter(|s| !s.writer.is_empty()) else { return Ok(()) };
        let own = program + 1;
        let line = &mut shadow.writer[start..start + len];
        if line.iter().fold(0, |seen, &w| seen | (w & if w == own { 0 } else { !0 })) != 0 {
            let at = line.iter().position(|&w| w != 0 && w != own).expect("invariant: another program wrote one of them");
            let other = Some(line[at] - 1);
            return Err(Conflict { buffer, element: start + at, other, kind: ConflictKind::WriteWrite });
        }
        line.fill(own);
        if !shadow.reader.is_empty() {
            let line = &shadow.reader[start..start + len];
            if let Some(at) = line.iter().position(|&r| r != 0 && r != own) {
                let other = (line[at] != MANY).then(|| line[at] - 1);
                return Err(Conflict { buffer, element: start + at, other, kind: ConflictKind::WriteAfterRead });
            }
        }
        Ok(())
    }

    pub fn read(&mut self, program: u32, buffer: BufferId, start: usize, len: usize) -> Result<(), Conflict> {
        let Some(shadow) = self.buffers.get_mut(buffer.0).filter(|s| !s.reader.is_empty()) else { return Ok(()) };
        let own = program + 1;
        for at in start..start + len {
            let writer = shadow.writer[at];
            if writer != 0 && writer != own {
                let other = Some(writer - 1);
                return Err(Conflict { buffer, element: at, other, kind: ConflictKind::ReadAfterWrite });
            }
            let reader = &mut shadow.reader[at];
            *reader = if *reader == 0 || *reader == own { own } else { MANY };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_meet() {
        let y = BufferId(0);
        let mut shadows = Shadows::new(1, [(y, 10, true)].into_iter());
        shadows.write(0, y, 0, 4).unwrap();
        shadows.write(0, y, 2, 2).unwrap();
        assert_eq!(shadows.write(1, y, 3, 4).unwrap_err().kind, ConflictKind::WriteWrite);
        assert_eq!(shadows.read(1, y, 3, 1).unwrap_err().kind, ConflictKind::ReadAfterWrite);
        shadows.read(1, y, 8, 1).unwrap();
        shadows.read(2, y, 8, 1).unwrap();
        let conflict = shadows.write(1, y, 8, 1).unwrap_err();
        assert_eq!((conflict.kind, conflict.other), (ConflictKind::WriteAfterRead, None));
        shadows.read(1, y, 9, 1).unwrap();
        shadows.write(1, y, 9, 1).unwrap();
    }
}
