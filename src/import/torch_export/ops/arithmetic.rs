//! Arithmetic of two elements, with broadcasting and type promotion.

use crate::expr::{Binary, ExprBuilder, ExprId, Unary};
use crate::graph::Role;
use crate::import::build::activation::scaled;
use crate::import::build::{Failure, Operand};
use crate::import::torch_export::call::{Call, Outs};
use crate::import::torch_export::ops::unary::truncated;
use crate::import::torch_export::promote::Value;

/// Arguments `self` and `other`; a learned one has `role`.
fn operands(call: &mut Call, role: Role) -> Result<[Value; 2], Failure> {
    Ok([call.value("self")?, call.value("other")?].map(|value| match value {
        Value::Tensor(operand) => Value::Tensor(call.with_role(operand, role)),
        number => number,
    }))
}

/// self ± alpha·other, or the other way round, in the type where they meet.
fn sum(call: &mut Call, label: &str, op: Binary, swapped: bool) -> Result<Outs, Failure> {
    let mut values = operands(call, Role::Bias)?;
    let alpha = call.number("alpha")?;
    if swapped {
        values.swap(0, 1);
    }
    let dtype = call.promoted(&values);
    let result = call.joined(label, &values, dtype, |b, args| {
        let right = if alpha == 1.0 { args[1] } else { scaled(b, args[1], alpha) };
        b.binary(op, args[0], right)
    })?;
    Ok(result.into())
}

pub fn add(call: &mut Call) -> Result<Outs, Failure> {
    sum(call, "add", Binary::Add, false)
}

pub fn sub(call: &mut Call) -> Result<Outs, Failure> {
    sum(call, "sub", Binary::Sub, false)
}

/// other − alpha·self.
pub fn rsub(call: &mut Call) -> Result<Outs, Failure> {
    sum(call, "sub", Binary::Sub, true)
}

pub fn mul(call: &mut Call) -> Result<Outs, Failure> {
    let values = operands(call, Role::Scale)?;
    let dtype = call.promoted(&values);
    Ok(call.joined("mul", &values, dtype, |b, args| b.binary(Binary::Mul, args[0], args[1]))?.into())
}

/// True division: integers become floats.
pub fn div(call: &mut Call) -> Result<Outs, Failure> {
    let values = operands(call, Role::Variance)?;
    let dtype = call.floating(call.promoted(&values));
    Ok(call.joined("div", &values, dtype, |b, args| b.binary(Binary::Div, args[0], args[1]))?.into())
}

/// Division whose result is rounded: `trunc`, `floor`, or not at all.
pub fn div_mode(call: &mut Call) -> Result<Outs, Failure> {
    match if call.is_none("rounding_mode") { "" } else { call.text("rounding_mode")? } {
        "" => div(call),
        "trunc" => rounded_division(call, "div_trunc", Binary::DivTrunc, truncated),
        "floor" => floor_divide(call),
        other => Err(Failure::invalid(format!("argument `rounding_mode` is `{other}`"))),
    }
}

pub fn floor_divide(call: &mut Call) -> Result<Outs, Failure> {
    rounded_division(call, "div_floor", Binary::DivFloor, |b, q| b.unary(Unary::Floor, q))
}

fn rounded_division(
    call: &mut Call,
    label: &str,
    integers: Binary,
    round: impl FnOnce(&mut ExprBuilder, ExprId) -> ExprId,
) -> Result<Outs, Failure> {
    let values = operands(call, Role::Variance)?;
    let dtype = call.promoted(&values);
    let values = if dtype.is_integer() { guarded(call, values)? } else { values };
    let result = call.joined(label, &values, dtype, |b, args| {
        if dtype.is_integer() {
            return b.binary(integers, args[0], args[1]);
        }
        let quotient = b.binary(Binary::Div, args[0], args[1]);
        round(b, quotient)
    })?;
    Ok(result.into())
}

/// Integers of which the second must not be 0.
fn guarded(call: &mut Call, [dividend, divisor]: [Value; 2]) -> Result<[Value; 2], Failure> {
    let divisor = match divisor {
        Value::Int(0) => return Err(Failure::invalid("division by zero")),
        Value::Tensor(Operand::Known(known)) if known.tensor.as_i64().is_some_and(|lanes| lanes.contains(&0)) => {
            return Err(Failure::invalid("division by zero: the divisor is known and contains 0"));
        }
        Value::Tensor(operand @ Operand::Graph(_)) => Value::Tensor(call.set_entering_role(&operand, Role::Divisor)),
        other => other,
    };
    Ok([dividend, divisor])
}

/// The remainder with the sign of the divisor.
pub fn remainder(call: &mut Call) -> Result<Outs, Failure> {
    rest(call, "mod", Binary::DivFloor)
}

/// The remainder with the sign of the dividend.
pub fn fmod(call: &mut Call) -> Result<Outs, Failure> {
    rest(call, "fmod", Binary::DivTrunc)
}

/// What an integer division leaves.
fn rest(call: &mut Call, label: &str, division: Binary) -> Result<Outs, Failure> {
    let values = operands(call, Role::Variance)?;
    let dtype = call.promoted(&values);
    if !dtype.is_integer() {
        return Err(Failure::unsupported("the remainder of floats"));
    }
    let values = guarded(call, values)?;
    let result = call.joined(label, &values, dtype, |b, args| {
        let quotient = b.binary(division, args[0], args[1]);
        let product = b.binary(Binary::Mul, quotient, args[1]);
        b.binary(Binary::Sub, args[0], product)
    })?;
    Ok(result.into())
}

pub fn maximum(call: &mut Call) -> Result<Outs, Failure> {
    extreme(call, "max", Binary::MaxNan)
}

pub fn minimum(call: &mut Call) -> Result<Outs, Failure> {
    extreme(call, "min", Binary::MinNan)
}

fn extreme(call: &mut Call, label: &str, op: Binary) -> Result<Outs, Failure> {
    let values = [call.value("self")?, call.value("other")?];
    let dtype = call.promoted(&values);
    Ok(call.joined(label, &values, dtype, |b, args| b.binary(op, args[0], args[1]))?.into())
}

/// x to a power: products for small integers, a root for ½.
pub fn pow(call: &mut Call) -> Result<Outs, Failure> {
    let values = [call.value("self")?, call.value("exponent")?];
    let dtype = call.promoted(&values);
    let exponent = call.optional_number("exponent");
    let label = "pow";
    let x = &values[..1];
    let product = |b: &mut ExprBuilder, x: ExprId, times: usize| (1..times).fold(x, |p, _| b.binary(Binary::Mul, p, x));
    let result = match exponent {
        Some(1.0) => call.joined(label, x, dtype, |_, args| args[0])?,
        Some(2.0) => call.joined(label, x, dtype, |b, args| product(b, args[0], 2))?,
        Some(3.0) => call.joined(label, x, dtype, |b, args| product(b, args[0], 3))?,
        Some(0.5) => call.joined(label, x, call.floating(dtype), |b, args| b.unary(Unary::Sqrt, args[0]))?,
        Some(-0.5) => call.joined(label, x, call.floating(dtype), |b, args| b.unary(Unary::Rsqrt, args[0]))?,
        Some(_) | None => call.joined(label, &values, dtype, |b, args| b.binary(Binary::Pow, args[0], args[1]))?,
    };
    Ok(result.into())
}

/// min(max(x, low), high); a NaN stays.
pub fn clamp(call: &mut Call) -> Result<Outs, Failure> {
    let bounds =
        ["min", "max"].map(|name| if !call.has(name) || call.is_none(name) { Ok(None) } else { call.value(name).map(Some) });
    let [low, high] = bounds;
    clamped(call, "clamp", low?, high?)
}

pub fn hardtanh(call: &mut Call) -> Result<Outs, Failure> {
    let (low, high) = (call.value("min_val")?, call.value("max_val")?);
    clamped(call, "hardtanh", Some(low), Some(high))
}

pub fn relu6(call: &mut Call) -> Result<Outs, Failure> {
    clamped(call, "relu6", Some(Value::Int(0)), Some(Value::Int(6)))
}

fn clamped(call: &mut Call, label: &str, low: Option<Value>, high: Option<Value>) -> Result<Outs, Failure> {
    let x = call.value("self")?;
    let values: Vec<Value> = [Some(x), low.clone(), high.clone()].into_iter().flatten().collect();
    let dtype = call.promoted(&values);
    let result = call.joined(label, &values, dtype, |b, args| {
        let mut args = args.iter().copied();
        let mut x = args.next().expect("invariant: there is an operand");
        for (op, bound) in [(Binary::MaxNan, &low), (Binary::MinNan, &high)] {
            if bound.is_some() {
                let bound = args.next().expect("invariant: there is an operand for each bound");
                x = b.binary(op, x, bound);
            }
        }
        x
    })?;
    Ok(result.into())
}

/// self + value · tensor1 (· or /) tensor2.
fn accumulate(call: &mut Call, label: &str, op: Binary) -> Result<Outs, Failure> {
    let values = [call.value("self")?, call.value("tensor1")?, call.value("tensor2")?];
    let factor = call.number("value")?;
    let dtype = call.promoted(&values);
    let dtype = if op == Binary::Div { call.floating(dtype) } else { dtype };
    let result = call.joined(label, &values, dtype, |b, args| {
        let left = if factor == 1.0 { args[1] } else { scaled(b, args[1], factor) };
        let term = b.binary(op, left, args[2]);
        b.binary(Binary::Add, args[0], term)
    })?;
    Ok(result.into())
}

pub fn addcmul(call: &mut Call) -> Result<Outs, Failure> {
    accumulate(call, "addcmul", Binary::Mul)
}

pub fn addcdiv(call: &mut Call) -> Result<Outs, Failure> {
    accumulate(call, "addcdiv", Binary::Div)
}
