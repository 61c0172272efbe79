//! Operations on whole blocks: what moves lanes between places, foreign functions, and inline assembly.

use std::sync::Arc;

use super::Slot;
use crate::emulate::ptx::Ptx;
use crate::kernel::ir::{BlockShape, DotScaled, Elem, InlineAsm};
use crate::kernel::libdevice::Symbol;

#[derive(Clone, Debug)]
pub enum WholeOp {
    /// A new last axis of size 2.
    Join,
    /// Lanes whose last index is this one.
    Half(usize),
    /// One block behind the other along the first axis.
    Cat,
    /// Source and index; along an axis.
    Gather(usize),
    /// Values and perhaps a mask; the number of bins.
    Histogram(usize),
    /// The lanes at these places of a block in row-major order.
    Pick(Arc<[u32]>),
    /// One plane of a block of three axes; planes as such a block.
    Plane(usize),
    Stack,
    /// The only lane of a block.
    Unsplat,
    Clamp {
        keeps_nan: bool,
    },
    AbsInt,
    Extern(Symbol),
    /// Operands in the order of the instruction.
    DotScaled(Box<DotScaled>),
}

#[derive(Clone, Debug)]
pub struct Whole {
    pub op: WholeOp,
    pub operands: Vec<Slot>,
    pub elems: Vec<Elem>,
    pub shapes: Vec<BlockShape>,
    pub result: Elem,
    pub result_shape: BlockShape,
}

/// Inline assembly: one run for every `pack` lanes, in row-major order.
#[derive(Clone, Debug)]
pub struct Asm {
    pub asm: Arc<InlineAsm>,
    pub text: Ptx,
    pub operands: Vec<Slot>,
    pub elems: Vec<Elem>,
    pub shape: BlockShape,
    pub results: Vec<Slot>,
    pub result_elems: Vec<Elem>,
}
