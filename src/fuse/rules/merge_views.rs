//! A view of a view of the same kind is one view.
//!
//! Reshape of reshape is the outer one; transposes compose; broadcasts compose because axes are
//! aligned at the right in both. Mixed kinds stay apart: the plan resolves their chain into strides.

use crate::fuse::driver::{Operand, Patch, Rule};
use crate::fuse::pattern::producer;
use crate::graph::op::View;
use crate::graph::{Graph, NodeId, Op};

pub const RULE: Rule = Rule { name: "merge_views", apply };

fn apply(graph: &Graph, node: NodeId) -> Option<Patch> {
    let Op::View(outer) = &graph.node(node).op else { return None };
    let inner_id = producer(graph, graph.node(node).inputs[0]?)?;
    let Op::View(inner) = &graph.node(inner_id).op else { return None };
    let merged = match (inner, outer) {
        (View::Reshape(_), View::Reshape(shape)) => View::Reshape(shape.clone()),
        (View::Broadcast(_), View::Broadcast(shape)) => View::Broadcast(shape.clone()),
        (View::Transpose(inner), View::Transpose(outer)) => View::Transpose(outer.iter().map(|&axis| inner[axis]).collect()),
        (View::Reshape(_) | View::Broadcast(_) | View::Transpose(_), _) => return None,
    };
    let source = graph.node(inner_id).inputs[0]?;
    Some(Patch { added: Vec::new(), op: Op::View(merged), inputs: vec![Some(Operand::Value(source))], absorbed: vec![inner_id] })
}
