//! Tensors without operands: Constant, ConstantOfShape, Range.
//!
//! <https://onnx.ai/onnx/operators/onnx__Constant.html>. Opset 1: `value`; 11: `sparse_value` (refused); 12:
//! `value_int`, `value_ints`, `value_float`, `value_floats`, strings (refused).
//! <https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html>. Opset 9: a shape (int64 [rank], known while
//! importing), filled with one number. A filled float tensor is a weight without elements of its
//! own; integers, bools and single numbers are known.
//! <https://onnx.ai/onnx/operators/onnx__Range.html>. Opset 11: start, limit, delta, known while importing;
//! integers only.

use crate::diag::codes;
use crate::dtype::DType;
use crate::graph::{TensorType, Weight};
use crate::import::onnx::node::{Context, Failure};
use crate::shape::{Shape, display, numel};
use crate::tensor::{Storage, Tensor};

/// The largest tensor of integers that is spelled out.
const MAX_SPELLED: usize = 1 << 20;

pub fn constant(cx: &mut Context) -> Result<(), Failure> {
    for name in ["sparse_value", "value_string", "value_strings"] {
        if cx.node.attribute.iter().any(|a| a.name == name) {
            return Err(Failure::unsupported(format!("attribute `{name}`")));
        }
    }
    let vector = |len: usize| [len];
    let value = if let Some(proto) = cx.attributes.tensor("value")? {
        cx.decoded(proto)?
    } else if let Some(value) = cx.attributes.int("value_int")? {
        Tensor::from_i64([].as_slice(), vec![value])
    } else if let Some(values) = cx.attributes.ints("value_ints")? {
        Tensor::from_i64(vector(values.len()).as_slice(), values.to_vec())
    } else if let Some(value) = cx.attributes.float("value_float")? {
        Tensor::from_f32([].as_slice(), vec![value as f32])
    } else if let Some(values) = cx.attributes.floats("value_floats")? {
        Tensor::from_f32(vector(values.len()).as_slice(), values.to_vec())
    } else {
        return Err(Failure::invalid("it has no value"));
    };
    cx.bind_known(value, true)
}

pub fn of_shape(cx: &mut Context) -> Result<(), Failure> {
    let given = cx.ints(0, "input")?.ok_or_else(|| Failure::invalid("input 0 (input) is missing"))?;
    let shape: Option<Shape> = given.iter().map(|&d| usize::try_from(d).ok()).collect();
    let shape = shape.ok_or_else(|| Failure::shapes(format!("the shape {given:?} has a negative size")))?;
    let count = numel(&shape).ok_or_else(|| Failure::shapes(format!("{} is larger than memory", display(&shape))))?;
    let fill = match cx.attributes.tensor("value")? {
        Some(proto) => cx.decoded(proto)?,
        None => Tensor::zeros(DType::F32, Shape::new()),
    };
    if fill.len() != 1 {
        return Err(Failure::shapes(format!("attribute `value` is {}, one number is expected", display(fill.shape()))));
    }
    let dtype = fill.dtype();
    if count == 0 && dtype.is_float() {
        return Err(Failure::Invalid(
            &codes::MODEL_EMPTY_DIMENSION,
            format!("its output is {}: a dimension has size 0", display(&shape)),
        ));
    }
    if count > 1 && (dtype.is_float() || count > MAX_SPELLED) {
        return cx.bind_weight(TensorType { dtype, shape }, Weight::Filled(fill.storage().get_f64(0)));
    }
    let storage = match fill.storage() {
        Storage::F64(v) => Storage::F64(vec![v[0]; count]),
        Storage::F32(v) => Storage::F32(vec![v[0]; count]),
        Storage::I64(v) => Storage::I64(vec![v[0]; count]),
        Storage::Bool(v) => Storage::Bool(vec![v[0]; count]),
    };
    cx.bind_known(Tensor::new(dtype, shape, storage), true)
}

pub fn range(cx: &mut Context) -> Result<(), Failure> {
    let operands = cx.inputs()?;
    let dtype = cx.common_dtype(&operands)?;
    if !dtype.is_integer() {
        return Err(Failure::unsupported(format!("a range of {dtype}")));
    }
    let one = |i, name: &str| match cx.ints(i, name)?.as_deref() {
        Some(&[value]) => Ok(i128::from(value)),
        _ => Err(Failure::shapes(format!("`{name}` is not one number"))),
    };
    let (start, limit, delta) = (one(0, "start")?, one(1, "limit")?, one(2, "delta")?);
    if delta == 0 {
        return Err(Failure::invalid("`delta` is 0"));
    }
    let distance = (limit - start) * delta.signum();
    let count = if distance <= 0 { 0 } else { (distance - 1) / delta.abs() + 1 };
    if count > MAX_SPELLED as i128 {
        return Err(Failure::unsupported(format!("a range of {count} elements")));
    }
    let lanes: Vec<i64> = (0..count).map(|i| (start + i * delta) as i64).collect();
    cx.bind_known(Tensor::new(dtype, [lanes.len()].as_slice(), Storage::I64(lanes)), true)
}
