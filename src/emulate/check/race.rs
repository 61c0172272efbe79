//! Races between programs of one launch: two programs write one element (A007), one reads what another writes
//! (A008), or one touches by plain accesses what another changes by atomics (A019), in whatever order they happen to
//! run. And lanes of one program that exchange a value through memory with no barrier between (A016).
//!
//! Algorithm: every element of a written buffer remembers the program that wrote it last; buffers
//! that the launch also reads remember the one program that read each element, or that several did.
//! Programs run, or are committed, in order, so the report does not depend on threads. Equal values
//! are a race all the same: nothing orders the writes. Where programs synchronise, an access remembers its time,
//! too, and what was released to the program that comes later is no race (`order`).
//!
//! Lanes: an element also remembers the lane that wrote it, the lane that read it, and in which phase of its program.
//! A phase ends at a barrier, and at each operation that takes lanes together (a reduction, a dot, a transposition
//! of values), since compiled code has a barrier there, or may have one. Lanes are compared by their number in
//! row-major order: equal numbers mean one thread, as far as anybody can tell.
//!
//! Misses: lanes that exchange a value across an operation that takes lanes together and whose result nobody uses, or has
//! been computed before: a compiler drops it, and its barrier; lanes of one store that meet (see `overlap`); of several unordered readers, or atomic writers, of an
//! element all but the last; stores of two lanes of one program to one element; in launches of more than
//! [`super::order::MANY`] programs that synchronise, everything between programs; lanes in buffers that the launch does not
//! both load and store by plain accesses.

use std::collections::HashMap;

use super::marks::Marks;
use super::order::Order;
use crate::diag::{Diagnostic, Place, codes};
use crate::emulate::exec::Machine;
use crate::emulate::launch::{BufferId, Event};
use crate::emulate::tape::Instruction;
use crate::source::Span;

/// Several programs have read the element.
const MANY: u32 = u32::MAX;
/// Several lanes have read the element.
const SEVERAL: u32 = u32::MAX;
/// Readers of one element that are told apart.
const READERS: usize = 64;

/// Two programs met at one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub buffer: BufferId,
    pub element: usize,
    /// The program that was there before; `None` when several were.
    pub other: Option<u32>,
    pub kind: ConflictKind,
    /// Of one program: who was there before, and who is there now.
    pub lanes: [u32; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both write.
    WriteWrite,
    /// The running program reads what the other wrote.
    ReadAfterWrite,
    /// The running program writes what the other read.
    WriteAfterRead,
    /// One of them is atomic, the other is not.
    Mixed,
    /// One lane reads what another lane of the program wrote.
    LaneReads,
    /// One lane writes what another lane of the program read.
    LaneWrites,
}

/// Looks for the instruction with which another program touched an element.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    pub buffer: BufferId,
    pub element: usize,
    pub span: Option<Span>,
    /// Spans of all accesses, with the number of stores before each.
    pub all: [Option<(u32, Span)>; 2],
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
    let [before, now] = conflict.lanes;
    let barrier = "nothing orders the lanes of a program but a barrier: put `tl.debug_barrier()` between the two accesses";
    let (code, what, help) = match conflict.kind {
        ConflictKind::LaneReads => (
            &codes::LANES_EXCHANGE,
            format!("lane {now} reads {element}, which lane {before} wrote, with no barrier between"),
            barrier,
        ),
        ConflictKind::LaneWrites => {
            let reader = if before == SEVERAL { "another lane".to_owned() } else { format!("lane {before}") };
            (
                &codes::LANES_EXCHANGE,
                format!("lane {now} writes {element}, which {reader} read, with no barrier between"),
                barrier,
            )
        }
        ConflictKind::Mixed => (
            &codes::MIXED_ACCESS,
            format!("this program and {other} both touch {element}, one by an atomic operation, the other not"),
            "make both accesses atomic, or order them: release after the one (sem=\"release\"), acquire before the other",
        ),
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

/// Who touches elements, and how.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    pub program: u32,
    pub phase: u32,
    /// The lane of the first element, and how much further the lane of the next one is.
    pub lane: u32,
    pub step: u32,
    pub kind: TouchKind,
    /// Which of the program's stores it is, counted as they run.
    pub number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TouchKind {
    Plain,
    Atomic,
    /// A volatile load.
    Volatile,
}

impl Touch {
    /// By a program whose lanes nobody asks for.
    pub fn by(program: u32) -> Touch {
        Touch { program, phase: 0, lane: 0, step: 0, kind: TouchKind::Plain, number: 0 }
    }

    fn lane(self, element: usize) -> u32 {
        self.lane.wrapping_add(self.step.wrapping_mul(element as u32))
    }
}

/// What is kept of a buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched {
    /// It is written, and not by atomics alone.
    pub writes: bool,
    /// It is read by plain loads, and written.
    pub reads: bool,
    /// Lanes are compared.
    pub lanes: bool,
    /// Second stores to an element are told.
    pub twice: bool,
}

#[derive(Clone, Debug, Default)]
struct Shadow {
    /// Who wrote last; empty when the launch does not write the buffer.
    writer: Marks,
    /// Program + 1 of the only reader, or [`MANY`]; empty unless the launch reads and writes it.
    reader: Vec<u32>,
    lanes: Option<Lanes>,
    /// By element: program + 1 and number of the last store.
    stores: Vec<(u32, u32)>,
    /// Where programs synchronise.
    times: Option<Times>,
}

/// By element: lane and phase of the last write and the last read.
#[derive(Clone, Debug)]
struct Lanes {
    wrote: Vec<(u32, u32)>,
    read: Vec<(u32, u32)>,
}

#[derive(Clone, Debug)]
struct Times {
    /// By element: the writer's time, and whether the write was atomic.
    wrote: Vec<(u32, bool)>,
    read: Vec<u32>,
    /// By element: program + 1 and time of the last plain write, which atomics of the same program do not hide.
    plain: Vec<(u32, u32)>,
    /// Readers and their times, where there are [`MANY`].
    readers: HashMap<usize, Vec<(u32, u32)>>,
}

/// The shadows of all buffers during one launch.
#[derive(Clone, Debug, Default)]
pub struct Shadows {
    buffers: Vec<Shadow>,
    /// Who knows what of whom, where programs synchronise.
    pub order: Option<Order>,
    told: Told,
    /// The first element that a program stored twice.
    pub twice: Option<Event>,
}

/// Which conflicts of programs are told: of plain accesses, and of plain with atomic ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    pub plain: bool,
    pub mixed: bool,
}

impl Shadows {
    /// `watch` gives the buffers that the launch writes, with their lengths; `programs` is how many the grid has.
    pub fn new(
        buffers: usize,
        watch: impl Iterator<Item = (BufferId, usize, Watched)>,
        programs: u32,
        synchronise: bool,
        told: Told,
    ) -> Shadows {
        let mut all = vec![Shadow::default(); buffers];
        for (id, len, watched) in watch {
            let shadow = &mut all[id.0];
            if watched.twice {
                shadow.stores = vec![(0, 0); len];
            }
            if watched.writes {
                shadow.writer = Marks::new(len, programs);
                shadow.times = synchronise.then(|| Times {
                    wrote: vec![(0, false); len],
                    read: vec![0; len],
                    plain: vec![(0, 0); len],
                    readers: HashMap::new(),
                });
            }
            if watched.writes && watched.reads {
                shadow.reader = vec![0; len];
                shadow.lanes = watched.lanes.then(|| Lanes { wrote: vec![(0, 0); len], read: vec![(0, 0); len] });
            }
        }
        Shadows { buffers: all, order: synchronise.then(Order::default), told, twice: None }
    }

    #[inline]
    pub fn watches_reads(&self, buffer: BufferId) -> bool {
        self.buffers.get(buffer.0).is_some_and(|s| !s.reader.is_empty())
    }

    pub fn write(&mut self, touch: Touch, buffer: BufferId, start: usize, len: usize) -> Result<(), Conflict> {
        let Some(shadow) = self.buffers.get_mut(buffer.0) else { return Ok(()) };
        if !shadow.stores.is_empty() {
            let found = shadow.note_store(touch, start, len).map(|element| Event { program: touch.program, buffer, element });
            self.twice = self.twice.or(found);
        }
        if shadow.writer.is_empty() {
            return Ok(());
        }
        if let Some(order) = &self.order {
            for i in 0..len {
                shadow.write_ordered(touch, buffer, start + i, order, self.told)?;
            }
            return shadow.write_lanes(touch, buffer, start, len);
        }
        let own = touch.program + 1;
        if let Some(at) = shadow.writer.write(start, len, touch.program, self.told.plain) {
            return Err(between(buffer, at, shadow.writer.writer(at), ConflictKind::WriteWrite));
        }
        if self.told.plain && !shadow.reader.is_empty() {
            let line = &shadow.reader[start..start + len];
            if let Some(at) = line.iter().position(|&r| r != 0 && r != own) {
                let other = (line[at] != MANY).then(|| line[at] - 1);
                return Err(between(buffer, start + at, other, ConflictKind::WriteAfterRead));
            }
        }
        shadow.write_lanes(touch, buffer, start, len)
    }

    pub fn read(&mut self, touch: Touch, buffer: BufferId, start: usize, len: usize) -> Result<(), Conflict> {
        let Some(shadow) = self.buffers.get_mut(buffer.0) else { return Ok(()) };
        if let (TouchKind::Volatile, Some(order), Some(times)) = (touch.kind, &mut self.order, &shadow.times) {
            for at in start..start + len {
                if let Some(writer) = shadow.writer.writer(at) {
                    order.learn(touch.program, writer, times.wrote[at].0);
                }
            }
        }
        if shadow.reader.is_empty() || touch.kind != TouchKind::Plain {
            return Ok(());
        }
        let own = touch.program + 1;
        for i in 0..len {
            let at = start + i;
            let writer = shadow.writer.writer(at);
            match (&self.order, &mut shadow.times) {
                (Some(order), Some(times)) => {
                    let (time, atomic) = times.wrote[at];
                    let told = if atomic { self.told.mixed } else { self.told.plain };
                    if told && writer.is_some_and(|writer| !order.knows(touch.program, writer, time)) {
                        let kind = if atomic { ConflictKind::Mixed } else { ConflictKind::ReadAfterWrite };
                        return Err(between(buffer, at, writer, kind));
                    }
                    times.note_reader(&mut shadow.reader[at], at, touch.program, order);
                }
                (None, _) | (_, None) => {
                    if self.told.plain && writer.is_some_and(|writer| writer != touch.program) {
                        return Err(between(buffer, at, writer, ConflictKind::ReadAfterWrite));
                    }
                    let reader = &mut shadow.reader[at];
                    *reader = if *reader == 0 || *reader == own { own } else { MANY };
                }
            }
            if let Some(lanes) = &mut shadow.lanes {
                let lane = touch.lane(i);
                let (wrote, phase) = lanes.wrote[at];
                if writer == Some(touch.program) && phase == touch.phase && wrote != lane {
                    return Err(within(buffer, at, ConflictKind::LaneReads, [wrote, lane]));
                }
                let read = &mut lanes.read[at];
                let again = *read == (lane, touch.phase) || read.1 != touch.phase || shadow.reader[at] != own;
                *read = (if again { lane } else { SEVERAL }, touch.phase);
            }
        }
        Ok(())
    }
}

impl Shadow {
    /// An element of these that another store of the same program has written.
    fn note_store(&mut self, touch: Touch, start: usize, len: usize) -> Option<usize> {
        let own = (touch.program + 1, touch.number);
        let line = &mut self.stores[start..start + len];
        let again = line.iter().position(|&(program, number)| program == own.0 && number != own.1);
        line.fill(own);
        again.map(|at| start + at)
    }

    fn write_ordered(&mut self, touch: Touch, buffer: BufferId, at: usize, order: &Order, told: Told) -> Result<(), Conflict> {
        let Some(times) = &mut self.times else { return Ok(()) };
        let own = touch.program + 1;
        let is_atomic = touch.kind == TouchKind::Atomic;
        let (mut time, mut atomic) = times.wrote[at];
        let mut writer = self.writer.writer(at);
        if let (true, (Some(plain), then)) = (is_atomic, (times.plain[at].0.checked_sub(1), times.plain[at].1)) {
            (writer, time) = (Some(plain), then);
            atomic = false;
        }
        let told_write = if atomic == is_atomic { told.plain } else { told.mixed };
        if told_write && !(atomic && is_atomic) && writer.is_some_and(|writer| !order.knows(touch.program, writer, time)) {
            let kind = if atomic == is_atomic { ConflictKind::WriteWrite } else { ConflictKind::Mixed };
            return Err(between(buffer, at, writer, kind));
        }
        let kind = if is_atomic { ConflictKind::Mixed } else { ConflictKind::WriteAfterRead };
        let told_read = if is_atomic { told.mixed } else { told.plain };
        match self.reader.get(at).copied().unwrap_or(0) {
            _ if !told_read => {}
            0 => {}
            MANY => {
                let readers = times.readers.get(&at).map_or(&[][..], Vec::as_slice);
                if let Some((reader, _)) = readers.iter().find(|(reader, t)| !order.knows(touch.program, *reader, *t)) {
                    return Err(between(buffer, at, Some(*reader), kind));
                }
            }
            reader => {
                if !order.knows(touch.program, reader - 1, times.read[at]) {
                    return Err(between(buffer, at, Some(reader - 1), kind));
                }
            }
        }
        self.writer.set(at, touch.program);
        let now = order.time(touch.program);
        times.wrote[at] = (now, is_atomic);
        if !is_atomic {
            times.plain[at] = (own, now);
        }
        Ok(())
    }

    fn write_lanes(&mut self, touch: Touch, buffer: BufferId, start: usize, len: usize) -> Result<(), Conflict> {
        let Some(lanes) = &mut self.lanes else { return Ok(()) };
        let own = touch.program + 1;
        for i in 0..len {
            let (at, lane) = (start + i, touch.lane(i));
            let (read, phase) = lanes.read[at];
            if touch.kind == TouchKind::Plain && self.reader[at] == own && phase == touch.phase && read != lane {
                return Err(within(buffer, at, ConflictKind::LaneWrites, [read, lane]));
            }
            // Atomics are no exchange of lanes.
            lanes.wrote[at] = (lane, if touch.kind == TouchKind::Plain { touch.phase } else { 0 });
        }
        Ok(())
    }
}

impl Times {
    /// Forgets readers whose reads came before this one.
    fn note_reader(&mut self, reader: &mut u32, at: usize, program: u32, order: &Order) {
        let (own, now) = (program + 1, order.time(program));
        match *reader {
            MANY => {
                let readers = self.readers.entry(at).or_default();
                readers.retain(|(other, time)| !order.knows(program, *other, *time));
                if readers.len() < READERS {
                    readers.push((program, now));
                }
                return;
            }
            0 => {}
            other if order.knows(program, other - 1, self.read[at]) => {}
            other => {
                self.readers.insert(at, vec![(other - 1, self.read[at]), (program, now)]);
                *reader = MANY;
                return;
            }
        }
        *reader = own;
        self.read[at] = now;
    }
}

fn between(buffer: BufferId, element: usize, other: Option<u32>, kind: ConflictKind) -> Conflict {
    Conflict { buffer, element, other, kind, lanes: [0; 2] }
}

fn within(buffer: BufferId, element: usize, kind: ConflictKind, lanes: [u32; 2]) -> Conflict {
    Conflict { buffer, element, other: None, kind, lanes }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Told = Told { plain: true, mixed: true };

    #[test]
    fn programs_meet() {
        let y = BufferId(0);
        let watched = Watched { writes: true, reads: true, lanes: true, twice: false };
        let mut shadows = Shadows::new(1, [(y, 10, watched)].into_iter(), 100, false, ALL);
        let by = Touch::by;
        shadows.write(by(0), y, 0, 4).unwrap();
        shadows.write(by(0), y, 2, 2).unwrap();
        assert_eq!(shadows.write(by(1), y, 3, 4).unwrap_err().kind, ConflictKind::WriteWrite);
        assert_eq!(shadows.read(by(1), y, 3, 1).unwrap_err().kind, ConflictKind::ReadAfterWrite);
        shadows.read(by(1), y, 8, 1).unwrap();
        shadows.read(by(2), y, 8, 1).unwrap();
        let conflict = shadows.write(by(1), y, 8, 1).unwrap_err();
        assert_eq!((conflict.kind, conflict.other), (ConflictKind::WriteAfterRead, None));
        shadows.read(by(1), y, 9, 1).unwrap();
        shadows.write(by(1), y, 9, 1).unwrap();
    }

    #[test]
    fn lanes_meet() {
        let y = BufferId(0);
        let watched = Watched { writes: true, reads: true, lanes: true, twice: false };
        let mut shadows = Shadows::new(1, [(y, 10, watched)].into_iter(), 100, false, ALL);
        let touch = |phase, lane| Touch { phase, lane, step: 1, ..Touch::by(4) };
        shadows.write(touch(1, 0), y, 0, 8).unwrap();
        shadows.read(touch(1, 2), y, 2, 4).unwrap();
        let conflict = shadows.read(touch(1, 0), y, 3, 1).unwrap_err();
        assert_eq!((conflict.kind, conflict.lanes), (ConflictKind::LaneReads, [3, 0]));
        shadows.read(touch(2, 0), y, 3, 1).unwrap();
        assert_eq!(shadows.write(touch(2, 1), y, 3, 1).unwrap_err().kind, ConflictKind::LaneWrites);
        shadows.write(touch(3, 1), y, 3, 1).unwrap();
    }

    #[test]
    fn what_is_released_is_no_race() {
        let (y, lock) = (BufferId(0), BufferId(1));
        let watched = Watched { writes: true, reads: true, lanes: false, twice: false };
        let mut shadows = Shadows::new(2, [(y, 4, watched)].into_iter(), 100, true, ALL);
        let by = Touch::by;
        let atomic = |program| Touch { kind: TouchKind::Atomic, ..Touch::by(program) };
        for program in 0..3 {
            shadows.order.as_mut().unwrap().acquire(program, lock, Some(0));
            shadows.read(by(program), y, 0, 1).unwrap();
            shadows.write(by(program), y, 0, 1).unwrap();
            shadows.order.as_mut().unwrap().release(program, lock, Some(0));
        }
        let conflict = shadows.read(by(3), y, 0, 1).unwrap_err();
        assert_eq!((conflict.kind, conflict.other), (ConflictKind::ReadAfterWrite, Some(2)));
        shadows.write(atomic(0), y, 1, 1).unwrap();
        shadows.write(atomic(1), y, 1, 1).unwrap();
        assert_eq!(shadows.read(by(2), y, 1, 1).unwrap_err().kind, ConflictKind::Mixed);
        assert_eq!(shadows.write(by(2), y, 1, 1).unwrap_err().kind, ConflictKind::Mixed);
        // A flag, seen by a volatile load.
        shadows.write(by(0), y, 2, 1).unwrap();
        shadows.write(by(0), y, 3, 1).unwrap();
        shadows.read(Touch { kind: TouchKind::Volatile, ..by(1) }, y, 3, 1).unwrap();
        shadows.read(by(1), y, 2, 1).unwrap();
        // Two readers that nobody orders, and one who knows only the first.
        shadows.read(by(2), y, 0, 1).unwrap();
    }
}
