//! Which values are views of others, and which views must be copied.
//!
//! Every view outside weight preparation is followed to the value that has storage. One that
//! strides cannot express becomes a Map that copies, in a cluster of its own; so does a view that
//! the model returns unless it is a dense tensor over a buffer, because host code never holds a
//! strided torch tensor and never returns an input's storage as a result.

use std::collections::{BTreeMap, HashMap};

use super::layout::{of_view, row_major_index};
use crate::diag::{Diagnostic, Result, codes};
use crate::expr::Expr;
use crate::expr::index::Index;
use crate::graph::op::{Access, Map, OutOfBounds, View};
use crate::graph::{Cluster, Graph, NodeId, Op, Producer, ValueId};
use crate::shape::Shape;
use crate::template::Layout;

/// A graph whose views are all strided.
pub struct Resolved {
    pub graph: Graph,
    /// Those given, and one for each copied view, in an order in which they can run.
    pub clusters: Vec<Cluster>,
    /// Of each remaining view: the value with storage, and how the view lies in it.
    pub views: BTreeMap<ValueId, (ValueId, Layout)>,
}

impl Resolved {
    /// The value with storage that a value is, or is a view of, and how it lies there.
    pub fn place(&self, value: ValueId) -> (ValueId, Layout) {
        match self.views.get(&value) {
            Some(place) => place.clone(),
            None => (value, Layout::contiguous(self.graph.shape(value))),
        }
    }
}

/// Follows all views of a graph, and copies where it must.
pub fn resolve(graph: &Graph, clusters: Vec<Cluster>) -> Result<Resolved> {
    let order = graph.topological().map_err(|nodes| {
        Box::new(Diagnostic::new(&codes::GRAPH_INVALID, format!("{} nodes on or behind a cycle", nodes.len())))
    })?;
    let mut resolved = Resolved { graph: graph.clone(), clusters, views: BTreeMap::new() };
    for &node in &order {
        let Op::View(view) = &graph.node(node).op else { continue };
        let (Some(source), output) = (graph.node(node).inputs[0], graph.node(node).outputs[0]) else { continue };
        if graph.is_prepared(output) {
            continue;
        }
        let (base, layout) = resolved.place(source);
        let is_input = matches!(graph.value(base).producer, Producer::Input(_));
        let returned = graph.outputs().contains(&output);
        match of_view(&layout, view) {
            Some(layout) if !returned || (layout.is_contiguous() && !is_input) => {
                resolved.views.insert(output, (base, layout));
            }
            _ => {
                let map = copy(view, graph.shape(source), graph.shape(output), Expr::read(0, graph.dtype(source)));
                resolved.graph.rewrite_node(node, Op::Map(map), &[Some(source)]);
                resolved.clusters.push(Cluster::of(node));
            }
        }
    }
    let rank: HashMap<NodeId, usize> = order.iter().enumerate().map(|(i, &node)| (node, i)).collect();
    resolved.clusters.sort_by_key(|cluster| rank[cluster.epilogues.last().unwrap_or(&cluster.anchor)]);
    Ok(resolved)
}

/// A view as a Map that moves every element.
fn copy(view: &View, from: &[usize], to: &[usize], body: Expr) -> Map {
    let (label, index) = match view {
        View::Reshape(_) => ("reshape", row_major_index(from, to)),
        View::Transpose(order) => {
            let axis = |a: usize| order.iter().position(|&o| o == a).expect("invariant: a transpose names every axis");
            ("transpose", (0..from.len()).map(|a| Index::Dim(axis(a))).collect())
        }
        View::Broadcast(_) => ("broadcast", Access::broadcast(0, from, to).index),
    };
    let reads = vec![Access { input: 0, index, oob: OutOfBounds::InBounds }];
    Map { label: label.to_owned(), dims: Shape::from_slice(to), reads, body }
}
