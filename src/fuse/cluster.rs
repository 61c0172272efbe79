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
use super::why::{Stop, Why};
use super::{Capabilities, Groups, Level};
use crate::diag::{Diagnostic, Result, codes};
use crate::expr::index::Index;
use crate::graph::op::{Access, OutOfBounds};
use crate::graph::{Cluster, Graph, NodeId, Op, ValueId};

/// Clusters in an order in which they can run. Views are in none (the plan resolves them), nor are
/// nodes that depend on weights alone (weight preparation).
pub fn cluster(graph: &Graph, level: Level, capabilities: &dyn Capabilities) -> Result<Vec<Cluster>> {
    cluster_why(graph, level, capabilities, &Groups::default(), &mut Why::default())
}

/// [`cluster`], which takes nodes of one group alone and records why each cluster takes no further node.
pub fn cluster_why(
    graph: &Graph,
    level: Level,
    capabilities: &dyn Capabilities,
    groups: &Groups,
    why: &mut Why,
) -> Result<Vec<Cluster>> {
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
        let stop = match level {
            Level::None => Stop::Level,
            Level::Basic if !capabilities.takes_epilogues(graph, anchor) => Stop::NoValueAnchor,
            Level::Basic => loop {
                match epilogue(graph, cluster.output(graph)) {
                    Ok(next) if taken.contains_key(&next) => break Stop::Taken(next),
                    Ok(next) if !groups.allow(graph, &[anchor, next]) => break Stop::Apart(next),
                    Ok(next) => {
                        taken.insert(next, ());
                        cluster.epilogues.push(next);
                    }
                    Err(stop) => break stop,
                }
            },
        };
        why.stops.insert(anchor, stop);
        clusters.push(cluster);
    }
    clusters.sort_by_key(|cluster| rank[cluster.epilogues.last().unwrap_or(&cluster.anchor)]);
    Ok(clusters)
}

/// The Map that can be applied to a value before it is stored, or why there is none.
fn epilogue(graph: &Graph, value: ValueId) -> std::result::Result<NodeId, Stop> {
    let node = sole_consumer(graph, value).ok_or_else(|| match graph.consumers(value) {
        _ if graph.outputs().contains(&value) => Stop::Returned,
        readers if readers.is_empty() => Stop::Unread,
        readers => Stop::Readers(readers),
    })?;
    let map = as_map(graph, node).ok_or(Stop::NoMap(node))?;
    if map.dims[..] != *graph.shape(value) {
        return Err(Stop::OtherShape(node));
    }
    let inputs = &graph.node(node).inputs;
    let (own, others): (Vec<&Access>, Vec<&Access>) = map.reads.iter().partition(|access| inputs[access.input] == Some(value));
    match own[..] {
        [access] if access.is_identity(map.dims.len()) => {}
        _ => return Err(Stop::OtherElement(node)),
    }
    match others.into_iter().find(|access| !at_coordinates(access)) {
        Some(access) => Err(Stop::OtherOperand(node, access.input)),
        None => Ok(node),
    }
}

/// Whether every axis is read at an output coordinate, each at most once, or at its only element.
fn at_coordinates(access: &Access) -> bool {
    let simple = access.index.iter().all(|index| match index {
        Index::Dim(_) | Index::Constant(_) => true,
        Index::Add(..) | Index::Mul(..) | Index::FloorDiv(..) | Index::Mod(..) | Index::Read(_) => false,
    });
    simple && access.oob == OutOfBounds::InBounds
}
