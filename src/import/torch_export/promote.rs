//! Type promotion, as torch's `result_type` does it: among operands of one priority the types join; a lower priority
//! counts only where its category (bool, integer, float) is higher. Tensors with axes come before tensors without,
//! which come before Python's numbers.
//!
//! <https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc>

use super::call::Call;
use crate::dtype::DType;
use crate::expr::{ExprBuilder, ExprId};
use crate::import::build::activation::converted;
use crate::import::build::{Failure, Operand};
use crate::tensor::{Storage, Tensor};

/// What stands where a tensor is expected.
#[derive(Clone, Debug)]
pub enum Value {
    Tensor(Operand),
    Int(i64),
    Float(f64),
    Bool(bool),
}

/// What Python's floats become.
const DEFAULT: DType = DType::F32;

/// Two types of one priority joined.
fn join(a: DType, b: DType) -> DType {
    if a == b {
        return a;
    }
    match (category(a), category(b)) {
        (x, y) if x > y => a,
        (x, y) if x < y => b,
        (2, _) => {
            let wide = if a.size() > b.size() { a } else { b };
            if a.size() == b.size() { DType::F32 } else { wide }
        }
        _ => {
            let signed_wider = |unsigned: DType, signed: DType| match unsigned {
                DType::U8 if signed == DType::I8 => DType::I16,
                _ if signed.size() > unsigned.size() => signed,
                _ => DType::I64,
            };
            match (a.is_unsigned(), b.is_unsigned()) {
                (true, false) => signed_wider(a, b),
                (false, true) => signed_wider(b, a),
                (true, true) | (false, false) => {
                    if a.size() > b.size() {
                        a
                    } else {
                        b
                    }
                }
            }
        }
    }
}

fn category(dtype: DType) -> u8 {
    if dtype == DType::Bool {
        0
    } else if dtype.is_integer() {
        1
    } else {
        2
    }
}

impl Call<'_> {
    /// The type in which these operands meet.
    pub fn promoted(&self, values: &[Value]) -> DType {
        let (mut with_axes, mut without, mut numbers) = (None, None, None);
        for value in values {
            let (class, dtype) = match value {
                Value::Tensor(operand) => {
                    let ty = self.ty(operand);
                    (if ty.shape.is_empty() { &mut without } else { &mut with_axes }, ty.dtype)
                }
                Value::Int(_) => (&mut numbers, DType::I64),
                Value::Float(_) => (&mut numbers, DEFAULT),
                Value::Bool(_) => (&mut numbers, DType::Bool),
            };
            *class = Some(class.map_or(dtype, |so_far| join(so_far, dtype)));
        }
        let lowered = |higher: Option<DType>, lower: Option<DType>| match (higher, lower) {
            (Some(h), Some(l)) if category(l) > category(h) => Some(l),
            (Some(h), _) => Some(h),
            (None, lower) => lower,
        };
        lowered(lowered(with_axes, without), numbers).unwrap_or(DEFAULT)
    }

    /// The type of a function of floats: that of its operand, or the default one of an integer.
    pub fn floating(&self, dtype: DType) -> DType {
        if dtype.is_float() { dtype } else { DEFAULT }
    }

    /// A number as a tensor without axes of a type; a tensor as it is.
    pub fn operand(&mut self, value: &Value, dtype: DType) -> Operand {
        let number = match value {
            Value::Tensor(operand) => return operand.clone(),
            Value::Int(i) => *i as f64,
            Value::Float(f) => *f,
            Value::Bool(b) => f64::from(u8::from(*b)),
        };
        let storage = match dtype.carrier() {
            crate::dtype::Carrier::F64 => Storage::F64(vec![number]),
            crate::dtype::Carrier::F32 => Storage::F32(vec![dtype.round(number) as f32]),
            crate::dtype::Carrier::I64 => match value {
                Value::Int(i) => Storage::I64(vec![dtype.wrap(*i)]),
                Value::Tensor(_) | Value::Float(_) | Value::Bool(_) => Storage::I64(vec![dtype.wrap(number as i64)]),
            },
            crate::dtype::Carrier::Bool => Storage::Bool(vec![u8::from(number != 0.0)]),
        };
        self.known("number", Tensor::new(dtype, crate::shape::Shape::new(), storage))
    }

    /// The Map of `build` over operands that are brought into one type first; its elements have the type that
    /// `build` gives them. The label gets `_scalar` where an operand is a number (see [`Site::binary`]).
    ///
    /// [`Site::binary`]: crate::import::build::Site::binary
    pub fn joined(
        &mut self,
        label: &str,
        values: &[Value],
        dtype: DType,
        build: impl FnOnce(&mut ExprBuilder, &[ExprId]) -> ExprId,
    ) -> Result<Operand, Failure> {
        let operands: Vec<Operand> = values.iter().map(|value| self.operand(value, dtype)).collect();
        let scalar = operands.len() == 2 && operands.iter().any(|o| o.number().is_some());
        let label = if scalar { format!("{label}_scalar") } else { label.to_owned() };
        self.map(&label, &operands, |b, args| {
            let args: Vec<ExprId> = args.iter().map(|&arg| converted(b, arg, dtype)).collect();
            build(b, &args)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_join_as_torchs() {
        assert_eq!(join(DType::F16, DType::BF16), DType::F32);
        assert_eq!(join(DType::F16, DType::F32), DType::F32);
        assert_eq!(join(DType::I64, DType::F16), DType::F16);
        assert_eq!(join(DType::U8, DType::I8), DType::I16);
        assert_eq!(join(DType::U8, DType::I32), DType::I32);
        assert_eq!(join(DType::Bool, DType::U8), DType::U8);
        assert_eq!(join(DType::I16, DType::I64), DType::I64);
    }
}
