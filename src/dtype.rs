//! Element types. One enum serves the graph, the kernels and host memory.
//!
//! The carrier of a type is the Rust type that holds its lanes: 16- and 8-bit floats live as `f32`
//! holding only representable values, integers as `i64`, bool as `u8` (0 or 1).

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    F64,
    F32,
    F16,
    BF16,
    F8E4M3,
    F8E5M2,
    /// Without infinities and negative zero, as AMD's CDNA 3 has it; so the next.
    F8E4M3Fnuz,
    F8E5M2Fnuz,
    I64,
    I32,
    I16,
    I8,
    U64,
    U32,
    U16,
    U8,
    Bool,
}

/// The Rust type that holds lanes of a [`DType`] in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    F64,
    F32,
    I64,
    Bool,
}

impl Carrier {
    /// Bytes one element takes on the host.
    pub fn size(self) -> usize {
        match self {
            Carrier::F64 | Carrier::I64 => 8,
            Carrier::F32 => 4,
            Carrier::Bool => 1,
        }
    }
}

impl DType {
    pub const ALL: [DType; 17] = [
        DType::F64,
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F8E4M3,
        DType::F8E5M2,
        DType::F8E4M3Fnuz,
        DType::F8E5M2Fnuz,
        DType::I64,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::U64,
        DType::U32,
        DType::U16,
        DType::U8,
        DType::Bool,
    ];

    pub fn carrier(self) -> Carrier {
        match self {
            DType::F64 => Carrier::F64,
            DType::F32 | DType::F16 | DType::BF16 => Carrier::F32,
            DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => Carrier::F32,
            DType::I64 | DType::I32 | DType::I16 | DType::I8 => Carrier::I64,
            DType::U64 | DType::U32 | DType::U16 | DType::U8 => Carrier::I64,
            DType::Bool => Carrier::Bool,
        }
    }

    /// The type in which scalars of this type are computed: fp32 for narrower floats, as kernels and
    /// torch do. A result is rounded to the type itself where it is stored.
    pub fn computed_in(self) -> DType {
        match self {
            DType::F16 | DType::BF16 => DType::F32,
            DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => DType::F32,
            DType::F64 | DType::F32 => self,
            DType::I64 | DType::I32 | DType::I16 | DType::I8 => self,
            DType::U64 | DType::U32 | DType::U16 | DType::U8 | DType::Bool => self,
        }
    }

    /// Bytes one element takes on the device.
    pub fn size(self) -> usize {
        match self {
            DType::F64 | DType::I64 | DType::U64 => 8,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 2,
            DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => 1,
            DType::I8 | DType::U8 | DType::Bool => 1,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self.carrier(), Carrier::F64 | Carrier::F32)
    }

    pub fn is_integer(self) -> bool {
        self.carrier() == Carrier::I64
    }

    /// A float of 8 bits.
    pub fn is_fp8(self) -> bool {
        matches!(self, DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz)
    }

    pub fn is_unsigned(self) -> bool {
        matches!(self, DType::U64 | DType::U32 | DType::U16 | DType::U8)
    }

    /// The nearest value that a float type represents, ties to even. Beyond the largest one: ±∞,
    /// or NaN where the type has no infinity (f8e4m3 and the fnuz kinds, as torch converts). Other types: unchanged.
    pub fn round(self, value: f64) -> f64 {
        self.format().map_or(value, |format| format.round(value))
    }

    /// An integer brought into the type's range by dropping high bits. Other types, and u64 (whose
    /// lanes are carried in i64): unchanged.
    pub fn wrap(self, value: i64) -> i64 {
        match self {
            DType::I32 => value as i32 as i64,
            DType::I16 => value as i16 as i64,
            DType::I8 => value as i8 as i64,
            DType::U32 => value as u32 as i64,
            DType::U16 => value as u16 as i64,
            DType::U8 => value as u8 as i64,
            DType::I64 | DType::U64 | DType::Bool => value,
            DType::F64 | DType::F32 | DType::F16 | DType::BF16 => value,
            DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => value,
        }
    }

    /// The short name used on the command line, in graph text and in keys: `f32`, `bf16`, `i64`, `bool`.
    pub fn name(self) -> &'static str {
        match self {
            DType::F64 => "f64",
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F8E4M3 => "f8e4m3",
            DType::F8E5M2 => "f8e5m2",
            DType::F8E4M3Fnuz => "f8e4m3fnuz",
            DType::F8E5M2Fnuz => "f8e5m2fnuz",
            DType::I64 => "i64",
            DType::I32 => "i32",
            DType::I16 => "i16",
            DType::I8 => "i8",
            DType::U64 => "u64",
            DType::U32 => "u32",
            DType::U16 => "u16",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    /// The binary format of a float type; `None` for integers and bool.
    pub fn format(self) -> Option<FloatFormat> {
        match self {
            DType::F64 => Some(FloatFormat { digits: 53, min_exponent: -1022, max: f64::MAX, ..IEEE_LIKE }),
            DType::F32 => Some(FloatFormat { digits: 24, min_exponent: -126, max: f32::MAX as f64, ..IEEE_LIKE }),
            DType::F16 => Some(FloatFormat { digits: 11, min_exponent: -14, max: 65504.0, ..IEEE_LIKE }),
            DType::BF16 => Some(FloatFormat { digits: 8, min_exponent: -126, max: 3.3895313892515355e38, ..IEEE_LIKE }),
            DType::F8E4M3 => Some(FloatFormat { digits: 4, min_exponent: -6, max: 448.0, infinite: false, ..IEEE_LIKE }),
            DType::F8E5M2 => Some(FloatFormat { digits: 3, min_exponent: -14, max: 57344.0, ..IEEE_LIKE }),
            DType::F8E4M3Fnuz => Some(FloatFormat { digits: 4, min_exponent: -7, max: 240.0, ..FNUZ }),
            DType::F8E5M2Fnuz => Some(FloatFormat { digits: 3, min_exponent: -15, max: 57344.0, ..FNUZ }),
            DType::I64 | DType::I32 | DType::I16 | DType::I8 => None,
            DType::U64 | DType::U32 | DType::U16 | DType::U8 | DType::Bool => None,
        }
    }

    /// The inverse of [`DType::name`].
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// The attribute of `torch` that names this type: `torch.float32` is `"float32"`.
    pub fn torch_name(self) -> &'static str {
        match self {
            DType::F64 => "float64",
            DType::F32 => "float32",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::F8E4M3 => "float8_e4m3fn",
            DType::F8E5M2 => "float8_e5m2",
            DType::F8E4M3Fnuz => "float8_e4m3fnuz",
            DType::F8E5M2Fnuz => "float8_e5m2fnuz",
            DType::I64 => "int64",
            DType::I32 => "int32",
            DType::I16 => "int16",
            DType::I8 => "int8",
            DType::U64 => "uint64",
            DType::U32 => "uint32",
            DType::U16 => "uint16",
            DType::U8 => "uint8",
            DType::Bool => "bool",
        }
    }

    /// The attribute of `triton.language` that names this type: `tl.float32` is `"float32"`.
    pub fn triton_name(self) -> &'static str {
        match self {
            DType::F8E4M3 => "float8e4nv",
            DType::F8E5M2 => "float8e5",
            DType::F8E4M3Fnuz => "float8e4b8",
            DType::F8E5M2Fnuz => "float8e5b16",
            DType::Bool => "int1",
            DType::F64 | DType::F32 | DType::F16 | DType::BF16 => self.torch_name(),
            DType::I64 | DType::I32 | DType::I16 | DType::I8 => self.torch_name(),
            DType::U64 | DType::U32 | DType::U16 | DType::U8 => self.torch_name(),
        }
    }
}

/// A binary floating-point format with subnormals, as IEEE 754 describes one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatFormat {
    /// Bits of the significand, the hidden one included.
    pub digits: i32,
    /// The exponent e of the smallest normal number, 2^e.
    pub min_exponent: i32,
    /// The largest finite number.
    pub max: f64,
    /// Whether the format has infinities (e4m3fn has none: an overflow is NaN).
    pub infinite: bool,
    /// Whether it has a negative zero.
    pub signed_zero: bool,
}

/// What formats of IEEE 754 have, around fp64's numbers.
const IEEE_LIKE: FloatFormat = FloatFormat { digits: 53, min_exponent: -1022, max: f64::MAX, infinite: true, signed_zero: true };

/// What the `fnuz` formats lack.
const FNUZ: FloatFormat = FloatFormat { infinite: false, signed_zero: false, ..IEEE_LIKE };

impl FloatFormat {
    /// The distance between neighbours in the binade of `value` (of the smallest binade for
    /// subnormals and zero); NaN and infinity give themselves, without sign.
    pub fn ulp(self, value: f64) -> f64 {
        if !value.is_finite() {
            return value.abs();
        }
        let exponent = if value.abs() < f64::MIN_POSITIVE { -1022 } else { ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023 };
        power_of_two(exponent.max(self.min_exponent) - (self.digits - 1))
    }

    /// The nearest number of the format, ties to even; overflow is infinite (NaN where there is none).
    pub fn round(self, value: f64) -> f64 {
        if self.digits == 53 || value.is_nan() {
            return value;
        }
        if self.digits == 24 {
            return value as f32 as f64;
        }
        let ulp = self.ulp(value);
        let rounded = if value.is_infinite() { value } else { (value / ulp).round_ties_even() * ulp };
        match (rounded.abs() > self.max, self.infinite) {
            (false, _) if rounded == 0.0 && !self.signed_zero => 0.0,
            (false, _) => rounded,
            (true, true) => f64::INFINITY.copysign(value),
            (true, false) => f64::NAN,
        }
    }
}

/// 2^exponent, exactly; subnormal or zero below 2^−1022.
fn power_of_two(exponent: i32) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(((exponent.min(1023) + 1023) as u64) << 52)
    } else {
        f64::from_bits(1u64.checked_shl((exponent + 1074).max(0) as u32).unwrap_or(0))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_read_back() {
        for dtype in DType::ALL {
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
        }
        assert_eq!(DType::from_name("float"), None);
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        assert_eq!(DType::F32.round(0.1), 0.1f32 as f64);
        assert_eq!(DType::F16.round(2049.0), 2048.0);
        assert_eq!(DType::BF16.round(257.0), 256.0);
        assert_eq!(DType::BF16.round(1e39), f64::INFINITY);
        assert_eq!(DType::F8E4M3.round(17.0), 16.0);
        assert_eq!(DType::F8E4M3.round(19.0), 20.0);
        assert_eq!(DType::F8E4M3.round(464.0), 448.0);
        assert!(DType::F8E4M3.round(465.0).is_nan());
        assert_eq!(DType::F8E4M3.round(0.0029), 0.001953125);
        assert_eq!(DType::F8E5M2.round(-1e6), f64::NEG_INFINITY);
        assert_eq!([DType::F8E4M3Fnuz.round(17.0), DType::F8E4M3Fnuz.round(0.0029)], [16.0, 0.0029296875]);
        assert_eq!(DType::F8E4M3Fnuz.round(247.0), 240.0);
        assert!(DType::F8E4M3Fnuz.round(249.0).is_nan() && DType::F8E5M2Fnuz.round(-1e6).is_nan());
        assert_eq!(DType::I8.wrap(200), -56);
        assert_eq!(DType::U8.wrap(-1), 255);
    }

    #[test]
    fn rounding_agrees_with_half_and_keeps_the_limits() {
        let f16 = DType::F16.format().unwrap();
        let bf16 = DType::BF16.format().unwrap();
        for i in 0..20_000u32 {
            let v = f32::from_bits(i.wrapping_mul(0x9e37_79b9)) as f64;
            if !v.is_nan() {
                assert_eq!(f16.round(v), half::f16::from_f32(v as f32).to_f64(), "{v:e}");
                assert_eq!(bf16.round(v), half::bf16::from_f32(v as f32).to_f64(), "{v:e}");
            }
        }
        let e4m3 = DType::F8E4M3.format().unwrap();
        assert_eq!([e4m3.round(460.0), e4m3.round(17.0), e4m3.round(0.001)], [448.0, 16.0, 0.001953125]);
        assert!(e4m3.round(480.0).is_nan());
        assert_eq!(DType::F32.format().unwrap().ulp(1.5), f32::EPSILON as f64);
        assert_eq!(DType::F64.format().unwrap().ulp(0.0), 5e-324);
    }
}
