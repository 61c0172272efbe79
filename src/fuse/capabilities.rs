//! What fusion needs to know of the templates that will serve a graph.

use crate::graph::{Graph, NodeId};

/// Implemented by `select` over the template library; a test gives fixed answers.
pub trait Capabilities {
    /// Whether the template that serves this node can apply Maps to its output before it is
    /// stored, with extra operands read at the output's coordinates.
    fn takes_epilogues(&self, graph: &Graph, anchor: NodeId) -> bool;
}
