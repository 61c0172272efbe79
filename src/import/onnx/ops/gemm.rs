//! Gemm: Y = α · A′ · B′ + β · C, where ′ transposes as asked: views, a MatMul, then Maps.
//!
//! <https://onnx.ai/onnx/operators/onnx__Gemm.html>. Opset 7: C broadcasts to [M, N]; 9: integers;
//! 11: C optional; 13: bfloat16. A T [M, K], B T [K, N] after transposition. α = 1 and β = 1 add
//! nothing.

use smallvec::smallvec;

use crate::expr::{Binary, ExprBuilder};
use crate::graph::Role;
use crate::graph::op::{Map, Op, View};
use crate::import::onnx::node::{Context, Failure, Operand};
use crate::shape::display;

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let (a, b) = (cx.input(0, "A")?, cx.input(1, "B")?);
    for (name, operand) in [("A", &a), ("B", &b)] {
        let shape = cx.shape(operand);
        if shape.len() != 2 {
            return Err(Failure::shapes(format!("{name} is {}, a matrix is expected", display(&shape))));
        }
    }
    let (trans_a, trans_b) = (cx.attributes.flag("transA")?, cx.attributes.flag("transB")?);
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    let beta = cx.attributes.float("beta")?.unwrap_or(1.0);
    let c = cx.optional(2).filter(|_| beta != 0.0);
    let a = transposed(cx, a, trans_a)?;
    let b = transposed(cx, b, trans_b)?;
    let fan_in = cx.shape(&b)[0];
    let b = cx.set_role(&b, Role::Weight { fan_in });
    let operands = [a, b];
    let steps = usize::from(alpha != 1.0) + usize::from(c.is_some());
    if steps == 0 {
        return cx.finish(Op::MatMul, &operands);
    }
    let mut y = cx.emit(Op::MatMul, &operands)?;
    if alpha != 1.0 {
        let scaled = scale(cx, &y, alpha);
        if c.is_none() {
            return cx.finish(scaled, &[y]);
        }
        y = cx.emit(scaled, &[y])?;
    }
    let Some(mut c) = c else { return cx.bind(0, y) };
    c = cx.set_role(&c, Role::Bias);
    if beta != 1.0 {
        let scaled = scale(cx, &c, beta);
        c = cx.emit(scaled, &[c])?;
    }
    let (ty, c_shape) = (cx.ty(&y), cx.shape(&c));
    if cx.broadcast(&[y.clone(), c.clone()])? != ty.shape {
        return Err(Failure::shapes(format!("C {} does not broadcast to {}", display(&c_shape), display(&ty.shape))));
    }
    cx.common_dtype(&[y.clone(), c.clone()])?;
    let mut e = ExprBuilder::new();
    let (product, addend) = (e.read(0, ty.dtype), e.read(1, ty.dtype));
    let root = e.binary(Binary::Add, product, addend);
    cx.finish(Op::Map(Map::pointwise("add", &ty.shape, &[&ty.shape, &c_shape], e.finish(root))), &[y, c])
}

fn transposed(cx: &mut Context, operand: Operand, transpose: bool) -> Result<Operand, Failure> {
    if transpose { cx.emit(Op::View(View::Transpose(smallvec![1, 0])), &[operand]) } else { Ok(operand) }
}

/// A Map that multiplies by a constant.
fn scale(cx: &Context, operand: &Operand, factor: f64) -> Op {
    let ty = cx.ty(operand);
    let mut e = ExprBuilder::new();
    let (value, factor) = (e.read(0, ty.dtype), e.number(factor, ty.dtype));
    let root = e.binary(Binary::Mul, value, factor);
    Op::Map(Map::pointwise("mul_scalar", &ty.shape, &[&ty.shape], e.finish(root)))
}
