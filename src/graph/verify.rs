//! Checks every invariant of a [`Graph`] and hands out [`Verified`], which later stages take.
//!
//! 1. **Values**: a value's producer lists it as that output; the graph's inputs stand in their
//!    positions; a weight's elements have the value's type; no dimension is 0 and no size overflows.
//! 2. **Nodes**: operands exist and were not removed with their producer; edges are exactly the
//!    operands; output types are those that [`infer`](super::infer) gives; no cycle.
//! 3. **Maps**: coordinates and reads exist; divisors of index expressions are positive; an index
//!    read comes from an earlier access of integers; an access that claims to be in bounds is; the
//!    body is typed (one dtype a binary operator, bool conditions, float functions on floats, …).
//!
//! Not checked: that indices read from an index input are in range (its role promises it), that
//! sources and covers are true, that the graph computes what its model computes.

use std::ops::Deref;

use super::infer::infer;
use super::op::{Access, Map, Op, OutOfBounds, TensorType};
use super::{Graph, NodeId, Producer, ValueId, Weight};
use crate::diag::{Diagnostic, codes};
use crate::expr::Node;
use crate::expr::index::Index;
use crate::shape::{display, numel};

/// How many coordinates are tried where interval arithmetic cannot prove an access in bounds.
const MAX_TRIED: usize = 1 << 20;

/// A graph whose invariants hold.
#[derive(Clone, Debug)]
pub struct Verified(Graph);

impl Verified {
    pub fn into_graph(self) -> Graph {
        self.0
    }
}

impl Deref for Verified {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        &self.0
    }
}

/// Checks a graph; every violation is an internal error (whoever built the graph is at fault).
pub fn verify(graph: Graph) -> Result<Verified, Vec<Diagnostic>> {
    let errors = violations(&graph);
    if errors.is_empty() { Ok(Verified(graph)) } else { Err(errors) }
}

/// The violations of a graph, none when it is well formed.
pub fn violations(graph: &Graph) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    let mut report = |place: Option<String>, message: String| {
        let diagnostic = Diagnostic::new(&codes::GRAPH_INVALID, message);
        errors.push(match place {
            Some(node) => diagnostic.at_node(&graph.file, node),
            None => diagnostic.in_file(&graph.file),
        });
    };
    for (id, value) in graph.values() {
        if let Err(message) = check_value(graph, id) {
            report(None, format!("value `{}`: {message}", value.name));
        }
    }
    for &value in graph.inputs() {
        if !matches!(graph.value(value).producer, Producer::Input(position) if graph.inputs()[position] == value) {
            report(None, format!("input `{}` does not stand in its position", graph.value(value).name));
        }
    }
    for &output in graph.outputs() {
        if let Err(message) = check_alive(graph, output) {
            report(None, format!("output `{}`: {message}", graph.value(output).name));
        }
    }
    for id in graph.node_ids() {
        if let Err(message) = check_node(graph, id) {
            let node = graph.node(id);
            let name = node.sources.first().map_or_else(|| format!("#{} {}", id.index(), node.op.name()), |s| s.node.clone());
            report(Some(name), message);
        }
    }
    if let Err(nodes) = graph.topological() {
        report(None, format!("{} nodes lie on or behind a cycle", nodes.len()));
    }
    errors
}

fn check_value(graph: &Graph, id: ValueId) -> Result<(), String> {
    let value = graph.value(id);
    if numel(&value.ty.shape).is_none_or(|n| n == 0) {
        return Err(format!("its shape {} is empty or too large", display(&value.ty.shape)));
    }
    match &value.producer {
        Producer::Input(position) if graph.inputs().get(*position) != Some(&id) => {
            Err("it is not the input it claims to be".to_owned())
        }
        Producer::Weight(Weight::Data(tensor))
            if tensor.dtype() != value.ty.dtype || tensor.shape() != value.ty.shape.as_slice() =>
        {
            Err(format!(
                "its elements are {} {}, not {} {}",
                tensor.dtype(),
                display(tensor.shape()),
                value.ty.dtype,
                display(&value.ty.shape)
            ))
        }
        Producer::Input(_) | Producer::Weight(_) | Producer::Node { .. } => Ok(()),
    }
}

fn check_alive(graph: &Graph, id: ValueId) -> Result<(), String> {
    match graph.value(id).producer {
        // A removed node's id may have gone to a new node, which does not list the value.
        Producer::Node { node, output } if !graph.contains(node) || graph.node(node).outputs.get(output) != Some(&id) => {
            Err("its producer was removed".to_owned())
        }
        Producer::Node { .. } | Producer::Input(_) | Producer::Weight(_) => Ok(()),
    }
}

fn check_node(graph: &Graph, id: NodeId) -> Result<(), String> {
    let node = graph.node(id);
    for &operand in node.inputs.iter().flatten() {
        check_alive(graph, operand).map_err(|e| format!("operand `{}`: {e}", graph.value(operand).name))?;
    }
    let mut edges = graph.edges_into(id);
    let mut operands: Vec<_> =
        node.inputs.iter().flatten().copied().filter(|&v| matches!(graph.value(v).producer, Producer::Node { .. })).collect();
    edges.sort_unstable();
    operands.sort_unstable();
    if edges != operands {
        return Err("its edges are not its operands".to_owned());
    }
    let types: Vec<_> = node.inputs.iter().map(|v| v.map(|v| graph.ty(v))).collect();
    if let Op::Map(map) = &node.op {
        check_map(map, &types)?;
    }
    let inferred = infer(&node.op, &types)?;
    let stated: Vec<_> = node.outputs.iter().map(|&v| graph.ty(v)).collect();
    if !inferred.iter().eq(stated.iter().copied()) {
        return Err(format!("its outputs are stated as {stated:?}, they are {inferred:?}"));
    }
    Ok(())
}

fn check_map(map: &Map, types: &[Option<&TensorType>]) -> Result<(), String> {
    if map.dims.contains(&0) {
        return Err("its iteration space is empty".to_owned());
    }
    for (k, access) in map.reads.iter().enumerate() {
        let operand = types.get(access.input).copied().flatten().ok_or_else(|| format!("access {k} reads a missing operand"))?;
        if access.index.len() != operand.shape.len() {
            return Err(format!("access {k} has {} indices for {}", access.index.len(), display(&operand.shape)));
        }
        for (axis, index) in access.index.iter().enumerate() {
            check_index(index, k, map, types).map_err(|e| format!("access {k}, axis {axis}: {e}"))?;
        }
        check_bounds(access, &operand.shape, &map.dims).map_err(|e| format!("access {k}: {e}"))?;
    }
    let reads: Vec<_> = map.reads.iter().filter_map(|a| types[a.input].map(|ty| ty.dtype)).collect();
    if let Some(complaint) = map.body.complaint(&reads) {
        return Err(format!("its body is not typed: {complaint}"));
    }
    let coordinate = |node: &Node| matches!(*node, Node::Coordinate(k) if k as usize >= map.dims.len());
    match map.body.nodes().iter().find(|(node, _)| coordinate(node)) {
        Some(_) => Err("its body uses a coordinate that does not exist".to_owned()),
        None => Ok(()),
    }
}

fn check_index(index: &Index, access: usize, map: &Map, types: &[Option<&TensorType>]) -> Result<(), String> {
    match index {
        Index::Dim(i) if *i >= map.dims.len() => Err(format!("d{i} does not exist")),
        Index::Dim(_) | Index::Constant(_) => Ok(()),
        Index::Add(a, b) => check_index(a, access, map, types).and_then(|()| check_index(b, access, map, types)),
        Index::Mul(a, _) => check_index(a, access, map, types),
        Index::FloorDiv(_, c) | Index::Mod(_, c) if *c <= 0 => Err(format!("divisor {c} is not positive")),
        Index::FloorDiv(a, _) | Index::Mod(a, _) => check_index(a, access, map, types),
        Index::Read(k) if *k >= access => Err(format!("read({k}) is not an earlier access")),
        Index::Read(k) => match types.get(map.reads[*k].input).copied().flatten() {
            Some(ty) if ty.dtype.is_integer() => Ok(()),
            _ => Err(format!("read({k}) is no integer")),
        },
    }
}

/// An access that claims to be in bounds must be, at every coordinate.
fn check_bounds(access: &Access, operand: &[usize], dims: &[usize]) -> Result<(), String> {
    if access.oob != OutOfBounds::InBounds {
        return Ok(());
    }
    for (axis, index) in access.index.iter().enumerate() {
        let Some((low, high)) = index.range(dims) else { continue };
        let inside = |low: i128, high: i128| low >= 0 && high < operand[axis] as i128;
        if !inside(low, high) && !tried(index, dims).is_some_and(|(low, high)| inside(low.into(), high.into())) {
            return Err(format!("the index of axis {axis} ranges from {low} to {high}, the operand is {}", display(operand)));
        }
    }
    Ok(())
}

/// The exact range of an index, over the coordinates that it uses; `None` when these are too many.
fn tried(index: &Index, dims: &[usize]) -> Option<(i64, i64)> {
    let mut space = vec![1; dims.len()];
    index.dims(&mut |i| space[i] = dims[i]);
    let count = numel(&space).filter(|&n| n <= MAX_TRIED)?;
    let strides = crate::shape::contiguous_strides(&space);
    let values = (0..count).map(|flat| {
        let at: Vec<usize> = space.iter().zip(&strides).map(|(&size, &s)| flat / s as usize % size).collect();
        index.evaluate(&at, &mut |_| 0)
    });
    values.fold(None, |range, v| Some(range.map_or((v, v), |(low, high): (i64, i64)| (low.min(v), high.max(v)))))
}

#[cfg(test)]
mod tests;
