//! Activation functions of one element x, with the attributes' defaults.
//!
//! | operator | formula | opset |
//! | --- | --- | --- |
//! | Relu | x < 0 ? 0 : x (keeps NaN, which max(x, 0) may drop) | 6; 14: integers |
//! | LeakyRelu | x < 0 ? α·x : x; α = 0.01 | 6 |
//! | PRelu | x < 0 ? slope·x : x; the slope broadcasts to X | 7 |
//! | ThresholdedRelu | x > α ? x : 0; α = 1 | 10 |
//! | Elu | x < 0 ? α·(eˣ − 1) : x; α = 1 | 6 |
//! | Selu | x > 0 ? γ·x : γ·(α·eˣ − α); α = 1.67326…, γ = 1.0507… | 6 |
//! | Celu | max(0, x) + min(0, α·(e^(x/α) − 1)); α = 1 | 12 |
//! | HardSigmoid | max(0, min(1, α·x + β)); α = 0.2, β = 0.5 | 6 |
//! | HardSwish | x · max(0, min(1, x/6 + 0.5)) | 14 |
//! | Softplus | ln(1 + eˣ), computed as max(x, 0) + ln(1 + e^−abs(x)), which does not overflow | 1 |
//! | Softsign | x / (1 + abs(x)) | 1 |
//! | Mish | x · tanh(softplus(x)) | 18 |
//! | Gelu | x/2 · (1 + erf(x/√2)); `approximate`: x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))) | 20 |
//! | Swish | x · sigmoid(α·x); α = 1 | 24 |
//!
//! <https://onnx.ai/onnx/operators/onnx__Relu.html> and its siblings. X is a float.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

use crate::expr::{Binary, Compare, ExprBuilder, ExprId, Unary};
use crate::graph::Role;
use crate::import::onnx::node::{Context, Failure};
use crate::import::onnx::ops::pointwise::{number, unary, uniform, with_role};
use crate::shape::display;

/// x < 0 ? negative : x.
fn rectified(b: &mut ExprBuilder, x: ExprId, negative: ExprId) -> ExprId {
    let zero = number(b, 0.0, x);
    let below = b.compare(Compare::Lt, x, zero);
    b.select(below, negative, x)
}

fn scaled(b: &mut ExprBuilder, x: ExprId, factor: f64) -> ExprId {
    let factor = number(b, factor, x);
    b.binary(Binary::Mul, x, factor)
}

fn shifted(b: &mut ExprBuilder, x: ExprId, addend: f64) -> ExprId {
    let addend = number(b, addend, x);
    b.binary(Binary::Add, x, addend)
}

/// max(0, min(1, α·x + β)).
fn hard(b: &mut ExprBuilder, x: ExprId, alpha: f64, beta: f64) -> ExprId {
    let line = scaled(b, x, alpha);
    let line = shifted(b, line, beta);
    let (zero, one) = (number(b, 0.0, x), number(b, 1.0, x));
    let capped = b.binary(Binary::MinNan, line, one);
    b.binary(Binary::MaxNan, capped, zero)
}

fn softplus_of(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    let zero = number(b, 0.0, x);
    let positive = b.binary(Binary::MaxNan, x, zero);
    let size = b.unary(Unary::Abs, x);
    let negated = b.unary(Unary::Neg, size);
    let power = b.unary(Unary::Exp, negated);
    let sum = shifted(b, power, 1.0);
    let log = b.unary(Unary::Log, sum);
    b.binary(Binary::Add, positive, log)
}

pub fn relu(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "relu", |b, x| {
        let zero = number(b, 0.0, x);
        rectified(b, x, zero)
    })
}

pub fn leaky_relu(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(f64::from(0.01f32));
    unary(cx, "leaky_relu", |b, x| {
        let negative = scaled(b, x, alpha);
        rectified(b, x, negative)
    })
}

pub fn prelu(cx: &mut Context) -> Result<(), Failure> {
    let (x, slope) = (cx.input(0, "X")?, cx.input(1, "slope")?);
    let slope = with_role(cx, slope, Role::Scale);
    let (x_shape, slope_shape) = (cx.shape(&x), cx.shape(&slope));
    if cx.broadcast(&[x.clone(), slope.clone()])? != x_shape {
        return Err(Failure::shapes(format!("slope {} does not broadcast to X {}", display(&slope_shape), display(&x_shape))));
    }
    uniform(cx, "prelu", &[x, slope], |b, args| {
        let negative = b.binary(Binary::Mul, args[0], args[1]);
        rectified(b, args[0], negative)
    })
}

pub fn thresholded_relu(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    unary(cx, "thresholded_relu", |b, x| {
        let (zero, alpha) = (number(b, 0.0, x), number(b, alpha, x));
        let above = b.compare(Compare::Gt, x, alpha);
        b.select(above, x, zero)
    })
}

pub fn elu(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    unary(cx, "elu", |b, x| {
        let power = b.unary(Unary::Exp, x);
        let negative = shifted(b, power, -1.0);
        let negative = scaled(b, negative, alpha);
        rectified(b, x, negative)
    })
}

pub fn selu(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(f64::from(1.673_263_2_f32));
    let gamma = cx.attributes.float("gamma")?.unwrap_or(f64::from(1.050_701_f32));
    unary(cx, "selu", |b, x| {
        let power = b.unary(Unary::Exp, x);
        let negative = scaled(b, power, alpha);
        let negative = shifted(b, negative, -alpha);
        let zero = number(b, 0.0, x);
        let above = b.compare(Compare::Gt, x, zero);
        let either = b.select(above, x, negative);
        scaled(b, either, gamma)
    })
}

pub fn celu(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    unary(cx, "celu", |b, x| {
        let (zero, divisor) = (number(b, 0.0, x), number(b, alpha, x));
        let ratio = b.binary(Binary::Div, x, divisor);
        let power = b.unary(Unary::Exp, ratio);
        let curve = shifted(b, power, -1.0);
        let curve = scaled(b, curve, alpha);
        let (positive, negative) = (b.binary(Binary::MaxNan, x, zero), b.binary(Binary::MinNan, curve, zero));
        b.binary(Binary::Add, positive, negative)
    })
}

pub fn hard_sigmoid(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(f64::from(0.2f32));
    let beta = cx.attributes.float("beta")?.unwrap_or(0.5);
    unary(cx, "hard_sigmoid", |b, x| hard(b, x, alpha, beta))
}

pub fn hard_swish(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "hard_swish", |b, x| {
        let gate = hard(b, x, 1.0 / 6.0, 0.5);
        b.binary(Binary::Mul, x, gate)
    })
}

pub fn softplus(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "softplus", softplus_of)
}

pub fn softsign(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "softsign", |b, x| {
        let size = b.unary(Unary::Abs, x);
        let divisor = shifted(b, size, 1.0);
        b.binary(Binary::Div, x, divisor)
    })
}

pub fn mish(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "mish", |b, x| {
        let soft = softplus_of(b, x);
        let gate = b.unary(Unary::Tanh, soft);
        b.binary(Binary::Mul, x, gate)
    })
}

pub fn gelu(cx: &mut Context) -> Result<(), Failure> {
    let tanh = match cx.attributes.string("approximate")?.unwrap_or("none") {
        "none" => false,
        "tanh" => true,
        other => return Err(Failure::invalid(format!("attribute `approximate` is `{other}`"))),
    };
    unary(cx, "gelu", |b, x| {
        let inner = if tanh {
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
    })
}

pub fn swish(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    unary(cx, "swish", |b, x| {
        let argument = if alpha == 1.0 { x } else { scaled(b, x, alpha) };
        let gate = b.unary(Unary::Sigmoid, argument);
        b.binary(Binary::Mul, x, gate)
    })
}
