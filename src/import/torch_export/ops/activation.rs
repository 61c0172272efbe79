//! Activation functions, with torch's constants.
//!
//! | operator | formula |
//! | --- | --- |
//! | relu | x < 0 ? 0 : x |
//! | leaky_relu, prelu | x < 0 ? slope·x : x |
//! | elu | x < 0 ? α·scale·(e^(input_scale·x) − 1) : scale·x |
//! | hardsigmoid | max(0, min(1, x/6 + 0.5)) |
//! | softplus | β·x > threshold ? x : ln(1 + e^(β·x)) / β |
//! | log_sigmoid | −softplus(−x) |
//! | threshold | x > threshold ? x : value; a NaN stays |

use crate::expr::{Binary, Compare, Unary};
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
    floating(call, "elu", |b, x| {
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
    })
}

pub fn selu(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "selu", |b, x| activation::selu(b, x, SELU.0, SELU.1))
}

pub fn celu(call: &mut Call) -> Result<Outs, Failure> {
    let alpha = call.number("alpha")?;
    floating(call, "celu", |b, x| activation::celu(b, x, alpha))
}

pub fn hardsigmoid(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "hard_sigmoid", |b, x| activation::hard(b, x, 1.0 / 6.0, 0.5))
}

pub fn hardswish(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "hard_swish", activation::hard_swish)
}

pub fn softplus(call: &mut Call) -> Result<Outs, Failure> {
    let (beta, threshold) = (call.number("beta")?, call.number("threshold")?);
    floating(call, "softplus", |b, x| {
        let argument = if beta == 1.0 { x } else { scaled(b, x, beta) };
        let curve = activation::softplus(b, argument);
        let curve = if beta == 1.0 { curve } else { scaled(b, curve, 1.0 / beta) };
        let limit = number(b, threshold, x);
        let above = b.compare(Compare::Gt, argument, limit);
        b.select(above, x, curve)
    })
}

pub fn log_sigmoid(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "log_sigmoid", |b, x| {
        let negated = b.unary(Unary::Neg, x);
        let curve = activation::softplus(b, negated);
        b.unary(Unary::Neg, curve)
    })
}

pub fn mish(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "mish", activation::mish)
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
