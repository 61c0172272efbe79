//! What the emulator is asked to run: a grid of one verified kernel over views of buffers.

use crate::shape::{Shape, Strides};
use crate::tensor::Storage;

/// Into [`Memory::buffers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub usize);

/// One allocation with its shadow state.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// For messages: the operand's or value's name.
    pub name: String,
    pub lanes: Storage,
    /// Which elements nothing has written yet (`torch.empty`); `None` when all are defined.
    pub undefined: Option<Bits>,
}

/// One bit an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits {
    pub words: Vec<u64>,
    pub len: usize,
}

/// All buffers that launches work on.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub buffers: Vec<Buffer>,
}

/// What a pointer argument may touch: the elements of a strided view, and nothing between them.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub buffer: BufferId,
    /// Element of the buffer that the pointer points at.
    pub pointer: usize,
    pub shape: Shape,
    pub strides: Strides,
    /// Element of the buffer where index (0, …, 0) of the view lies.
    pub origin: usize,
}

/// One run-time argument of a kernel, in the order of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    Pointer(View),
    Int(i64),
    Float(f64),
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker threads; 1 runs on the calling thread.
    pub threads: usize,
    /// Materialise every block value (the oracle of the lazy forms).
    pub dense: bool,
    /// Instructions a program may execute before it is a [`crate::diag::Class::Limit`].
    pub fuel: u64,
    /// Run every program for addresses, bounds, coverage and races, but values only for programs
    /// whose linear index is in this list; `None` computes all.
    pub sample: Option<Vec<u64>>,
}

impl Default for Options {
    fn default() -> Self {
        Options { threads: 1, dense: false, fuel: 1 << 40, sample: None }
    }
}
