//! Floats of 8 bits as their bits. Lanes hold them as f32; bits are needed by casts and inline assembly alone.

use crate::kernel::ir::Elem;

/// Bits of the fraction, the exponent's bias.
fn parts(elem: Elem) -> (u32, i32) {
    match elem {
        Elem::F8E4M3 => (3, 7),
        Elem::F8E5M2 => (2, 15),
        Elem::F16 | Elem::BF16 | Elem::F32 | Elem::F64 => unreachable!("invariant: {elem} is no float of 8 bits"),
        Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            unreachable!("invariant: {elem} is no float of 8 bits")
        }
    }
}

/// The value of a byte.
pub fn value(elem: Elem, byte: u8) -> f32 {
    let (fraction_bits, bias) = parts(elem);
    let sign = if byte & 0x80 == 0 { 1.0 } else { -1.0 };
    let fraction = u32::from(byte & ((1 << fraction_bits) - 1));
    let exponent = i32::from((byte & 0x7f) >> fraction_bits);
    let scale = |e: i32| (f64::from(e)).exp2();
    match (elem, exponent, fraction) {
        (Elem::F8E4M3, 15, 7) => f32::NAN,
        (Elem::F8E5M2, 31, 0) => sign * f32::INFINITY,
        (Elem::F8E5M2, 31, _) => f32::NAN,
        (_, 0, fraction) => sign * (f64::from(fraction) * scale(1 - bias - fraction_bits as i32)) as f32,
        (_, exponent, fraction) => {
            let significand = f64::from(fraction + (1 << fraction_bits));
            sign * (significand * scale(exponent - bias - fraction_bits as i32)) as f32
        }
    }
}

/// The byte of a value that the type represents.
pub fn bits(elem: Elem, value: f32) -> u8 {
    let (fraction_bits, bias) = parts(elem);
    let sign = u8::from(value.is_sign_negative()) << 7;
    let magnitude = f64::from(value.abs());
    match elem {
        Elem::F8E4M3 if !value.is_finite() => return sign | 0x7f,
        _ if value.is_nan() => return sign | 0x7f,
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
    use crate::dtype::DType;

    #[test]
    fn every_byte_comes_back() {
        for (elem, dtype) in [(Elem::F8E4M3, DType::F8E4M3), (Elem::F8E5M2, DType::F8E5M2)] {
            for byte in 0..=255u8 {
                let v = value(elem, byte);
                if v.is_nan() {
                    assert!(value(elem, bits(elem, v)).is_nan());
                    continue;
                }
                assert_eq!(bits(elem, v), byte, "{elem} {byte:#x} is {v}");
                assert_eq!(dtype.round(v.into()), f64::from(v));
            }
        }
        assert_eq!([value(Elem::F8E4M3, 0x7e), value(Elem::F8E5M2, 0x7b)], [448.0, 57344.0]);
        assert_eq!(value(Elem::F8E4M3, 0x01), 1.0 / 512.0);
    }
}
