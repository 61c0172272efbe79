//! A view that changes nothing, seen from its reader: the operand skips it.
//!
//! The view itself goes once nothing reads it; one whose output the model returns stays.

use crate::fuse::driver::{Operand, Patch, Rule};
use crate::fuse::pattern::producer;
use crate::graph::op::View;
use crate::graph::{Graph, NodeId, Op, ValueId};

pub const RULE: Rule = Rule { name: "drop_identity_views", apply };

fn apply(graph: &Graph, node: NodeId) -> Option<Patch> {
    let reader = graph.node(node);
    let (position, view, source) = reader.inputs.iter().enumerate().find_map(|(position, input)| {
        let view = producer(graph, (*input)?)?;
        Some((position, view, identity(graph, view)?))
    })?;
    let mut inputs: Vec<Option<Operand>> = reader.inputs.iter().map(|i| i.map(Operand::Value)).collect();
    inputs[position] = Some(Operand::Value(source));
    Some(Patch { added: Vec::new(), op: reader.op.clone(), inputs, absorbed: vec![view] })
}

/// The operand that an identity view passes on.
fn identity(graph: &Graph, node: NodeId) -> Option<ValueId> {
    let node = graph.node(node);
    let source = node.inputs.first().copied().flatten()?;
    let Op::View(view) = &node.op else { return None };
    let same = match view {
        View::Reshape(shape) | View::Broadcast(shape) => shape[..] == *graph.shape(source),
        View::Transpose(order) => order.iter().enumerate().all(|(i, &axis)| i == axis),
    };
    same.then_some(source)
}
