//! Concat: operands one after the other along an axis.
//!
//! <https://onnx.ai/onnx/operators/onnx__Concat.html>. Opset 4; 11: negative axis. One type.

use crate::import::onnx::node::{Context, Failure};

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let operands = cx.inputs()?;
    let Some(first) = operands.first() else { return Err(Failure::invalid("it has no operand")) };
    let rank = cx.shape(first).len();
    let axis = cx.attributes.int("axis")?.ok_or_else(|| Failure::invalid("attribute `axis` is missing"))?;
    let axis = cx.axis(axis, rank, false)?;
    let result = cx.concat(operands, axis)?;
    cx.pass(result)
}
