//! Why fusion did what it did, as data: `plan --why` prints it.
//!
//! The driver records every rewrite that it applied; clustering records, for every anchor, why the
//! cluster did not take one node more. What happened to a cluster later (no template could bind it
//! whole) is the plan's to say.

use std::collections::BTreeMap;

use crate::graph::{Graph, NodeId};

/// One rewrite that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub rule: &'static str,
    /// The node that it changed, which goes on living.
    pub node: NodeId,
    /// Names of the nodes whose work that node does since.
    pub absorbed: Vec<String>,
}

/// Why a cluster takes no further node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `--fuse none`.
    Level,
    /// The template that serves the anchor has no `# fuse: value` anchor.
    NoValueAnchor,
    /// The model returns the cluster's output.
    Returned,
    /// Nothing reads the output.
    Unread,
    /// Several nodes read the output.
    Readers(Vec<NodeId>),
    /// The one reader is no Map.
    NoMap(NodeId),
    /// The one reader has an output of another shape.
    OtherShape(NodeId),
    /// The one reader reads the output elsewhere than at its own coordinates, or more than once.
    OtherElement(NodeId),
    /// The one reader reads a further operand (its position) elsewhere than at output coordinates.
    OtherOperand(NodeId, usize),
    /// The one reader belongs to a cluster that was made before.
    Taken(NodeId),
    /// The one reader is in another group of those that were given.
    Apart(NodeId),
}

/// Everything that was recorded.
#[derive(Clone, Debug, Default)]
pub struct Why {
    /// In the order in which they were applied.
    pub applied: Vec<Applied>,
    /// By the cluster's anchor.
    pub stops: BTreeMap<NodeId, Stop>,
}

impl Stop {
    /// A sentence without a full stop.
    pub fn describe(&self, graph: &Graph) -> String {
        match self {
            Stop::Level => "nothing is fused at this level".to_owned(),
            Stop::NoValueAnchor => "its template has no `# fuse: value` anchor".to_owned(),
            Stop::Returned => "the model returns its output".to_owned(),
            Stop::Unread => "nothing reads its output".to_owned(),
            Stop::Readers(nodes) => {
                let names: Vec<String> = nodes.iter().map(|&node| name(graph, node)).collect();
                format!("{} nodes read its output: {}", nodes.len(), names.join(", "))
            }
            Stop::NoMap(node) => format!("{} reads its output and is no pointwise operator", name(graph, *node)),
            Stop::OtherShape(node) => format!("{} has another shape", name(graph, *node)),
            Stop::OtherElement(node) => format!("{} reads it at other coordinates than its own", name(graph, *node)),
            Stop::OtherOperand(node, operand) => {
                format!("operand {operand} of {} is read at other coordinates than the output's", name(graph, *node))
            }
            Stop::Taken(node) => format!("{} is computed with what stands behind it", name(graph, *node)),
            Stop::Apart(node) => format!("{} is computed apart, as the sketch says", name(graph, *node)),
        }
    }

    /// A word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Stop::Level => "level",
            Stop::NoValueAnchor => "no_value_anchor",
            Stop::Returned => "returned",
            Stop::Unread => "unread",
            Stop::Readers(_) => "several_readers",
            Stop::NoMap(_) => "no_map",
            Stop::OtherShape(_) => "other_shape",
            Stop::OtherElement(_) => "other_element",
            Stop::OtherOperand(..) => "other_operand",
            Stop::Taken(_) => "taken",
            Stop::Apart(_) => "apart",
        }
    }
}

/// `layer1.0.relu (relu)`: a node's own name and its operator.
pub fn name(graph: &Graph, node: NodeId) -> String {
    let node = graph.node(node);
    match node.sources.last() {
        Some(source) => format!("{} ({})", source.node, node.op.name()),
        None => node.op.name().to_owned(),
    }
}
