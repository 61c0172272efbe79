//! Whether a kernel must be bit-equal on the structure pass's integers.
//!
//! It must when every operator is exact on them in fp32 in any order of summation: contractions
//! whose sums of absolute products stay below 2²², maxima, averages of multiples of the divisor,
//! normalisations with var + ε a power of four and γ a power of two, and Maps without division or
//! functions. Besides, every node's result must be a number of its own dtype, so that it does not
//! matter which of them a kernel rounds: 257 is no bf16.
//! A binary fraction (γ = ½) is as exact as an integer as long as its digits fit; an infinity (an
//! empty window's maximum, a mask) has no digits and is exact. NaN is not.

use rayon::prelude::*;

use crate::dtype::{Carrier, DType};
use crate::expr::{Binary, Node, Unary};
use crate::graph::op::{Map, PoolKind, ReduceKind, ScanKind};
use crate::graph::{Graph, NodeId, Op};
use crate::reference::{Env, floats, terms};
use crate::tensor::{Storage, Tensor};

/// Exact sums stay below this, two bits under fp32's own limit: folding a normalisation into the
/// weights may double them.
pub(super) const LIMIT: f64 = (1 << 22) as f64;

/// Whether these nodes are exact on the elements in `env` (evaluated in `Math::Unrounded`).
pub fn is_exact(graph: &Graph, nodes: &[NodeId], env: &Env) -> bool {
    nodes.iter().all(|&id| {
        let node = graph.node(id);
        let operands: Option<Vec<Option<&Tensor>>> =
            node.inputs.iter().map(|input| input.map_or(Some(None), |v| env.get(v).map(|t| Some(t.as_ref())))).collect();
        let output = env.get(node.outputs[0]);
        match (operands, output) {
            (Some(operands), Some(output)) => {
                node_is_exact(&node.op, &operands, output) && is_of(graph.dtype(node.outputs[0]), output)
            }
            (None, _) | (_, None) => false,
        }
    })
}

/// Whether no class drops a digit of the f32 operands of contractions: they are numbers of bf16, which
/// is the first part of every split and has fewer digits than tf32.
pub fn survives_splitting(graph: &Graph, nodes: &[NodeId], env: &Env) -> bool {
    let contraction = |&&id: &&NodeId| match graph.node(id).op {
        Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul => true,
        Op::Map(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::Lrn(_) | Op::Softmax { .. } | Op::View(_) => false,
        Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) => false,
    };
    let factors = nodes.iter().filter(contraction).flat_map(|&id| graph.node(id).inputs.iter().take(2).flatten());
    factors.filter(|&&v| graph.dtype(v) == DType::F32).all(|&v| env.get(v).is_some_and(|t| is_of(DType::BF16, t)))
}

/// Whether a node takes means: a kernel may as well multiply by 1/n, which is rounded.
pub fn averages(graph: &Graph, nodes: &[NodeId]) -> bool {
    nodes.iter().any(|&id| match &graph.node(id).op {
        Op::Pool(pool) => match pool.kind {
            PoolKind::Max => false,
            PoolKind::Average { .. } | PoolKind::AdaptiveAverage => true,
        },
        Op::Reduce(reduce) => reduce.kind == ReduceKind::Mean,
        Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul | Op::Map(_) | Op::BatchNorm { .. } | Op::Norm(_) => false,
        Op::Lrn(_) | Op::Softmax { .. } | Op::ArgReduce(_) | Op::Scan(_) | Op::View(_) => false,
    })
}

fn node_is_exact(op: &Op, operands: &[Option<&Tensor>], output: &Tensor) -> bool {
    match op {
        Op::View(_) => true,
        Op::Softmax { .. } | Op::Lrn(_) | Op::Norm(_) => false,
        Op::ArgReduce(_) => true,
        Op::Reduce(reduce) => operands[0].is_some_and(|x| match reduce.kind {
            ReduceKind::Max | ReduceKind::Min => true,
            ReduceKind::Sum | ReduceKind::Mean => sums_exactly(x, reduce.terms(x.shape())) && representable(output),
            ReduceKind::Prod => multiplies_exactly(x, reduce.terms(x.shape())),
            ReduceKind::LogSumExp => false,
        }),
        Op::Scan(scan) => operands[0].is_some_and(|x| match scan.kind {
            ScanKind::Sum => sums_exactly(x, x.shape()[scan.axis]),
            ScanKind::Prod => multiplies_exactly(x, x.shape()[scan.axis]),
        }),
        Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul => {
            if output.dtype().carrier() == Carrier::I64 {
                return true;
            }
            let (Some(a), Some(b)) = (operands[0], operands[1]) else { return false };
            let (a, b) = (Digits::of(a), Digits::of(b));
            let bias = operands.get(2).copied().flatten().map_or(0.0, |bias| Digits::of(bias).steps());
            let sum = terms(op, operands).unwrap_or(0) as f64 * a.steps() * b.steps();
            sum + bias < LIMIT && representable(output)
        }
        Op::Pool(pool) => match pool.kind {
            PoolKind::Max => true,
            PoolKind::Average { .. } | PoolKind::AdaptiveAverage => representable(output),
        },
        Op::BatchNorm { epsilon } => {
            let power = |v: f64| v.abs().log2().fract() == 0.0;
            let square = |v: f64| f64::from(v as f32 + *epsilon as f32).log2().rem_euclid(2.0) == 0.0;
            let all = |i: usize, test: &dyn Fn(f64) -> bool| {
                operands.get(i).copied().flatten().is_some_and(|t| floats(t.storage()).iter().all(|&v| test(v)))
            };
            all(1, &power) && all(4, &square) && representable(output)
        }
        Op::Map(map) => map_is_exact(map) && representable(output),
    }
}

/// Whether sums of so many elements are exact in any order. Integers wrap alike.
fn sums_exactly(x: &Tensor, terms: usize) -> bool {
    x.dtype().carrier() == Carrier::I64 || terms as f64 * Digits::of(x).steps() < LIMIT
}

/// Whether products of so many elements are exact in any order: of powers of two and zeros, as long as
/// none leaves the range of fp32. Integers wrap alike.
fn multiplies_exactly(x: &Tensor, terms: usize) -> bool {
    if x.dtype().carrier() == Carrier::I64 {
        return true;
    }
    let exponent = |v: f64| if v == 0.0 { 0.0 } else { v.abs().log2() };
    let lanes = floats(x.storage());
    let farthest = lanes.iter().map(|&v| exponent(v).abs()).fold(0.0, f64::max);
    lanes.iter().all(|&v| v.is_finite() && exponent(v).fract() == 0.0) && terms as f64 * farthest < 120.0
}

/// Whether every element is a number of a type narrower than fp32 (of any other it is).
fn is_of(dtype: DType, tensor: &Tensor) -> bool {
    let Some(format) = dtype.format().filter(|format| format.digits < 24) else { return true };
    floats(tensor.storage()).par_iter().all(|&v| format.round(v) == v)
}

/// Whether a Map's body rounds nothing on small integers.
fn map_is_exact(map: &Map) -> bool {
    map.body.nodes().iter().all(|&(node, dtype)| match node {
        Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) | Node::Compare(..) | Node::Select(..) => true,
        Node::Cast(_) => true,
        Node::Unary(op, _) => match op {
            Unary::Neg | Unary::Abs | Unary::Floor | Unary::Ceil | Unary::RoundEven | Unary::Not => true,
            Unary::Exp | Unary::Log | Unary::Sqrt | Unary::Rsqrt | Unary::Sin | Unary::Cos => false,
            Unary::Tanh | Unary::Erf | Unary::Sigmoid => false,
        },
        Node::Binary(op, ..) => match op {
            Binary::Add | Binary::Sub | Binary::Mul => true,
            Binary::MinNan | Binary::MaxNan | Binary::MinNum | Binary::MaxNum => true,
            Binary::DivTrunc | Binary::DivFloor | Binary::And | Binary::Or | Binary::Xor => true,
            Binary::Div => false,
            Binary::Pow => !dtype.is_float(),
        },
    })
}

/// The finite range of a tensor and the step that all its elements are multiples of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Digits {
    maximum: f64,
    step: f64,
}

impl Digits {
    fn of(tensor: &Tensor) -> Digits {
        match tensor.storage() {
            Storage::F32(lanes) => Digits::over(lanes),
            Storage::F64(_) | Storage::I64(_) | Storage::Bool(_) => Digits::over(&floats(tensor.storage())),
        }
    }

    fn over<T: Copy + Into<f64> + Sync>(lanes: &[T]) -> Digits {
        let one = |&v: &T| {
            let v: f64 = v.into();
            Digits { maximum: if v.is_infinite() { 0.0 } else { v.abs() }, step: step(v) }
        };
        let both = |a: Digits, b: Digits| Digits { maximum: a.maximum.max(b.maximum), step: a.step.min(b.step) };
        lanes.par_iter().map(one).reduce(|| Digits { maximum: 0.0, step: f64::INFINITY }, both)
    }

    /// The largest finite element in steps.
    fn steps(self) -> f64 {
        if self.step.is_finite() { self.maximum / self.step } else { 0.0 }
    }
}

/// The largest power of two that divides a number; infinite for 0 and ±∞, 0 for NaN and subnormals.
fn step(v: f64) -> f64 {
    if v == 0.0 || v.is_infinite() {
        return f64::INFINITY;
    }
    if !v.is_normal() {
        return 0.0;
    }
    let bits = v.to_bits();
    // A zero fraction has 52 trailing zeros, all of them below the hidden bit.
    let zeros = (bits & ((1 << 52) - 1)).trailing_zeros().min(52) as u64;
    let exponent = (bits >> 52 & 0x7ff) + zeros;
    if exponent > 52 { f64::from_bits((exponent - 52) << 52) } else { 0.0 }
}

/// Whether all elements have few enough digits together.
fn representable(tensor: &Tensor) -> bool {
    tensor.dtype().carrier() == Carrier::I64 || tensor.dtype().carrier() == Carrier::Bool || Digits::of(tensor).steps() < LIMIT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    #[test]
    fn steps_are_the_lowest_digit() {
        assert_eq!([1.0, -6.0, 0.75, 1.0 + f64::EPSILON].map(step), [1.0, 2.0, 0.25, f64::EPSILON]);
        let t = Tensor::from_f32(Shape::from_slice(&[3]), vec![0.5, -8.0, 0.0]);
        assert_eq!(Digits::of(&t), Digits { maximum: 8.0, step: 0.5 });
        assert_eq!(Digits::of(&t).steps(), 16.0);
        assert!(representable(&t));
        assert!(!representable(&Tensor::from_f32(Shape::from_slice(&[2]), vec![0.1, 3.0])));
    }

    #[test]
    fn narrow_types_hold_few_integers() {
        let t = |v: f32| Tensor::from_f32(Shape::from_slice(&[2]), vec![v, f32::NEG_INFINITY]);
        assert!(is_of(DType::BF16, &t(256.0)) && !is_of(DType::BF16, &t(257.0)));
        assert!(is_of(DType::F16, &t(2048.0)) && !is_of(DType::F16, &t(2049.0)));
        assert!(is_of(DType::F32, &t(2049.0)) && is_of(DType::I64, &Tensor::from_i64(Shape::from_slice(&[1]), vec![257])));
    }

    #[test]
    fn infinities_have_no_digits() {
        let t = |lanes: [f32; 3]| Tensor::from_f32(Shape::from_slice(&[3]), lanes.to_vec());
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        assert_eq!(Digits::of(&t([0.5, -inf, 2.0])), Digits { maximum: 2.0, step: 0.5 });
        assert!([[-inf, 2.0, 0.0], [inf, -inf, 0.0]].map(t).iter().all(representable));
        assert!(![[nan, 2.0, 0.0], [0.1, -inf, 3.0]].map(t).iter().any(representable));
    }
}
