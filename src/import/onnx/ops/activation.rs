//! Relu: `v < 0 ? 0 : v`, which keeps NaN (max(v, 0) may drop it).
//!
//! <https://onnx.ai/onnx/operators/onnx__Relu.html>. Opset 6; 13: bfloat16; 14: signed integers.

use crate::expr::{Compare, ExprBuilder};
use crate::graph::op::{Map, Op};
use crate::import::onnx::node::{Context, Failure};

pub(in crate::import::onnx) fn relu(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    let ty = cx.ty(&x);
    let mut b = ExprBuilder::new();
    let v = b.read(0, ty.dtype);
    let zero = b.number(0.0, ty.dtype);
    let negative = b.compare(Compare::Lt, v, zero);
    let root = b.select(negative, zero, v);
    cx.finish(Op::Map(Map::pointwise("relu", &ty.shape, &[&ty.shape], b.finish(root))), &[x])
}
