//! Scaled dot-product attention: softmax(Q·Kᵀ·scale + mask) · V, as torch's `math` kernel computes it.
//!
//! A row whose scores are all −∞ gives zeros where the mask is one of bools. Dropout inside is refused.

use crate::dtype::DType;
use crate::expr::{Binary, Compare, Constant, Node};
use crate::graph::Op;
use crate::graph::op::{Reduce, ReduceKind};
use crate::import::build::activation::scaled;
use crate::import::build::pointwise::number;
use crate::import::build::{Failure, Operand};
use crate::import::torch_export::call::{Call, Outs};
use crate::import::torch_export::ops::joining::interleaved;
use crate::import::torch_export::ops::linear::multiplied;
use crate::shape::display;

pub fn scaled_dot_product(call: &mut Call) -> Result<Outs, Failure> {
    let (q, mut k, mut v) = (call.tensor("query")?, call.tensor("key")?, call.tensor("value")?);
    if call.number("dropout_p")? > 0.0 {
        return Err(Failure::unsupported("dropout in attention, whose result is random"));
    }
    let (q_shape, k_shape) = (call.shape(&q), call.shape(&k));
    let (&[.., rows, width], &[.., columns, _]) = (q_shape.as_slice(), k_shape.as_slice()) else {
        return Err(Failure::shapes(format!("query is {}, key {}", display(&q_shape), display(&k_shape))));
    };
    if call.flag("enable_gqa")? && q_shape.len() > 2 {
        let axis = q_shape.len() - 3;
        let times = q_shape[axis] / k_shape[axis].max(1);
        if times > 1 {
            k = interleaved(call, k, axis, times)?;
            v = interleaved(call, v, axis, times)?;
        }
    }
    let scale = call.optional_number("scale").unwrap_or_else(|| (width as f64).sqrt().recip());
    let mut order: Vec<usize> = (0..k_shape.len()).collect();
    let last = order.len() - 1;
    order.swap(last - 1, last);
    let k = call.permute(k, &order)?;
    let scores = multiplied(call, q, k)?;
    let mut scores = call.unary("mul_scalar", &scores, |b, x| scaled(b, x, scale))?;
    let mut guarded = false;
    if call.flag("is_causal")? {
        scores = causal(call, scores, rows, columns)?;
    }
    if let Some(mask) = call.optional("attn_mask") {
        guarded = call.ty(&mask).dtype == DType::Bool;
        scores = call.map("attention_mask", &[scores, mask], |b, args| match b.dtype(args[1]) {
            DType::Bool => {
                let hidden = number(b, f64::NEG_INFINITY, args[0]);
                b.select(args[1], args[0], hidden)
            }
            _ => b.binary(Binary::Add, args[0], args[1]),
        })?;
    }
    let axis = call.shape(&scores).len() - 1;
    let mut weights = call.emit(Op::Softmax { axis, log: false }, &[scores.clone()])?;
    if guarded {
        weights = without_empty_rows(call, &scores, weights, axis)?;
    }
    Ok(multiplied(call, weights, v)?.into())
}

/// −∞ above the diagonal.
fn causal(call: &mut Call, scores: Operand, rows: usize, columns: usize) -> Result<Operand, Failure> {
    if rows == 1 && columns == 1 {
        return Ok(scores);
    }
    let rank = call.shape(&scores).len() as u32;
    call.unary("causal_mask", &scores, |b, x| {
        let (row, column) = (b.node(Node::Coordinate(rank - 2), DType::I64), b.node(Node::Coordinate(rank - 1), DType::I64));
        let offset = b.binary(Binary::Sub, column, row);
        let zero = b.node(Node::Constant(Constant::Int(0)), DType::I64);
        let seen = b.compare(Compare::Le, offset, zero);
        let hidden = number(b, f64::NEG_INFINITY, x);
        b.select(seen, x, hidden)
    })
}

/// Zeros in the rows whose scores are all −∞.
fn without_empty_rows(call: &mut Call, scores: &Operand, weights: Operand, axis: usize) -> Result<Operand, Failure> {
    let largest = Op::Reduce(Reduce { kind: ReduceKind::Max, axes: [axis].into_iter().collect(), keep: true });
    let largest = call.emit(largest, std::slice::from_ref(scores))?;
    call.map("empty_rows", &[weights, largest], |b, args| {
        let (zero, hidden) = (number(b, 0.0, args[0]), number(b, f64::NEG_INFINITY, args[1]));
        let empty = b.compare(Compare::Eq, args[1], hidden);
        b.select(empty, zero, args[0])
    })
}
