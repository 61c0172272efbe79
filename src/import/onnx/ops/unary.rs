//! Functions of one element: Neg, Abs, Exp, Log, Sqrt, Reciprocal, Sin, Cos, Tanh, Erf, Sigmoid,
//! Floor, Ceil, Round (half to even), Sign, IsNaN, Not.
//!
//! <https://onnx.ai/onnx/operators/onnx__Exp.html> and its siblings. Opset 6 and 7 (Erf, Sign, IsNaN: 9;
//! Round: 11); 13: bfloat16. X is a float, for Neg, Abs and Sign any number, for Not a bool.

use crate::expr::{Compare, Unary};
use crate::import::build::activation;
use crate::import::onnx::node::{Context, Failure};
use crate::import::onnx::ops::pointwise::unary;

/// One function an operator that is one node of an expression.
macro_rules! functions {
    ($($name:ident = $op:ident),* $(,)?) => {
        $(pub fn $name(cx: &mut Context) -> Result<(), Failure> {
            unary(cx, Unary::$op.name(), |b, x| b.unary(Unary::$op, x))
        })*
    };
}

functions! {
    neg = Neg,
    abs = Abs,
    exp = Exp,
    log = Log,
    sqrt = Sqrt,
    sin = Sin,
    cos = Cos,
    tanh = Tanh,
    erf = Erf,
    sigmoid = Sigmoid,
    floor = Floor,
    ceil = Ceil,
    round = RoundEven,
    not = Not,
}

pub fn reciprocal(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "reciprocal", activation::reciprocal)
}

pub fn sign(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "sign", activation::sign)
}

pub fn is_nan(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "is_nan", |b, x| b.compare(Compare::Ne, x, x))
}
