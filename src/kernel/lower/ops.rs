//! Arithmetic, comparisons and logic on values, with Triton's promotion and broadcasting.
//!
//! Two compile-time values compute as Python does. As soon as one operand is a run-time value, both
//! are brought to a common type and a common shape (`operands`).

use super::operands::Pointers;
use super::types::{Scalar, Ty};
use super::value::{Tensor, Val};
use super::{Lower, builder};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{CastKind, Elem, FloatBinary, FloatPredicate, FloatUnary, InstKind, IntBinary, IntPredicate, Literal};
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{BinaryOp, CompareOp, UnaryOp};
use crate::syntax::constant::{binary_symbol, unary_symbol};

impl<'a> Lower<'a, '_> {
    /// `left op right`.
    pub fn binary(&mut self, span: Span, op: BinaryOp, left: &Val<'a>, right: &Val<'a>) -> Result<Val<'a>> {
        match (left, right) {
            (Val::Const(a), Val::Const(b)) => {
                let result = a.binary(op, b).map_err(|error| self.rejected(span, error.to_string()))?;
                return Ok(Val::Const(result));
            }
            (Val::Tuple(a), Val::Tuple(b)) if op == BinaryOp::Add => return Ok(Val::Tuple([a.clone(), b.clone()].concat())),
            (Val::Tuple(items), Val::Const(Constant::Int(n))) | (Val::Const(Constant::Int(n)), Val::Tuple(items))
                if op == BinaryOp::Mul =>
            {
                let times = usize::try_from(*n).unwrap_or(0);
                if items.len().saturating_mul(times) > 1 << 16 {
                    return Err(self.unsupported(span, "a tuple of more than 65536 items"));
                }
                return Ok(Val::Tuple(std::iter::repeat_n(items, times).flatten().cloned().collect()));
            }
            _ => {}
        }
        match op {
            BinaryOp::Add => self.add(span, left, right),
            BinaryOp::Sub => self.sub(span, left, right),
            BinaryOp::Mul => self.arithmetic(span, left, right, IntBinary::Mul, FloatBinary::Mul),
            BinaryOp::Div => self.true_div(span, left, right),
            BinaryOp::FloorDiv => {
                let (a, b) = self.operands(span, left, right, Pointers::Refused, true)?;
                if a.ty.scalar.is_float() {
                    return Err(self.type_error(span, "`//` of floats; use tl.floor(a / b)"));
                }
                let op = if a.ty.scalar.is_unsigned() { IntBinary::DivU } else { IntBinary::DivS };
                Ok(self.int_op(op, &a, &b))
            }
            BinaryOp::Mod => {
                let (a, b) = self.operands(span, left, right, Pointers::Refused, true)?;
                if a.ty.scalar.is_float() {
                    return self.float_op(span, FloatBinary::Rem, &a, &b);
                }
                let op = if a.ty.scalar.is_unsigned() { IntBinary::RemU } else { IntBinary::RemS };
                Ok(self.int_op(op, &a, &b))
            }
            BinaryOp::BitAnd => self.bitwise(span, op, IntBinary::And, left, right),
            BinaryOp::BitOr => self.bitwise(span, op, IntBinary::Or, left, right),
            BinaryOp::BitXor => self.bitwise(span, op, IntBinary::Xor, left, right),
            BinaryOp::Shl => self.bitwise(span, op, IntBinary::Shl, left, right),
            // The sign of the left operand as written decides, before promotion; that of the right one where the left
            // one is a number.
            BinaryOp::Shr => {
                let decides = if matches!(left, Val::Tensor(_)) { left } else { right };
                let unsigned = matches!(decides, Val::Tensor(t) if t.ty.scalar.is_unsigned());
                let shift = if unsigned { IntBinary::ShrU } else { IntBinary::ShrS };
                self.bitwise(span, op, shift, left, right)
            }
            BinaryOp::Pow | BinaryOp::MatMul => Err(self.rejected(span, format!("`{}` on run-time values", binary_symbol(op)))),
        }
    }

    /// `left op right`, where integers are meant to wrap.
    pub fn wrapping(&mut self, span: Span, op: BinaryOp, left: &Val<'a>, right: &Val<'a>) -> Result<Val<'a>> {
        let result = self.binary(span, op, left, right)?;
        if let Val::Tensor(tensor) = &result
            && tensor.ty.scalar.is_int()
        {
            self.b.wraps.insert(tensor.value);
        }
        Ok(result)
    }

    /// Refuses what is computed in 8-bit floats: no target has arithmetic or comparisons of them.
    pub fn no_eight(&self, span: Span, tensor: &Tensor) -> Result<()> {
        if !matches!(tensor.ty.scalar, Scalar::Num(dtype) if dtype.is_fp8()) {
            return Ok(());
        }
        let mut diagnostic =
            self.type_error(span, format!("arithmetic on {}; these are only loaded, stored and converted", tensor.ty.scalar));
        diagnostic.help = Some("convert it: `x.to(tl.float32)`".to_owned());
        Err(diagnostic)
    }

    pub fn int_op(&mut self, op: IntBinary, a: &Tensor, b: &Tensor) -> Val<'a> {
        let value = self.b.inst(InstKind::Int(op, a.value, b.value), a.ty.ir());
        Val::Tensor(self.tensor(value, a.ty.clone()))
    }

    pub fn float_op(&mut self, span: Span, op: FloatBinary, a: &Tensor, b: &Tensor) -> Result<Val<'a>> {
        self.no_eight(span, a)?;
        let value = self.b.inst(InstKind::Float(op, a.value, b.value), a.ty.ir());
        Ok(Val::Tensor(self.tensor(value, a.ty.clone())))
    }

    /// An operation that integers and floats have alike.
    pub fn arithmetic(
        &mut self,
        span: Span,
        left: &Val<'a>,
        right: &Val<'a>,
        int: IntBinary,
        float: FloatBinary,
    ) -> Result<Val<'a>> {
        let (a, b) = self.operands(span, left, right, Pointers::Refused, false)?;
        if a.ty.scalar.is_float() { self.float_op(span, float, &a, &b) } else { Ok(self.int_op(int, &a, &b)) }
    }

    pub fn add(&mut self, span: Span, left: &Val<'a>, right: &Val<'a>) -> Result<Val<'a>> {
        let (a, b) = self.operands(span, left, right, Pointers::Both, false)?;
        match (a.ty.scalar, b.ty.scalar) {
            (Scalar::Ptr(_), Scalar::Ptr(_)) => Err(self.type_error(span, "a sum of two pointers")),
            (Scalar::Ptr(_), Scalar::Num(_)) => Ok(self.add_ptr(a, b)),
            (Scalar::Num(_), Scalar::Ptr(_)) => Ok(self.add_ptr(b, a)),
            (Scalar::Num(d), Scalar::Num(_)) if d.is_float() => self.float_op(span, FloatBinary::Add, &a, &b),
            (Scalar::Num(_), Scalar::Num(_)) => Ok(self.int_op(IntBinary::Add, &a, &b)),
        }
    }

    fn add_ptr(&mut self, ptr: Tensor, mut offset: Tensor) -> Val<'a> {
        if offset.ty.scalar.is_unsigned() && offset.ty.scalar.bits() < 64 {
            // tt.addptr takes its offset as signed: an unsigned one is widened first.
            let ty = offset.ty.with(Scalar::Num(DType::I64));
            let wide = self.b.inst(InstKind::Cast(CastKind::ExtU, offset.value), ty.ir());
            offset = self.tensor(wide, ty);
        }
        let value = self.b.inst(InstKind::AddPtr { ptr: ptr.value, offset: offset.value }, ptr.ty.ir());
        Val::Tensor(self.tensor(value, ptr.ty))
    }

    fn sub(&mut self, span: Span, left: &Val<'a>, right: &Val<'a>) -> Result<Val<'a>> {
        let (a, b) = self.operands(span, left, right, Pointers::Left, false)?;
        match a.ty.scalar {
            Scalar::Ptr(_) => {
                let negative = self.negate(span, &b)?;
                self.add(span, &Val::Tensor(a), &negative)
            }
            Scalar::Num(d) if d.is_float() => self.float_op(span, FloatBinary::Sub, &a, &b),
            Scalar::Num(_) => Ok(self.int_op(IntBinary::Sub, &a, &b)),
        }
    }

    pub fn true_div(&mut self, span: Span, left: &Val<'a>, right: &Val<'a>) -> Result<Val<'a>> {
        let (mut a, mut b) = self.operands(span, left, right, Pointers::Refused, true)?;
        if a.ty.scalar.is_int() {
            a = self.cast(span, &a, Scalar::Num(DType::F32))?;
            b = self.cast(span, &b, Scalar::Num(DType::F32))?;
        }
        self.float_op(span, FloatBinary::Div, &a, &b)
    }

    fn bitwise(&mut self, span: Span, op: BinaryOp, int: IntBinary, left: &Val<'a>, right: &Val<'a>) -> Result<Val<'a>> {
        let (a, b) = self.operands(span, left, right, Pointers::Refused, false)?;
        if !a.ty.scalar.is_int() {
            return Err(self.type_error(span, format!("`{}` of {} and {}", binary_symbol(op), a.ty.scalar, b.ty.scalar)));
        }
        Ok(self.int_op(int, &a, &b))
    }

    /// `op value`.
    pub fn unary(&mut self, span: Span, op: UnaryOp, value: &Val<'a>) -> Result<Val<'a>> {
        match value {
            Val::Const(constant) => Ok(Val::Const(constant.unary(op).map_err(|error| self.rejected(span, error.to_string()))?)),
            Val::Tensor(tensor) => match op {
                UnaryOp::Pos => Ok(value.clone()),
                UnaryOp::Neg => self.negate(span, tensor),
                UnaryOp::Invert => self.invert(span, tensor),
                UnaryOp::Not => {
                    let boolean = self.as_i1(span, tensor)?;
                    self.invert(span, &boolean)
                }
            },
            other => Err(self.type_error(span, format!("`{}` of {}", unary_symbol(op), other.describe()))),
        }
    }

    fn negate(&mut self, span: Span, tensor: &Tensor) -> Result<Val<'a>> {
        match tensor.ty.scalar {
            Scalar::Ptr(_) => Err(self.type_error(span, "the negative of a pointer")),
            Scalar::Num(d) if d.is_float() => {
                self.no_eight(span, tensor)?;
                let value = self.b.inst(InstKind::Unary(FloatUnary::Neg, tensor.value), tensor.ty.ir());
                Ok(Val::Tensor(self.tensor(value, tensor.ty.clone())))
            }
            Scalar::Num(dtype) => {
                let zero = self.number(span, &Constant::Int(0), dtype)?;
                let (zero, tensor) = self.broadcast(span, zero, tensor.clone())?;
                Ok(self.int_op(IntBinary::Sub, &zero, &tensor))
            }
        }
    }

    fn invert(&mut self, span: Span, tensor: &Tensor) -> Result<Val<'a>> {
        let Scalar::Num(dtype) = tensor.ty.scalar else { return Err(self.type_error(span, "`~` of a pointer")) };
        if dtype.is_float() {
            return Err(self.type_error(span, format!("`~` of {}", tensor.ty.scalar)));
        }
        let ones = self.b.constant(Literal::Int(builder::wrap(-1, Elem::of(dtype))), Ty::num(dtype).ir());
        let ones = self.tensor(ones, Ty::num(dtype));
        let (tensor, ones) = self.broadcast(span, tensor.clone(), ones)?;
        Ok(self.int_op(IntBinary::Xor, &tensor, &ones))
    }

    /// An operand of `and`, `or`, `not`: only an i1 passes, or what has its width.
    fn as_i1(&mut self, span: Span, tensor: &Tensor) -> Result<Tensor> {
        if tensor.ty.scalar.is_bool() {
            return Ok(tensor.clone());
        }
        let message = format!("a {} as an operand of and, or, not; compare it first", tensor.ty.scalar);
        Err(self.type_error(span, message))
    }

    /// `left and right`, `left or right` of run-time values.
    pub fn logical(&mut self, span: Span, and: bool, left: &Tensor, right: &Tensor) -> Result<Val<'a>> {
        let (a, b) = (self.as_i1(span, left)?, self.as_i1(span, right)?);
        let (a, b) = self.broadcast(span, a, b)?;
        Ok(self.int_op(if and { IntBinary::And } else { IntBinary::Or }, &a, &b))
    }

    /// `left op right` for one comparison.
    pub fn compare(&mut self, span: Span, op: CompareOp, left: &Val<'a>, right: &Val<'a>) -> Result<Val<'a>> {
        match op {
            CompareOp::Is | CompareOp::IsNot => {
                let same = match (left, right) {
                    (Val::Const(a), Val::Const(b)) => a.type_name() == b.type_name() && a == b,
                    (Val::Tensor(a), Val::Tensor(b)) => a == b,
                    (a, b) => a.same_type(b),
                };
                return Ok(Val::bool(same == (op == CompareOp::Is)));
            }
            CompareOp::In | CompareOp::NotIn if !self.host => {
                return Err(self.rejected(span, "`in`; compare with each value and join with `or`"));
            }
            CompareOp::In | CompareOp::NotIn => {
                let Some((a, b)) = left.to_constant().zip(right.to_constant()) else {
                    return Err(self.rejected(span, "`in` on run-time values"));
                };
                let result = a.compare(op, &b).map_err(|error| self.rejected(span, error.to_string()))?;
                return Ok(Val::bool(result));
            }
            CompareOp::Eq | CompareOp::Ne | CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {}
        }
        if let (Val::Type(a), Val::Type(b)) = (left, right) {
            match op {
                CompareOp::Eq => return Ok(Val::bool(a == b)),
                CompareOp::Ne => return Ok(Val::bool(a != b)),
                _ => return Err(self.rejected(span, "an order of types")),
            }
        }
        // A type is no number and no text: `dtype == 3` asks which of several meanings a constexpr has.
        if matches!((left, right), (Val::Type(_), Val::Const(_)) | (Val::Const(_), Val::Type(_)))
            && matches!(op, CompareOp::Eq | CompareOp::Ne)
        {
            return Ok(Val::bool(op == CompareOp::Ne));
        }
        if let Some((a, b)) = left.to_constant().zip(right.to_constant()) {
            let result = a.compare(op, &b).map_err(|error| self.rejected(span, error.to_string()))?;
            return Ok(Val::bool(result));
        }
        // Equality with None asks whether an argument was given.
        if (left.is_none() || right.is_none()) && matches!(op, CompareOp::Eq | CompareOp::Ne) {
            return Ok(Val::bool(op == CompareOp::Ne));
        }
        let (a, b) = self.operands(span, left, right, Pointers::Refused, false)?;
        let ty = a.ty.with(Scalar::Num(DType::Bool));
        let unsigned = a.ty.scalar.is_unsigned();
        let pick = |signed, without| if unsigned { without } else { signed };
        self.no_eight(span, &a)?;
        let kind = if a.ty.scalar.is_float() {
            let predicate = match op {
                CompareOp::Eq => FloatPredicate::Oeq,
                CompareOp::Ne => FloatPredicate::Une,
                CompareOp::Lt => FloatPredicate::Olt,
                CompareOp::Le => FloatPredicate::Ole,
                CompareOp::Gt => FloatPredicate::Ogt,
                _ => FloatPredicate::Oge,
            };
            InstKind::CompareFloat(predicate, a.value, b.value)
        } else {
            let predicate = match op {
                CompareOp::Eq => IntPredicate::Eq,
                CompareOp::Ne => IntPredicate::Ne,
                CompareOp::Lt => pick(IntPredicate::LtS, IntPredicate::LtU),
                CompareOp::Le => pick(IntPredicate::LeS, IntPredicate::LeU),
                CompareOp::Gt => pick(IntPredicate::GtS, IntPredicate::GtU),
                _ => pick(IntPredicate::GeS, IntPredicate::GeU),
            };
            InstKind::CompareInt(predicate, a.value, b.value)
        };
        let value = self.b.inst(kind, ty.ir());
        Ok(Val::Tensor(self.tensor(value, ty)))
    }
}
