//! Arithmetic rounded to zero, up or down.
//!
//! The result to nearest is at most one neighbour away from the directed one; which way is told by the sign of
//! (exact − nearest), which the exact terms give: a sum is its two operands, a product its two halves (the
//! fused multiply-add gives the lower one), a quotient or root what multiplying back leaves. The sign of the
//! sum of such terms is found by adding them up without error (Shewchuk, "Adaptive precision floating-point
//! arithmetic", 1997).
//!
//! Does not catch: residuals below 2^−1074, which vanish near the subnormal numbers of f64.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

/// Sum and rounding error: a + b = s + e exactly.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// The sign of an exact sum.
fn sign(terms: &[f64]) -> f64 {
    let mut parts: Vec<f64> = Vec::with_capacity(terms.len());
    for &term in terms {
        let mut carry = term;
        for part in &mut parts {
            (carry, *part) = two_sum(carry, *part);
        }
        parts.push(carry);
    }
    parts.iter().rev().copied().find(|&part| part != 0.0).unwrap_or(0.0)
}

/// The two halves of a product.
fn product(a: f64, b: f64) -> [f64; 2] {
    let p = a * b;
    [p, a.mul_add(b, -p)]
}

/// The neighbour of `near` on the side that the mode and the residual's sign ask for.
fn adjust(near: f64, residual: f64, mode: Rounding, single: bool) -> f64 {
    let step = |up: bool| match (single, up) {
        (true, true) => f64::from((near as f32).next_up()),
        (true, false) => f64::from((near as f32).next_down()),
        (false, true) => near.next_up(),
        (false, false) => near.next_down(),
    };
    let mode = match mode {
        Rounding::Zero if near > 0.0 || near == 0.0 && residual > 0.0 => Rounding::Down,
        Rounding::Zero => Rounding::Up,
        other => other,
    };
    match mode {
        Rounding::Down if residual < 0.0 => step(false),
        Rounding::Up if residual > 0.0 => step(true),
        Rounding::Down | Rounding::Up | Rounding::Nearest | Rounding::Zero => near,
    }
}

/// `near` is the exact result to nearest; `exact` are the terms whose sum it is, `finite` whether it is finite.
fn directed(near: f64, exact: &[f64], finite: bool, mode: Rounding, single: bool) -> f64 {
    if near.is_nan() || mode == Rounding::Nearest {
        return near;
    }
    if near.is_infinite() {
        // An overflow of finite terms stops at the largest number, going the other way.
        let away = match mode {
            Rounding::Up => near > 0.0,
            Rounding::Down => near < 0.0,
            Rounding::Zero | Rounding::Nearest => false,
        };
        let largest = if single { f64::from(f32::MAX) } else { f64::MAX };
        return if finite && !away { largest.copysign(near) } else { near };
    }
    let mut terms = exact.to_vec();
    terms.push(-near);
    adjust(near, sign(&terms), mode, single)
}

fn narrow(value: f64, single: bool) -> f64 {
    if single { f64::from(value as f32) } else { value }
}

pub fn add(a: f64, b: f64, mode: Rounding, single: bool) -> f64 {
    let finite = a.is_finite() && b.is_finite();
    // A sum of opposite numbers is −0 when rounding down.
    if mode == Rounding::Down && a == -b && finite && !(a == 0.0 && b == 0.0 && a.is_sign_positive()) {
        return -0.0;
    }
    directed(narrow(a + b, single), &[a, b], finite, mode, single)
}

pub fn mul(a: f64, b: f64, mode: Rounding, single: bool) -> f64 {
    directed(narrow(a * b, single), &product(a, b), a.is_finite() && b.is_finite(), mode, single)
}

pub fn fma(a: f64, b: f64, c: f64, mode: Rounding, single: bool) -> f64 {
    let near = if single { f64::from((a as f32).mul_add(b as f32, c as f32)) } else { a.mul_add(b, c) };
    let [p, e] = product(a, b);
    directed(near, &[p, e, c], a.is_finite() && b.is_finite() && c.is_finite(), mode, single)
}

pub fn div(a: f64, b: f64, mode: Rounding, single: bool) -> f64 {
    let near = narrow(a / b, single);
    if mode == Rounding::Nearest || near.is_nan() || near.is_infinite() && b == 0.0 || a.is_infinite() || b.is_infinite() {
        return near;
    }
    if near.is_infinite() {
        return directed(near, &[], true, mode, single);
    }
    let [p, e] = product(near, b);
    adjust(near, sign(&[a, -p, -e]) * b.signum(), mode, single)
}

pub fn sqrt(a: f64, mode: Rounding, single: bool) -> f64 {
    let near = narrow(a.sqrt(), single);
    if mode == Rounding::Nearest || !near.is_finite() || near == 0.0 {
        return near;
    }
    let [p, e] = product(near, near);
    adjust(near, sign(&[a, -p, -e]), mode, single)
}

/// A number of f64 as one of f32.
pub fn round_to_f32(value: f64, mode: Rounding) -> f64 {
    directed(narrow(value, true), &[value], value.is_finite(), mode, true)
}

/// An integer as a float.
pub fn of_int(value: i128, mode: Rounding, single: bool) -> f64 {
    let near = if single { f64::from(value as f32) } else { value as f64 };
    let rest = value - near as i128;
    adjust(near, rest.signum() as f64, mode, single)
}

/// A float as an integer between two bounds; NaN is 0.
pub fn to_int(value: f64, mode: Rounding, least: i128, most: i128) -> i128 {
    let whole = match mode {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    };
    if whole.is_nan() { 0 } else { (whole as i128).clamp(least, most) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Rounding::{Down, Nearest, Up, Zero};

    #[test]
    fn neighbours_enclose_the_exact_result() {
        for i in 1..500u32 {
            let a = f64::from(f32::from_bits(0x3f80_0000 + i * 7919)) * if i % 3 == 0 { -1.0 } else { 1.0 };
            let b = f64::from(f32::from_bits(0x3e00_0000 + i * 104_729 % 0x0100_0000));
            type Op = fn(f64, f64, Rounding, bool) -> f64;
            for (op, exact) in [(add as Op, a + b), (mul as Op, a * b), (div as Op, a / b)] {
                let [down, near, up, zero] = [Down, Nearest, Up, Zero].map(|mode| op(a, b, mode, true));
                assert!(down <= exact && exact <= up && down <= near && near <= up, "{a} {b}: {down} {exact} {up}");
                assert!(near == down || near == up);
                assert!(down == up || f64::from((down as f32).next_up()) == up);
                assert_eq!(zero, if exact > 0.0 { down } else { up });
            }
            let (down, up) = (sqrt(b, Down, false), sqrt(b, Up, false));
            assert!(down.mul_add(down, -b) <= 0.0 && up.mul_add(up, -b) >= 0.0);
        }
    }

    #[test]
    fn corners() {
        assert_eq!(add(f64::from(f32::MAX), f64::from(f32::MAX), Zero, true), f64::from(f32::MAX));
        assert_eq!(add(f64::from(f32::MAX), f64::from(f32::MAX), Up, true), f64::INFINITY);
        assert_eq!(mul(f64::INFINITY, 2.0, Zero, true), f64::INFINITY);
        assert!(add(1.0, -1.0, Down, true).is_sign_negative());
        assert_eq!(div(1.0, 0.0, Zero, true), f64::INFINITY);
        assert_eq!(fma(1.0, 1.0, 1e-30, Up, false), 1.0 + f64::EPSILON);
        assert_eq!(add(1.0, 1e-30, Down, false), 1.0);
        assert_eq!(add(1.0, -1e-30, Zero, false), 1.0 - f64::EPSILON / 2.0);
        assert_eq!(round_to_f32(-1e300, Zero), -f64::from(f32::MAX));
    }
}
