//! Triton's types and its rules for the common type of two operands.
//!
//! Here integers have a sign, which the IR keeps only in its operations. The rules are those of
//! compiled Triton (language reference, "Triton semantics": type promotion): a Python number takes
//! the tensor's type unless its kind is higher (bool < integer < float); otherwise f64, then f32,
//! f16, bf16 win over what is narrower, f16 with bf16 gives f16, and division of floats computes in
//! at least f32. Integers follow C's usual arithmetic conversions.

use std::fmt;

use crate::dtype::DType;
use crate::kernel::ir::{BlockShape, Elem, Type};
use crate::syntax::Constant;

/// A scalar's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    Num(DType),
    /// A pointer to elements.
    Ptr(DType),
}

impl Scalar {
    pub fn elem(self) -> Elem {
        match self {
            Scalar::Num(dtype) => Elem::of(dtype),
            Scalar::Ptr(to) => Elem::Ptr(to),
        }
    }

    pub fn is_ptr(self) -> bool {
        matches!(self, Scalar::Ptr(_))
    }

    pub fn is_float(self) -> bool {
        matches!(self, Scalar::Num(d) if d.is_float())
    }

    /// Integers and bool, as Triton counts.
    pub fn is_int(self) -> bool {
        matches!(self, Scalar::Num(d) if !d.is_float())
    }

    pub fn is_bool(self) -> bool {
        self == Scalar::Num(DType::Bool)
    }

    /// An int1 is unsigned, as Triton counts.
    pub fn is_unsigned(self) -> bool {
        matches!(self, Scalar::Num(d) if is_unsigned(d))
    }

    pub fn bits(self) -> u32 {
        self.elem().bits()
    }

    /// `fp32`, `i32`, `pointer<fp32>`: as Triton's messages spell it.
    pub fn short_name(self) -> String {
        match self {
            Scalar::Ptr(to) => format!("pointer<{}>", Scalar::Num(to).short_name()),
            Scalar::Num(dtype) => match dtype {
                DType::F64 => "fp64".to_owned(),
                DType::F32 => "fp32".to_owned(),
                DType::F16 => "fp16".to_owned(),
                DType::BF16 => "bf16".to_owned(),
                DType::F8E4M3 => "fp8e4nv".to_owned(),
                DType::F8E5M2 => "fp8e5".to_owned(),
                DType::F8E4M3Fnuz => "fp8e4b8".to_owned(),
                DType::F8E5M2Fnuz => "fp8e5b16".to_owned(),
                other => other.triton_name().to_owned(),
            },
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short_name())
    }
}

/// A scalar when `shape` is empty, else a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ty {
    pub scalar: Scalar,
    pub shape: BlockShape,
}

impl Ty {
    pub fn scalar(scalar: Scalar) -> Ty {
        Ty { scalar, shape: BlockShape::new() }
    }

    pub fn num(dtype: DType) -> Ty {
        Ty::scalar(Scalar::Num(dtype))
    }

    pub fn block(scalar: Scalar, shape: &[usize]) -> Ty {
        Ty { scalar, shape: BlockShape::from_slice(shape) }
    }

    pub fn is_block(&self) -> bool {
        !self.shape.is_empty()
    }

    pub fn with(&self, scalar: Scalar) -> Ty {
        Ty { scalar, shape: self.shape.clone() }
    }

    pub fn ir(&self) -> Type {
        Type { elem: self.scalar.elem(), shape: self.shape.clone() }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_block() {
            write!(f, "{}[{}]", self.scalar, crate::kernel::lower::shape_text(&self.shape))
        } else {
            self.scalar.fmt(f)
        }
    }
}

/// bool < integer < float.
fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        d if d.is_float() => 2,
        _ => 1,
    }
}

/// Width in bits as an integer operand; bool counts as 1.
fn rank(dtype: DType) -> u32 {
    Elem::of(dtype).bits()
}

fn is_unsigned(dtype: DType) -> bool {
    dtype.is_unsigned() || dtype == DType::Bool
}

/// C's usual arithmetic conversions.
pub fn promote_integers(a: DType, b: DType) -> DType {
    match (is_unsigned(a), is_unsigned(b)) {
        (x, y) if x == y => {
            if rank(a) > rank(b) {
                a
            } else {
                b
            }
        }
        (true, _) => {
            if rank(a) >= rank(b) {
                a
            } else {
                b
            }
        }
        (false, _) => {
            if rank(b) >= rank(a) {
                b
            } else {
                a
            }
        }
    }
}

/// The type in which an operation on `a` and `b` computes; `*_number` says that an operand is a
/// Python number. The error is a sentence.
pub fn promote(a: DType, a_number: bool, b: DType, b_number: bool, div_or_mod: bool) -> Result<DType, String> {
    let (mut a, mut b) = (a, b);
    if a_number != b_number {
        let (number, tensor) = if a_number { (a, b) } else { (b, a) };
        if kind(number) <= kind(tensor) {
            (a, b) = (tensor, tensor);
        }
    }
    let either = |d: DType| a == d || b == d;
    if either(DType::F64) {
        return Ok(DType::F64);
    }
    if div_or_mod && (a.is_float() || b.is_float()) {
        return Ok(DType::F32);
    }
    if either(DType::F32) {
        return Ok(DType::F32);
    }
    if either(DType::F16) {
        return Ok(DType::F16);
    }
    if a == DType::BF16 && b == DType::BF16 {
        return Ok(DType::BF16);
    }
    if either(DType::BF16) {
        return Ok(DType::F32);
    }
    if a.is_fp8() && b.is_fp8() {
        return Ok(if a == b { a } else { DType::F16 });
    }
    if a.is_float() || b.is_float() {
        return Err(format!("no common type of {} and {}", Scalar::Num(a), Scalar::Num(b)));
    }
    if div_or_mod && is_unsigned(a) != is_unsigned(b) {
        return Err(format!(
            "cannot divide {} and {}: they have different signedness; cast one of them",
            Scalar::Num(a),
            Scalar::Num(b)
        ));
    }
    Ok(promote_integers(a, b))
}

/// The type of a Python number on its own; `None` for what is not a number.
pub fn number_type(value: &Constant) -> Option<DType> {
    match value {
        Constant::Bool(_) => Some(DType::Bool),
        Constant::Int(i) if i32::try_from(*i).is_ok() => Some(DType::I32),
        Constant::Int(i) if u32::try_from(*i).is_ok() => Some(DType::U32),
        Constant::Int(_) => Some(DType::I64),
        Constant::Float(x) => {
            let fits = x.is_nan()
                || x.is_infinite()
                || *x == 0.0
                || (f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)).contains(&x.abs());
            Some(if fits { DType::F32 } else { DType::F64 })
        }
        Constant::Str(_) | Constant::None | Constant::Tuple(_) => None,
    }
}

/// The least and the greatest value of an integer type.
pub fn int_range(dtype: DType) -> (i128, i128) {
    let bits = rank(dtype);
    match dtype {
        DType::Bool => (0, 1),
        d if d.is_unsigned() => (0, (1 << bits) - 1),
        _ => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::{BF16, Bool, F16, F32, F64, I8, I32, I64, U8, U32};

    #[test]
    fn common_types() {
        for (a, a_number, b, b_number, division, want) in [
            (F16, false, F32, true, false, F16),
            (F16, false, F32, false, false, F32),
            (I32, false, F32, true, false, F32),
            (I64, false, I32, true, false, I64),
            (I8, false, I32, true, false, I8),
            (Bool, false, I32, true, false, I32),
            (F16, false, BF16, false, false, F16),
            (BF16, false, I32, false, false, F32),
            (BF16, false, BF16, false, true, F32),
            (F16, false, I32, true, true, F32),
            (U32, false, I32, false, false, U32),
            (U8, false, I32, false, false, I32),
            (F32, false, F64, true, false, F32),
            (F32, false, F64, false, false, F64),
        ] {
            assert_eq!(promote(a, a_number, b, b_number, division), Ok(want), "{a} {b}");
        }
        assert!(promote(U32, false, I32, false, true).is_err());
    }
}
