//! Activation functions of one element x as expressions. Constants are the caller's: formats differ in them.
//!
//! | function | formula |
//! | --- | --- |
//! | rectified | x < 0 ? negative : x (keeps NaN, which max(x, 0) may drop) |
//! | elu | x < 0 ? α·(eˣ − 1) : x |
//! | selu | x > 0 ? γ·x : γ·(α·eˣ − α) |
//! | celu | max(0, x) + min(0, α·(e^(x/α) − 1)) |
//! | hard | max(0, min(1, α·x + β)) |
//! | softplus | ln(1 + eˣ), computed as max(x, 0) + ln(1 + e^−abs(x)), which does not overflow |
//! | softsign | x / (1 + abs(x)) |
//! | mish | x · tanh(softplus(x)) |
//! | gelu | x/2 · (1 + erf(x/√2)); by tanh: x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))) |
//! | swish | x · sigmoid(α·x) |

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

use super::pointwise::number;
use crate::dtype::DType;
use crate::expr::{Binary, Compare, ExprBuilder, ExprId, Unary};

pub fn scaled(b: &mut ExprBuilder, x: ExprId, factor: f64) -> ExprId {
    let factor = number(b, factor, x);
    b.binary(Binary::Mul, x, factor)
}

pub fn shifted(b: &mut ExprBuilder, x: ExprId, addend: f64) -> ExprId {
    let addend = number(b, addend, x);
    b.binary(Binary::Add, x, addend)
}

pub fn rectified(b: &mut ExprBuilder, x: ExprId, negative: ExprId) -> ExprId {
    let zero = number(b, 0.0, x);
    let below = b.compare(Compare::Lt, x, zero);
    b.select(below, negative, x)
}

pub fn relu(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    let zero = number(b, 0.0, x);
    rectified(b, x, zero)
}

pub fn leaky_relu(b: &mut ExprBuilder, x: ExprId, alpha: f64) -> ExprId {
    let negative = scaled(b, x, alpha);
    rectified(b, x, negative)
}

pub fn thresholded(b: &mut ExprBuilder, x: ExprId, threshold: f64, value: f64) -> ExprId {
    let (value, threshold) = (number(b, value, x), number(b, threshold, x));
    let above = b.compare(Compare::Gt, x, threshold);
    b.select(above, x, value)
}

pub fn elu(b: &mut ExprBuilder, x: ExprId, alpha: f64) -> ExprId {
    let power = b.unary(Unary::Exp, x);
    let negative = shifted(b, power, -1.0);
    let negative = scaled(b, negative, alpha);
    rectified(b, x, negative)
}

pub fn selu(b: &mut ExprBuilder, x: ExprId, alpha: f64, gamma: f64) -> ExprId {
    let power = b.unary(Unary::Exp, x);
    let negative = scaled(b, power, alpha);
    let negative = shifted(b, negative, -alpha);
    let zero = number(b, 0.0, x);
    let above = b.compare(Compare::Gt, x, zero);
    let either = b.select(above, x, negative);
    scaled(b, either, gamma)
}

pub fn celu(b: &mut ExprBuilder, x: ExprId, alpha: f64) -> ExprId {
    let (zero, divisor) = (number(b, 0.0, x), number(b, alpha, x));
    let ratio = b.binary(Binary::Div, x, divisor);
    let power = b.unary(Unary::Exp, ratio);
    let curve = shifted(b, power, -1.0);
    let curve = scaled(b, curve, alpha);
    let (positive, negative) = (b.binary(Binary::MaxNan, x, zero), b.binary(Binary::MinNan, curve, zero));
    b.binary(Binary::Add, positive, negative)
}

pub fn hard(b: &mut ExprBuilder, x: ExprId, alpha: f64, beta: f64) -> ExprId {
    let line = scaled(b, x, alpha);
    let line = shifted(b, line, beta);
    let (zero, one) = (number(b, 0.0, x), number(b, 1.0, x));
    let capped = b.binary(Binary::MinNan, line, one);
    b.binary(Binary::MaxNan, capped, zero)
}

pub fn hard_swish(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    let gate = hard(b, x, 1.0 / 6.0, 0.5);
    b.binary(Binary::Mul, x, gate)
}

pub fn softplus(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    let zero = number(b, 0.0, x);
    let positive = b.binary(Binary::MaxNan, x, zero);
    let size = b.unary(Unary::Abs, x);
    let negated = b.unary(Unary::Neg, size);
    let power = b.unary(Unary::Exp, negated);
    let sum = shifted(b, power, 1.0);
    let log = b.unary(Unary::Log, sum);
    b.binary(Binary::Add, positive, log)
}

pub fn softsign(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    let size = b.unary(Unary::Abs, x);
    let divisor = shifted(b, size, 1.0);
    b.binary(Binary::Div, x, divisor)
}

pub fn mish(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    let soft = softplus(b, x);
    let gate = b.unary(Unary::Tanh, soft);
    b.binary(Binary::Mul, x, gate)
}

pub fn gelu(b: &mut ExprBuilder, x: ExprId, by_tanh: bool) -> ExprId {
    let inner = if by_tanh {
        let square = b.binary(Binary::Mul, x, x);
        let cube = b.binary(Binary::Mul, square, x);
        let cube = scaled(b, cube, 0.044715);
        let sum = b.binary(Binary::Add, x, cube);
        let argument = scaled(b, sum, FRAC_2_PI.sqrt());
        b.unary(Unary::Tanh, argument)
    } else {
        let argument = scaled(b, x, FRAC_1_SQRT_2);
        b.unary(Unary::Erf, argument)
    };
    let gate = shifted(b, inner, 1.0);
    let half = scaled(b, x, 0.5);
    b.binary(Binary::Mul, half, gate)
}

pub fn swish(b: &mut ExprBuilder, x: ExprId, alpha: f64) -> ExprId {
    let argument = if alpha == 1.0 { x } else { scaled(b, x, alpha) };
    let gate = b.unary(Unary::Sigmoid, argument);
    b.binary(Binary::Mul, x, gate)
}

pub fn reciprocal(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    let one = number(b, 1.0, x);
    b.binary(Binary::Div, one, x)
}

/// x < 0 ? −1 : (x > 0 ? 1 : x), so that ±0 and NaN stay.
pub fn sign(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    let zero = number(b, 0.0, x);
    let side = |b: &mut ExprBuilder, op, value, other: ExprId| {
        let value = number(b, value, x);
        let beyond = b.compare(op, x, zero);
        b.select(beyond, value, other)
    };
    let upper = side(b, Compare::Gt, 1.0, x);
    side(b, Compare::Lt, -1.0, upper)
}

/// In another element type. Floats round to nearest even, float to integer truncates, to bool is "not equal to 0".
pub fn converted(b: &mut ExprBuilder, x: ExprId, to: DType) -> ExprId {
    if b.dtype(x) == to {
        return x;
    }
    if to == DType::Bool {
        let zero = number(b, 0.0, x);
        return b.compare(Compare::Ne, x, zero);
    }
    b.cast(x, to)
}
