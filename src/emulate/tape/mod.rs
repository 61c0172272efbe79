//! The tape: a kernel as a flat list of instructions over cells, with jumps.
//!
//! A running program is a program counter, its cells and its fuel (`exec::ProgramState`), so it can
//! stop after any instruction and go on later. Cells live in three spaces: *launch* cells are
//! computed once a launch, *table* cells once per loop iteration and launch (they depend on the loop
//! counter alone), *local* cells belong to the running program.
//!
//! `compile` makes two tapes of a kernel: `lazy`, where index arithmetic is split along axes and
//! hoisted (`split`, `place`), and `dense`, a plain transcription that is the oracle of the lazy
//! forms and the tape on which suspect programs are explained.

pub mod compile;
pub mod place;
pub mod provenance;
pub mod split;
pub mod whole;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::kernel::ir::{
    AtomicOp, BlockShape, CastKind, DotPrecision, Elem, FloatBinary, FloatPredicate, FloatUnary, Hint, IntBinary, IntPredicate,
    Kernel, Literal, MemoryOrder, Value,
};
use crate::source::Span;
use whole::{Asm, Whole};

/// A cell: the space in the top bits, the index below.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    Local(usize),
    Launch(usize),
    /// Table and column.
    Table(usize, usize),
}

impl Slot {
    pub const NONE: Slot = Slot(u32::MAX);

    pub fn local(index: usize) -> Slot {
        Slot(index as u32)
    }

    pub fn launch(index: usize) -> Slot {
        Slot(1 << 30 | index as u32)
    }

    pub fn table(table: usize, column: usize) -> Slot {
        Slot(2 << 30 | (table as u32) << 14 | column as u32)
    }

    #[inline]
    pub fn space(self) -> Space {
        match self.0 >> 30 {
            0 => Space::Local(self.0 as usize),
            1 => Space::Launch((self.0 & 0x3fff_ffff) as usize),
            _ => Space::Table((self.0 >> 14 & 0xffff) as usize, (self.0 & 0x3fff) as usize),
        }
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.space() {
            Space::Local(i) => write!(f, "%{i}"),
            Space::Launch(i) => write!(f, "@{i}"),
            Space::Table(t, c) => write!(f, "#{t}.{c}"),
        }
    }
}

/// One term an axis; `None` is zero.
pub type Terms = SmallVec<[Option<Slot>; 4]>;

/// `base + Σ term[axis]`: a block of integers or pointers that is never materialised.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sum {
    pub base: Slot,
    pub terms: Terms,
}

/// A factor of a mask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Conjunct {
    /// A uniform mask.
    Scalar(Slot),
    /// A one-axis mask.
    Axis(usize, Slot),
    /// `lo <= sum < hi`; either side may be open.
    Band { sum: Sum, lo: Option<Slot>, hi: Option<Slot> },
    /// A mask of the whole shape.
    Block(Slot),
}

/// Sums that must fit their types in every iteration of a loop.
#[derive(Clone, Debug)]
pub struct Guards {
    pub sums: Vec<(Sum, Elem)>,
    pub table: usize,
    /// Their place among the tape's.
    pub number: usize,
}

/// The address of a load or store whose index splits along axes.
#[derive(Clone, Debug)]
pub struct Tile {
    pub shape: BlockShape,
    pub address: Sum,
    pub mask: Vec<Conjunct>,
    /// By axis.
    pub lasting: SmallVec<[Lasting; 4]>,
    /// Its place among the tape's tiles.
    pub number: usize,
}

/// How long the terms and masks of a tile along an axis stay what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// Until the program ends.
    Program,
    /// For one iteration of the loop with this table, and the same in every program.
    Row(usize),
    /// No longer than the instruction.
    Instruction,
}

/// A load of a tile.
#[derive(Clone, Debug)]
pub struct LoadTile {
    pub tile: Tile,
    /// A uniform value for masked-off lanes.
    pub other: Option<Slot>,
    pub elem: Elem,
}

/// An operand of a dot: a block in a cell, or a load that goes straight into the dot's own buffer.
#[derive(Clone, Debug)]
pub enum DotOperand {
    Cell(Slot),
    /// The load and its instruction, for messages.
    Load(Box<LoadTile>, u32),
}

#[derive(Clone, Debug)]
pub struct Dot {
    pub a: DotOperand,
    pub b: DotOperand,
    pub acc: Slot,
    /// Nothing else uses the accumulator: it may be updated in place.
    pub take_acc: bool,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub precision: DotPrecision,
    /// Of the operands.
    pub elem: Elem,
    pub acc_elem: Elem,
}

#[derive(Clone, Debug)]
pub struct Reduce {
    pub operands: Vec<Slot>,
    pub results: Vec<Slot>,
    pub elems: Vec<Elem>,
    pub axis: usize,
    /// The operands' shape.
    pub shape: BlockShape,
    /// The one float operation that the combine function is, if it is one.
    pub known: Option<FloatBinary>,
    pub combine: Combine,
}

/// A combine function: where it starts on the tape (it ends with `Return`), its arguments and yields.
#[derive(Clone, Debug)]
pub struct Combine {
    pub start: usize,
    pub args: Vec<Slot>,
    pub yields: Vec<Slot>,
}

/// An access that programs may see one another by: an atomic operation or a volatile load.
#[derive(Clone, Debug)]
pub struct Atomic {
    pub kind: AtomicKind,
    pub ptr: Slot,
    /// Of compare-and-swap.
    pub expected: Option<Slot>,
    /// `None`: a volatile load.
    pub value: Option<Slot>,
    pub mask: Option<Slot>,
    /// For masked-off lanes of a volatile load.
    pub other: Option<Slot>,
    /// Of the result.
    pub elem: Elem,
    pub shape: BlockShape,
    pub order: MemoryOrder,
    /// Something depends on the old value: an acquire that nobody looks at orders nothing that a program could
    /// rely on.
    pub looked_at: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicKind {
    Modify(AtomicOp),
    CompareAndSwap,
    VolatileLoad,
}

#[derive(Clone, Debug)]
pub struct Scan {
    pub operands: Vec<Slot>,
    pub results: Vec<Slot>,
    pub elems: Vec<Elem>,
    pub axis: usize,
    pub reverse: bool,
    pub shape: BlockShape,
    /// The one operation that the combine function is, if it is one.
    pub known: Option<Known>,
    pub combine: Combine,
}

/// A combine function that is one operation of its two arguments, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Float(FloatBinary),
    Int(IntBinary),
}

/// What an instruction does. Operands are cells; results go to [`Instruction::out`].
#[derive(Clone, Debug)]
pub enum Code {
    ProgramId(u8),
    NumPrograms(u8),
    /// A kernel parameter.
    Argument(usize),
    Constant(Literal, Elem),
    Range(i32, i32),
    Int(IntBinary, Elem, Slot, Slot),
    Float(FloatBinary, Elem, Slot, Slot),
    Unary(FloatUnary, Elem, Slot),
    Fma(Elem, Slot, Slot, Slot),
    CompareInt(IntPredicate, Elem, Slot, Slot),
    CompareFloat(FloatPredicate, Elem, Slot, Slot),
    Select(Elem, Slot, Slot, Slot),
    Cast(CastKind, Elem, Elem, Slot),
    /// Pointer and offset of a type.
    AddPtr(Slot, Slot, Elem),
    /// A scalar as a dense block.
    Splat(Slot, Elem, BlockShape),
    ExpandDims(Slot, usize),
    Broadcast(Slot, BlockShape),
    Trans(Slot, SmallVec<[u8; 4]>),
    Reshape(Slot, BlockShape),
    /// A sum as a block of its type.
    Materialise(Sum, Elem, BlockShape),
    /// A conjunction as a mask.
    Conjunction(Vec<Conjunct>, BlockShape),
    /// The one lane of a one-axis block of length 1.
    OnlyLane(Slot),
    /// Suspect unless every lane of the sum fits the type.
    Guard(Sum, Elem),
    /// Guards of an iteration, of what the launch, the program and one table's row decide.
    Guards(Box<Guards>),
    LoadTile(Box<LoadTile>),
    StoreTile(Box<Tile>, Slot, Elem),
    /// Pointers, mask, other.
    LoadLanes(Slot, Option<Slot>, Option<Slot>, Elem, BlockShape),
    /// Pointers, value, mask.
    StoreLanes(Slot, Slot, Option<Slot>, Elem, BlockShape),
    Dot(Box<Dot>),
    Reduce(Box<Reduce>),
    Scan(Box<Scan>),
    /// An operation on whole blocks.
    Whole(Box<Whole>),
    Asm(Box<Asm>),
    Assert(Slot, Arc<str>),
    Atomic(Box<Atomic>),
    /// Accesses of the program's lanes before it are over when those after it begin.
    Barrier,
    Assume(Slot),
    /// A promise about a value.
    Hint(Slot, Box<Hint>, BlockShape),
    /// The end of a turn of a loop that may wait for other programs: after that many turns that changed
    /// nothing they may run.
    Yield(u32),
    /// Copies a cell; `true` leaves it empty.
    Move(Slot, bool),
    Jump(usize),
    /// Goes on when the condition is true, jumps otherwise.
    BranchUnless(Slot, usize),
    /// Starts a loop: the counter (the instruction's result) is zero and the cell gets `lower`.
    LoopStart {
        variable: Slot,
        lower: Slot,
    },
    /// Leaves the loop when `variable` has reached `upper`.
    LoopTest {
        variable: Slot,
        upper: Slot,
        step: Slot,
        exit: usize,
    },
    /// `variable += step`, counter += 1, and back to the test.
    LoopNext {
        variable: Slot,
        step: Slot,
        test: usize,
    },
    /// Makes the table's row of this iteration current, filling it by the code at `start` when it is new.
    TableRow {
        table: usize,
        counter: Slot,
        variable: Slot,
        start: usize,
    },
    Return,
}

impl Code {
    /// The combine function of a reduction or scan.
    pub fn combine(&self) -> Option<&Combine> {
        match self {
            Code::Reduce(reduce) => Some(&reduce.combine),
            Code::Scan(scan) => Some(&scan.combine),
            _ => None,
        }
    }

    pub fn combine_mut(&mut self) -> Option<&mut Combine> {
        match self {
            Code::Reduce(reduce) => Some(&mut reduce.combine),
            Code::Scan(scan) => Some(&mut scan.combine),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Instruction {
    pub code: Code,
    pub out: Slot,
    /// Where in the kernel's source.
    pub span: Span,
}

/// One table: columns a row.
#[derive(Clone, Debug, Default)]
pub struct TableShape {
    pub columns: usize,
    /// Column that holds the loop variable.
    pub variable: Option<usize>,
}

/// One flat tape.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    pub code: Vec<Instruction>,
    /// Where a program starts.
    pub entry: usize,
    /// Where the once-a-launch part starts.
    pub launch_entry: usize,
    pub locals: usize,
    pub launch_cells: usize,
    pub tables: Vec<TableShape>,
    /// Lazy forms are allowed.
    pub lazy: bool,
    /// On the dense tape: which cells hold values that the kernel's text has a name for.
    pub names: Vec<(Slot, Value)>,
}

/// A compiled kernel: text and tapes, shared by all launches.
#[derive(Clone, Debug)]
pub struct Program {
    pub kernel: Arc<Kernel>,
    pub lazy: Tape,
    pub dense: Tape,
    /// Which parameters the kernel may load from and store to, atomics included.
    pub loads: Vec<bool>,
    pub stores: Vec<bool>,
    pub uses: provenance::Uses,
}
