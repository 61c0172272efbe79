//! Softmax and its logarithm along an axis.

use crate::graph::Op;
use crate::import::build::Failure;
use crate::import::torch_export::call::{Call, Outs};
use crate::import::torch_export::promote::Value;

fn normalised(call: &mut Call, log: bool) -> Result<Outs, Failure> {
    let mut x = call.tensor("self")?;
    if call.has("dtype")
        && let Some(dtype) = call.dtype("dtype")?
        && dtype != call.ty(&x).dtype
    {
        x = call.joined("cast", &[Value::Tensor(x)], dtype, |_, args| args[0])?;
    }
    if call.has("half_to_float") && call.flag("half_to_float")? {
        x = call.joined("cast", &[Value::Tensor(x)], crate::dtype::DType::F32, |_, args| args[0])?;
    }
    let axis = call.dim("dim", call.shape(&x).len())?;
    Ok(call.emit(Op::Softmax { axis, log }, &[x])?.into())
}

pub fn softmax(call: &mut Call) -> Result<Outs, Failure> {
    normalised(call, false)
}

pub fn log_softmax(call: &mut Call) -> Result<Outs, Failure> {
    normalised(call, true)
}
