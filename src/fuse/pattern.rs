//! Questions that rules ask of a graph.

use crate::graph::op::Map;
use crate::graph::{Graph, NodeId, Op, Producer, ValueId};

/// The node that makes a value.
pub fn producer(graph: &Graph, value: ValueId) -> Option<NodeId> {
    match graph.value(value).producer {
        Producer::Node { node, .. } => Some(node),
        Producer::Input(_) | Producer::Weight(_) => None,
    }
}

/// The one node that reads a value, when nothing else does and the model does not return it.
pub fn sole_consumer(graph: &Graph, value: ValueId) -> Option<NodeId> {
    match graph.consumers(value)[..] {
        [one] if !graph.outputs().contains(&value) => Some(one),
        _ => None,
    }
}

/// The node's operator when it is a Map.
pub fn as_map(graph: &Graph, node: NodeId) -> Option<&Map> {
    match &graph.node(node).op {
        Op::Map(map) => Some(map),
        Op::Conv(_) | Op::ConvTranspose(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::MatMul => None,
        Op::Softmax { .. } | Op::Lrn(_) | Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) | Op::View(_) => None,
    }
}

/// Whether a node has loops of its own that Maps can be drawn into: neither Map nor view.
pub fn is_heavy(op: &Op) -> bool {
    match op {
        Op::Conv(_) | Op::ConvTranspose(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::MatMul => true,
        Op::Softmax { .. } | Op::Lrn(_) | Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) => true,
        Op::Map(_) | Op::View(_) => false,
    }
}

/// Whether a node depends on weights alone.
pub fn is_preparation(graph: &Graph, node: NodeId) -> bool {
    graph.is_prepared(graph.node(node).outputs[0])
}
