//! To another element type, and operators that give their operand again.

use crate::dtype::DType;
use crate::import::build::activation::converted;
use crate::import::build::{Failure, Operand};
use crate::import::torch_export::alias::Step;
use crate::import::torch_export::call::{Call, Out, Outs};

/// `x` in a type, `None` when it has it.
fn cast(call: &mut Call, x: &Operand, dtype: DType) -> Result<Option<Operand>, Failure> {
    if call.ty(x).dtype == dtype {
        return Ok(None);
    }
    call.unary("cast", x, |b, x| converted(b, x, dtype)).map(Some)
}

/// `self` in a type; where it has it, the same memory.
fn to_type(call: &mut Call, dtype: Option<DType>) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    match dtype {
        Some(dtype) => match cast(call, &x, dtype)? {
            Some(result) => Ok(result.into()),
            None => same(call),
        },
        None => same(call),
    }
}

pub fn to(call: &mut Call) -> Result<Outs, Failure> {
    let dtype = call.dtype("dtype")?;
    to_type(call, dtype)
}

pub fn to_other(call: &mut Call) -> Result<Outs, Failure> {
    let other = call.tensor("other")?;
    let dtype = call.ty(&other).dtype;
    to_type(call, Some(dtype))
}

/// The same elements in the same memory: alias, detach, contiguous of what is.
pub fn same(call: &mut Call) -> Result<Outs, Failure> {
    call.absorbed = Some(crate::import::Absorbed::Passed);
    let x = call.tensor_arg("self")?;
    Ok(vec![Out::View { operand: x.operand, of: x.name, step: Step::Same }].into())
}

/// The same elements in memory of their own: clone, dropout in inference.
pub fn copied(call: &mut Call) -> Result<Outs, Failure> {
    call.absorbed = Some(crate::import::Absorbed::Passed);
    Ok(call.tensor("self")?.into())
}

pub fn to_copy(call: &mut Call) -> Result<Outs, Failure> {
    let (x, dtype) = (call.tensor("self")?, call.dtype("dtype")?);
    match dtype {
        Some(dtype) => Ok(cast(call, &x, dtype)?.unwrap_or(x).into()),
        None => copied(call),
    }
}

/// `src` in the type and the shape of `self`.
pub fn copy(call: &mut Call) -> Result<Outs, Failure> {
    let (x, source) = (call.tensor("self")?, call.tensor("src")?);
    let ty = call.ty(&x);
    let source = cast(call, &source, ty.dtype)?.unwrap_or(source);
    Ok(call.grown(source, &ty.shape)?.into())
}

/// Dropout does nothing in inference, or with a probability of 0; in training it is random.
pub fn dropout(call: &mut Call) -> Result<Outs, Failure> {
    let p = call.number("p")?;
    let training = if call.is_none("train") { true } else { call.flag("train")? };
    if training && p > 0.0 {
        return Err(Failure::unsupported(format!("dropout with p = {p} in training, whose result is random")));
    }
    call.absorbed = Some(crate::import::Absorbed::Passed);
    let x = call.tensor(if call.has("input") { "input" } else { "self" })?;
    Ok(vec![Out::Value(x), Out::Absent("the mask of a dropout")].into())
}

/// Checks of what is known when the program is exported.
pub fn nothing(_: &mut Call) -> Result<Outs, Failure> {
    Ok(Vec::new().into())
}
