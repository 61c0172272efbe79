//! Rounding to narrow floats that live in wider carriers: to nearest, ties to even, or towards zero.
//!
//! A conversion to 8 bits saturates, as `cvt.satfinite` does: what is too large, infinity too, becomes the largest
//! number; NaN stays.

use super::eight;
use crate::dtype::DType;
use crate::kernel::ir::Elem;

/// The nearest value of a 16-bit float type, as f32; f32 itself is unchanged.
#[inline]
pub fn round_f32(elem: Elem, value: f32) -> f32 {
    match elem {
        Elem::F16 => half::f16::from_f32(value).to_f32(),
        Elem::BF16 => half::bf16::from_f32(value).to_f32(),
        Elem::F32 | Elem::F64 => value,
        Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz => round_eight(elem, value.into()) as f32,
        Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => no_float(elem),
    }
}

/// Rounds every lane; does nothing for f32.
pub fn round_lanes(elem: Elem, lanes: &mut [f32]) {
    if elem.is_fp8() || matches!(elem, Elem::F16 | Elem::BF16) {
        lanes.iter_mut().for_each(|lane| *lane = round_f32(elem, *lane));
    }
}

/// A scalar held in f64, rounded to its type.
pub fn round_scalar(elem: Elem, value: f64) -> f64 {
    match elem {
        Elem::F64 => value,
        Elem::F16 => DType::F16.round(value),
        Elem::BF16 => DType::BF16.round(value),
        Elem::F32 => f64::from(value as f32),
        Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz => round_eight(elem, value),
        Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => no_float(elem),
    }
}

/// The nearest value of an 8-bit float type.
fn round_eight(elem: Elem, value: f64) -> f64 {
    let Some(format) = eight::dtype(elem).format() else { return value };
    if value.is_nan() { value } else { format.round(value.clamp(-format.max, format.max)) }
}

/// The next value of the type towards zero; what is beyond its largest one becomes that.
pub fn toward_zero(elem: Elem, value: f64) -> f64 {
    let dtype = match elem {
        Elem::F64 => DType::F64,
        Elem::F32 => DType::F32,
        Elem::F16 => DType::F16,
        Elem::BF16 => DType::BF16,
        Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz => eight::dtype(elem),
        Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => no_float(elem),
    };
    match dtype.format() {
        Some(format) if format.digits < 53 && value.is_finite() => {
            let ulp = format.ulp(value);
            ((value / ulp).trunc() * ulp).clamp(-format.max, format.max)
        }
        Some(_) | None => value,
    }
}

#[cold]
#[inline(never)]
fn no_float(elem: Elem) -> ! {
    unreachable!("invariant: a verified kernel rounds floats, not {elem}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_a_tie_by_little_is_no_tie() {
        // Numbers of f32: their last bits lie below the 32 upper bits of an f64.
        for (value, nearest) in [
            (0.219_238_296_151_161_2, 0.219_726_562_5),
            (0.219_238_281_25, 0.218_75),
            (-0.219_238_296_151_161_2, -0.219_726_562_5),
        ] {
            assert_eq!(round_scalar(Elem::BF16, value), nearest);
            assert_eq!(f64::from(round_f32(Elem::BF16, value as f32)), nearest);
        }
        let tie = 1.0 + f64::from(-11).exp2();
        let little = f64::from(-40).exp2();
        assert_eq!(
            [tie, tie + little, tie - little].map(|v| round_scalar(Elem::F16, v)),
            [1.0, 1.0 + f64::from(-10).exp2(), 1.0]
        );
    }
}
