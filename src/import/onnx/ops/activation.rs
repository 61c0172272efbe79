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

use crate::expr::Binary;
use crate::graph::Role;
use crate::import::build::activation;
use crate::import::onnx::node::{Context, Failure};
use crate::import::onnx::ops::pointwise::{unary, uniform};
use crate::shape::display;

pub fn relu(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "relu", activation::relu)
}

pub fn leaky_relu(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(f64::from(0.01f32));
    unary(cx, "leaky_relu", |b, x| activation::leaky_relu(b, x, alpha))
}

pub fn prelu(cx: &mut Context) -> Result<(), Failure> {
    let (x, slope) = (cx.input(0, "X")?, cx.input(1, "slope")?);
    let slope = cx.with_role(slope, Role::Scale);
    let (x_shape, slope_shape) = (cx.shape(&x), cx.shape(&slope));
    if cx.broadcast(&[x.clone(), slope.clone()])? != x_shape {
        return Err(Failure::shapes(format!("slope {} does not broadcast to X {}", display(&slope_shape), display(&x_shape))));
    }
    uniform(cx, "prelu", &[x, slope], |b, args| {
        let negative = b.binary(Binary::Mul, args[0], args[1]);
        activation::rectified(b, args[0], negative)
    })
}

pub fn thresholded_relu(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    unary(cx, "thresholded_relu", |b, x| activation::thresholded(b, x, alpha, 0.0))
}

pub fn elu(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    unary(cx, "elu", |b, x| activation::elu(b, x, alpha))
}

pub fn selu(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(f64::from(1.673_263_2_f32));
    let gamma = cx.attributes.float("gamma")?.unwrap_or(f64::from(1.050_701_f32));
    unary(cx, "selu", |b, x| activation::selu(b, x, alpha, gamma))
}

pub fn celu(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    unary(cx, "celu", |b, x| activation::celu(b, x, alpha))
}

pub fn hard_sigmoid(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(f64::from(0.2f32));
    let beta = cx.attributes.float("beta")?.unwrap_or(0.5);
    unary(cx, "hard_sigmoid", |b, x| activation::hard(b, x, alpha, beta))
}

pub fn hard_swish(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "hard_swish", activation::hard_swish)
}

pub fn softplus(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "softplus", activation::softplus)
}

pub fn softsign(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "softsign", activation::softsign)
}

pub fn mish(cx: &mut Context) -> Result<(), Failure> {
    unary(cx, "mish", activation::mish)
}

pub fn gelu(cx: &mut Context) -> Result<(), Failure> {
    let tanh = match cx.attributes.string("approximate")?.unwrap_or("none") {
        "none" => false,
        "tanh" => true,
        other => return Err(Failure::invalid(format!("attribute `approximate` is `{other}`"))),
    };
    unary(cx, "gelu", |b, x| activation::gelu(b, x, tanh))
}

pub fn swish(cx: &mut Context) -> Result<(), Failure> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1.0);
    unary(cx, "swish", |b, x| activation::swish(b, x, alpha))
}
