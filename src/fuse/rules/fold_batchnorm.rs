//! BatchNormalization after a convolution becomes part of the convolution's weights.
//!
//! With s = γ / √(var + ε), (conv(x, W) + B − mean) · s + β = conv(x, W·s) + (B − mean)·s + β, where
//! s scales whole output channels. The three new values are weight preparation, computed once, in
//! the dtype of the weights (so var + ε is rounded to fp32). Only where the convolution's output
//! has no other reader and all parameters are weights; not for 16-bit weights, whose folding would
//! add a rounding: see [`super::scale_batchnorm`].

use crate::dtype::DType;
use crate::expr::index::Index;
use crate::expr::{Binary, ExprBuilder, ExprId, Unary};
use crate::fuse::driver::{Added, Operand, Patch, Rule};
use crate::fuse::pattern::{producer, sole_consumer};
use crate::graph::op::{Access, Map, OutOfBounds};
use crate::graph::{Graph, NodeId, Op};
use crate::shape::Shape;

pub const RULE: Rule = Rule { name: "fold_batchnorm", apply };

fn apply(graph: &Graph, node: NodeId) -> Option<Patch> {
    let norm = graph.node(node);
    let Op::BatchNorm { epsilon } = norm.op else { return None };
    let [Some(x), Some(gamma), Some(beta), Some(mean), Some(var)] = norm.inputs[..] else { return None };
    let conv_id = producer(graph, x).filter(|_| sole_consumer(graph, x) == Some(node))?;
    let conv = graph.node(conv_id);
    let Op::Conv(_) = &conv.op else { return None };
    let (input, weight, bias) = (conv.inputs[0]?, conv.inputs[1]?, conv.inputs.get(2).copied().flatten());
    let dtype = graph.dtype(weight);
    let parameters = [Some(weight), bias, Some(gamma), Some(beta), Some(mean), Some(var)];
    let foldable = parameters.iter().flatten().all(|&v| graph.is_prepared(v) && graph.dtype(v) == dtype);
    if !foldable || !matches!(dtype, DType::F32 | DType::F64) {
        return None;
    }
    let value = Operand::Value;
    let channels = &graph.shape(weight)[..1];
    let scale = Added { op: scale_of(channels, dtype, epsilon), inputs: vec![value(gamma), value(var)], name: "scale" };
    let weights = Added {
        op: per_channel("fold_weight", graph.shape(weight), &[graph.shape(weight).len(), 1], |b| {
            let (weight, scale) = (b.read(0, dtype), b.read(1, dtype));
            b.binary(Binary::Mul, weight, scale)
        }),
        inputs: vec![value(weight), Operand::Added(0)],
        name: "weight",
    };
    let shift = Added {
        op: per_channel("fold_bias", channels, &[1, 1, 1, 1][..if bias.is_some() { 4 } else { 3 }], |b| {
            let (scale, mean, beta) = (b.read(0, dtype), b.read(1, dtype), b.read(2, dtype));
            let centred = match bias {
                Some(_) => {
                    let bias = b.read(3, dtype);
                    b.binary(Binary::Sub, bias, mean)
                }
                None => b.unary(Unary::Neg, mean),
            };
            let scaled = b.binary(Binary::Mul, centred, scale);
            b.binary(Binary::Add, scaled, beta)
        }),
        inputs: [Operand::Added(0), value(mean), value(beta)].into_iter().chain(bias.map(value)).collect(),
        name: "bias",
    };
    Some(Patch {
        added: vec![scale, weights, shift],
        op: conv.op.clone(),
        inputs: vec![Some(value(input)), Some(Operand::Added(1)), Some(Operand::Added(2))],
        absorbed: vec![conv_id],
    })
}

/// s = γ / √(var + ε) in the type that parameters of `dtype` are computed in.
pub(super) fn scale_of(channels: &[usize], dtype: DType, epsilon: f64) -> Op {
    per_channel("fold_scale", channels, &[1, 1], |b| {
        let [gamma, var] = [0, 1].map(|k| widened(b, k, dtype));
        let epsilon = b.float(epsilon, dtype.computed_in());
        let shifted = b.binary(Binary::Add, var, epsilon);
        let deviation = b.unary(Unary::Sqrt, shifted);
        b.binary(Binary::Div, gamma, deviation)
    })
}

/// The k-th read, of type `dtype`, in the type that it is computed in.
pub(super) fn widened(b: &mut ExprBuilder, k: u32, dtype: DType) -> ExprId {
    let stored = b.read(k, dtype);
    b.cast(stored, dtype.computed_in())
}

/// A Map over `dims` whose k-th operand has rank `ranks[k]` and is read at the leading coordinates.
pub(super) fn per_channel(label: &str, dims: &[usize], ranks: &[usize], body: impl FnOnce(&mut ExprBuilder) -> ExprId) -> Op {
    let read = |(input, &rank): (usize, &usize)| Access {
        input,
        index: (0..rank).map(Index::Dim).collect(),
        oob: OutOfBounds::InBounds,
    };
    let reads = ranks.iter().enumerate().map(read).collect();
    let mut b = ExprBuilder::new();
    let root = body(&mut b);
    Op::Map(Map { label: label.to_owned(), dims: Shape::from_slice(dims), reads, body: b.finish(root) })
}
