//! Arithmetic with broadcasting: Add, Sub, Mul, Div, Pow, Mod; Sum, Mean, Max, Min of any number.
//!
//! <https://onnx.ai/onnx/operators/onnx__Add.html> and its siblings. Opset 7: multidirectional
//! broadcast (Sum, Mean, Max, Min: 8); 13, 14: more types. Operands have one numeric type; Pow's
//! exponent may have another from opset 12 on. Integer Div truncates (the specification), integer Mod
//! takes the divisor's sign unless `fmod` is set. Max and Min keep NaN.

use crate::expr::{Binary, ExprBuilder, ExprId};
use crate::graph::Role;
use crate::import::onnx::node::{Context, Failure, Operand};
use crate::import::onnx::ops::pointwise::{map, number, uniform};

pub fn add(cx: &mut Context) -> Result<(), Failure> {
    binary(cx, "add", Role::Bias, |b, l, r| b.binary(Binary::Add, l, r))
}

pub fn sub(cx: &mut Context) -> Result<(), Failure> {
    binary(cx, "sub", Role::Bias, |b, l, r| b.binary(Binary::Sub, l, r))
}

pub fn mul(cx: &mut Context) -> Result<(), Failure> {
    binary(cx, "mul", Role::Scale, |b, l, r| b.binary(Binary::Mul, l, r))
}

pub fn div(cx: &mut Context) -> Result<(), Failure> {
    let operands = [cx.input(0, "A")?, cx.input(1, "B")?];
    if cx.common_dtype(&operands)?.is_integer() {
        return integer_division(cx, "div", operands, |b, l, r| b.binary(Binary::DivTrunc, l, r));
    }
    // A learned divisor has the law of a variance: it stays away from 0.
    binary(cx, "div", Role::Variance, |b, l, r| b.binary(Binary::Div, l, r))
}

pub fn pow(cx: &mut Context) -> Result<(), Failure> {
    let operands = [cx.input(0, "X")?, cx.input(1, "Y")?];
    let (base, exponent) = (cx.ty(&operands[0]).dtype, cx.ty(&operands[1]).dtype);
    if base.is_integer() && exponent.is_float() {
        return Err(Failure::unsupported(format!("{base} raised to {exponent}")));
    }
    let square = matches!(&operands[1], Operand::Known(k) if k.tensor.len() == 1 && k.tensor.storage().get_f64(0) == 2.0);
    map(cx, "pow", &operands, |b, args| {
        if square {
            return b.binary(Binary::Mul, args[0], args[0]);
        }
        let exponent = b.cast(args[1], base);
        b.binary(Binary::Pow, args[0], exponent)
    })
}

/// a − b·trunc(a / b) with `fmod`, a − b·floor(a / b) without.
pub fn modulo(cx: &mut Context) -> Result<(), Failure> {
    let fmod = cx.attributes.flag("fmod")?;
    let operands = [cx.input(0, "A")?, cx.input(1, "B")?];
    if cx.common_dtype(&operands)?.is_float() {
        return Err(Failure::unsupported("the remainder of floats"));
    }
    integer_division(cx, "mod", operands, |b, l, r| {
        let quotient = b.binary(if fmod { Binary::DivTrunc } else { Binary::DivFloor }, l, r);
        let product = b.binary(Binary::Mul, quotient, r);
        b.binary(Binary::Sub, l, product)
    })
}

/// Two integers, of which the second must not be 0: a constant is checked, any other is given the
/// role that keeps generated ones away from 0.
fn integer_division(
    cx: &mut Context,
    label: &str,
    [dividend, divisor]: [Operand; 2],
    build: impl FnOnce(&mut ExprBuilder, ExprId, ExprId) -> ExprId,
) -> Result<(), Failure> {
    let divisor = match &divisor {
        Operand::Known(known) if known.tensor.as_i64().is_some_and(|lanes| lanes.contains(&0)) => {
            return Err(Failure::invalid("division by zero: the divisor (B) is known and contains 0"));
        }
        Operand::Known(_) => divisor,
        Operand::Graph(_) => cx.set_entering_role(&divisor, Role::Divisor),
    };
    labelled(cx, label, [dividend, divisor], build)
}

pub fn sum(cx: &mut Context) -> Result<(), Failure> {
    let label = if cx.node.input.len() == 2 { "add" } else { "sum" };
    variadic(cx, label, |b, l, r| b.binary(Binary::Add, l, r), |_, total, _| total)
}

pub fn mean(cx: &mut Context) -> Result<(), Failure> {
    let divide = |b: &mut ExprBuilder, total, count: usize| {
        let count = number(b, count as f64, total);
        b.binary(Binary::Div, total, count)
    };
    variadic(cx, "mean", |b, l, r| b.binary(Binary::Add, l, r), divide)
}

pub fn max(cx: &mut Context) -> Result<(), Failure> {
    variadic(cx, "max", |b, l, r| b.binary(Binary::MaxNan, l, r), |_, m, _| m)
}

pub fn min(cx: &mut Context) -> Result<(), Failure> {
    variadic(cx, "min", |b, l, r| b.binary(Binary::MinNan, l, r), |_, m, _| m)
}

/// Two operands, each with `role` where it is learned.
fn binary(
    cx: &mut Context,
    label: &str,
    role: Role,
    build: impl FnOnce(&mut ExprBuilder, ExprId, ExprId) -> ExprId,
) -> Result<(), Failure> {
    let operands = [cx.input(0, "A")?, cx.input(1, "B")?].map(|operand| cx.with_role(operand, role));
    labelled(cx, label, operands, build)
}

/// Two operands of one type.
fn labelled(
    cx: &mut Context,
    label: &str,
    operands: [Operand; 2],
    build: impl FnOnce(&mut ExprBuilder, ExprId, ExprId) -> ExprId,
) -> Result<(), Failure> {
    cx.common_dtype(&operands)?;
    let result = cx.binary(label, &operands, build)?;
    cx.bind(0, result)
}

/// Any number of operands, from left to right. One operand passes through.
fn variadic(
    cx: &mut Context,
    label: &str,
    join: impl Fn(&mut ExprBuilder, ExprId, ExprId) -> ExprId,
    finish: impl FnOnce(&mut ExprBuilder, ExprId, usize) -> ExprId,
) -> Result<(), Failure> {
    let operands = cx.inputs()?;
    match operands.as_slice() {
        [] => Err(Failure::invalid("it has no operand")),
        [only] => cx.pass(only.clone()),
        several => uniform(cx, label, several, |b, args| {
            let first = args[0];
            let total = args[1..].iter().fold(first, |total, &arg| join(b, total, arg));
            finish(b, total, args.len())
        }),
    }
}
