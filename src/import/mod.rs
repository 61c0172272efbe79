//! Model files → [`Graph`]: mirrors the file's format and never thinks of kernels.
//!
//! An operator that cannot be lowered is not fatal: the nodes around it still decompose, its outputs
//! become inputs of the graph (*opaque* values) where the file gives their types, and
//! [`Imported::unsupported`] says what is missing and how often.

pub mod binding;
pub mod onnx;
mod own;
mod sniff;

use crate::diag::Diagnostic;
use crate::graph::{Graph, Source, ValueId};

pub use binding::Binding;
pub use own::OwnOperator;

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
