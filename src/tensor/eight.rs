//! Floats of 8 bits as their bytes: e4m3 and e5m2, and the kinds of AMD's CDNA 3, which have neither infinities nor a
//! negative zero (`fnuz`). Lanes hold them as f32; bytes are needed by files, casts of bits and inline assembly alone.
//!
//! Sources: *FP8 Formats for Deep Learning* (arXiv 2209.05433); *8-bit Numerical Formats for Deep Neural Networks*
//! (arXiv 2206.02915) for the second pair, whose NaN is the byte of negative zero and whose bias is greater by one.

use crate::dtype::DType;

/// Bits of the fraction, the exponent's bias, and whether the type is one of the second pair.
fn parts(dtype: DType) -> (u32, i32, bool) {
    match dtype {
        DType::F8E4M3 => (3, 7, false),
        DType::F8E5M2 => (2, 15, false),
        DType::F8E4M3Fnuz => (3, 8, true),
        DType::F8E5M2Fnuz => (2, 16, true),
        DType::F64 | DType::F32 | DType::F16 | DType::BF16 => unreachable!("invariant: {dtype} is no float of 8 bits"),
        DType::I64 | DType::I32 | DType::I16 | DType::I8 | DType::Bool => {
            unreachable!("invariant: {dtype} is no float of 8 bits")
        }
        DType::U64 | DType::U32 | DType::U16 | DType::U8 => unreachable!("invariant: {dtype} is no float of 8 bits"),
    }
}

/// The byte that is NaN where a type has but one, and where it has two that of the positive one.
fn nan(dtype: DType) -> u8 {
    if parts(dtype).2 { 0x80 } else { 0x7f }
}

/// The value of a byte.
pub fn value(dtype: DType, byte: u8) -> f32 {
    let (fraction_bits, bias, fnuz) = parts(dtype);
    let sign = if byte & 0x80 == 0 { 1.0 } else { -1.0 };
    let fraction = u32::from(byte & ((1 << fraction_bits) - 1));
    let exponent = i32::from((byte & 0x7f) >> fraction_bits);
    let scale = |e: i32| (f64::from(e)).exp2();
    match (dtype, exponent, fraction) {
        _ if fnuz && byte == 0x80 => f32::NAN,
        (DType::F8E4M3, 15, 7) => f32::NAN,
        (DType::F8E5M2, 31, 0) => sign * f32::INFINITY,
        (DType::F8E5M2, 31, _) => f32::NAN,
        (_, 0, fraction) => sign * (f64::from(fraction) * scale(1 - bias - fraction_bits as i32)) as f32,
        (_, exponent, fraction) => {
            let significand = f64::from(fraction + (1 << fraction_bits));
            sign * (significand * scale(exponent - bias - fraction_bits as i32)) as f32
        }
    }
}

/// The byte of a value that the type represents.
pub fn byte(dtype: DType, value: f32) -> u8 {
    let (fraction_bits, bias, fnuz) = parts(dtype);
    let sign = u8::from(value.is_sign_negative()) << 7;
    let magnitude = f64::from(value.abs());
    match dtype {
        _ if fnuz && !value.is_finite() => return nan(dtype),
        _ if fnuz && value == 0.0 => return 0,
        DType::F8E4M3 if !value.is_finite() => return sign | nan(dtype),
        _ if value.is_nan() => return sign | nan(dtype),
        _ if value.is_infinite() => return sign | 0x7c,
        _ => {}
    }
    let exponent = if magnitude == 0.0 { 1 - bias } else { (magnitude.log2().floor() as i32).max(1 - bias) };
    let units = (magnitude * f64::from(fraction_bits as i32 - exponent).exp2()) as u32;
    let hidden = 1 << fraction_bits;
    let biased = if units < hidden { 0 } else { (exponent + bias) as u32 };
    sign | (biased << fraction_bits | units & (hidden - 1)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::{F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz};

    #[test]
    fn every_byte_comes_back() {
        for dtype in [F8E4M3, F8E5M2, F8E4M3Fnuz, F8E5M2Fnuz] {
            for bits in 0..=255u8 {
                let v = value(dtype, bits);
                if v.is_nan() {
                    assert!(value(dtype, byte(dtype, v)).is_nan());
                    continue;
                }
                assert_eq!(byte(dtype, v), bits, "{dtype} {bits:#x} is {v}");
                assert_eq!(dtype.round(v.into()), f64::from(v));
            }
        }
    }

    #[test]
    fn ends_of_the_formats() {
        assert_eq!([value(F8E4M3, 0x7e), value(F8E5M2, 0x7b)], [448.0, 57344.0]);
        assert_eq!([value(F8E4M3Fnuz, 0x7f), value(F8E5M2Fnuz, 0x7f)], [240.0, 57344.0]);
        assert_eq!([value(F8E4M3, 0x01), value(F8E5M2, 0x01)], [(-9f32).exp2(), (-16f32).exp2()]);
        assert_eq!([value(F8E4M3Fnuz, 0x01), value(F8E5M2Fnuz, 0x01)], [(-10f32).exp2(), (-17f32).exp2()]);
        assert_eq!([value(F8E4M3Fnuz, 0x40), value(F8E5M2Fnuz, 0x40)], [1.0, 1.0]);
        // No negative zero: its byte is NaN, and what rounds to it is zero.
        assert!(value(F8E4M3Fnuz, 0x80).is_nan() && value(F8E5M2Fnuz, 0x80).is_nan());
        for dtype in [F8E4M3Fnuz, F8E5M2Fnuz] {
            assert_eq!([byte(dtype, -0.0), byte(dtype, f32::NAN), byte(dtype, -f32::INFINITY)], [0, 0x80, 0x80]);
            assert_eq!(dtype.round(-1e-9).to_bits(), 0);
        }
    }
}
