//! Buffers while a launch runs: reading them, writing them in program order, and undoing.
//!
//! Two ways to write. *Direct*: one worker runs the programs in order and each store goes to memory
//! at once (in-place kernels, and every kernel on one thread). *Journalled*: a worker appends its
//! stores to a journal, which is committed in program order when its batch is done. Either way
//! every line passes [`Committer::write`], so race detection sees one order.

use super::check::race::{Conflict, Shadows, Touch};
use super::launch::{Bits, Buffer, BufferId, Memory};
use crate::dtype::DType;
use crate::tensor::Storage;

/// Where addresses begin, and how far buffers lie apart.
const FIRST: i64 = 0x7f00_0000_0000;
const PAGE: i64 = 4096;

impl Bits {
    /// `len` bits, all set.
    pub fn ones(len: usize) -> Bits {
        Bits { words: vec![!0; len.div_ceil(64)], len }
    }

    pub fn get(&self, index: usize) -> bool {
        self.words[index / 64] >> (index % 64) & 1 != 0
    }

    pub fn clear(&mut self, start: usize, len: usize) {
        let (mut at, end) = (start, start + len);
        while at < end {
            let word = at / 64;
            let from = at % 64;
            let to = (end - word * 64).min(64);
            let mask = if to - from == 64 { !0 } else { ((1 << (to - from)) - 1) << from };
            self.words[word] &= !mask;
            at = word * 64 + to;
        }
    }

    /// The first set bit of `start..start + len`.
    pub fn first_set(&self, start: usize, len: usize) -> Option<usize> {
        let end = (start + len).min(self.len);
        let mut at = start;
        while at < end {
            let word = self.words[at / 64] >> (at % 64);
            if word != 0 {
                let found = at + word.trailing_zeros() as usize;
                return (found < end).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}

impl Memory {
    /// A buffer that nothing has written yet (`torch.empty`).
    pub fn allocate(&mut self, name: impl Into<String>, dtype: DType, len: usize) -> BufferId {
        self.push(name, Storage::zeros(dtype.carrier(), len), Some(Bits::ones(len)), Some(dtype))
    }

    /// A buffer whose elements are all defined.
    pub fn insert(&mut self, name: impl Into<String>, lanes: Storage) -> BufferId {
        self.push(name, lanes, None, None)
    }

    /// A buffer of a type, whose elements are all defined.
    pub fn insert_as(&mut self, name: impl Into<String>, dtype: DType, lanes: Storage) -> BufferId {
        self.push(name, lanes, None, Some(dtype))
    }

    /// The address of a buffer's first element, as its `data_ptr()` would give it.
    pub fn address(&self, id: BufferId) -> i64 {
        self.buffers[id.0].base
    }

    fn push(&mut self, name: impl Into<String>, lanes: Storage, undefined: Option<Bits>, dtype: Option<DType>) -> BufferId {
        // Room for elements of any size, so that a buffer's address does not depend on their type.
        let end = self.buffers.last().map_or(FIRST, |last| last.base + last.lanes.len() as i64 * 8);
        let base = (end / PAGE + 2) * PAGE;
        self.buffers.push(Buffer { name: name.into(), lanes, undefined, read_only: false, base, dtype });
        BufferId(self.buffers.len() - 1)
    }

    /// Whether launches that follow may only read a buffer (A014).
    pub fn protect(&mut self, id: BufferId, read_only: bool) {
        self.buffers[id.0].read_only = read_only;
    }

    pub fn lanes(&self, id: BufferId) -> &Storage {
        &self.buffers[id.0].lanes
    }
}

/// Consecutive elements of one store, in the buffer's carrier.
#[derive(Clone, Copy, Debug)]
pub enum Line<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    I64(&'a [i64]),
    Bool(&'a [u8]),
}

impl Line<'_> {
    fn lanes(&self) -> usize {
        match self {
            Line::F32(v) => v.len(),
            Line::F64(v) => v.len(),
            Line::I64(v) => v.len(),
            Line::Bool(v) => v.len(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    buffer: BufferId,
    start: usize,
    /// Into the data vector of the buffer's carrier.
    data: usize,
    len: usize,
    /// Which of the program's stores it is.
    number: u32,
}

/// Stores in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    entries: Vec<Entry>,
    f32: Vec<f32>,
    f64: Vec<f64>,
    i64: Vec<i64>,
    bool: Vec<u8>,
}

impl Journal {
    pub fn push(&mut self, buffer: BufferId, start: usize, line: Line<'_>, number: u32) {
        fn append<T: Copy>(to: &mut Vec<T>, from: &[T]) -> usize {
            to.extend_from_slice(from);
            to.len() - from.len()
        }
        let data = match line {
            Line::F32(v) => append(&mut self.f32, v),
            Line::F64(v) => append(&mut self.f64, v),
            Line::I64(v) => append(&mut self.i64, v),
            Line::Bool(v) => append(&mut self.bool, v),
        };
        self.entries.push(Entry { buffer, start, data, len: line.lanes(), number });
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.f32.clear();
        self.f64.clear();
        self.i64.clear();
        self.bool.clear();
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets all entries from `mark` on (their data stays until the journal is cleared).
    pub fn truncate(&mut self, mark: usize) {
        self.entries.truncate(mark);
    }

    fn line(&self, entry: &Entry, storage: &Storage) -> Line<'_> {
        let range = entry.data..entry.data + entry.len;
        match storage {
            Storage::F32(_) => Line::F32(&self.f32[range]),
            Storage::F64(_) => Line::F64(&self.f64[range]),
            Storage::I64(_) => Line::I64(&self.i64[range]),
            Storage::Bool(_) => Line::Bool(&self.bool[range]),
        }
    }
}

/// Writes memory in program order.
pub struct Committer<'m> {
    pub memory: &'m mut Memory,
    pub shadows: Shadows,
    /// What the running program has overwritten, for in-place launches.
    pub undo: Option<Journal>,
}

impl Committer<'_> {
    pub fn write(&mut self, touch: Touch, buffer: BufferId, start: usize, line: Line<'_>) -> Result<(), Conflict> {
        let len = line.lanes();
        self.shadows.write(touch, buffer, start, len)?;
        let target = &mut self.memory.buffers[buffer.0];
        if let Some(bits) = &mut target.undefined {
            bits.clear(start, len);
        }
        let range = start..start + len;
        if let Some(undo) = &mut self.undo {
            let old = match &target.lanes {
                Storage::F32(v) => Line::F32(&v[range.clone()]),
                Storage::F64(v) => Line::F64(&v[range.clone()]),
                Storage::I64(v) => Line::I64(&v[range.clone()]),
                Storage::Bool(v) => Line::Bool(&v[range.clone()]),
            };
            undo.push(buffer, start, old, 0);
        }
        copy_into(&mut target.lanes, start, line);
        Ok(())
    }

    /// Writes the entries of one program.
    pub fn commit(&mut self, program: u32, journal: &Journal, entries: std::ops::Range<usize>) -> Result<(), Conflict> {
        for entry in &journal.entries[entries] {
            let line = journal.line(entry, &self.memory.buffers[entry.buffer.0].lanes);
            self.write(Touch { number: entry.number, ..Touch::by(program) }, entry.buffer, entry.start, line)?;
        }
        Ok(())
    }

    /// Restores what the running program has overwritten.
    pub fn roll_back(&mut self) {
        let Some(undo) = &mut self.undo else { return };
        for entry in undo.entries.iter().rev() {
            let target = &mut self.memory.buffers[entry.buffer.0].lanes;
            let line = undo.line(entry, target);
            copy_into(target, entry.start, line);
        }
        undo.clear();
    }
}

fn copy_into(storage: &mut Storage, start: usize, line: Line<'_>) {
    match (storage, line) {
        (Storage::F32(to), Line::F32(v)) => to[start..start + v.len()].copy_from_slice(v),
        (Storage::F64(to), Line::F64(v)) => to[start..start + v.len()].copy_from_slice(v),
        (Storage::I64(to), Line::I64(v)) => to[start..start + v.len()].copy_from_slice(v),
        (Storage::Bool(to), Line::Bool(v)) => to[start..start + v.len()].copy_from_slice(v),
        _ => unreachable!("invariant: launch arguments have their parameters' carriers"),
    }
}

/// How a machine reaches memory.
#[expect(clippy::large_enum_variant, reason = "a thread has one, which is moved once a batch")]
pub enum Port<'m> {
    Direct(Committer<'m>),
    Journalled {
        memory: &'m Memory,
        journal: Journal,
    },
    /// Handed to another machine.
    Closed,
}

impl Port<'_> {
    #[inline]
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        match self {
            Port::Direct(committer) => &committer.memory.buffers[id.0],
            Port::Journalled { memory, .. } => &memory.buffers[id.0],
            Port::Closed => unreachable!("invariant: a machine runs with its port open"),
        }
    }

    pub fn write(&mut self, touch: Touch, buffer: BufferId, start: usize, line: Line<'_>) -> Result<(), Conflict> {
        match self {
            Port::Direct(committer) => committer.write(touch, buffer, start, line),
            Port::Journalled { journal, .. } => {
                journal.push(buffer, start, line, touch.number);
                Ok(())
            }
            Port::Closed => unreachable!("invariant: a machine runs with its port open"),
        }
    }

    /// Notes a read for race detection; only launches that read what they write keep such notes.
    #[inline]
    pub fn read(&mut self, touch: Touch, buffer: BufferId, start: usize, len: usize) -> Result<(), Conflict> {
        match self {
            Port::Direct(committer) => committer.shadows.read(touch, buffer, start, len),
            Port::Journalled { .. } | Port::Closed => Ok(()),
        }
    }

    /// All buffers.
    pub fn memory(&self) -> &Memory {
        match self {
            Port::Direct(committer) => committer.memory,
            Port::Journalled { memory, .. } => memory,
            Port::Closed => unreachable!("invariant: a machine runs with its port open"),
        }
    }

    /// An atomic operation begins: what others released at this place is known from here on.
    pub fn acquire(&mut self, program: u32, buffer: BufferId, element: Option<usize>) {
        if let Port::Direct(Committer { shadows: Shadows { order: Some(order), .. }, .. }) = self {
            order.acquire(program, buffer, element);
        }
    }

    /// An atomic operation ends: who acquires this place later knows what the program did so far.
    pub fn release(&mut self, program: u32, buffer: BufferId, element: Option<usize>) {
        if let Port::Direct(Committer { shadows: Shadows { order: Some(order), .. }, .. }) = self {
            order.release(program, buffer, element);
        }
    }

    /// Whether reads of this buffer have to be noted.
    #[inline]
    pub fn watches_reads(&self, buffer: BufferId) -> bool {
        match self {
            Port::Direct(committer) => committer.shadows.watches_reads(buffer),
            Port::Journalled { .. } | Port::Closed => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_clear_and_find() {
        let mut bits = Bits::ones(200);
        bits.clear(0, 130);
        assert_eq!(bits.first_set(0, 200), Some(130));
        assert_eq!(bits.first_set(0, 130), None);
        bits.clear(130, 70);
        assert_eq!(bits.first_set(0, 200), None);
        let mut bits = Bits::ones(64);
        bits.clear(3, 2);
        assert_eq!([bits.get(2), bits.get(3), bits.get(4), bits.get(5)], [true, false, false, true]);
    }
}
