//! Expand: broadcasts to a shape, in both directions (the operand may be larger than it).
//!
//! <https://onnx.ai/onnx/operators/onnx__Expand.html>. Opset 8. The shape must be known while importing.

use crate::graph::op::{Op, View};
use crate::import::onnx::node::{Context, Failure};
use crate::shape::{self, Shape, display};

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "input")?;
    let target = cx.ints(1, "shape")?.ok_or_else(|| Failure::invalid("input 1 (shape) is missing"))?;
    let sizes: Option<Shape> = target.iter().map(|&size| usize::try_from(size).ok()).collect();
    let sizes = sizes.ok_or_else(|| Failure::shapes(format!("shape {target:?} has a negative size")))?;
    let from = cx.shape(&x);
    let grown = shape::broadcast(&from, &sizes);
    let grown = grown.ok_or_else(|| Failure::shapes(format!("{} does not broadcast to {}", display(&from), display(&sizes))))?;
    if grown == from {
        return cx.pass(x);
    }
    cx.finish(Op::View(View::Broadcast(grown)), &[x])
}
