//! Rounding to narrow floats that live in wider carriers: to nearest, ties to even.

use crate::kernel::ir::Elem;

/// The nearest value of a 16-bit float type, as f32; f32 itself is unchanged.
#[inline]
pub fn round_f32(elem: Elem, value: f32) -> f32 {
    match elem {
        Elem::F16 => half::f16::from_f32(value).to_f32(),
        Elem::BF16 => half::bf16::from_f32(value).to_f32(),
        Elem::F32 | Elem::F64 => value,
        Elem::F8E4M3 | Elem::F8E5M2 | Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => no_float(elem),
    }
}

/// Rounds every lane; does nothing for f32.
pub fn round_lanes(elem: Elem, lanes: &mut [f32]) {
    if matches!(elem, Elem::F16 | Elem::BF16) {
        lanes.iter_mut().for_each(|lane| *lane = round_f32(elem, *lane));
    }
}

/// A scalar held in f64, rounded to its type.
pub fn round_scalar(elem: Elem, value: f64) -> f64 {
    match elem {
        Elem::F64 => value,
        Elem::F16 => half::f16::from_f64(value).to_f64(),
        Elem::BF16 => half::bf16::from_f64(value).to_f64(),
        Elem::F32 => f64::from(value as f32),
        Elem::F8E4M3 | Elem::F8E5M2 | Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => no_float(elem),
    }
}

#[cold]
#[inline(never)]
fn no_float(elem: Elem) -> ! {
    unreachable!("invariant: a verified kernel rounds floats, and 8-bit ones are refused when it is compiled, not {elem}")
}
