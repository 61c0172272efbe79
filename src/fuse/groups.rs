//! Which nodes may be computed together, where somebody says so: a sketch that a person edited.
//!
//! A group is a set of nodes of the imported graph; a rewrite or an epilogue may join nodes of one group, and no others.
//! Views are in no group: they compute nothing, and rules move and merge them as ever. Nor are nodes that depend on weights
//! alone. What no rule joins stays apart: whoever gave the groups compares them with what came of them.

use std::collections::BTreeMap;

use crate::graph::{Graph, NodeId, Op};

/// Groups of an imported graph's nodes; without any, everything may be joined.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    of: Option<BTreeMap<NodeId, usize>>,
    /// Nodes of the imported graph that are views.
    views: Vec<NodeId>,
}

impl Groups {
    /// `of` says which group a node of `imported` is in.
    pub fn new(imported: &Graph, of: BTreeMap<NodeId, usize>) -> Groups {
        let is_view = |node: &NodeId| matches!(imported.node(*node).op, Op::View(_));
        Groups { of: Some(of), views: imported.node_ids().filter(is_view).collect() }
    }

    /// Whether nodes of a rewritten graph may become one, or be computed by one kernel.
    pub fn allow(&self, graph: &Graph, nodes: &[NodeId]) -> bool {
        let Some(of) = &self.of else { return true };
        let covered = nodes.iter().flat_map(|&node| &graph.node(node).covers).filter(|cover| !self.views.contains(cover));
        let mut groups = covered.map(|cover| of.get(cover));
        let Some(first) = groups.next() else { return true };
        groups.all(|group| group == first)
    }
}
