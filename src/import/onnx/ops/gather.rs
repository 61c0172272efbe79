//! Gather: y[…, i…, …] = data[…, indices[i…], …] along an axis.
//!
//! <https://onnx.ai/onnx/operators/onnx__Gather.html>. Opset 1; 11: negative indices, which count from
//! the end. Indices are int32 or int64; an index outside the axis is an error of the model's user.

use crate::import::onnx::node::{Context, Failure};

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let (data, indices) = (cx.input(0, "data")?, cx.input(1, "indices")?);
    let rank = cx.shape(&data).len();
    let axis = cx.axis(cx.attributes.int("axis")?.unwrap_or(0), rank, false)?;
    let result = cx.gather(data, indices, axis)?;
    cx.bind(0, result)
}
