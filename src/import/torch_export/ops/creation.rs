//! Tensors from numbers alone.

use crate::dtype::{Carrier, DType};
use crate::expr::{Binary, Constant, ExprBuilder, Node};
use crate::graph::TensorType;
use crate::graph::op::{Map, Op};
use crate::import::build::Failure;
use crate::import::torch_export::call::{Call, Outs};
use crate::import::torch_export::promote::Value;
use crate::shape::Shape;

/// A tensor of one number: where it has more than one element, a weight that is not stored.
fn filled(call: &mut Call, value: &Value, dtype: DType, shape: &[usize]) -> Result<Outs, Failure> {
    let number = call.operand(value, dtype);
    if crate::shape::numel(shape) == Some(1) || shape.contains(&0) || number.number().is_none() {
        return Ok(call.grown(number, shape)?.into());
    }
    let constant = number.number().unwrap_or_default();
    Ok(call.constant("filled", TensorType { dtype, shape: Shape::from_slice(shape) }, constant)?.into())
}

/// The type that a fill value means, where none is said.
fn natural(value: &Value) -> DType {
    match value {
        Value::Int(_) => DType::I64,
        Value::Bool(_) => DType::Bool,
        Value::Float(_) | Value::Tensor(_) => DType::F32,
    }
}

pub fn full(call: &mut Call) -> Result<Outs, Failure> {
    let (shape, value) = (call.sizes("size")?, call.value("fill_value")?);
    let dtype = call.dtype("dtype")?.unwrap_or_else(|| natural(&value));
    filled(call, &value, dtype, &shape)
}

fn sized(call: &mut Call, value: f64) -> Result<Outs, Failure> {
    let shape = call.sizes("size")?;
    let dtype = call.dtype("dtype")?.unwrap_or(DType::F32);
    filled(call, &Value::Float(value), dtype, &shape)
}

pub fn zeros(call: &mut Call) -> Result<Outs, Failure> {
    sized(call, 0.0)
}

pub fn ones(call: &mut Call) -> Result<Outs, Failure> {
    sized(call, 1.0)
}

/// Shape and type of `self`, where no other is said.
fn like(call: &mut Call, value: &Value) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let ty = call.ty(&x);
    let dtype = if call.has("dtype") { call.dtype("dtype")? } else { None };
    let shape = if call.has("size") { call.sizes("size")? } else { ty.shape };
    filled(call, value, dtype.unwrap_or(ty.dtype), &shape)
}

/// Zeros; `empty_like` too, whose elements nobody may read before they are written.
pub fn zeros_like(call: &mut Call) -> Result<Outs, Failure> {
    like(call, &Value::Int(0))
}

pub fn ones_like(call: &mut Call) -> Result<Outs, Failure> {
    like(call, &Value::Int(1))
}

pub fn full_like(call: &mut Call) -> Result<Outs, Failure> {
    let value = call.value("fill_value")?;
    like(call, &value)
}

pub fn fill(call: &mut Call) -> Result<Outs, Failure> {
    let value = call.value("value")?;
    like(call, &value)
}

pub fn scalar_tensor(call: &mut Call) -> Result<Outs, Failure> {
    let value = call.value("s")?;
    let dtype = call.dtype("dtype")?.unwrap_or(DType::F32);
    filled(call, &value, dtype, &[])
}

/// start, start + step, … before end.
pub fn arange(call: &mut Call) -> Result<Outs, Failure> {
    let part = |call: &Call, name: &str, default: i64| match call.has(name) {
        true => call.value(name),
        false => Ok(Value::Int(default)),
    };
    let (start, end, step) = (part(call, "start", 0)?, part(call, "end", 0)?, part(call, "step", 1)?);
    let (Value::Int(start), Value::Int(end), Value::Int(step)) = (start, end, step) else {
        return Err(Failure::unsupported("a range of floats"));
    };
    if step == 0 {
        return Err(Failure::invalid("argument `step` is 0"));
    }
    let distance = if step > 0 { i128::from(end) - i128::from(start) } else { i128::from(start) - i128::from(end) };
    let count = if distance <= 0 { 0 } else { (distance - 1) / i128::from(step).abs() + 1 };
    let count = usize::try_from(count).map_err(|_| Failure::shapes("the range is larger than memory"))?;
    let dtype = call.dtype("dtype")?.unwrap_or(DType::I64);
    let mut b = ExprBuilder::new();
    let mut value = b.node(Node::Coordinate(0), DType::I64);
    for (op, by, neutral) in [(Binary::Mul, step, 1), (Binary::Add, start, 0)] {
        if by != neutral {
            let by = b.node(Node::Constant(Constant::Int(by)), DType::I64);
            value = b.binary(op, value, by);
        }
    }
    let value = if dtype.carrier() == Carrier::Bool || dtype == DType::I64 { value } else { b.cast(value, dtype) };
    let dims: Shape = [count].into_iter().collect();
    let map = Map { label: "range".to_owned(), dims, reads: Vec::new(), body: b.finish(value) };
    Ok(call.emit(Op::Map(map), &[])?.into())
}
