//! Float arithmetic, functions, comparisons and choices.

use std::sync::Arc;

use super::lanes::{at, count, error, values};
use super::rounding::{carried, smallest, unit, within};
use super::{Errors, Shadow};
use crate::emulate::exec::Machine;
use crate::emulate::exec::float::unary_f64;
use crate::emulate::tape::Slot;
use crate::expr::Unary;
use crate::kernel::ir::{Elem, FloatBinary, FloatUnary};
use crate::tolerance::{Contraction, Precision, UNIT, function_error};

/// Roundings that a partial result of another order may differ by: the constant of the contraction law.
const ORDER: f64 = 4.0;

impl Shadow {
    pub(super) fn float(
        &self,
        machine: &mut Machine<'_>,
        op: FloatBinary,
        elem: Elem,
        [a, b]: [Slot; 2],
        out: Slot,
    ) -> Option<Errors> {
        let approximate = op == FloatBinary::Div && elem != Elem::F64;
        let contracted = op == FloatBinary::Mul && self.contracted.contains(&out);
        if self.exact(&[a, b]) && !approximate && !contracted && !self.reassociated {
            return None;
        }
        let (x, y, v) = (values(machine, a), values(machine, b), values(machine, out));
        let (ex, ey) = (self.of(a), self.of(b));
        let lane = |i: usize| {
            let (x, y, v, ex, ey) = (at(&x, i), at(&y, i), v[i], error(&ex, i), error(&ey, i));
            let own = binary(op, elem, [x, y, v], [ex, ey]);
            let product = if contracted { (v - x * y).abs() + own_unit(elem, v) } else { 0.0 };
            clean(own + if product.is_finite() { product } else { 0.0 } + self.order(elem, v))
        };
        Some(Arc::new((0..v.len()).map(lane).collect()))
    }

    /// What another order of a reduction adds to one of its operations.
    pub(super) fn order(&self, elem: Elem, v: f64) -> f64 {
        if self.reassociated && v.is_finite() { ORDER * unit(elem) * v.abs() } else { 0.0 }
    }

    pub(super) fn unary(&self, machine: &mut Machine<'_>, f: FloatUnary, elem: Elem, a: Slot, out: Slot) -> Option<Errors> {
        let exact_function =
            matches!(f, FloatUnary::Neg | FloatUnary::Abs | FloatUnary::Floor | FloatUnary::Ceil | FloatUnary::SqrtRn);
        if exact_function && self.exact(&[a]) {
            return None;
        }
        if matches!(f, FloatUnary::Neg | FloatUnary::Abs) {
            return self.of(a);
        }
        let (x, v, ex) = (values(machine, a), values(machine, out), self.of(a));
        let lane = |i: usize| {
            let (x, v, ex) = (at(&x, i), v[i], error(&ex, i));
            if !x.is_finite() || v.is_nan() {
                return if ex == 0.0 { 0.0 } else { f64::INFINITY };
            }
            let change = match f {
                // Their derivatives are at most 1.
                FloatUnary::Sin | FloatUnary::Cos => ex.min(2.0),
                // Where the interval reaches below zero.
                FloatUnary::Sqrt | FloatUnary::SqrtRn => carried(|x| unary_f64(f, x.max(0.0)), x, ex),
                _ => carried(|x| unary_f64(f, x), x, ex),
            };
            let own = if exact_function { 0.0 } else { own(f, elem, x, v) };
            clean(within(elem, v, v, change + own))
        };
        Some(Arc::new((0..v.len()).map(lane).collect()))
    }

    pub(super) fn fma(&self, machine: &mut Machine<'_>, elem: Elem, [a, b, c]: [Slot; 3], out: Slot) -> Option<Errors> {
        if self.exact(&[a, b, c]) && !self.reassociated {
            return None;
        }
        let [x, y, z, v] = [a, b, c, out].map(|slot| values(machine, slot));
        let [ex, ey, ez] = [a, b, c].map(|slot| self.of(slot));
        let lane = |i: usize| {
            let (x, y, ex, ey) = (at(&x, i), at(&y, i), error(&ex, i), error(&ey, i));
            let spread = product(x, y, ex, ey) + error(&ez, i);
            clean(within(elem, v[i], x * y + at(&z, i), spread) + self.order(elem, v[i]))
        };
        Some(Arc::new((0..v.len()).map(lane).collect()))
    }

    /// Undecided lanes have the error 1.
    pub(super) fn compare(&self, machine: &mut Machine<'_>, a: Slot, b: Slot, out: Slot) -> Option<Errors> {
        // A number beside itself: whether it is NaN is no matter of its error.
        if a == b || self.exact(&[a, b]) {
            return None;
        }
        let (x, y, n) = (values(machine, a), values(machine, b), count(machine, out));
        let (ex, ey) = (self.of(a), self.of(b));
        let lane = |i: usize| {
            let error = error(&ex, i) + error(&ey, i);
            // An infinite side is decided unless its own error is infinite; NaN compares as it does.
            let near = (at(&x, i) - at(&y, i)).abs() <= error;
            if error == 0.0 || error.is_finite() && !near { 0.0 } else { 1.0 }
        };
        Some(Arc::new((0..n).map(lane).collect()))
    }

    pub(super) fn select(&self, machine: &mut Machine<'_>, c: Slot, [a, b]: [Slot; 2], out: Slot) -> Option<Errors> {
        if self.exact(&[c, a, b]) {
            return None;
        }
        let [condition, x, y] = [c, a, b].map(|slot| values(machine, slot));
        let [ec, ex, ey] = [c, a, b].map(|slot| self.of(slot));
        let lane = |i: usize| {
            let (ex, ey) = (error(&ex, i), error(&ey, i));
            if error(&ec, i) != 0.0 {
                let (x, y) = (at(&x, i), at(&y, i));
                let apart = if x == y { 0.0 } else { (x - y).abs() };
                return clean(apart + ex.max(ey));
            }
            if at(&condition, i) != 0.0 { ex } else { ey }
        };
        Some(Arc::new((0..count(machine, out)).map(lane).collect()))
    }
}

/// No number is no bound.
pub(super) fn clean(error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { error }
}

/// The first-order error of a product, with its second-order term.
pub(super) fn product(x: f64, y: f64, ex: f64, ey: f64) -> f64 {
    let part = |a: f64, e: f64| if e == 0.0 { 0.0 } else { a.abs() * e };
    part(x, ey) + part(y, ex) + part(ex, ey)
}

/// What rounding a product once more may leave in f64, whose products are not exact.
fn own_unit(elem: Elem, v: f64) -> f64 {
    if elem == Elem::F64 { unit(elem) * v.abs() } else { 0.0 }
}

fn binary(op: FloatBinary, elem: Elem, [x, y, v]: [f64; 3], [ex, ey]: [f64; 2]) -> f64 {
    match op {
        FloatBinary::Add => within(elem, v, x + y, ex + ey),
        FloatBinary::Sub => within(elem, v, x - y, ex + ey),
        FloatBinary::Mul => within(elem, v, x * y, product(x, y, ex, ey)),
        FloatBinary::Div => {
            // The hardware's division of f32 is good to two units; types that are narrower are divided in f32.
            let own = if elem == Elem::F64 || !v.is_finite() { 0.0 } else { 4.0 * UNIT * v.abs() };
            let spread = if ex == 0.0 && ey == 0.0 {
                0.0
            } else if ey >= y.abs() {
                f64::INFINITY
            } else {
                (ex + (x / y).abs() * ey) / (y.abs() - ey)
            };
            within(elem, v, x / y, spread + own)
        }
        FloatBinary::Rem => {
            if ex == 0.0 && ey == 0.0 {
                return 0.0;
            }
            let quotients = [(x - ex) / (y - ey), (x - ex) / (y + ey), (x + ex) / (y - ey), (x + ex) / (y + ey)].map(f64::trunc);
            let q = quotients[0];
            let settled = ey < y.abs() && q.is_finite() && quotients.iter().all(|&other| other == q);
            if settled { within(elem, v, v, ex + q.abs() * ey) } else { f64::INFINITY }
        }
        FloatBinary::MinNum | FloatBinary::MaxNum | FloatBinary::Minimum | FloatBinary::Maximum => ex.max(ey),
    }
}

/// What the hardware's function and ours may be off by, together.
fn own(f: FloatUnary, elem: Elem, x: f64, v: f64) -> f64 {
    let named = match f {
        FloatUnary::Exp => Unary::Exp,
        FloatUnary::Log | FloatUnary::Log2 => Unary::Log,
        FloatUnary::Sqrt => Unary::Sqrt,
        FloatUnary::Rsqrt => Unary::Rsqrt,
        FloatUnary::Sin => Unary::Sin,
        FloatUnary::Cos => Unary::Cos,
        FloatUnary::Erf => Unary::Erf,
        FloatUnary::Exp2 => Unary::Exp,
        FloatUnary::Neg | FloatUnary::Abs | FloatUnary::Floor | FloatUnary::Ceil | FloatUnary::SqrtRn => return 0.0,
    };
    if !v.is_finite() {
        return 0.0;
    }
    // `function_error` is that of f32; what is narrower is computed there, and f64's has the same number of units.
    let scale = if elem == Elem::F64 { unit(Elem::F64) / UNIT } else { 1.0 };
    let ours = 2.0 * UNIT * v.abs();
    (function_error(named, x, v) + ours) * scale + if v == 0.0 && named != Unary::Exp { 0.0 } else { smallest(elem) }
}

/// The contraction law: a sum in any order, `squares` that of its squared terms
/// and accumulated with roundings of `unit`.
pub(super) fn law(unit: f64, terms: usize, squares: f64, v: f64) -> f64 {
    if !squares.is_finite() || !v.is_finite() || terms < 2 {
        return 0.0;
    }
    Contraction { precision: Precision::Ieee, terms }.bound(squares.sqrt(), v) * (unit / UNIT)
}
