//! What reading host code gives: allocations and launches in order, with concrete numbers.

use crate::dtype::DType;
use crate::shape::{Shape, Strides};
use crate::source::Span;

/// A storage of the trace: an argument of the entry, or an allocation. An index into
/// [`Trace::storages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StorageId(pub usize);

/// What is known of a storage: the tensors among the entry's arguments come first, depth first.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageData {
    /// For messages: the parameter (`x`, `weights["fc.weight"]`, `prepared[3]`), or the function
    /// that allocated it.
    pub name: String,
    pub dtype: DType,
    /// In elements.
    pub len: usize,
}

/// A tensor as host code sees it: a view of a storage.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTensor {
    pub storage: StorageId,
    pub dtype: DType,
    pub shape: Shape,
    pub strides: Strides,
    pub offset: i64,
}

/// How an allocation starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    Empty,
    Zeros,
    Ones,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Alloc { storage: StorageId, dtype: DType, len: usize, fill: Fill, span: Span },
    Launch(KernelLaunch),
}

/// A value handed to a kernel parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelArg {
    Tensor(HostTensor),
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(String),
    None,
}

/// `kernel[grid](…)`: which of the arguments are constexprs is the kernel's to say.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelLaunch {
    /// The file that defines the kernel: a key of the set of modules given to the evaluator.
    pub module: String,
    pub function: String,
    pub grid: [u32; 3],
    /// Bound to parameter names, in the order of the kernel's parameters.
    pub args: Vec<(String, KernelArg)>,
    pub num_warps: Option<u32>,
    pub num_stages: Option<u32>,
    /// Of the launch expression, in the file that holds it.
    pub span: Span,
    /// Of the call that led to it, in the file of the traced function; where that launches itself, the launch.
    pub called: Span,
}

/// Everything an entry did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    pub storages: Vec<StorageData>,
    pub events: Vec<Event>,
    pub returned: Vec<HostTensor>,
}

impl Trace {
    /// The launches, in order.
    pub fn launches(&self) -> impl Iterator<Item = &KernelLaunch> {
        self.events.iter().filter_map(|event| match event {
            Event::Launch(launch) => Some(launch),
            Event::Alloc { .. } => None,
        })
    }
}
