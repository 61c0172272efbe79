//! `exp` and `exp2` of f32, without tables, in a form that vectorises.
//!
//! x = n·ln 2 + r with |r| ≤ ln 2 / 2 (Cody and Waite: ln 2 in two parts), then the Taylor
//! polynomial of degree 7 of exp(r) (remainder below 2⁻²⁸), then a scaling by 2ⁿ in two steps so
//! that subnormal results round once. Error below 1 ulp in the normal range.

use std::f32::consts::{LN_2, LOG2_E};

/// ln 2 with 9 trailing zero bits, so that n·LN2_HI is exact.
const LN2_HI: f32 = 0.693_359_4;
const LN2_LO: f32 = -2.121_944_4e-4;

#[inline(always)]
fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Rounds to nearest for |x| < 2²².
#[inline(always)]
fn nearest(x: f32) -> f32 {
    const MAGIC: f32 = 12_582_912.0;
    (x + MAGIC) - MAGIC
}

#[inline(always)]
fn exp_reduced<const FMA: bool>(r: f32) -> f32 {
    let mut p = 1.0 / 5040.0;
    p = fma::<FMA>(p, r, 1.0 / 720.0);
    p = fma::<FMA>(p, r, 1.0 / 120.0);
    p = fma::<FMA>(p, r, 1.0 / 24.0);
    p = fma::<FMA>(p, r, 1.0 / 6.0);
    p = fma::<FMA>(p, r, 0.5);
    p = fma::<FMA>(p, r, 1.0);
    fma::<FMA>(p, r, 1.0)
}

#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

#[inline(always)]
fn scale(value: f32, n: f32) -> f32 {
    let n = n as i32;
    let half = n >> 1;
    value * power_of_two(half) * power_of_two(n - half)
}

/// e^x.
#[inline(always)]
pub fn exp<const FMA: bool>(x: f32) -> f32 {
    let clamped = if x > 89.0 { 89.0 } else { x };
    let clamped = if clamped < -104.5 { -104.5 } else { clamped };
    let n = nearest(clamped * LOG2_E);
    let r = fma::<FMA>(n, -LN2_LO, fma::<FMA>(n, -LN2_HI, clamped));
    let y = scale(exp_reduced::<FMA>(r), n);
    if x.is_nan() { x } else { y }
}

/// 2^x.
#[inline(always)]
pub fn exp2<const FMA: bool>(x: f32) -> f32 {
    let clamped = if x > 129.0 { 129.0 } else { x };
    let clamped = if clamped < -151.0 { -151.0 } else { clamped };
    let n = nearest(clamped);
    let y = scale(exp_reduced::<FMA>((clamped - n) * LN_2), n);
    if x.is_nan() { x } else { y }
}

macro_rules! slices {
    ($($name:ident $avx512:ident $avx2:ident $one:ident;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
        fn $avx512(input: &[f32], out: &mut [f32]) {
            for (o, &x) in out.iter_mut().zip(input) {
                *o = $one::<true>(x);
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $avx2(input: &[f32], out: &mut [f32]) {
            for (o, &x) in out.iter_mut().zip(input) {
                *o = $one::<true>(x);
            }
        }

        /// Lane by lane.
        pub fn $name(input: &[f32], out: &mut [f32]) {
            #[cfg(target_arch = "x86_64")]
            {
                if super::has_avx512() {
                    // SAFETY: the processor has these parts of AVX-512.
                    return unsafe { $avx512(input, out) };
                }
                if super::has_avx2() {
                    // SAFETY: the processor has AVX2 and FMA.
                    return unsafe { $avx2(input, out) };
                }
            }
            for (o, &x) in out.iter_mut().zip(input) {
                *o = $one::<false>(x);
            }
        }
    )*};
}

slices! {
    exp_slice exp_avx512 exp_avx2 exp;
    exp2_slice exp2_avx512 exp2_avx2 exp2;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ulps(got: f32, want: f64) -> f64 {
        let exponent = (want as f32).abs().max(f32::MIN_POSITIVE).log2().floor() as i32;
        ((got as f64 - want) / 2f64.powi(exponent - 23)).abs()
    }

    #[test]
    fn within_two_ulps_of_exact() {
        let xs: Vec<f32> = (-8700..8850).map(|i| i as f32 * 0.01 + 0.0007).collect();
        let mut ys = vec![0.0; xs.len()];
        exp_slice(&xs, &mut ys);
        for (x, y) in xs.iter().zip(&ys) {
            assert!(ulps(*y, (*x as f64).exp()) < 1.5, "exp({x}) = {y}");
            assert!(ulps(exp::<false>(*x), (*x as f64).exp()) < 2.0, "exp({x})");
        }
        let xs: Vec<f32> = (-12500..12790).map(|i| i as f32 * 0.01 + 0.003).collect();
        let mut ys = vec![0.0; xs.len()];
        exp2_slice(&xs, &mut ys);
        for (x, y) in xs.iter().zip(&ys) {
            assert!(ulps(*y, (*x as f64).exp2()) < 1.5, "exp2({x}) = {y}");
        }
    }

    #[test]
    fn limits() {
        let xs = [f32::NEG_INFINITY, -1e30, 0.0, 1e30, f32::INFINITY, f32::NAN];
        let mut ys = [0.0; 6];
        exp_slice(&xs, &mut ys);
        assert_eq!(ys[..5], [0.0, 0.0, 1.0, f32::INFINITY, f32::INFINITY]);
        assert!(ys[5].is_nan());
        exp2_slice(&xs, &mut ys);
        assert_eq!(ys[..5], [0.0, 0.0, 1.0, f32::INFINITY, f32::INFINITY]);
    }
}
