//! BatchNormalization after a 16-bit convolution becomes a product and a sum an element.
//!
//! With s = γ / √(var + ε), (x − mean) · s + β = x·s + (β − mean·s). s and the shift are weight
//! preparation, computed once, and stay in fp32: folded into 16-bit weights, as
//! [`super::fold_batchnorm`] does with wider ones, they would round every weight once more. The
//! kernel of the convolution takes the Map as its epilogue, before it has rounded anything; the Map's
//! own result is rounded to its type, as the model says. Only where the convolution's output has no
//! other reader and all parameters are weights of its type.

use super::fold_batchnorm::{per_channel, scale_of, widened};
use crate::dtype::DType;
use crate::expr::index::Index;
use crate::expr::{Binary, ExprBuilder};
use crate::fuse::driver::{Added, Operand, Patch, Rule};
use crate::fuse::pattern::{producer, sole_consumer};
use crate::graph::op::{Access, Map, OutOfBounds};
use crate::graph::{Graph, NodeId, Op};
use crate::shape::Shape;

pub const RULE: Rule = Rule { name: "scale_batchnorm", apply };

fn apply(graph: &Graph, node: NodeId) -> Option<Patch> {
    let norm = graph.node(node);
    let Op::BatchNorm { epsilon } = norm.op else { return None };
    let [Some(x), Some(gamma), Some(beta), Some(mean), Some(var)] = norm.inputs[..] else { return None };
    let conv = producer(graph, x).filter(|_| sole_consumer(graph, x) == Some(node))?;
    let Op::Conv(_) = graph.node(conv).op else { return None };
    let dtype = graph.dtype(x);
    let prepared = [gamma, beta, mean, var].iter().all(|&v| graph.is_prepared(v) && graph.dtype(v) == dtype);
    if !prepared || !matches!(dtype, DType::F16 | DType::BF16) {
        return None;
    }
    let value = Operand::Value;
    let (dims, single) = (graph.shape(x), dtype.computed_in());
    let channels = &dims[1..2];
    let scale = Added { op: scale_of(channels, dtype, epsilon), inputs: vec![value(gamma), value(var)], name: "scale" };
    let shift = Added {
        op: per_channel("fold_shift", channels, &[1, 1, 1], |b| {
            let (scale, mean, beta) = (b.read(0, single), widened(b, 1, dtype), widened(b, 2, dtype));
            let scaled = b.binary(Binary::Mul, mean, scale);
            b.binary(Binary::Sub, beta, scaled)
        }),
        inputs: vec![Operand::Added(0), value(mean), value(beta)],
        name: "shift",
    };
    let read = |input, index| Access { input, index, oob: OutOfBounds::InBounds };
    let per_channel = |input| read(input, vec![Index::Dim(1)]);
    let reads = vec![read(0, (0..dims.len()).map(Index::Dim).collect()), per_channel(1), per_channel(2)];
    let mut b = ExprBuilder::new();
    let (x_lane, scale_lane, shift_lane) = (widened(&mut b, 0, dtype), b.read(1, single), b.read(2, single));
    let scaled = b.binary(Binary::Mul, x_lane, scale_lane);
    let shifted = b.binary(Binary::Add, scaled, shift_lane);
    let root = b.cast(shifted, dtype);
    let map = Map { label: "batch_norm".to_owned(), dims: Shape::from_slice(dims), reads, body: b.finish(root) };
    let inputs = vec![Some(value(x)), Some(Operand::Added(0)), Some(Operand::Added(1))];
    Some(Patch { added: vec![scale, shift], op: Op::Map(map), inputs, absorbed: Vec::new() })
}
