//! Comparisons, logic and Where, with broadcasting.
//!
//! <https://onnx.ai/onnx/operators/onnx__Equal.html> and its siblings. Equal, Less, Greater, And, Or,
//! Xor: opset 7; LessOrEqual, GreaterOrEqual: 12; Where: 9. The compared operands have one type, the
//! result is bool; And, Or, Xor take bools.

use crate::dtype::DType;
use crate::expr::{Binary, Compare};
use crate::import::onnx::node::{Context, Failure};
use crate::import::onnx::ops::pointwise::{map, uniform};

macro_rules! comparisons {
    ($($name:ident = $op:ident),* $(,)?) => {
        $(pub fn $name(cx: &mut Context) -> Result<(), Failure> {
            let operands = [cx.input(0, "A")?, cx.input(1, "B")?];
            uniform(cx, Compare::$op.name(), &operands, |b, args| b.compare(Compare::$op, args[0], args[1]))
        })*
    };
}

macro_rules! connectives {
    ($($name:ident = $op:ident),* $(,)?) => {
        $(pub fn $name(cx: &mut Context) -> Result<(), Failure> {
            let operands = [cx.input(0, "A")?, cx.input(1, "B")?];
            uniform(cx, Binary::$op.name(), &operands, |b, args| b.binary(Binary::$op, args[0], args[1]))
        })*
    };
}

comparisons! { equal = Eq, less = Lt, less_or_equal = Le, greater = Gt, greater_or_equal = Ge }
connectives! { and = And, or = Or, xor = Xor }

/// condition ? x : y.
pub fn select(cx: &mut Context) -> Result<(), Failure> {
    let (condition, x, y) = (cx.input(0, "condition")?, cx.input(1, "X")?, cx.input(2, "Y")?);
    if cx.ty(&condition).dtype != DType::Bool {
        return Err(Failure::invalid(format!("the condition has element type {}, bool is expected", cx.ty(&condition).dtype)));
    }
    cx.common_dtype(&[x.clone(), y.clone()])?;
    map(cx, "where", &[condition, x, y], |b, args| b.select(args[0], args[1], args[2]))
}
