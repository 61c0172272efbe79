//! A cluster: the nodes that one kernel computes.
//!
//! A cluster has one *anchor* node, whose template gives the kernel its loops, and Map nodes around
//! it: *epilogues* (on the anchor's output, at the same coordinates) and *prologues* (on one of its
//! operands). Unfused, a cluster is its anchor alone. Chains of Maps are composed into one Map
//! before clusters are made, so a Map cluster is its anchor too.

use super::{Graph, NodeId, ValueId};

/// Nodes of one graph that are computed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub anchor: NodeId,
    /// Map nodes applied to one anchor operand before it is used: (operand position, node).
    pub prologues: Vec<(usize, NodeId)>,
    /// Map nodes after the anchor, in order; each reads the value before it at its own coordinates.
    pub epilogues: Vec<NodeId>,
}

impl Cluster {
    pub fn of(anchor: NodeId) -> Cluster {
        Cluster { anchor, prologues: Vec::new(), epilogues: Vec::new() }
    }

    /// All nodes, operands before users.
    pub fn nodes(&self) -> Vec<NodeId> {
        self.prologues.iter().map(|p| p.1).chain([self.anchor]).chain(self.epilogues.iter().copied()).collect()
    }

    /// The value that leaves the cluster (every value inside has one consumer).
    pub fn output(&self, graph: &Graph) -> ValueId {
        graph.node(*self.epilogues.last().unwrap_or(&self.anchor)).outputs[0]
    }

    /// Values that enter, each once, in order of first use.
    pub fn inputs(&self, graph: &Graph) -> Vec<ValueId> {
        graph.entering(&self.nodes())
    }
}
