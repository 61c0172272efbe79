//! Softmax: e^(x − max) / Σ e^(x − max) along an axis; LogSoftmax: x − max − ln Σ e^(x − max).
//!
//! <https://onnx.ai/onnx/operators/onnx__Softmax.html>, LogSoftmax. Opset 1, 11: X is taken as a matrix, the axes
//! before `axis` (default 1) against those from it on, and each row is normalised; 13: along `axis`
//! (default −1) alone. X is a float.

use crate::graph::op::{Op, View};
use crate::import::onnx::node::{Context, Failure};

pub fn softmax(cx: &mut Context) -> Result<(), Failure> {
    lower(cx, false)
}

pub fn log_softmax(cx: &mut Context) -> Result<(), Failure> {
    lower(cx, true)
}

fn lower(cx: &mut Context, log: bool) -> Result<(), Failure> {
    let x = cx.input(0, "input")?;
    let shape = cx.shape(&x);
    let along_rows = cx.opset() < 13;
    let axis = cx.axis(cx.attributes.int("axis")?.unwrap_or(if along_rows { 1 } else { -1 }), shape.len(), along_rows)?;
    // One axis of the flattened ones does all the work when the others have size 1.
    let rest = axis.min(shape.len().saturating_sub(1));
    if !along_rows || (axis < shape.len() && shape[rest + 1..].iter().all(|&size| size == 1)) {
        return cx.finish(Op::Softmax { axis, log }, &[x]);
    }
    let matrix = [cx.product(&shape[..axis])?, cx.product(&shape[axis..])?];
    let rows = cx.reshape(x, &matrix)?;
    let normalised = cx.emit(Op::Softmax { axis: 1, log }, &[rows])?;
    cx.finish(Op::View(View::Reshape(shape)), &[normalised])
}
