//! Cast, CastLike: to another element type.
//!
//! <https://onnx.ai/onnx/operators/onnx__Cast.html>. Opset 6; 9: strings (refused); 13: bfloat16;
//! 19: 8-bit floats (refused).

use crate::diag::codes;
use crate::dtype::DType;
use crate::import::build::activation;
use crate::import::onnx::node::{Context, Failure};
use crate::import::onnx::ops::pointwise::unary;
use crate::import::onnx::tensor;

fn to(cx: &mut Context, dtype: DType) -> Result<(), Failure> {
    let x = cx.input(0, "input")?;
    if cx.ty(&x).dtype == dtype {
        return cx.pass(x);
    }
    unary(cx, "cast", |b, x| activation::converted(b, x, dtype))
}

pub fn cast(cx: &mut Context) -> Result<(), Failure> {
    let number = cx.attributes.int("to")?.ok_or_else(|| Failure::invalid("attribute `to` is missing"))?;
    cx.attributes.int("saturate")?; // only 8-bit floats saturate
    cx.attributes.string("round_mode")?; // only 8-bit exponent floats have modes
    let dtype = tensor::dtype(i32::try_from(number).unwrap_or(i32::MAX))
        .map_err(|name| Failure::Unsupported(&codes::DTYPE_UNSUPPORTED, format!("the element type {name} is not supported")))?;
    to(cx, dtype)
}

pub fn cast_like(cx: &mut Context) -> Result<(), Failure> {
    cx.attributes.int("saturate")?;
    cx.attributes.string("round_mode")?;
    let like = cx.input(1, "target_type")?;
    to(cx, cx.ty(&like).dtype)
}
