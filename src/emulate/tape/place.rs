//! Where an instruction goes: hoisting and common subexpressions, while the tape is being built.
//!
//! Code under construction is a tree of *streams*: the launch stream, one table stream a loop, the
//! program's own, and one a region. A pure instruction is appended to the outermost stream in which
//! all of its operands are known; since a region is built before the loop that holds it is appended
//! to its parent, what is hoisted lands before the loop. An `if` (and a `while`) is not left: its
//! code may never run, and only launch and table code, which is small, is worth that risk.
//!
//! In dense mode nothing moves and nothing is shared: the dense tape checks this file too.

use std::collections::HashMap;

use super::{Code, Conjunct, DotOperand, Instruction, LoadTile, Slot, Sum, TableShape, Tile};
use crate::source::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub usize);

pub const LAUNCH: StreamId = StreamId(0);
pub const PROGRAM: StreamId = StreamId(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    Launch,
    /// The table's number; the loop whose body reads it.
    Table(usize),
    Program,
    /// A loop's body, with its table.
    Loop(Option<usize>),
    /// Runs or not: nothing is hoisted out of it but to the launch.
    Guarded,
}

/// A cell that a region hands on: `to = from`.
#[derive(Clone, Copy, Debug)]
pub struct Handover {
    pub to: Slot,
    pub from: Slot,
}

#[derive(Clone, Debug)]
pub enum Item {
    Plain(Instruction),
    For {
        counter: Slot,
        variable: Slot,
        lower: Slot,
        upper: Slot,
        step: Slot,
        table: Option<usize>,
        body: StreamId,
        init: Vec<Handover>,
        next: Vec<Handover>,
        span: Span,
    },
    If {
        condition: Slot,
        then: StreamId,
        otherwise: StreamId,
        then_results: Vec<Handover>,
        other_results: Vec<Handover>,
        span: Span,
    },
    While {
        init: Vec<Handover>,
        before: StreamId,
        condition: Slot,
        forward: Vec<Handover>,
        after: StreamId,
        next: Vec<Handover>,
        /// It may wait for other programs: idle turns until they may run.
        patience: Option<u32>,
        span: Span,
    },
}

#[derive(Clone, Debug)]
pub struct Stream {
    pub kind: StreamKind,
    pub parent: Option<StreamId>,
    pub items: Vec<Item>,
}

#[derive(Clone, Copy, Debug)]
struct SlotInfo {
    home: StreamId,
    /// Holds one number: a scalar, or a uniform block.
    scalar: bool,
}

#[derive(Clone, Debug)]
pub struct Placer {
    pub lazy: bool,
    pub streams: Vec<Stream>,
    pub current: StreamId,
    slots: HashMap<Slot, SlotInfo>,
    shared: HashMap<(StreamId, String), Slot>,
    pub locals: usize,
    pub launch_cells: usize,
    pub tables: Vec<TableShape>,
    table_streams: Vec<StreamId>,
    table_bodies: Vec<StreamId>,
}

impl Placer {
    pub fn new(lazy: bool) -> Placer {
        let stream = |kind, parent| Stream { kind, parent, items: Vec::new() };
        Placer {
            lazy,
            streams: vec![stream(StreamKind::Launch, None), stream(StreamKind::Program, Some(LAUNCH))],
            current: PROGRAM,
            slots: HashMap::new(),
            shared: HashMap::new(),
            locals: 0,
            launch_cells: 0,
            tables: Vec::new(),
            table_streams: Vec::new(),
            table_bodies: Vec::new(),
        }
    }

    pub fn open(&mut self, kind: StreamKind, parent: StreamId) -> StreamId {
        self.streams.push(Stream { kind, parent: Some(parent), items: Vec::new() });
        StreamId(self.streams.len() - 1)
    }

    /// A table for the loop whose body is `body`; its first column is the loop variable.
    pub fn open_table(&mut self, body: StreamId) -> (usize, Slot) {
        let table = self.tables.len();
        let stream = self.open(StreamKind::Table(table), LAUNCH);
        self.table_streams.push(stream);
        self.table_bodies.push(body);
        self.tables.push(TableShape { columns: 1, variable: Some(0) });
        let variable = Slot::table(table, 0);
        self.slots.insert(variable, SlotInfo { home: stream, scalar: true });
        self.streams[body.0].kind = StreamKind::Loop(Some(table));
        (table, variable)
    }

    pub fn table_stream(&self, table: usize) -> StreamId {
        self.table_streams[table]
    }

    pub fn local(&mut self, home: StreamId, scalar: bool) -> Slot {
        let slot = Slot::local(self.locals);
        self.locals += 1;
        self.slots.insert(slot, SlotInfo { home, scalar });
        slot
    }

    pub fn home(&self, slot: Slot) -> StreamId {
        self.slots.get(&slot).map_or(PROGRAM, |s| s.home)
    }

    pub fn set_home(&mut self, slot: Slot, home: StreamId) {
        if let Some(info) = self.slots.get_mut(&slot) {
            info.home = home;
        }
    }

    pub fn is_scalar(&self, slot: Slot) -> bool {
        self.slots.get(&slot).is_some_and(|s| s.scalar)
    }

    /// Known before the program starts.
    pub fn is_launch(&self, slot: Slot) -> bool {
        self.home(slot) == LAUNCH
    }

    fn chain(&self, from: StreamId) -> Vec<StreamId> {
        let mut chain = vec![from];
        while let Some(parent) = self.streams[chain[chain.len() - 1].0].parent {
            chain.push(parent);
        }
        chain
    }

    /// The stream of a pure instruction with these operands.
    fn place(&self, code: &Code, operands: &[Slot]) -> StreamId {
        if !self.lazy {
            return self.current;
        }
        let chain = self.chain(self.current);
        let homes: Vec<StreamId> = operands.iter().map(|&s| self.home(s)).collect();
        // A table, when nothing but the launch and that one table is read.
        let mut tables = homes.iter().filter(|h| **h != LAUNCH);
        if let Some(first) = tables.next()
            && let StreamKind::Table(_) = self.streams[first.0].kind
            && tables.all(|h| h == first)
            && fits_a_table(code)
        {
            return *first;
        }
        let mut target = chain.len() - 1;
        for home in homes {
            let home = match self.streams[home.0].kind {
                StreamKind::Table(table) => self.table_bodies[table],
                _ => home,
            };
            target = target.min(chain.iter().position(|&s| s == home).unwrap_or(0));
        }
        if chain[target] == LAUNCH {
            return LAUNCH;
        }
        let guard = chain.iter().position(|s| self.streams[s.0].kind == StreamKind::Guarded).unwrap_or(usize::MAX);
        chain[target.min(guard)]
    }

    fn new_slot(&mut self, stream: StreamId, scalar: bool) -> Slot {
        let slot = match self.streams[stream.0].kind {
            StreamKind::Launch => {
                self.launch_cells += 1;
                Slot::launch(self.launch_cells - 1)
            }
            StreamKind::Table(table) => {
                let columns = &mut self.tables[table].columns;
                *columns += 1;
                Slot::table(table, *columns - 1)
            }
            StreamKind::Program | StreamKind::Loop(_) | StreamKind::Guarded => return self.local(stream, scalar),
        };
        self.slots.insert(slot, SlotInfo { home: stream, scalar });
        slot
    }

    /// Appends a pure instruction where it belongs, or finds the same one already made.
    pub fn pure(&mut self, code: Code, scalar: bool, span: Span) -> Slot {
        let stream = self.place(&code, &reads(&code));
        let key = self.lazy.then(|| (stream, format!("{code:?}")));
        if let Some(found) = key.as_ref().and_then(|key| self.shared.get(key)) {
            return *found;
        }
        let out = self.new_slot(stream, scalar);
        self.streams[stream.0].items.push(Item::Plain(Instruction { code, out, span }));
        if let Some(key) = key {
            self.shared.insert(key, out);
        }
        out
    }

    /// Appends an instruction to the current stream.
    pub fn here(&mut self, code: Code, scalar: bool, span: Span) -> Slot {
        let out = self.local(self.current, scalar);
        self.streams[self.current.0].items.push(Item::Plain(Instruction { code, out, span }));
        out
    }

    pub fn push(&mut self, item: Item) {
        self.streams[self.current.0].items.push(item);
    }

    /// Whether `inner` is `outer` or lies inside it.
    pub fn within(&self, inner: StreamId, outer: StreamId) -> bool {
        self.chain(inner).contains(&outer)
    }
}

/// Small enough to be kept for every iteration of a loop.
fn fits_a_table(code: &Code) -> bool {
    match code {
        Code::Argument(_)
        | Code::Constant(..)
        | Code::Range(..)
        | Code::Int(..)
        | Code::CompareInt(..)
        | Code::AddPtr(..)
        | Code::OnlyLane(_)
        | Code::Guard(..)
        | Code::Select(Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::I1, ..)
        | Code::Cast(_, Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::I1, ..) => true,
        Code::ProgramId(_)
        | Code::NumPrograms(_)
        | Code::Float(..)
        | Code::Unary(..)
        | Code::Fma(..)
        | Code::CompareFloat(..)
        | Code::Select(..)
        | Code::Cast(..)
        | Code::Splat(..)
        | Code::ExpandDims(..)
        | Code::Broadcast(..)
        | Code::Trans(..)
        | Code::Reshape(..)
        | Code::Materialise(..)
        | Code::Conjunction(..)
        | Code::Guards(_)
        | Code::LoadTile(_)
        | Code::StoreTile(..)
        | Code::LoadLanes(..)
        | Code::StoreLanes(..)
        | Code::Dot(_)
        | Code::Reduce(_)
        | Code::Scan(_)
        | Code::Whole(_)
        | Code::Asm(_)
        | Code::Assert(..)
        | Code::Atomic(_)
        | Code::Barrier
        | Code::Assume(_)
        | Code::Hint(..)
        | Code::Yield(_)
        | Code::Move(..)
        | Code::Jump(_)
        | Code::BranchUnless(..)
        | Code::LoopStart { .. }
        | Code::LoopTest { .. }
        | Code::LoopNext { .. }
        | Code::TableRow { .. }
        | Code::Return => false,
    }
}

use crate::kernel::ir::Elem;

/// The cells that an instruction reads.
pub fn reads(code: &Code) -> Vec<Slot> {
    fn sum(s: &Sum, out: &mut Vec<Slot>) {
        out.push(s.base);
        out.extend(s.terms.iter().flatten());
    }
    fn conjuncts(mask: &[Conjunct], out: &mut Vec<Slot>) {
        for conjunct in mask {
            match conjunct {
                Conjunct::Scalar(s) | Conjunct::Axis(_, s) | Conjunct::Block(s) => out.push(*s),
                Conjunct::Band { sum: s, lo, hi } => {
                    sum(s, out);
                    out.extend(lo.iter().chain(hi));
                }
            }
        }
    }
    fn tile(t: &Tile, out: &mut Vec<Slot>) {
        sum(&t.address, out);
        conjuncts(&t.mask, out);
    }
    fn load(l: &LoadTile, out: &mut Vec<Slot>) {
        tile(&l.tile, out);
        out.extend(l.other);
    }
    let mut out = Vec::new();
    match code {
        Code::ProgramId(_)
        | Code::NumPrograms(_)
        | Code::Argument(_)
        | Code::Constant(..)
        | Code::Range(..)
        | Code::Barrier
        | Code::Yield(_)
        | Code::Jump(_)
        | Code::Return => {}
        Code::Int(_, _, a, b)
        | Code::Float(_, _, a, b)
        | Code::CompareInt(_, _, a, b)
        | Code::CompareFloat(_, _, a, b)
        | Code::AddPtr(a, b, _) => out.extend([*a, *b]),
        Code::Unary(_, _, a)
        | Code::Cast(_, _, _, a)
        | Code::Splat(a, ..)
        | Code::ExpandDims(a, _)
        | Code::Broadcast(a, _)
        | Code::Trans(a, _)
        | Code::Reshape(a, _)
        | Code::OnlyLane(a)
        | Code::Assert(a, _)
        | Code::Assume(a)
        | Code::Hint(a, ..)
        | Code::Move(a, _)
        | Code::BranchUnless(a, _) => out.push(*a),
        Code::Fma(_, a, b, c) | Code::Select(_, a, b, c) => out.extend([*a, *b, *c]),
        Code::Materialise(s, ..) | Code::Guard(s, _) => sum(s, &mut out),
        Code::Conjunction(mask, _) => conjuncts(mask, &mut out),
        Code::Guards(guards) => guards.sums.iter().for_each(|(s, _)| sum(s, &mut out)),
        Code::LoadTile(l) => load(l, &mut out),
        Code::StoreTile(t, value, _) => {
            tile(t, &mut out);
            out.push(*value);
        }
        Code::LoadLanes(p, mask, other, ..) => {
            out.push(*p);
            out.extend(mask.iter().chain(other));
        }
        Code::StoreLanes(p, value, mask, ..) => {
            out.extend([*p, *value]);
            out.extend(mask);
        }
        Code::Atomic(atomic) => {
            out.push(atomic.ptr);
            out.extend([atomic.expected, atomic.value, atomic.mask, atomic.other].into_iter().flatten());
        }
        Code::Dot(dot) => {
            for operand in [&dot.a, &dot.b] {
                match operand {
                    DotOperand::Cell(s) => out.push(*s),
                    DotOperand::Load(l, _) => load(l, &mut out),
                }
            }
            out.push(dot.acc);
        }
        Code::Reduce(reduce) => out.extend(&reduce.operands),
        Code::Scan(scan) => out.extend(&scan.operands),
        Code::Whole(whole) => out.extend(&whole.operands),
        Code::Asm(asm) => out.extend(&asm.operands),
        Code::LoopStart { lower, .. } => out.push(*lower),
        Code::LoopTest { variable, upper, step, .. } => out.extend([*variable, *upper, *step]),
        Code::LoopNext { variable, step, .. } => out.extend([*variable, *step]),
        Code::TableRow { counter, variable, .. } => out.extend([*counter, *variable]),
    }
    out
}
