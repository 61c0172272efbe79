//! Operands of an operation: Python numbers as run-time values, the common type of `types::promote`, and
//! a common shape. Scalars are splat, a block of lower rank gets leading axes, axes of size 1 are
//! broadcast.

use super::builtins::MAX_NUMEL;
use super::types::{Scalar, Ty, int_range, number_type, promote};
use super::value::{Tensor, Val};
use super::{Lower, builder, shape_text};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{BlockShape, Elem, InstKind, Literal};
use crate::source::Span;
use crate::syntax::Constant;

/// How an operand pair is prepared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pointers {
    Refused,
    Left,
    Both,
}

impl<'a> Lower<'a, '_> {
    /// A Python number as a run-time scalar of a given type.
    pub fn number(&mut self, span: Span, value: &Constant, dtype: DType) -> Result<Tensor> {
        let elem = Elem::of(dtype);
        let refused = |lower: &Self| {
            let message = format!("{value} is out of range for {}", Scalar::Num(dtype));
            lower.type_error(span, message)
        };
        let literal = match value.as_int() {
            Some(int) if !dtype.is_float() => {
                let (least, greatest) = int_range(dtype);
                if !(least..=greatest).contains(&i128::from(int)) {
                    return Err(refused(self));
                }
                Literal::Int(builder::wrap(int, elem))
            }
            _ => match value.as_float() {
                Some(float) if dtype.is_float() => builder::literal_of(float, elem),
                // Triton lets a float zero fill an integer block.
                Some(0.0) => Literal::Int(0),
                _ => return Err(refused(self)),
            },
        };
        if dtype.is_fp8() {
            let wide = self.b.constant(literal, Ty::num(DType::F32).ir());
            let wide = self.tensor(wide, Ty::num(DType::F32));
            return self.cast(span, &wide, Scalar::Num(dtype));
        }
        let value = self.b.constant(literal, Ty::num(dtype).ir());
        Ok(self.tensor(value, Ty::num(dtype)))
    }

    /// A constant of uint64 by its bits.
    pub fn bits64(&mut self, bits: u64) -> Tensor {
        let value = self.b.constant(Literal::Int(bits as i64), Ty::num(DType::U64).ir());
        self.tensor(value, Ty::num(DType::U64))
    }

    /// A value as a run-time one; a Python number gets the type it has on its own.
    pub fn tensor_of(&mut self, span: Span, value: &Val<'a>) -> Result<Tensor> {
        match value {
            Val::Tensor(tensor) => Ok(tensor.clone()),
            Val::Const(constant) => match number_type(constant) {
                Some(dtype) => self.number(span, constant, dtype),
                None => Err(self.type_error(span, format!("{} where a value is needed", value.describe()))),
            },
            other => Err(self.type_error(span, format!("{} where a value is needed", other.describe()))),
        }
    }

    fn scalar_of(&self, span: Span, value: &Val<'a>) -> Result<(Scalar, bool)> {
        match value {
            Val::Tensor(tensor) => Ok((tensor.ty.scalar, false)),
            Val::Const(constant) => match number_type(constant) {
                Some(dtype) => Ok((Scalar::Num(dtype), true)),
                None => Err(self.type_error(span, format!("{} as an operand", value.describe()))),
            },
            other => Err(self.type_error(span, format!("{} as an operand", other.describe()))),
        }
    }

    /// Brings a value to the type an operation computes in.
    fn operand_as(&mut self, span: Span, value: &Val<'a>, dtype: DType) -> Result<Tensor> {
        match value {
            Val::Const(constant) => {
                if dtype.is_unsigned() && constant.as_float().is_some_and(|x| x < 0.0) {
                    let message = format!("a negative number with an unsigned {}; cast one of them", Scalar::Num(dtype));
                    return Err(self.type_error(span, message));
                }
                self.number(span, constant, dtype)
            }
            other => {
                let tensor = self.tensor_of(span, other)?;
                self.cast(span, &tensor, Scalar::Num(dtype))
            }
        }
    }

    /// Two operands with a common type and shape; pointers keep their own type.
    pub fn operands(
        &mut self,
        span: Span,
        left: &Val<'a>,
        right: &Val<'a>,
        pointers: Pointers,
        div_or_mod: bool,
    ) -> Result<(Tensor, Tensor)> {
        let (a, a_number) = self.scalar_of(span, left)?;
        let (b, b_number) = self.scalar_of(span, right)?;
        let (x, y) = match (a, b) {
            (Scalar::Num(a), Scalar::Num(b)) => {
                let dtype = promote(a, a_number, b, b_number, div_or_mod).map_err(|message| self.type_error(span, message))?;
                (self.operand_as(span, left, dtype)?, self.operand_as(span, right, dtype)?)
            }
            _ => {
                let refused = match (a, b) {
                    (Scalar::Ptr(_), _) if pointers == Pointers::Refused => true,
                    (Scalar::Num(_), Scalar::Ptr(_)) if pointers != Pointers::Both => true,
                    (Scalar::Ptr(x), Scalar::Ptr(y)) => pointers != Pointers::Both || x != y,
                    (Scalar::Ptr(_), Scalar::Num(n)) | (Scalar::Num(n), Scalar::Ptr(_)) => n.is_float(),
                    (Scalar::Num(_), Scalar::Num(_)) => false,
                };
                if refused {
                    return Err(self.type_error(span, format!("operands of types {a} and {b}")));
                }
                (self.tensor_of(span, left)?, self.tensor_of(span, right)?)
            }
        };
        self.broadcast(span, x, y)
    }

    /// Brings two values to a common shape.
    pub fn broadcast(&mut self, span: Span, mut a: Tensor, mut b: Tensor) -> Result<(Tensor, Tensor)> {
        match (a.ty.is_block(), b.ty.is_block()) {
            (false, false) => return Ok((a, b)),
            (true, false) => {
                let shape = a.ty.shape.clone();
                b = self.splat(&b, &shape);
                return Ok((a, b));
            }
            (false, true) => {
                let shape = b.ty.shape.clone();
                a = self.splat(&a, &shape);
                return Ok((a, b));
            }
            (true, true) => {}
        }
        while a.ty.shape.len() < b.ty.shape.len() {
            a = self.expand_dims(&a, 0);
        }
        while b.ty.shape.len() < a.ty.shape.len() {
            b = self.expand_dims(&b, 0);
        }
        let mut shape = BlockShape::new();
        for (&x, &y) in a.ty.shape.iter().zip(&b.ty.shape) {
            if x != y && x != 1 && y != 1 {
                let message = format!(
                    "blocks of {} and {} do not broadcast: sizes {x} and {y}",
                    shape_text(&a.ty.shape),
                    shape_text(&b.ty.shape)
                );
                return Err(self.type_error(span, message));
            }
            shape.push(if x == 1 { y } else { x });
        }
        let numel = shape.iter().fold(1usize, |n, &size| n.saturating_mul(size));
        if numel > MAX_NUMEL {
            let message = format!("a broadcast to a block of {numel} elements; Triton's limit is {MAX_NUMEL}");
            return Err(self.rejected(span, message));
        }
        Ok((self.grow(a, &shape), self.grow(b, &shape)))
    }

    /// Axes of size 1 to a given shape of the same rank.
    fn grow(&mut self, tensor: Tensor, shape: &[usize]) -> Tensor {
        if tensor.ty.shape.as_slice() == shape {
            return tensor;
        }
        let ty = Ty::block(tensor.ty.scalar, shape);
        let value = self.b.inst(InstKind::Broadcast(tensor.value), ty.ir());
        self.tensor(value, ty)
    }

    /// A value in a given shape.
    pub fn broadcast_to(&mut self, span: Span, tensor: &Tensor, shape: &[usize]) -> Result<Tensor> {
        if !tensor.ty.is_block() {
            return Ok(self.splat(tensor, shape));
        }
        let from = &tensor.ty.shape;
        if from.len() != shape.len() || from.iter().zip(shape).any(|(&x, &y)| x != y && x != 1) {
            let message = format!("a block of {} does not broadcast to {}", shape_text(from), shape_text(shape));
            return Err(self.type_error(span, message));
        }
        Ok(self.grow(tensor.clone(), shape))
    }

    pub fn splat(&mut self, tensor: &Tensor, shape: &[usize]) -> Tensor {
        if shape.is_empty() {
            return tensor.clone();
        }
        let value = self.b.splat(tensor.value, shape);
        self.tensor(value, Ty::block(tensor.ty.scalar, shape))
    }

    pub fn expand_dims(&mut self, tensor: &Tensor, axis: usize) -> Tensor {
        let mut shape = tensor.ty.shape.clone();
        shape.insert(axis, 1);
        if !tensor.ty.is_block() {
            return self.splat(tensor, &shape);
        }
        let ty = Ty::block(tensor.ty.scalar, &shape);
        let value = self.b.inst(InstKind::ExpandDims { value: tensor.value, axis: axis as u8 }, ty.ir());
        self.tensor(value, ty)
    }
}
