//! Functions of one element. Integers become floats first, but for neg, abs, sign and the roundings.

use crate::expr::{Binary, Compare, ExprBuilder, ExprId, Unary};
use crate::import::build::Failure;
use crate::import::build::activation::{self, converted, scaled, shifted};
use crate::import::build::pointwise::number;
use crate::import::torch_export::call::{Call, Outs};

/// The Map of a function of floats.
pub fn floating(call: &mut Call, label: &str, build: impl FnOnce(&mut ExprBuilder, ExprId) -> ExprId) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let dtype = call.floating(call.ty(&x).dtype);
    Ok(call
        .unary(label, &x, |b, x| {
            let x = converted(b, x, dtype);
            build(b, x)
        })?
        .into())
}

/// The Map of a function that integers have too.
fn any(call: &mut Call, label: &str, build: impl FnOnce(&mut ExprBuilder, ExprId) -> ExprId) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    Ok(call.unary(label, &x, build)?.into())
}

/// A rounding, which leaves integers as they are.
fn rounding(call: &mut Call, op: Unary) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    if call.ty(&x).dtype.is_integer() {
        return Ok(x.into());
    }
    any(call, op.name(), |b, x| b.unary(op, x))
}

macro_rules! functions {
    ($($kind:ident { $($name:ident = $op:ident),* $(,)? })*) => {
        $($(pub fn $name(call: &mut Call) -> Result<Outs, Failure> {
            $kind(call, Unary::$op.name(), |b, x| b.unary(Unary::$op, x))
        })*)*
    };
}

functions! {
    floating { exp = Exp, sqrt = Sqrt, rsqrt = Rsqrt, sin = Sin, cos = Cos, tanh = Tanh, erf = Erf, sigmoid = Sigmoid }
    any { neg = Neg, abs = Abs }
}

pub fn log(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    call.set_positive(&x);
    floating(call, Unary::Log.name(), |b, x| b.unary(Unary::Log, x))
}

pub fn floor(call: &mut Call) -> Result<Outs, Failure> {
    rounding(call, Unary::Floor)
}

pub fn ceil(call: &mut Call) -> Result<Outs, Failure> {
    rounding(call, Unary::Ceil)
}

pub fn round(call: &mut Call) -> Result<Outs, Failure> {
    rounding(call, Unary::RoundEven)
}

/// Towards zero.
pub fn trunc(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    if call.ty(&x).dtype.is_integer() {
        return Ok(x.into());
    }
    any(call, "trunc", truncated)
}

pub fn truncated(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    let (down, up) = (b.unary(Unary::Floor, x), b.unary(Unary::Ceil, x));
    let zero = number(b, 0.0, x);
    let below = b.compare(Compare::Lt, x, zero);
    b.select(below, up, down)
}

pub fn reciprocal(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "reciprocal", activation::reciprocal)
}

pub fn square(call: &mut Call) -> Result<Outs, Failure> {
    any(call, "square", |b, x| b.binary(Binary::Mul, x, x))
}

pub fn sign(call: &mut Call) -> Result<Outs, Failure> {
    any(call, "sign", activation::sign)
}

/// ln(1 + x).
pub fn log1p(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "log1p", |b, x| {
        let sum = shifted(b, x, 1.0);
        b.unary(Unary::Log, sum)
    })
}

/// eˣ − 1.
pub fn expm1(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "expm1", |b, x| {
        let power = b.unary(Unary::Exp, x);
        shifted(b, power, -1.0)
    })
}

/// 2ˣ = e^(x·ln 2).
pub fn exp2(call: &mut Call) -> Result<Outs, Failure> {
    floating(call, "exp2", |b, x| {
        let exponent = scaled(b, x, std::f64::consts::LN_2);
        b.unary(Unary::Exp, exponent)
    })
}

fn log_over(call: &mut Call, label: &str, base: f64) -> Result<Outs, Failure> {
    floating(call, label, |b, x| {
        let log = b.unary(Unary::Log, x);
        scaled(b, log, base.ln().recip())
    })
}

pub fn log2(call: &mut Call) -> Result<Outs, Failure> {
    log_over(call, "log2", 2.0)
}

pub fn log10(call: &mut Call) -> Result<Outs, Failure> {
    log_over(call, "log10", 10.0)
}

pub fn is_nan(call: &mut Call) -> Result<Outs, Failure> {
    any(call, "is_nan", |b, x| b.compare(Compare::Ne, x, x))
}

pub fn is_inf(call: &mut Call) -> Result<Outs, Failure> {
    any(call, "is_inf", |b, x| {
        let size = b.unary(Unary::Abs, x);
        let infinity = number(b, f64::INFINITY, x);
        b.compare(Compare::Eq, size, infinity)
    })
}

pub fn logical_not(call: &mut Call) -> Result<Outs, Failure> {
    any(call, "not", |b, x| {
        let x = converted(b, x, crate::dtype::DType::Bool);
        b.unary(Unary::Not, x)
    })
}
