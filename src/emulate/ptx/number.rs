//! The types of PTX, and their bits as numbers.

use crate::dtype::{DType, FloatFormat};
use crate::emulate::value::eight;
use crate::kernel::ir::Elem;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    Pred,
    /// Untyped bits.
    B(u32),
    U(u32),
    S(u32),
    F16,
    BF16,
    F16x2,
    BF16x2,
    F32,
    F64,
    Tf32,
    E4M3x2,
    E5M2x2,
    E2M1x2,
}

impl Ty {
    pub fn named(name: &str) -> Option<Ty> {
        Some(match name {
            "pred" => Ty::Pred,
            "f16" => Ty::F16,
            "bf16" => Ty::BF16,
            "f16x2" => Ty::F16x2,
            "bf16x2" => Ty::BF16x2,
            "f32" => Ty::F32,
            "f64" => Ty::F64,
            "tf32" => Ty::Tf32,
            "e4m3x2" => Ty::E4M3x2,
            "e5m2x2" => Ty::E5M2x2,
            "e2m1x2" => Ty::E2M1x2,
            _ => {
                let bits: u32 = name.get(1..)?.parse().ok().filter(|bits| [8, 16, 32, 64].contains(bits))?;
                match name.as_bytes()[0] {
                    b'b' => Ty::B(bits),
                    b'u' => Ty::U(bits),
                    b's' => Ty::S(bits),
                    _ => return None,
                }
            }
        })
    }

    pub fn bits(self) -> u32 {
        match self {
            Ty::Pred => 1,
            Ty::B(bits) | Ty::U(bits) | Ty::S(bits) => bits,
            Ty::F16 | Ty::BF16 | Ty::E4M3x2 | Ty::E5M2x2 => 16,
            Ty::E2M1x2 => 8,
            Ty::F16x2 | Ty::BF16x2 | Ty::F32 | Ty::Tf32 => 32,
            Ty::F64 => 64,
        }
    }

    pub fn is_float(self) -> bool {
        match self {
            Ty::F16 | Ty::BF16 | Ty::F16x2 | Ty::BF16x2 | Ty::F32 | Ty::F64 | Ty::Tf32 => true,
            Ty::E4M3x2 | Ty::E5M2x2 | Ty::E2M1x2 => true,
            Ty::Pred | Ty::B(_) | Ty::U(_) | Ty::S(_) => false,
        }
    }

    /// The element of a pair; the type itself otherwise.
    pub fn half(self) -> Ty {
        match self {
            Ty::F16x2 => Ty::F16,
            Ty::BF16x2 => Ty::BF16,
            other => other,
        }
    }

    pub fn is_pair(self) -> bool {
        self.half() != self
    }
}

/// The low `bits` bits.
pub fn low(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// Bits as an integer of a type, with its sign.
pub fn int(bits: u64, ty: Ty) -> i128 {
    let width = ty.bits();
    match ty {
        Ty::S(_) => i128::from((bits << (64 - width)) as i64 >> (64 - width)),
        _ => i128::from(low(bits, width)),
    }
}

/// Bits as a float of a type that is no pair.
pub fn float(bits: u64, ty: Ty) -> f64 {
    match ty {
        Ty::F64 => f64::from_bits(bits),
        Ty::F16 => half::f16::from_bits(bits as u16).to_f64(),
        Ty::BF16 => half::bf16::from_bits(bits as u16).to_f64(),
        _ => f32::from_bits(bits as u32).into(),
    }
}

/// The format of a float type that is no pair.
pub fn format(ty: Ty) -> Option<FloatFormat> {
    match ty {
        Ty::F16 => DType::F16.format(),
        Ty::BF16 => DType::BF16.format(),
        Ty::F32 => DType::F32.format(),
        Ty::F64 => DType::F64.format(),
        Ty::Tf32 => DType::F32.format().map(|f| FloatFormat { digits: 11, ..f }),
        Ty::E4M3x2 => DType::F8E4M3.format(),
        Ty::E5M2x2 => DType::F8E5M2.format(),
        Ty::E2M1x2 => Some(FloatFormat { digits: 2, min_exponent: 0, max: 6.0, infinite: false, signed_zero: true }),
        Ty::Pred | Ty::B(_) | Ty::U(_) | Ty::S(_) | Ty::F16x2 | Ty::BF16x2 => None,
    }
}

/// The bits of a number that the type represents.
pub fn bits(value: f64, ty: Ty) -> u64 {
    match ty {
        Ty::F64 => value.to_bits(),
        Ty::F16 => half::f16::from_f64(value).to_bits().into(),
        Ty::BF16 => half::bf16::from_f64(value).to_bits().into(),
        Ty::E4M3x2 => eight::bits(Elem::F8E4M3, value as f32).into(),
        Ty::E5M2x2 => eight::bits(Elem::F8E5M2, value as f32).into(),
        Ty::E2M1x2 => {
            let sign = u64::from(value.is_sign_negative()) << 3;
            let codes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
            sign | codes.iter().position(|&code| code == value.abs()).unwrap_or(7) as u64
        }
        _ => (value as f32).to_bits().into(),
    }
}
