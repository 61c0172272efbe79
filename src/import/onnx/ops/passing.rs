//! Operators that do nothing in inference: Identity, Dropout.
//!
//! <https://onnx.ai/onnx/operators/onnx__Dropout.html>. Opset 7; 10: a bool mask; 12: `ratio` and
//! `training_mode` are inputs. The mask output is refused when something reads it.

use crate::import::onnx::node::{Context, Failure, Operand};

pub fn identity(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "input")?;
    cx.pass(x)
}

pub fn dropout(cx: &mut Context) -> Result<(), Failure> {
    cx.attributes.float("ratio")?;
    cx.attributes.int("seed")?;
    if cx.is_used(1) {
        return Err(Failure::unsupported("the mask as second output"));
    }
    let off = match cx.optional(2) {
        None => true,
        Some(Operand::Known(known)) => known.tensor.storage().get_f64(0) == 0.0,
        Some(Operand::Graph(_)) => false,
    };
    if !off {
        return Err(Failure::unsupported("training mode"));
    }
    identity(cx)
}
