//! A small evaluator for what is known while importing: shapes, indices, flags.
//!
//! It computes Maps and Views over small tensors, coordinate by coordinate. Integer and bool
//! results are exact (an overflow is not computed); of the float functions only those that IEEE 754
//! rounds correctly are (+ − × ÷ √, comparisons, rounding), so a folded value is what any runtime
//! computes. Everything else stays in the graph. Learned weights are too large to be folded here:
//! they are prepared by `reference`.

use super::op::{Map, Op, OutOfBounds, View};
use crate::dtype::{Carrier, DType};
use crate::expr::{Binary, Compare, Constant, ExprId, Node, Unary};
use crate::shape::{contiguous_strides, numel};
use crate::tensor::{Storage, Tensor};

/// The largest result, in elements.
const MAX_INTEGERS: usize = 4096;
const MAX_FLOATS: usize = 8;
/// Larger indices cannot be meant, and could overflow while an index expression is computed.
const MAX_INDEX: u64 = 1 << 40;

/// One element.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lane {
    Int(i64),
    Float(f64),
    Bool(bool),
}

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
        Op::Conv(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::MatMul | Op::Softmax { .. } => None,
    }
}

fn limit(dtype: DType) -> usize {
    if dtype.is_float() { MAX_FLOATS } else { MAX_INTEGERS }
}

fn gather(x: &Tensor, shape: &[usize], from: impl Fn(&[usize]) -> Vec<usize>) -> Tensor {
    let strides = contiguous_strides(x.shape());
    let at = |coordinate: &[usize]| from(coordinate).iter().zip(&strides).map(|(&i, &s)| i * s as usize).sum::<usize>();
    let lanes: Vec<Lane> = coordinates(shape).map(|c| lane(x, at(&c))).collect();
    collect(x.dtype(), shape, &lanes)
}

fn evaluate_map(map: &Map, inputs: &[&Tensor]) -> Option<Tensor> {
    let dtype = map.body.dtype();
    if numel(&map.dims)? > limit(dtype) {
        return None;
    }
    let lanes: Option<Vec<Lane>> = coordinates(&map.dims).map(|at| element(map, inputs, &at)).collect();
    Some(collect(dtype, &map.dims, &lanes?))
}

/// One output element.
fn element(map: &Map, inputs: &[&Tensor], at: &[usize]) -> Option<Lane> {
    let mut reads: Vec<Lane> = Vec::with_capacity(map.reads.len());
    for access in &map.reads {
        let tensor = *inputs.get(access.input)?;
        let strides = contiguous_strides(tensor.shape());
        let mut offset = Some(0);
        for (axis, index) in access.index.iter().enumerate() {
            let mut readable = true;
            let mut supply = |k: usize| match reads.get(k) {
                Some(&Lane::Int(i)) if i.unsigned_abs() < MAX_INDEX => i,
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
            (None, OutOfBounds::Fill(value)) => constant(value, tensor.dtype()),
            (None, OutOfBounds::InBounds) => return None,
        });
    }
    let mut values: Vec<Lane> = Vec::with_capacity(map.body.nodes().len());
    for &(node, dtype) in map.body.nodes() {
        let of = |id: ExprId| values[id.0 as usize];
        let value = match node {
            Node::Read(k) => *reads.get(k as usize)?,
            Node::Coordinate(k) => Lane::Int(*at.get(k as usize)? as i64),
            Node::Constant(Constant::Float(bits)) => Lane::Float(f64::from_bits(bits)),
            Node::Constant(Constant::Int(value)) => Lane::Int(value),
            Node::Constant(Constant::Bool(value)) => Lane::Bool(value),
            Node::Unary(op, a) => unary(op, of(a))?,
            Node::Binary(op, a, b) => binary(op, of(a), of(b))?,
            Node::Compare(op, a, b) => Lane::Bool(compare(op, of(a), of(b))?),
            Node::Select(c, a, b) => {
                if of(c) == Lane::Bool(true) {
                    of(a)
                } else {
                    of(b)
                }
            }
            Node::Cast(a) => cast(of(a), dtype)?,
        };
        values.push(round(value, dtype)?);
    }
    values.last().copied()
}

fn unary(op: Unary, a: Lane) -> Option<Lane> {
    Some(match (op, a) {
        (Unary::Neg, Lane::Int(a)) => Lane::Int(a.checked_neg()?),
        (Unary::Neg, Lane::Float(a)) => Lane::Float(-a),
        (Unary::Abs, Lane::Int(a)) => Lane::Int(a.checked_abs()?),
        (Unary::Abs, Lane::Float(a)) => Lane::Float(a.abs()),
        (Unary::Sqrt, Lane::Float(a)) => Lane::Float(a.sqrt()),
        (Unary::Floor, Lane::Float(a)) => Lane::Float(a.floor()),
        (Unary::Ceil, Lane::Float(a)) => Lane::Float(a.ceil()),
        (Unary::RoundEven, Lane::Float(a)) => Lane::Float(a.round_ties_even()),
        (Unary::Not, Lane::Bool(a)) => Lane::Bool(!a),
        _ => return None,
    })
}

fn binary(op: Binary, a: Lane, b: Lane) -> Option<Lane> {
    Some(match (a, b) {
        (Lane::Int(a), Lane::Int(b)) => Lane::Int(match op {
            Binary::Add => a.checked_add(b)?,
            Binary::Sub => a.checked_sub(b)?,
            Binary::Mul => a.checked_mul(b)?,
            Binary::DivTrunc => a.checked_div(b)?,
            Binary::DivFloor => a.checked_div(b)? - i64::from(a.checked_rem(b)? != 0 && (a < 0) != (b < 0)),
            Binary::MinNan | Binary::MinNum => a.min(b),
            Binary::MaxNan | Binary::MaxNum => a.max(b),
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::Div | Binary::Pow => return None,
        }),
        (Lane::Float(a), Lane::Float(b)) => Lane::Float(match op {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::MinNan => {
                if a.is_nan() || b.is_nan() {
                    f64::NAN
                } else {
                    a.min(b)
                }
            }
            Binary::MaxNan => {
                if a.is_nan() || b.is_nan() {
                    f64::NAN
                } else {
                    a.max(b)
                }
            }
            Binary::MinNum => a.min(b),
            Binary::MaxNum => a.max(b),
            Binary::DivTrunc | Binary::DivFloor | Binary::Pow | Binary::And | Binary::Or | Binary::Xor => return None,
        }),
        (Lane::Bool(a), Lane::Bool(b)) => Lane::Bool(match op {
            Binary::And => a && b,
            Binary::Or => a || b,
            Binary::Xor => a != b,
            _ => return None,
        }),
        _ => return None,
    })
}

fn compare(op: Compare, a: Lane, b: Lane) -> Option<bool> {
    let ordering = match (a, b) {
        (Lane::Int(a), Lane::Int(b)) => Some(a.cmp(&b)),
        (Lane::Float(a), Lane::Float(b)) => a.partial_cmp(&b),
        (Lane::Bool(a), Lane::Bool(b)) => Some(a.cmp(&b)),
        _ => return None,
    };
    Some(match op {
        Compare::Eq => ordering.is_some_and(|o| o.is_eq()),
        Compare::Ne => ordering.is_none_or(|o| o.is_ne()),
        Compare::Lt => ordering.is_some_and(|o| o.is_lt()),
        Compare::Le => ordering.is_some_and(|o| o.is_le()),
        Compare::Gt => ordering.is_some_and(|o| o.is_gt()),
        Compare::Ge => ordering.is_some_and(|o| o.is_ge()),
    })
}

fn cast(a: Lane, dtype: DType) -> Option<Lane> {
    Some(match (a, dtype.carrier()) {
        (Lane::Int(a), Carrier::I64) => Lane::Int(a),
        (Lane::Bool(a), Carrier::I64) => Lane::Int(i64::from(a)),
        // Casts of NaN and of numbers beyond i64 differ between runtimes.
        (Lane::Float(a), Carrier::I64) => Lane::Int((a.abs() < 9e18).then_some(a as i64)?),
        (Lane::Int(a), Carrier::F64 | Carrier::F32) => Lane::Float(a as f64),
        (Lane::Bool(a), Carrier::F64 | Carrier::F32) => Lane::Float(f64::from(u8::from(a))),
        (Lane::Float(a), Carrier::F64 | Carrier::F32) => Lane::Float(a),
        (Lane::Bool(a), Carrier::Bool) => Lane::Bool(a),
        (Lane::Int(_) | Lane::Float(_), Carrier::Bool) => return None,
    })
}

/// Rounds a float to its dtype (from f64 this is the correctly rounded result of one operation on
/// narrower operands); refuses an integer that its dtype does not hold.
fn round(value: Lane, dtype: DType) -> Option<Lane> {
    Some(match (value, dtype) {
        (Lane::Float(v), DType::F64) => Lane::Float(v),
        (Lane::Float(v), DType::F32) => Lane::Float(f64::from(v as f32)),
        (Lane::Float(v), DType::F16) => Lane::Float(half::f16::from_f64(v).to_f64()),
        (Lane::Float(v), DType::BF16) => Lane::Float(half::bf16::from_f64(v).to_f64()),
        (Lane::Int(v), _) if dtype.is_integer() => {
            let bits = 8 * dtype.size() as u32;
            let (low, high) = match dtype.is_unsigned() {
                true => (0, if bits == 64 { i64::MAX } else { (1 << bits) - 1 }),
                false => (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
            };
            Lane::Int((low..=high).contains(&v).then_some(v)?)
        }
        (Lane::Bool(v), DType::Bool) => Lane::Bool(v),
        _ => return None,
    })
}

fn lane(x: &Tensor, offset: usize) -> Lane {
    match x.storage() {
        Storage::F64(v) => Lane::Float(v[offset]),
        Storage::F32(v) => Lane::Float(f64::from(v[offset])),
        Storage::I64(v) => Lane::Int(v[offset]),
        Storage::Bool(v) => Lane::Bool(v[offset] != 0),
    }
}

fn constant(value: f64, dtype: DType) -> Lane {
    match dtype.carrier() {
        Carrier::F64 | Carrier::F32 => Lane::Float(value),
        Carrier::I64 => Lane::Int(value as i64),
        Carrier::Bool => Lane::Bool(value != 0.0),
    }
}

fn collect(dtype: DType, shape: &[usize], lanes: &[Lane]) -> Tensor {
    let mut storage = Storage::zeros(dtype.carrier(), lanes.len());
    for (i, &lane) in lanes.iter().enumerate() {
        match (&mut storage, lane) {
            (Storage::F64(v), Lane::Float(x)) => v[i] = x,
            (Storage::F32(v), Lane::Float(x)) => v[i] = x as f32,
            (Storage::I64(v), Lane::Int(x)) => v[i] = x,
            (Storage::Bool(v), Lane::Bool(x)) => v[i] = u8::from(x),
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
