//! Conversions between types, in the steps in which compiled Triton makes them.

use super::Lower;
use super::types::{Scalar, Ty};
use super::value::Tensor;
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::{CastKind, FloatPredicate, InstKind, IntPredicate, Literal};
use crate::source::Span;

impl Lower<'_, '_> {
    fn convert(&mut self, kind: CastKind, tensor: &Tensor, to: DType) -> Tensor {
        let ty = tensor.ty.with(Scalar::Num(to));
        let value = self.b.inst(InstKind::Cast(kind, tensor.value), ty.ir());
        self.tensor(value, ty)
    }

    /// Refuses values of a type that the target's compiler lacks; to name the type is no fault.
    pub fn on_target(&self, span: Span, scalar: Scalar) -> Result<()> {
        let (Scalar::Num(dtype) | Scalar::Ptr(dtype)) = scalar;
        if self.target.fnuz || !matches!(dtype, DType::F8E4M3Fnuz | DType::F8E5M2Fnuz) {
            return Ok(());
        }
        let mut diagnostic = self.rejected(span, format!("type {} is not supported on this target", Scalar::Num(dtype)));
        diagnostic.notes.push("only AMD's compiler has the 8-bit floats fp8e4b8 and fp8e5b16".to_owned());
        diagnostic.help = Some("take fp8e4nv or fp8e5; or say which target is meant: --target gfx942".to_owned());
        Err(diagnostic)
    }

    /// A narrower float, rounded towards zero.
    pub fn cast_toward_zero(&mut self, span: Span, tensor: &Tensor, to: Scalar) -> Result<Tensor> {
        let Scalar::Num(dtype) = to else { return Err(self.type_error(span, format!("a cast to {to}"))) };
        if dtype.is_fp8() {
            return Err(self.unsupported(span, format!("a cast to {to} towards zero")));
        }
        Ok(self.convert(CastKind::FloatTruncZero, tensor, dtype))
    }

    /// A value in another element type; numbers are converted, not reinterpreted.
    pub fn cast(&mut self, span: Span, tensor: &Tensor, to: Scalar) -> Result<Tensor> {
        self.on_target(span, to)?;
        let (from, to) = match (tensor.ty.scalar, to) {
            (a, b) if a == b => return Ok(tensor.clone()),
            (Scalar::Num(a), Scalar::Num(b)) => (a, b),
            (Scalar::Ptr(_), Scalar::Ptr(_)) => return self.bitcast(span, tensor, to),
            (Scalar::Ptr(_), Scalar::Num(number)) => return self.address(span, tensor, number),
            (Scalar::Num(number), Scalar::Ptr(_)) => {
                if Scalar::Num(number).bits() != 64 || number.is_float() {
                    return Err(self.rejected(span, format!("{} as a pointer; an address has 64 bits", tensor.ty.scalar)));
                }
                let ty = tensor.ty.with(to);
                let value = self.b.inst(InstKind::Cast(CastKind::IntToPtr, tensor.value), ty.ir());
                return Ok(self.tensor(value, ty));
            }
        };
        let (a, b) = (Scalar::Num(from).bits(), Scalar::Num(to).bits());
        let half = |d: DType| matches!(d, DType::F16 | DType::BF16);
        if from.is_float() && to.is_float() {
            if to.is_fp8() && (from.is_fp8() || from == DType::F64) {
                let message = format!("a cast of {} to {}: no target has it", Scalar::Num(from), Scalar::Num(to));
                let mut diagnostic = self.type_error(span, message);
                diagnostic.help = Some("convert in two steps: `x.to(tl.float32).to(…)`".to_owned());
                return Err(diagnostic);
            }
            return Ok(match () {
                // From a half type to double: through fp32.
                () if half(from) && to == DType::F64 => {
                    let wide = self.convert(CastKind::FloatExt, tensor, DType::F32);
                    return self.cast(span, &wide, Scalar::Num(to));
                }
                // Between two formats of one width, too, something is rounded away.
                () if a == b => self.convert(CastKind::FloatTrunc, tensor, to),
                () if a > b => self.convert(CastKind::FloatTrunc, tensor, to),
                () => self.convert(CastKind::FloatExt, tensor, to),
            });
        }
        if from.is_float() && to != DType::F32 && (half(from) || from.is_fp8()) {
            let wide = self.convert(CastKind::FloatExt, tensor, DType::F32);
            return self.cast(span, &wide, Scalar::Num(to));
        }
        if to == DType::Bool {
            return Ok(self.not_zero(tensor));
        }
        if from.is_float() {
            let kind = if to.is_unsigned() { CastKind::FloatToIntU } else { CastKind::FloatToIntS };
            return Ok(self.convert(kind, tensor, to));
        }
        let signed = !from.is_unsigned() && from != DType::Bool;
        if to.is_float() {
            if to.is_fp8() {
                let wide = self.cast(span, tensor, Scalar::Num(DType::F32))?;
                return self.cast(span, &wide, Scalar::Num(to));
            }
            let kind = if signed { CastKind::IntToFloatS } else { CastKind::IntToFloatU };
            return Ok(self.convert(kind, tensor, to));
        }
        Ok(match a.cmp(&b) {
            std::cmp::Ordering::Less if signed => self.convert(CastKind::ExtS, tensor, to),
            std::cmp::Ordering::Less => self.convert(CastKind::ExtU, tensor, to),
            std::cmp::Ordering::Greater => self.convert(CastKind::Trunc, tensor, to),
            // Same bits, other sign: only the front end's type changes.
            std::cmp::Ordering::Equal => Tensor { value: tensor.value, ty: tensor.ty.with(Scalar::Num(to)) },
        })
    }

    /// A pointer's address, or whether there is one.
    fn address(&mut self, span: Span, tensor: &Tensor, to: DType) -> Result<Tensor> {
        if to.is_float() || !matches!(Scalar::Num(to).bits(), 1 | 64) {
            return Err(self.rejected(span, format!("a pointer as {}; an address has 64 bits", Scalar::Num(to))));
        }
        let wide = if to == DType::Bool { DType::I64 } else { to };
        let ty = tensor.ty.with(Scalar::Num(wide));
        let value = self.b.inst(InstKind::Cast(CastKind::PtrToInt, tensor.value), ty.ir());
        let address = self.tensor(value, ty);
        Ok(if to == DType::Bool { self.not_zero(&address) } else { address })
    }

    fn not_zero(&mut self, tensor: &Tensor) -> Tensor {
        let float = tensor.ty.scalar.is_float();
        let literal = if float { Literal::Float(0.0) } else { Literal::Int(0) };
        let zero = self.b.constant(literal, Ty::scalar(tensor.ty.scalar).ir());
        let zero = if tensor.ty.is_block() { self.b.splat(zero, &tensor.ty.shape) } else { zero };
        let kind = if float {
            InstKind::CompareFloat(FloatPredicate::Une, tensor.value, zero)
        } else {
            InstKind::CompareInt(IntPredicate::Ne, tensor.value, zero)
        };
        let ty = tensor.ty.with(Scalar::Num(DType::Bool));
        let value = self.b.inst(kind, ty.ir());
        self.tensor(value, ty)
    }

    /// The same bits as another type of the same width; pointers change their pointee, and are cast from and to integers.
    pub fn bitcast(&mut self, span: Span, tensor: &Tensor, to: Scalar) -> Result<Tensor> {
        self.on_target(span, to)?;
        let from = tensor.ty.scalar;
        if from == to {
            return Ok(tensor.clone());
        }
        if from.is_ptr() != to.is_ptr() {
            return self.cast(span, tensor, to);
        }
        if from.bits() != to.bits() {
            return Err(self.type_error(span, format!("a bitcast of {from} to {to}")));
        }
        let ty = tensor.ty.with(to);
        if from.elem() == to.elem() {
            return Ok(Tensor { value: tensor.value, ty });
        }
        let value = self.b.inst(InstKind::Cast(CastKind::Bitcast, tensor.value), ty.ir());
        Ok(self.tensor(value, ty))
    }
}
