//! Q = √(A²·B²): what the products of one output element weigh, for the error bound of its sum.
//!
//! The operator is evaluated once more on squared operands, in f32: a bound does not need f64, and
//! the cost is below half of the reference's own. Operands are scaled to at most 1 first, so that no
//! square overflows; what underflows weighs nothing. Products of few rows are summed in f64 instead, without a copy.
//! Elements that are not finite count as zero.

use rayon::prelude::*;

use super::bridge::floats;
use super::{Math, apply, thin};
use crate::diag::Result;
use crate::dtype::DType;
use crate::graph::op::Op;
use crate::shape::Shape;
use crate::tensor::{Storage, Tensor};

/// Products summed into one output element of a contraction; `None` for other operators.
pub fn terms(op: &Op, operands: &[Option<&Tensor>]) -> Option<usize> {
    let shapes: Vec<Option<&[usize]>> = operands.iter().map(|operand| operand.map(Tensor::shape)).collect();
    terms_of(op, &shapes)
}

/// The same from the operands' shapes.
pub(super) fn terms_of(op: &Op, shapes: &[Option<&[usize]>]) -> Option<usize> {
    match op {
        Op::Conv(_) => shapes[1].map(|w| w[1..].iter().product()),
        // Of one group; a stride leaves fewer.
        Op::ConvTranspose(conv) => shapes[1].map(|w| w[0] / conv.groups * w[2..].iter().product::<usize>()),
        Op::MatMul => shapes[0].and_then(|a| a.last().copied()),
        Op::Map(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::Softmax { .. } | Op::Lrn(_) => None,
        Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) | Op::View(_) => None,
    }
}

/// Q of every output element of a contraction (Conv and ConvTranspose without their bias, MatMul).
pub fn magnitude(op: &Op, operands: &[Option<&Tensor>]) -> Result<Vec<f64>> {
    if let (Op::MatMul, &[Some(a), Some(b), ..]) = (op, operands)
        && let (Storage::F32(_), Storage::F32(_)) = (a.storage(), b.storage())
        && thin::fits(a, b)
    {
        // Squares of f32 neither overflow in f64 nor vanish.
        let sums = thin::product(a, b, |v| if v.is_finite() { v * v } else { 0.0 });
        return Ok(sums.into_iter().map(f64::sqrt).collect());
    }
    let mut scale = 1.0;
    let mut square = |operand: Option<&Tensor>| {
        operand.map(|tensor| {
            let (unit, squares) = match tensor.storage() {
                Storage::F32(lanes) => squared(lanes),
                Storage::F64(_) | Storage::I64(_) | Storage::Bool(_) => squared(&floats(tensor.storage())),
            };
            scale *= unit;
            Tensor::new(DType::F32, Shape::from_slice(tensor.shape()), Storage::F32(squares))
        })
    };
    let (a, b) = (square(operands[0]), square(operands[1]));
    let sums = apply(op, &[a.as_ref(), b.as_ref()], DType::F32, Math::F32)?;
    Ok(floats(sums.storage()).par_iter().map(|&v| v.max(0.0).sqrt() * scale).collect())
}

/// The largest finite |lane|, and every lane over it squared; 0 for lanes that are not finite.
fn squared<T: Copy + Into<f64> + Sync>(lanes: &[T]) -> (f64, Vec<f32>) {
    let finite = lanes.par_iter().map(|&v| -> f64 { v.into() }).filter(|v| v.is_finite());
    let maximum = finite.map(f64::abs).reduce(|| 0.0, f64::max);
    let unit = if maximum > 0.0 { maximum } else { 1.0 };
    let square = |&v: &T| {
        let v: f64 = v.into();
        if v.is_finite() { (v / unit).powi(2) as f32 } else { 0.0 }
    };
    (unit, lanes.par_iter().map(square).collect())
}
