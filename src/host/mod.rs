//! Reads emitted host code back: wrappers, `run.py`, `ModelNew.forward`, in a small host subset of
//! Python, and says what they would allocate and launch.
//!
//! The emitted text is the only truth of a suite: grid, strides, constexprs and launch order are
//! taken from the files as they are, by an evaluator that walks the syntax tree over concrete
//! integers and *tensor descriptors* (storage, dtype, shape, strides, offset; no elements).
//!
//! * [`modules`] holds the parsed files and refuses module-level code that could change them.
//! * [`eval`] runs entries and expressions ([`names`], [`operators`]), [`statement`] what they stand in
//!   ([`frame`]), [`call`] everything that is called, [`view`] the views of tensors, [`launch`] the
//!   binding of arguments to a kernel's parameters.
//! * [`prepare`] is what `prepare(weights)` computes, as data; [`prepare_eval`] gives it elements.
//! * [`construct`] runs the `__init__` of a task's `ModelNew`: what `self` holds, as `prepare` has it.
//!
//! Integers are Python's (`//` and `%` floor) up to 64 bits. Anything outside the subset is
//! `Unsupported`, with the line and the name of the construct; an error that Python or torch would
//! raise is a `Bug`. Not seen here: what a kernel does with its arguments (`emulate`), functions that
//! the entry does not reach (compared with the re-emitted text), devices (all tensors share one).

pub mod construct;
pub mod modules;
pub mod prepare;
pub mod prepare_eval;
pub mod trace;

mod call;
mod eval;
mod frame;
mod lambda;
mod launch;
mod names;
mod operators;
mod statement;
mod torch_call;
pub mod torch_module;
mod value;
mod view;

#[cfg(test)]
mod tests;

use crate::diag;
use crate::graph::TensorType;

pub use construct::{Constructed, construct};
pub use modules::Modules;
pub use prepare::{Prepare, PrepareOp, PrepareStep, prepare};
pub use trace::{Event, HostTensor, KernelArg, KernelLaunch, StorageId, Trace};

/// An argument of an entry. Tensors are contiguous and own their storage.
#[derive(Clone, Debug, PartialEq)]
pub enum HostArg {
    Tensor(TensorType),
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(String),
    None,
    Tuple(Vec<HostArg>),
    /// `weights`: tensors by name.
    Mapping(Vec<(String, TensorType)>),
    /// `self`: attributes by name.
    Object(Vec<(String, HostArg)>),
}

/// What `module.entry(*args)` allocates and launches. `entry` is a function, or `Class.method`.
///
/// The tensors among `args` are the storages 0, 1, 2, … of the trace, depth first.
///
/// # Errors
/// H001 outside the subset, H002 a `raise` was reached, H003 a launch does not fit its kernel, H005
/// Python or torch would raise an error, L001 a loop does not end, L002 a tuple or the allocations
/// together are too large.
pub fn trace_launch(modules: &Modules, module: &str, entry: &str, args: &[HostArg]) -> diag::Result<Trace> {
    eval::Evaluator::new(modules).run(module, entry, args)
}

/// What the `forward` of a whole model does: [`trace_launch`] with that entry.
pub fn trace_forward(modules: &Modules, module: &str, args: &[HostArg]) -> diag::Result<Trace> {
    trace_launch(modules, module, "forward", args)
}
