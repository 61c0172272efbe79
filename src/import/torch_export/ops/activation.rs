//! Activation functions, with torch's constants and in the steps of torch's own decompositions, so that a program gives
//! the same kernels before and after them.
//!
//! | operator | formula |
//! | --- | --- |
//! | relu | x < 0 ? 0 : x |
//! | leaky_relu, prelu | x < 0 ? slope·x : x |
//! | elu | x < 0 ? α·scale·(e^(input_scale·x) − 1) : scale·x |
//! | selu | elu with torch's α and scale |
//! | hardsigmoid | min(max(x + 3, 0), 6) / 6 |
//! | hardswish | x·min(max(x + 3, 0), 6) / 6 |
//! | softplus | β·x > threshold ? x : ln(1 + e^(β·x)) / β |
//! | mish | x · tanh(softplus(x)) |
//! | log_sigmoid | −softplus(−x) |
//! | threshold | x > threshold ? x : value; a NaN stays |

use crate::expr::{Binary, Compare, ExprBuilder, ExprId, Unary};
use crate::graph::Role;
use crate::import::build::Failure;
use crate::import::build::activation::{self, scaled};
use crate::import::build::pointwise::number;
use crate::import::torch_export::call::{Call, Outs};
use crate::import::torch_export::ops::unary::floating;

/// torch's α and scale of selu.
const SELU: (f64, f64) = (1.673_263_242_354_377_2, 1.050_700_987_355_480_5);

pub fn relu(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    Ok(call.unary("relu", &x, activation::relu)?.into())
}

pub fn leaky_relu(call: &mut Call) -> Result<Outs, Failure> {
    let slope = call.number("negative_slope")?;
    floating(call, "leaky_relu", |b, x| activation::leaky_relu(b, x, slope))
}

/// One slope a channel (axis 1), or one for all.
pub fn prelu(call: &mut Call) -> Result<Outs, Failure> {
    let (x, slope) = (call.tensor("self")?, call.tensor("weight")?);
    let slope = call.with_role(slope, Role::Scale);
    let rank = call.shape(&x).len();
    let count = call.shape(&slope).iter().product::<usize>();
    let shape: Vec<usize> = (0..rank).map(|axis| if axis == 1.min(rank - 1) { count } else { 1 }).collect();
    let slope = if rank == 0 { slope } else { call.reshape(slope, &shape)? };
    let result = call.map("prelu", &[x, slope], |b, args| {
        let negative = b.binary(Binary::Mul, args[0], args[1]);
        activation::rectified(b, args[0], negative)
    })?;
    Ok(result.into())
}

pub fn elu(call: &mut Call) -> Result<Outs, Failure> {
    let (alpha, scale, input_scale) = (call.number("alpha")?, call.number("scale")?, call.number("input_scale")?);
    floating(call, "elu", |b, x| scaled_elu(b, x, alpha, scale, input_scale))
}

fn scaled_elu(b: &mut ExprBuilder, x: ExprId, alpha: f64, scale: f64, input_scale: f64) -> ExprId {
    if (scale, input_scale) == (1.0, 1.0) {
        return activation::elu(b, x, alpha);
    }
    let exponent = if input_scale == 1.0 { x } else { scaled(b, x, input_scale) };
    let power = b.unary(Unary::Exp, exponent);
    let curve = activation::shifted(b, power, -1.0);
    let negative = scaled(b, curve, alpha * scale);
    let positive = scaled(b, x, scale);
    let zero = number(b, 0.0, x);
    let below = b.compare(Compare::Lt, x, zero);
    b.select(below, negative, positive)
}

pub fn selu(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "selu", |b, x| scaled_elu(b, x, SELU.0, SELU.1, 1.0))
}

pub fn celu(call: &mut Call) -> Result<Outs, Failure> {
    let alpha = call.number("alpha")?;
    floating(call, "celu", |b, x| activation::celu(b, x, alpha))
}

/// min(max(x + 3, 0), 6).
fn gate(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    let line = activation::shifted(b, x, 3.0);
    let (zero, six) = (number(b, 0.0, x), number(b, 6.0, x));
    let positive = b.binary(Binary::MaxNan, line, zero);
    b.binary(Binary::MinNan, positive, six)
}

fn sixth(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    let six = number(b, 6.0, x);
    b.binary(Binary::Div, x, six)
}

pub fn hardsigmoid(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "hard_sigmoid", |b, x| {
        let gate = gate(b, x);
        sixth(b, gate)
    })
}

pub fn hardswish(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "hard_swish", |b, x| {
        let gate = gate(b, x);
        let product = b.binary(Binary::Mul, x, gate);
        sixth(b, product)
    })
}

/// Beyond the threshold the power may overflow, and is not taken.
fn soft(b: &mut ExprBuilder, x: ExprId, beta: f64, threshold: f64) -> ExprId {
    let argument = if beta == 1.0 { x } else { scaled(b, x, beta) };
    let power = b.unary(Unary::Exp, argument);
    let sum = activation::shifted(b, power, 1.0);
    let curve = b.unary(Unary::Log, sum);
    let curve = if beta == 1.0 {
        curve
    } else {
        let divisor = number(b, beta, curve);
        b.binary(Binary::Div, curve, divisor)
    };
    let limit = number(b, threshold, x);
    let above = b.compare(Compare::Gt, argument, limit);
    b.select(above, x, curve)
}

pub fn softplus(call: &mut Call) -> Result<Outs, Failure> {
    let (beta, threshold) = (call.number("beta")?, call.number("threshold")?);
    floating(call, "softplus", |b, x| soft(b, x, beta, threshold))
}

pub fn log_sigmoid(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "log_sigmoid", |b, x| {
        let negated = b.unary(Unary::Neg, x);
        let curve = activation::softplus(b, negated);
        b.unary(Unary::Neg, curve)
    })
}

pub fn mish(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "mish", |b, x| {
        let soft = soft(b, x, 1.0, 20.0);
        let gate = b.unary(Unary::Tanh, soft);
        b.binary(Binary::Mul, x, gate)
    })
}

pub fn gelu(call: &mut Call) -> Result<Outs, Failure> {
    let tanh = match call.text("approximate")? {
        "none" => false,
        "tanh" => true,
        other => return Err(Failure::invalid(format!("argument `approximate` is `{other}`"))),
    };
    floating(call, "gelu", |b, x| activation::gelu(b, x, tanh))
}

pub fn silu(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "silu", |b, x| activation::swish(b, x, 1.0))
}

pub fn threshold(call: &mut Call) -> Result<Outs, Failure> {
    let (threshold, value) = (call.number("threshold")?, call.number("value")?);
    let x = call.tensor("self")?;
    let result = call.unary("threshold", &x, |b, x| {
        let (limit, value) = (number(b, threshold, x), number(b, value, x));
        let below = b.compare(Compare::Le, x, limit);
        b.select(below, value, x)
    })?;
    Ok(result.into())
}
