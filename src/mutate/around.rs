//! A template's operator with Maps around it, as fusion makes them, for cases of any template.

use crate::dtype::DType;
use crate::expr::{Binary, Compare, Expr, ExprBuilder};
use crate::graph::op::{Map, Op, ReduceKind, Role, TensorType};
use crate::graph::{Cluster, Graph, NodeId, Producer, ValueId};
use crate::shape::Shape;

/// The operator, then times a vector along its second axis (its only one), less a full operand, and 0
/// below 1: one operand of each kind, and no step that another one hides. An operator that rounds is
/// clamped at 0 instead, since its results lie on no certain side of a jump.
pub fn with_epilogue(graph: &Graph, cluster: &Cluster) -> (Graph, Cluster) {
    let mut graph = graph.clone();
    let value = cluster.output(&graph);
    let shape = Shape::from_slice(graph.shape(value));
    let axis = 1.min(shape.len().saturating_sub(1));
    let mut vector: Shape = Shape::from_elem(1, shape.len());
    vector[axis] = shape[axis];
    let vector = input(&mut graph, "along", &vector);
    let full = input(&mut graph, "full", &shape);
    let dtype = graph.dtype(value);
    let (scaled, value) = map(&mut graph, "scaled", &[value, vector], binary(Binary::Mul, dtype));
    let (less, value) = map(&mut graph, "less", &[value, full], binary(Binary::Sub, DType::F32));
    let rounds = match &graph.node(cluster.anchor).op {
        Op::Softmax { .. } | Op::Lrn(_) | Op::Norm(_) => true,
        Op::Reduce(reduce) => reduce.kind == ReduceKind::LogSumExp,
        Op::Map(_) | Op::Conv(_) | Op::ConvTranspose(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::MatMul => false,
        Op::ArgReduce(_) | Op::Scan(_) | Op::View(_) => false,
    };
    let (clamped, value) = map(&mut graph, "clamped", &[value], clamp(if rounds { 0.0 } else { 1.0 }));
    graph.set_outputs(vec![value]);
    let epilogues = cluster.epilogues.iter().copied().chain([scaled, less, clamped]).collect();
    (graph, Cluster { anchor: cluster.anchor, prologues: cluster.prologues.clone(), epilogues })
}

/// The operator on 1 plus another operand less its own, which is neither 0 at 0 nor −∞ at −∞: what stands
/// in masked lanes matters. `None` where the operand is a weight, whose Maps are weight preparation,
/// or absent.
pub fn with_prologue(graph: &Graph, cluster: &Cluster, position: usize) -> Option<(Graph, Cluster)> {
    let mut graph = graph.clone();
    let anchor = cluster.anchor;
    let operand = (*graph.node(anchor).inputs.get(position)?)?;
    if !matches!(graph.value(operand).producer, Producer::Input(_)) {
        return None;
    }
    let shape = Shape::from_slice(graph.shape(operand));
    let beside = input(&mut graph, "beside", &shape);
    let (node, value) = map(&mut graph, "before", &[operand, beside], opposite());
    let mut inputs = graph.node(anchor).inputs.clone();
    inputs[position] = Some(value);
    let op = graph.node(anchor).op.clone();
    graph.rewrite_node(anchor, op, &inputs);
    Some((graph, Cluster { anchor, prologues: vec![(position, node)], epilogues: cluster.epilogues.clone() }))
}

fn input(graph: &mut Graph, name: &str, shape: &[usize]) -> ValueId {
    let ty = TensorType { dtype: DType::F32, shape: Shape::from_slice(shape) };
    graph.add_input(name, ty, Role::Activation).expect("invariant: a probe names its values after operands")
}

fn map(graph: &mut Graph, name: &str, operands: &[ValueId], body: Expr) -> (NodeId, ValueId) {
    let dims = Shape::from_slice(graph.shape(operands[0]));
    let shapes: Vec<Shape> = operands.iter().map(|&v| Shape::from_slice(graph.shape(v))).collect();
    let shapes: Vec<&[usize]> = shapes.iter().map(|s| s.as_slice()).collect();
    let op = Op::Map(Map::pointwise(name, &dims, &shapes, body));
    let inputs: Vec<Option<ValueId>> = operands.iter().copied().map(Some).collect();
    let ty = TensorType { dtype: DType::F32, shape: dims };
    let node = graph.add_node(op, &inputs, vec![(name.to_owned(), ty)], Vec::new());
    (node, graph.node(node).outputs[0])
}

/// In fp32, on a first operand of this type.
fn binary(op: Binary, first: DType) -> Expr {
    let mut b = ExprBuilder::new();
    let (x, y) = (b.read(0, first), b.read(1, DType::F32));
    let x = if first == DType::F32 { x } else { b.cast(x, DType::F32) };
    let root = b.binary(op, x, y);
    b.finish(root)
}

/// 1 + b − a.
fn opposite() -> Expr {
    let mut b = ExprBuilder::new();
    let (x, y, one) = (b.read(0, DType::F32), b.read(1, DType::F32), b.float(1.0, DType::F32));
    let more = b.binary(Binary::Add, y, one);
    let root = b.binary(Binary::Sub, more, x);
    b.finish(root)
}

/// 0 below a bound, which where it jumps tells `<` from `<=`.
fn clamp(bound: f64) -> Expr {
    let mut b = ExprBuilder::new();
    let (x, zero, bound) = (b.read(0, DType::F32), b.float(0.0, DType::F32), b.float(bound, DType::F32));
    let below = b.compare(Compare::Lt, x, bound);
    let root = b.select(below, zero, x);
    b.finish(root)
}
