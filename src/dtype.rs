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

impl DType {
    pub const ALL: [DType; 15] = [
        DType::F64,
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F8E4M3,
        DType::F8E5M2,
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
            DType::F32 | DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2 => Carrier::F32,
            DType::I64 | DType::I32 | DType::I16 | DType::I8 => Carrier::I64,
            DType::U64 | DType::U32 | DType::U16 | DType::U8 => Carrier::I64,
            DType::Bool => Carrier::Bool,
        }
    }

    /// Bytes one element takes on the device.
    pub fn size(self) -> usize {
        match self {
            DType::F64 | DType::I64 | DType::U64 => 8,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 2,
            DType::F8E4M3 | DType::F8E5M2 | DType::I8 | DType::U8 | DType::Bool => 1,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self.carrier(), Carrier::F64 | Carrier::F32)
    }

    pub fn is_integer(self) -> bool {
        self.carrier() == Carrier::I64
    }

    pub fn is_unsigned(self) -> bool {
        matches!(self, DType::U64 | DType::U32 | DType::U16 | DType::U8)
    }

    /// The nearest value that a float type represents, ties to even. Beyond the largest one: ±∞,
    /// or NaN where the type has no infinity (f8e4m3, as torch converts). Other types: unchanged.
    pub fn round(self, value: f64) -> f64 {
        match self {
            DType::F32 => value as f32 as f64,
            DType::F16 => half::f16::from_f64(value).to_f64(),
            DType::BF16 => half::bf16::from_f64(value).to_f64(),
            DType::F8E4M3 => round_small(value, 3, -6, 448.0, f64::NAN),
            DType::F8E5M2 => round_small(value, 2, -14, 57344.0, f64::INFINITY),
            _ => value,
        }
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
            _ => value,
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
            DType::Bool => "int1",
            other => other.torch_name(),
        }
    }
}

/// Rounds to `bits` bits after the point of 1.xx, with exponents from `lowest` (below it, steps stay
/// the same), and `beyond` above `largest`.
fn round_small(value: f64, bits: i32, lowest: i32, largest: f64, beyond: f64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return if value.is_infinite() { beyond.copysign(value) } else { value };
    }
    let exponent = (((value.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(lowest);
    let step = 2f64.powi(exponent - bits);
    let rounded = (value / step).round_ties_even() * step;
    if rounded.abs() > largest { beyond.copysign(value) } else { rounded }
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
        assert_eq!(DType::I8.wrap(200), -56);
        assert_eq!(DType::U8.wrap(-1), 255);
    }
}
