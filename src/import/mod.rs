//! Model files → [`Graph`]: mirrors the file's format and never thinks of kernels.
//!
//! An operator that cannot be lowered is not fatal: the nodes around it still decompose, its outputs
//! become inputs of the graph (*opaque* values) where the file gives their types, and
//! [`Imported::unsupported`] says what is missing and how often.

pub mod binding;
mod build;
pub mod onnx;
mod own;
mod sniff;
pub mod torch_export;

use std::path::Path;

use crate::diag::Diagnostic;
use crate::graph::{Graph, Source, ValueId};

pub use binding::Binding;
pub use own::OwnOperator;

/// Reads a model file: an archive of torch.export by its extension `.pt2`, else ONNX.
pub fn load(path: &Path, binding: &Binding) -> Result<Imported, Vec<Diagnostic>> {
    let is_archive = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pt2"));
    if is_archive { torch_export::load(path, binding) } else { onnx::load(path, binding) }
}

/// Reads a model from memory; `name` is the file's name for messages.
pub fn from_bytes(name: &str, bytes: &[u8], binding: &Binding) -> Result<Imported, Vec<Diagnostic>> {
    if name.ends_with(".pt2") { torch_export::from_bytes(name, bytes, binding) } else { onnx::from_bytes(name, bytes, binding) }
}

/// What importing a model gives.
#[derive(Clone, Debug)]
pub struct Imported {
    pub graph: Graph,
    /// What the file asks for and this version cannot do; empty when the graph is the whole model.
    pub unsupported: Vec<Diagnostic>,
    /// Inputs of `graph` that are outputs of unsupported operators, not inputs of the model.
    pub opaque: Vec<ValueId>,
    /// Outputs of `graph` that unsupported operators read and that the model does not return.
    pub exposed: Vec<ValueId>,
    /// Outputs of `graph` that are new elements of a buffer or an input, by the name of what the model writes.
    pub mutates: Vec<(ValueId, String)>,
    /// Nodes of the file that are no nodes of `graph`, in the file's order.
    pub absorbed: Vec<(Source, Absorbed)>,
}

/// Why a node of the file needs no node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absorbed {
    /// Its outputs are constants that were computed while importing.
    Folded,
    /// Its output is a weight.
    Weight,
    /// Its output is its input (Identity, Dropout).
    Passed,
}
