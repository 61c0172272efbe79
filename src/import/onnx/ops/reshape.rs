//! Views of other shapes: Flatten.
//!
//! <https://onnx.ai/onnx/operators/onnx__Flatten.html>. Opset 1; 9: any type; 11: negative axis.

use smallvec::smallvec;

use crate::graph::op::{Op, View};
use crate::import::onnx::node::{Context, Failure};

pub(in crate::import::onnx) fn flatten(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "input")?;
    let shape = cx.shape(&x);
    let axis = cx.axis(cx.attributes.int("axis")?.unwrap_or(1), shape.len(), true)?;
    let (rows, columns) = (cx.product(&shape[..axis])?, cx.product(&shape[axis..])?);
    cx.finish(Op::View(View::Reshape(smallvec![rows, columns])), &[x])
}
