//! Pieces of graphs whose elements tell where they are: x + Σ cᵢ·coordᵢ, with cᵢ the row-major strides.
//!
//! A coordinate that is off by anything changes the number, and small integers keep all of it exact.
//!
//! Not caught: coordinates that are off together so that the position is the same, and any along an axis of one
//! element.

use crate::dtype::DType;
use crate::expr::index::Index;
use crate::expr::{Binary, Constant, Expr, ExprBuilder, Node, Unary};
use crate::graph::op::{Access, Map, Op, OutOfBounds, Role, TensorType};
use crate::graph::{Graph, NodeId, ValueId, Weight};
use crate::shape::{Shape, contiguous_strides};

/// Whether integers stay integers on their way through an expression, so that nothing is rounded.
pub(super) fn keeps_integers(body: &Expr) -> bool {
    body.nodes().iter().all(|(node, _)| match node {
        Node::Read(_) | Node::Coordinate(_) | Node::Compare(..) | Node::Select(..) | Node::Cast(_) => true,
        Node::Constant(Constant::Float(bits)) => f64::from_bits(*bits).fract() == 0.0,
        Node::Constant(Constant::Int(_) | Constant::Bool(_)) => true,
        Node::Unary(op, _) => match op {
            Unary::Neg | Unary::Abs | Unary::Floor | Unary::Ceil | Unary::RoundEven | Unary::Not => true,
            Unary::Exp
            | Unary::Log
            | Unary::Sqrt
            | Unary::Rsqrt
            | Unary::Sin
            | Unary::Cos
            | Unary::Tanh
            | Unary::Erf
            | Unary::Sigmoid => false,
        },
        Node::Binary(op, _, _) => match op {
            Binary::Div | Binary::Pow => false,
            Binary::Add
            | Binary::Sub
            | Binary::Mul
            | Binary::DivTrunc
            | Binary::DivFloor
            | Binary::MinNan
            | Binary::MaxNan
            | Binary::MinNum
            | Binary::MaxNum
            | Binary::And
            | Binary::Or
            | Binary::Xor => true,
        },
    })
}

pub(super) fn add_input(graph: &mut Graph, name: &str, shape: &[usize], role: Role) -> ValueId {
    let ty = TensorType { dtype: DType::F32, shape: Shape::from_slice(shape) };
    let added = match role {
        Role::Activation => graph.add_input(name, ty, role),
        _ => graph.add_weight(name, ty, role, Weight::Missing),
    };
    added.expect("invariant: a probe's values have distinct names")
}

/// x + Σ extras + Σ cᵢ·coordᵢ over x's shape.
pub(super) fn located(graph: &mut Graph, name: &str, value: ValueId, extras: &[ValueId]) -> (NodeId, ValueId) {
    let dims = Shape::from_slice(graph.shape(value));
    let inputs: Vec<ValueId> = [value].into_iter().chain(extras.iter().copied()).collect();
    let reads = inputs.iter().enumerate().map(|(i, &v)| broadcast(i, graph.shape(v), dims.len())).collect();
    let dtypes: Vec<DType> = inputs.iter().map(|&v| graph.dtype(v)).collect();
    let body = linear_body(&dims, &dtypes);
    let map = Map { label: "located".to_owned(), dims: dims.clone(), reads, body };
    let ty = TensorType { dtype: DType::F32, shape: dims };
    let inputs: Vec<Option<ValueId>> = inputs.into_iter().map(Some).collect();
    let node = graph.add_node(Op::Map(map), &inputs, vec![(name.to_owned(), ty)], Vec::new());
    (node, graph.node(node).outputs[0])
}

/// An operand read at the coordinates of a space of `rank` dimensions, aligned to the right.
pub(super) fn broadcast(input: usize, shape: &[usize], rank: usize) -> Access {
    let lead = rank - shape.len().min(rank);
    let at = |(i, &size): (usize, &usize)| if size == 1 { Index::Constant(0) } else { Index::Dim(lead + i) };
    Access { input, index: shape.iter().enumerate().map(at).collect(), oob: OutOfBounds::InBounds }
}

/// The sum of reads of these types and of the element's row-major position, in fp32.
pub(super) fn linear_body(dims: &[usize], reads: &[DType]) -> Expr {
    let mut b = ExprBuilder::new();
    let mut position = b.node(Node::Constant(Constant::Int(0)), DType::I64);
    for (i, &stride) in contiguous_strides(dims).iter().enumerate().filter(|&(i, _)| dims[i] > 1) {
        let coordinate = b.node(Node::Coordinate(i as u32), DType::I64);
        let factor = b.node(Node::Constant(Constant::Int(stride)), DType::I64);
        let term = b.binary(Binary::Mul, coordinate, factor);
        position = b.binary(Binary::Add, position, term);
    }
    let mut sum = b.cast(position, DType::F32);
    for (k, &dtype) in reads.iter().enumerate() {
        let read = b.read(k as u32, dtype);
        let read = if dtype == DType::F32 { read } else { b.cast(read, DType::F32) };
        sum = b.binary(Binary::Add, sum, read);
    }
    let expr = b.finish(sum);
    crate::expr::simplify::simplify(&expr)
}
