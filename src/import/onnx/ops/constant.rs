//! ConstantOfShape: a tensor of the given shape, filled with one number.
//!
//! <https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html>. Opset 9. The shape (int64 [rank])
//! must be known while importing. A filled float tensor is a weight without elements of its own;
//! integers, bools and single numbers are known constants.

use crate::diag::codes;
use crate::dtype::DType;
use crate::graph::{TensorType, Weight};
use crate::import::onnx::node::{Context, Failure};
use crate::import::onnx::tensor;
use crate::shape::{Shape, display, numel};
use crate::tensor::{Storage, Tensor};

/// The largest integer tensor that is spelled out.
const MAX_SPELLED: usize = 1 << 20;

pub(in crate::import::onnx) fn of_shape(cx: &mut Context) -> Result<(), Failure> {
    let given = cx.ints(0, "input")?.ok_or_else(|| Failure::invalid("input 0 (input) is missing"))?;
    let shape: Option<Shape> = given.iter().map(|&d| usize::try_from(d).ok()).collect();
    let shape = shape.ok_or_else(|| Failure::shapes(format!("the shape {given:?} has a negative size")))?;
    let count = numel(&shape).ok_or_else(|| Failure::shapes(format!("{} is larger than memory", display(&shape))))?;
    let fill = match cx.attributes.tensor("value")? {
        Some(proto) => {
            tensor::tensor(proto).map_err(|(code, message)| Failure::Invalid(code, format!("attribute `value`: {message}")))?
        }
        None => Tensor::zeros(DType::F32, Shape::new()),
    };
    if fill.len() != 1 {
        return Err(Failure::shapes(format!("attribute `value` is {}, one number is expected", display(fill.shape()))));
    }
    let dtype = fill.dtype();
    let small = count <= 1 || (!dtype.is_float() && count <= MAX_SPELLED);
    if !small {
        let ty = TensorType { dtype, shape };
        return cx.bind_weight(ty, Weight::Filled(fill.storage().get_f64(0)));
    }
    let storage = match fill.storage() {
        Storage::F64(v) => Storage::F64(vec![v[0]; count]),
        Storage::F32(v) => Storage::F32(vec![v[0]; count]),
        Storage::I64(v) => Storage::I64(vec![v[0]; count]),
        Storage::Bool(v) => Storage::Bool(vec![v[0]; count]),
    };
    if count == 0 && !shape.is_empty() && dtype.is_float() {
        return Err(Failure::Invalid(
            &codes::MODEL_EMPTY_DIMENSION,
            format!("its output is {}: a dimension has size 0", display(&shape)),
        ));
    }
    cx.bind_known(Tensor::new(dtype, shape, storage), true)
}
