//! Functions that libm lacks, in f64.
//!
//! Inverses of the error function: Newton–Halley steps on `erf` or `erfc` from Winitzki's approximation; where
//! the argument is close to ±1 the complement is used, so that nothing cancels. Modified Bessel functions: the
//! power series up to 20, Hankel's asymptotic expansion beyond (NIST DLMF 10.25.2, 10.40.1); both are good
//! to some units in the last place of f64.

use std::f64::consts::{FRAC_2_SQRT_PI, PI, SQRT_2};

/// Winitzki's approximation of the inverse of `erf`, good to 2e-3.
fn rough_inverse(x: f64, one_minus_square: f64) -> f64 {
    let a = 0.147;
    let log = one_minus_square.ln();
    let t = 2.0 / (PI * a) + log / 2.0;
    ((t * t - log / a).sqrt() - t).sqrt().copysign(x)
}

/// Solves `f(y) = 0` where f' = ±2/√π·exp(−y²): Halley's steps.
fn polish(mut y: f64, f: impl Fn(f64) -> f64, sign: f64) -> f64 {
    for _ in 0..4 {
        let step = f(y) / (sign * FRAC_2_SQRT_PI * (-y * y).exp());
        if !step.is_finite() || step == 0.0 {
            break;
        }
        y -= step / (1.0 + y * step);
    }
    y
}

pub fn erfinv(x: f64) -> f64 {
    match x {
        x if x.is_nan() || x.abs() > 1.0 => f64::NAN,
        1.0 => f64::INFINITY,
        -1.0 => f64::NEG_INFINITY,
        0.0 => x,
        x if x.abs() < 0.5 => polish(rough_inverse(x, 1.0 - x * x), |y| libm::erf(y) - x, 1.0),
        x => inverse_of_complement(1.0 - x.abs()).copysign(x),
    }
}

/// y with erfc(y) = q, 0 < q <= 1.
fn inverse_of_complement(q: f64) -> f64 {
    let start = rough_inverse(1.0, q * (2.0 - q));
    polish(start, |y| libm::erfc(y) - q, -1.0)
}

pub fn erfcinv(q: f64) -> f64 {
    match q {
        q if q.is_nan() || !(0.0..=2.0).contains(&q) => f64::NAN,
        0.0 => f64::INFINITY,
        2.0 => f64::NEG_INFINITY,
        q if (0.5..=1.5).contains(&q) => erfinv(1.0 - q),
        q if q < 1.0 => inverse_of_complement(q),
        q => -inverse_of_complement(2.0 - q),
    }
}

/// `exp(x²)·erfc(x)`.
pub fn erfcx(x: f64) -> f64 {
    if x < 26.0 {
        // The square's rounding error would be multiplied by itself.
        let square = x * x;
        let rest = x.mul_add(x, -square);
        return if x < -26.7 { f64::INFINITY } else { square.exp() * (1.0 + rest) * libm::erfc(x) };
    }
    if x.is_infinite() || x.is_nan() {
        return if x.is_nan() { x } else { 0.0 };
    }
    let r = 1.0 / (2.0 * x * x);
    let series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r * (1.0 - 9.0 * r))));
    FRAC_2_SQRT_PI / 2.0 / x * series
}

pub fn normcdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

pub fn normcdfinv(p: f64) -> f64 {
    -SQRT_2 * erfcinv(2.0 * p)
}

/// The modified Bessel function of the first kind of an order, for x >= 0.
fn bessel_i(order: u32, x: f64) -> f64 {
    let order = f64::from(order);
    if x <= 20.0 {
        let quarter = x * x / 4.0;
        let mut term = if order == 0.0 { 1.0 } else { x / 2.0 };
        let mut sum = term;
        for k in 1..200 {
            term *= quarter / (f64::from(k) * (f64::from(k) + order));
            sum += term;
            if term < sum * 1e-18 {
                break;
            }
        }
        return sum;
    }
    if x.is_infinite() {
        return x;
    }
    let mu = 4.0 * order * order;
    let (mut term, mut sum) = (1.0f64, 1.0f64);
    for k in 1..60 {
        let odd = f64::from(2 * k - 1);
        let next = -term * (mu - odd * odd) / (f64::from(k) * 8.0 * x);
        if next.abs() > term.abs() || next.abs() < 1e-18 {
            break;
        }
        term = next;
        sum += term;
    }
    // In two factors, so that the exponential overflows no earlier than the result.
    let half = (x / 2.0).exp();
    half / (2.0 * PI * x).sqrt() * sum * half
}

pub fn bessel_i0(x: f64) -> f64 {
    if x.is_nan() { x } else { bessel_i(0, x.abs()) }
}

pub fn bessel_i1(x: f64) -> f64 {
    if x.is_nan() { x } else { bessel_i(1, x.abs()).copysign(x) }
}

/// sin(πx) for x brought to [−1/2, 1/2]: exact where it is 0 or ±1.
pub fn sinpi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let r = x % 2.0;
    let r = if r > 1.0 {
        r - 2.0
    } else if r < -1.0 {
        r + 2.0
    } else {
        r
    };
    // Mirrored at ±1/2.
    let r = if r.abs() > 0.5 { (1.0 - r.abs()).copysign(r) } else { r };
    if r == 0.0 { 0.0f64.copysign(x) } else { (PI * r).sin() }
}

pub fn cospi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let r = (x % 2.0).abs();
    let r = if r > 1.0 { 2.0 - r } else { r };
    if r > 0.25 { sinpi(0.5 - r) } else { (PI * r).cos() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, relative: f64) {
        assert!((got - want).abs() <= relative * want.abs(), "{got:e}, not {want:e}");
    }

    #[test]
    fn inverses_invert() {
        for i in -999..1000 {
            let x = f64::from(i) / 1000.0;
            close(libm::erf(erfinv(x)), x, 1e-15);
        }
        for q in [1e-300, 1e-30, 1e-5, 0.1, 0.7, 1.3, 1.9] {
            close(libm::erfc(erfcinv(q)), q, 1e-13);
        }
        close(normcdf(normcdfinv(0.025)), 0.025, 1e-14);
        assert_eq!(erfinv(1.0), f64::INFINITY);
    }

    /// Values of NIST's tables.
    #[test]
    fn known_values() {
        close(bessel_i0(1.0), 1.266_065_877_752_008_4, 1e-15);
        close(bessel_i1(1.0), 0.565_159_103_992_485_1, 1e-15);
        close(bessel_i0(30.0), 781_672_297_823.977_5, 1e-14);
        close(bessel_i1(-30.0), -768_532_038_938.957, 1e-14);
        close(erfcx(1.0), 0.427_583_576_155_807_04, 1e-15);
        close(erfcx(30.0), 0.018_795_888_861_416_75, 1e-14);
        close(erfcx(25.99), erfcx(26.01), 1e-3);
        close(normcdfinv(0.975), 1.959_963_984_540_054, 1e-14);
        assert_eq!([sinpi(0.5), sinpi(1.5), sinpi(2.0), cospi(1.0), cospi(0.5)], [1.0, -1.0, 0.0, -1.0, 0.0]);
        close(sinpi(0.25), SQRT_2 / 2.0, 1e-15);
    }
}
