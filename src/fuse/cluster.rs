//! Which nodes one kernel computes.
//!
//! Anchors are visited last to first. Each takes the Maps that follow it, one by one, as epilogues:
//! the next Map must be the only reader of the value, read it once at its own coordinates, have its
//! shape, and read other operands at coordinates too (broadcast, residual; no slices or gathers).
//! Because the last anchor chooses first, a residual Add goes to the operand that is computed last,
//! and the other operand is there already. No cycle can arise: only the last value leaves a
//! cluster, and every extra operand precedes the Map that reads it.

use std::collections::HashMap;

use super::pattern::{as_map, is_preparation, sole_consumer};
use super::{Capabilities, Level};
use crate::diag::{Diagnostic, Result, codes};
use crate::expr::index::Index;
use crate::graph::op::{Access, OutOfBounds};
use crate::graph::{Cluster, Graph, NodeId, Op, ValueId};

/// Clusters in an order in which they can run. Views are in none (the plan resolves them), nor are
/// nodes that depend on weights alone (weight preparation).
pub fn cluster(graph: &Graph, level: Level, capabilities: &dyn Capabilities) -> Result<Vec<Cluster>> {
    let order = graph.topological().map_err(|nodes| {
        Box::new(Diagnostic::new(&codes::GRAPH_INVALID, format!("{} nodes on or behind a cycle", nodes.len())))
    })?;
    let rank: HashMap<NodeId, usize> = order.iter().enumerate().map(|(i, &node)| (node, i)).collect();
    let computes = |node: NodeId| !matches!(graph.node(node).op, Op::View(_)) && !is_preparation(graph, node);
    let mut taken: HashMap<NodeId, ()> = HashMap::new();
    let mut clusters = Vec::new();
    // Maps are anchors only where no operator before them takes them: operators with loops first.
    let (heavy, maps): (Vec<NodeId>, Vec<NodeId>) =
        order.iter().rev().copied().filter(|&n| computes(n)).partition(|&n| as_map(graph, n).is_none());
    for anchor in heavy.into_iter().chain(maps) {
        if taken.contains_key(&anchor) {
            continue;
        }
        let mut cluster = Cluster::of(anchor);
        if level == Level::Basic && capabilities.takes_epilogues(graph, anchor) {
            while let Some(next) = epilogue(graph, cluster.output(graph)).filter(|n| !taken.contains_key(n)) {
                taken.insert(next, ());
                cluster.epilogues.push(next);
            }
        }
        clusters.push(cluster);
    }
    clusters.sort_by_key(|cluster| rank[cluster.epilogues.last().unwrap_or(&cluster.anchor)]);
    Ok(clusters)
}

/// The Map that can be applied to a value before it is stored.
fn epilogue(graph: &Graph, value: ValueId) -> Option<NodeId> {
    let node = sole_consumer(graph, value)?;
    let map = as_map(graph, node)?;
    let inputs = &graph.node(node).inputs;
    let reads_value = |access: &&Access| inputs[access.input] == Some(value);
    let aligned = map.dims[..] == *graph.shape(value)
        && map.reads.iter().filter(reads_value).count() == 1
        && map.reads.iter().filter(reads_value).all(|a| a.is_identity(map.dims.len()))
        && map.reads.iter().filter(|a| !reads_value(a)).all(at_coordinates);
    aligned.then_some(node)
}

/// Whether every axis is read at an output coordinate, each at most once, or at its only element.
fn at_coordinates(access: &Access) -> bool {
    let simple = access.index.iter().all(|index| match index {
        Index::Dim(_) | Index::Constant(_) => true,
        Index::Add(..) | Index::Mul(..) | Index::FloorDiv(..) | Index::Mod(..) | Index::Read(_) => false,
    });
    simple && access.oob == OutOfBounds::InBounds
}
