//! A plan is data: which kernels are launched in which order on which storage.

use std::sync::Arc;

use crate::dtype::DType;
use crate::graph::{Cluster, Graph, NodeId, Producer, ValueId};
use crate::template::{BoundKernel, Layout};

/// Storage that an operand lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// A model input, by position.
    Input(usize),
    /// A weight as the model has it, or a value computed from weights before the first launch.
    Weight(ValueId),
    /// `buffers[i]`.
    Buffer(usize),
}

/// One allocation, reused by values whose lifetimes do not overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    pub dtype: DType,
    /// In elements.
    pub len: usize,
    /// Launch positions of the first write and the last use.
    pub live: (usize, usize),
}

/// One kernel at one place of the model.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Into [`Plan::kernels`].
    pub kernel: usize,
    /// What stands for each of the kernel's operands (scratch excepted), in their order.
    pub operands: Vec<(Slot, ValueId)>,
    /// Nodes of [`Plan::graph`] that it computes.
    pub cluster: Cluster,
    /// Nodes of the imported graph that it computes, operands first.
    pub covers: Vec<NodeId>,
    /// The layer's name for people: the anchor's source node.
    pub layer: String,
}

/// Everything `emit` and `conform` need.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The suite's name: the model file's stem.
    pub name: String,
    /// The graph as imported; the truth that kernels are verified against.
    pub imported: Arc<Graph>,
    /// The graph after rewriting; nodes that depend on weights alone are weight preparation.
    pub graph: Arc<Graph>,
    /// Unique by key, in order of first use.
    pub kernels: Vec<Arc<BoundKernel>>,
    pub launches: Vec<Launch>,
    pub buffers: Vec<Buffer>,
    /// Where each value of `graph` lies that has storage or is a view of one; sorted by value.
    pub layouts: Vec<(ValueId, Slot, Layout)>,
    /// Nodes of `graph` evaluated once from weights, in order.
    pub preparation: Vec<NodeId>,
}

impl Plan {
    /// The value of the imported graph that a value of the rewritten graph stands for: the one value
    /// that leaves the nodes which its producer covers. `None` for prepared values, which cover none.
    pub fn imported_value(&self, value: ValueId) -> Option<ValueId> {
        match self.graph.value(value).producer {
            Producer::Input(_) | Producer::Weight(_) => Some(value),
            Producer::Node { node, .. } => {
                let covers = &self.graph.node(node).covers;
                let read_inside = |v: ValueId| covers.iter().any(|&n| self.imported.node(n).inputs.contains(&Some(v)));
                covers.iter().flat_map(|&n| self.imported.node(n).outputs.iter().copied()).find(|&v| !read_inside(v))
            }
        }
    }
}
