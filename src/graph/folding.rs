//! A small evaluator for what is known while importing: shapes, indices, flags.
//!
//! It computes Maps and Views over small tensors, coordinate by coordinate, by the plain meaning of
//! expressions ([`eval`](crate::expr::eval)). Only what every runtime computes alike is folded:
//! integers, bools, and the float operations that IEEE 754 rounds correctly (+ − × ÷ √, comparisons,
//! rounding, casts). Everything else stays in the graph. Learned weights are too large to be folded here:
//! they are prepared by `reference`.

use super::op::{Map, Op, OutOfBounds, Reduce, ReduceKind, View};
use crate::dtype::{Carrier, DType};
use crate::expr::eval::eval;
use crate::expr::{Binary, Constant, Node, Unary};
use crate::shape::{Lines, contiguous_strides, lines, numel};
use crate::tensor::{Storage, Tensor};

/// The largest result, in elements.
const MAX_INTEGERS: usize = 4096;
const MAX_FLOATS: usize = 8;
/// Larger indices cannot be meant, and could overflow while an index expression is computed.
const MAX_INDEX: u64 = 1 << 40;

/// The node's output, or `None` where it is not small, not exact or not one of these operators.
pub fn evaluate(op: &Op, inputs: &[&Tensor]) -> Option<Tensor> {
    match op {
        Op::View(view) => {
            let x = *inputs.first()?;
            let fits = |shape: &[usize]| numel(shape).is_some_and(|n| n <= limit(x.dtype()));
            match view {
                View::Reshape(shape) => {
                    if fits(shape) {
                        x.clone().reshaped(shape.clone())
                    } else {
                        None
                    }
                }
                View::Transpose(order) => {
                    let shape: Vec<_> = order.iter().map(|&a| x.shape()[a]).collect();
                    fits(&shape).then(|| {
                        gather(x, &shape, |at| {
                            let mut from = vec![0; at.len()];
                            order.iter().zip(at).for_each(|(&axis, &i)| from[axis] = i);
                            from
                        })
                    })
                }
                View::Broadcast(shape) => fits(shape).then(|| {
                    let skip = shape.len() - x.shape().len();
                    gather(x, shape, |at| {
                        at[skip..].iter().zip(x.shape()).map(|(&i, &size)| if size == 1 { 0 } else { i }).collect()
                    })
                }),
            }
        }
        Op::Map(map) => evaluate_map(map, inputs),
        Op::Reduce(reduce) => evaluate_reduce(reduce, inputs),
        Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) => None,
        Op::Softmax { .. } | Op::Lrn(_) | Op::ArgReduce(_) | Op::Scan(_) => None,
    }
}

/// Sums, products and extremes of integers: how shapes become counts.
fn evaluate_reduce(reduce: &Reduce, inputs: &[&Tensor]) -> Option<Tensor> {
    let x = *inputs.first()?;
    // Lanes of u64 are carried as i64 and ordered otherwise.
    let lanes = x.as_i64().filter(|lanes| lanes.len() <= MAX_INTEGERS && x.dtype() != DType::U64)?;
    let combine = |a: i64, b: i64| match reduce.kind {
        ReduceKind::Sum => Some(a.wrapping_add(b)),
        ReduceKind::Prod => Some(a.wrapping_mul(b)),
        ReduceKind::Max => Some(a.max(b)),
        ReduceKind::Min => Some(a.min(b)),
        ReduceKind::Mean | ReduceKind::LogSumExp => None,
    };
    let Lines { starts, steps } = lines(x.shape(), &reduce.axes);
    let line = |start: &usize| {
        let mut elements = steps.iter().map(|step| lanes[start + step]);
        let first = elements.next()?;
        elements.try_fold(first, combine).map(|v| Constant::Int(x.dtype().wrap(v)))
    };
    let results: Option<Vec<Constant>> = starts.iter().map(line).collect();
    Some(collect(x.dtype(), &reduce.shape(x.shape()), &results?))
}

fn limit(dtype: DType) -> usize {
    if dtype.is_float() { MAX_FLOATS } else { MAX_INTEGERS }
}

fn gather(x: &Tensor, shape: &[usize], from: impl Fn(&[usize]) -> Vec<usize>) -> Tensor {
    let strides = contiguous_strides(x.shape());
    let at = |coordinate: &[usize]| from(coordinate).iter().zip(&strides).map(|(&i, &s)| i * s as usize).sum::<usize>();
    let lanes: Vec<Constant> = coordinates(shape).map(|c| lane(x, at(&c))).collect();
    collect(x.dtype(), shape, &lanes)
}

fn evaluate_map(map: &Map, inputs: &[&Tensor]) -> Option<Tensor> {
    let dtype = map.body.dtype();
    if numel(&map.dims)? > limit(dtype) || !map.body.nodes().iter().all(|&(node, _)| is_exact(node)) {
        return None;
    }
    let lanes: Option<Vec<Constant>> = coordinates(&map.dims).map(|at| element(map, inputs, &at)).collect();
    Some(collect(dtype, &map.dims, &lanes?))
}

/// One output element.
fn element(map: &Map, inputs: &[&Tensor], at: &[usize]) -> Option<Constant> {
    let mut reads: Vec<Constant> = Vec::with_capacity(map.reads.len());
    for access in &map.reads {
        let tensor = *inputs.get(access.input)?;
        let strides = contiguous_strides(tensor.shape());
        let mut offset = Some(0);
        for (axis, index) in access.index.iter().enumerate() {
            let mut readable = true;
            let mut supply = |k: usize| match reads.get(k) {
                Some(&Constant::Int(i)) if i.unsigned_abs() < MAX_INDEX => i,
                _ => {
                    readable = false;
                    0
                }
            };
            let i = index.evaluate(at, &mut supply);
            if !readable {
                return None;
            }
            let i = usize::try_from(i).ok().filter(|&i| i < tensor.shape()[axis]);
            offset = offset.zip(i).map(|(o, i)| o + i * strides[axis] as usize);
        }
        reads.push(match (offset, access.oob) {
            (Some(offset), _) => lane(tensor, offset),
            (None, OutOfBounds::Fill(value)) => fill(value, tensor.dtype()),
            (None, OutOfBounds::InBounds) => return None,
        });
    }
    eval(&map.body, &reads, at)
}

/// Whether every runtime computes the same value, bit for bit.
fn is_exact(node: Node) -> bool {
    match node {
        Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) | Node::Compare(..) | Node::Select(..) | Node::Cast(_) => true,
        Node::Unary(op, _) => match op {
            Unary::Neg | Unary::Abs | Unary::Sqrt | Unary::Floor | Unary::Ceil | Unary::RoundEven | Unary::Not => true,
            Unary::Exp | Unary::Log | Unary::Rsqrt | Unary::Sin | Unary::Cos | Unary::Tanh | Unary::Erf | Unary::Sigmoid => false,
        },
        Node::Binary(op, ..) => op != Binary::Pow,
    }
}

fn lane(x: &Tensor, offset: usize) -> Constant {
    match x.storage() {
        Storage::F64(v) => Constant::float(v[offset]),
        Storage::F32(v) => Constant::float(f64::from(v[offset])),
        Storage::I64(v) => Constant::Int(v[offset]),
        Storage::Bool(v) => Constant::Bool(v[offset] != 0),
    }
}

fn fill(value: f64, dtype: DType) -> Constant {
    match dtype.carrier() {
        Carrier::F64 | Carrier::F32 => Constant::float(value),
        Carrier::I64 => Constant::Int(value as i64),
        Carrier::Bool => Constant::Bool(value != 0.0),
    }
}

fn collect(dtype: DType, shape: &[usize], lanes: &[Constant]) -> Tensor {
    let mut storage = Storage::zeros(dtype.carrier(), lanes.len());
    for (i, &lane) in lanes.iter().enumerate() {
        match (&mut storage, lane) {
            (Storage::F64(v), Constant::Float(bits)) => v[i] = f64::from_bits(bits),
            (Storage::F32(v), Constant::Float(bits)) => v[i] = dtype.round(f64::from_bits(bits)) as f32,
            (Storage::I64(v), Constant::Int(value)) => v[i] = value,
            (Storage::Bool(v), Constant::Bool(value)) => v[i] = u8::from(value),
            _ => unreachable!("invariant: an expression's lanes have its dtype's carrier"),
        }
    }
    Tensor::new(dtype, shape, storage)
}

/// Every coordinate of a shape in row-major order.
fn coordinates(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    let strides = contiguous_strides(shape);
    (0..numel(shape).unwrap_or(0)).map(move |i| shape.iter().zip(&strides).map(|(&size, &s)| i / s as usize % size).collect())
}

#[cfg(test)]
mod tests;
