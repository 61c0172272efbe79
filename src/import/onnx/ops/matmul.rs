//! MatMul: numpy's product. A vector operand is a row (left) or a column (right) whose axis goes
//! again in the result; batch axes broadcast.
//!
//! <https://onnx.ai/onnx/operators/onnx__MatMul.html>. Opset 1; 9: integers; 13: bfloat16.

use crate::graph::Role;
use crate::graph::op::{Op, View};
use crate::import::onnx::node::{Context, Failure};
use crate::shape::Shape;

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let (mut a, mut b) = (cx.input(0, "A")?, cx.input(1, "B")?);
    let (a_shape, b_shape) = (cx.shape(&a), cx.shape(&b));
    let (Some(&inner), false) = (a_shape.last(), b_shape.is_empty()) else {
        return Err(Failure::shapes("a scalar is no matrix"));
    };
    for operand in [&mut a, &mut b] {
        *operand = cx.set_role(operand, Role::Weight { fan_in: inner });
    }
    let (row, column) = (a_shape.len() == 1, b_shape.len() == 1);
    if row {
        a = cx.reshape(a, &[1, inner])?;
    }
    if column {
        b = cx.reshape(b, &[b_shape[0], 1])?;
    }
    if !row && !column {
        return cx.finish(Op::MatMul, &[a, b]);
    }
    let product = cx.emit(Op::MatMul, &[a, b])?;
    let mut shape: Shape = cx.shape(&product);
    if column {
        shape.pop();
    }
    if row {
        let axis = shape.len() - if column { 1 } else { 2 };
        shape.remove(axis);
    }
    cx.finish(Op::View(View::Reshape(shape)), &[product])
}
