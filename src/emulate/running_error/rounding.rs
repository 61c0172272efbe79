//! What rounding makes of an interval.

use crate::emulate::value::round::round_scalar;
use crate::kernel::ir::Elem;

/// The unit roundoff of a float type: half the distance from 1 to the next number.
pub fn unit(elem: Elem) -> f64 {
    let digits = match elem {
        Elem::F64 => 53,
        Elem::F16 => 11,
        Elem::BF16 => 8,
        Elem::F8E4M3 | Elem::F8E4M3Fnuz => 4,
        Elem::F8E5M2 | Elem::F8E5M2Fnuz => 3,
        _ => 24,
    };
    f64::from(-digits).exp2()
}

/// The smallest normal number, below which approximate functions flush to zero.
pub fn smallest(elem: Elem) -> f64 {
    match elem {
        Elem::F64 => f64::MIN_POSITIVE,
        Elem::F16 => f64::from(-14).exp2(),
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

/// The error of a result `v` whose exact value here is `exact` and there lies within `spread` of it, each rounded to `elem`.
pub fn within(elem: Elem, v: f64, exact: f64, spread: f64) -> f64 {
    if spread == 0.0 {
        return 0.0;
    }
    if v.is_nan() || !spread.is_finite() {
        return f64::INFINITY;
    }
    // Numbers beside each other in f64 are no interval for a result in f64; and sums here are f64's.
    let spread = spread * (1.0 + 1e-9) + exact.abs() * f64::EPSILON;
    let ends = [exact - spread, exact + spread].map(|end| apart(round_scalar(elem, end), v));
    let error = ends[0].max(ends[1]);
    if error.is_nan() { f64::INFINITY } else { error }
}

/// The largest change of a function of one argument over an interval, at its ends.
pub fn carried(f: impl Fn(f64) -> f64, x: f64, error: f64) -> f64 {
    if error == 0.0 {
        return 0.0;
    }
    let v = f(x);
    let ends = [f(x - error), f(x + error)].map(|end| apart(end, v));
    let change = ends[0].max(ends[1]);
    if change.is_nan() { f64::INFINITY } else { change }
}

/// The distance of two numbers; equal infinities have none.
pub fn apart(a: f64, b: f64) -> f64 {
    if a == b { 0.0 } else { (a - b).abs() }
}
