//! Sums whose order is not determined: dots, reductions and scans by one known operation.

use std::sync::Arc;

use super::float::{clean, law, product};
use super::lanes::{at, error, values};
use super::rounding::unit;
use super::{Before, Errors, Shadow};
use crate::emulate::exec::Machine;
use crate::emulate::tape::{Code, Dot, DotOperand, Instruction, Known, Reduce, Scan, Slot};
use crate::kernel::ir::{DotPrecision, Elem, FloatBinary, IntBinary};
use crate::tolerance::Precision;

/// Tensor cores of sm_90 add products of 8-bit floats in numbers of 14 bits, whatever the accumulator's type.
const EIGHT_BIT_UNIT: f64 = 1.0 / 16384.0;

impl Shadow {
    pub(super) fn dot(&mut self, machine: &mut Machine<'_>, dot: &Dot, out: Slot) -> Option<Errors> {
        let acc = match std::mem::replace(&mut self.before, Before::Nothing) {
            Before::Lanes(lanes) => lanes,
            Before::Nothing | Before::Combined(_) => vec![0.0],
        };
        let (DotOperand::Cell(a), DotOperand::Cell(b)) = (&dot.a, &dot.b) else { return None };
        let carried = self.of(dot.acc);
        if !dot.elem.is_float() && self.exact(&[*a, *b]) {
            return carried;
        }
        let (mut x, mut y, v) = (values(machine, *a), values(machine, *b), values(machine, out));
        let (m, n, k) = (dot.m, dot.n, dot.k);
        x.resize(m * k, x[0]);
        y.resize(k * n, y[0]);
        let mut squares = vec![0.0; m * n];
        for i in 0..m {
            for (l, &x) in x[i * k..(i + 1) * k].iter().enumerate().filter(|(_, x)| **x != 0.0) {
                let square = x * x;
                let row = &y[l * n..(l + 1) * n];
                squares[i * n..(i + 1) * n].iter_mut().zip(row).for_each(|(sum, y)| *sum += square * y * y);
            }
        }
        let spread = self.products(dot, [*a, *b], [&x, &y]);
        let unit = match (dot.elem, dot.acc_elem) {
            (Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz, _) => EIGHT_BIT_UNIT,
            (_, acc) if acc.is_float() => unit(acc),
            _ => 0.0,
        };
        let lane = |i: usize| {
            let acc = at(&acc, i);
            let own = law(unit, k + usize::from(acc != 0.0), squares[i] + acc * acc, v[i]);
            clean(
                error(&carried, i) + spread.as_ref().map_or(0.0, |spread| spread[i]) + if squares[i] == 0.0 { 0.0 } else { own },
            )
        };
        Some(Arc::new((0..m * n).map(lane).collect()))
    }

    /// What errors of the operands make of the sums.
    fn products(&self, dot: &Dot, [a, b]: [Slot; 2], [x, y]: [&[f64]; 2]) -> Option<Vec<f64>> {
        if self.exact(&[a, b]) {
            return None;
        }
        let (m, n, k) = (dot.m, dot.n, dot.k);
        let operand = |slot: Slot, lanes: &[f64]| -> Vec<f64> {
            let errors = self.of(slot);
            lanes.iter().enumerate().map(|(i, &x)| used(dot, x, error(&errors, i))).collect()
        };
        let (ex, ey) = (operand(a, x), operand(b, y));
        let mut spread = vec![0.0; m * n];
        for i in 0..m {
            for l in 0..k {
                let (x, ex) = (x[i * k + l], ex[i * k + l]);
                for j in 0..n {
                    spread[i * n + j] += product(x, y[l * n + j], ex, ey[l * n + j]);
                }
            }
        }
        Some(spread)
    }

    /// Results of a reduction or scan.
    pub(super) fn reduced(&mut self, machine: &mut Machine<'_>, at_: &Instruction) {
        let before = std::mem::replace(&mut self.before, Before::Nothing);
        match &at_.code {
            Code::Reduce(reduce) => match before {
                Before::Combined(errors) => reduce.results.iter().zip(errors).for_each(|(&slot, errors)| self.put(slot, errors)),
                Before::Nothing | Before::Lanes(_) => {
                    let errors = reduce.known.and_then(|op| self.known_reduction(machine, reduce, op));
                    reduce.results.iter().for_each(|&slot| self.put(slot, errors.clone()));
                }
            },
            Code::Scan(scan) => match before {
                Before::Combined(errors) => scan.results.iter().zip(errors).for_each(|(&slot, errors)| self.put(slot, errors)),
                Before::Nothing | Before::Lanes(_) => {
                    let errors = scan.known.and_then(|op| self.known_scan(machine, scan, op));
                    scan.results.iter().for_each(|&slot| self.put(slot, errors.clone()));
                }
            },
            _ => {}
        }
    }

    fn known_reduction(&self, machine: &mut Machine<'_>, reduce: &Reduce, op: FloatBinary) -> Option<Errors> {
        let (operand, elem) = (reduce.operands[0], reduce.elems[0]);
        let sums = matches!(op, FloatBinary::Add | FloatBinary::Mul);
        if self.exact(&[operand]) && !sums {
            return None;
        }
        let (x, v, ex) = (values(machine, operand), values(machine, reduce.results[0]), self.of(operand));
        let n = reduce.shape[reduce.axis];
        let inner: usize = reduce.shape[reduce.axis + 1..].iter().product();
        let lane = |i: usize| {
            let line = (0..n).map(|l| (i / inner * n + l) * inner + i % inner).map(|place| (at(&x, place), error(&ex, place)));
            clean(folded(op, elem, line, v[i]))
        };
        Some(Arc::new((0..v.len()).map(lane).collect()))
    }

    fn known_scan(&self, machine: &mut Machine<'_>, scan: &Scan, op: Known) -> Option<Errors> {
        let (operand, elem) = (scan.operands[0], scan.elems[0]);
        let sums = matches!(op, Known::Float(FloatBinary::Add | FloatBinary::Mul));
        if self.exact(&[operand]) && !sums {
            return None;
        }
        let (x, v, ex) = (values(machine, operand), values(machine, scan.results[0]), self.of(operand));
        let n = scan.shape[scan.axis];
        let inner: usize = scan.shape[scan.axis + 1..].iter().product();
        let lane = |i: usize| {
            let (outer, here) = (i / inner / n, i / inner % n);
            let range = if scan.reverse { here..n } else { 0..here + 1 };
            let mut line = range.map(|l| (outer * n + l) * inner + i % inner).map(|place| (at(&x, place), error(&ex, place)));
            clean(match op {
                Known::Float(op) => folded(op, elem, line, v[i]),
                Known::Int(IntBinary::Add | IntBinary::Sub) => line.map(|(_, e)| e).sum(),
                Known::Int(IntBinary::MinS | IntBinary::MaxS) => line.map(|(_, e)| e).fold(0.0, f64::max),
                Known::Int(_) => {
                    if line.all(|(_, e)| e == 0.0) {
                        0.0
                    } else {
                        f64::INFINITY
                    }
                }
            })
        };
        Some(Arc::new((0..v.len()).map(lane).collect()))
    }
}

/// A line of numbers with their errors, folded by one operation in any order.
fn folded(op: FloatBinary, elem: Elem, line: impl Iterator<Item = (f64, f64)>, v: f64) -> f64 {
    match op {
        FloatBinary::Add => {
            let (mut errors, mut squares, mut magnitude, mut terms, mut whole) = (0.0, 0.0, 0.0, 0, true);
            for (x, e) in line {
                errors += e;
                squares += x * x;
                magnitude += x.abs();
                terms += usize::from(x != 0.0 || e != 0.0);
                whole &= x == x.trunc() && e == 0.0;
            }
            // Integers below 2^digits, and a single number, have one sum.
            let exact = errors == 0.0 && (terms < 2 || whole && magnitude * unit(elem) < 1.0);
            errors + if exact { 0.0 } else { law(unit(elem), terms, squares, v) }
        }
        FloatBinary::Mul => {
            let (mut relative, mut terms) = (0.0, 0);
            for (x, e) in line {
                relative += if e == 0.0 { 0.0 } else { e / x.abs() };
                terms += 1;
            }
            if v.is_finite() { v.abs() * (relative + 4.0 * unit(elem) * f64::from(terms)) } else { 0.0 }
        }
        FloatBinary::MinNum | FloatBinary::MaxNum | FloatBinary::Minimum | FloatBinary::Maximum => {
            line.map(|(_, e)| e).fold(0.0, f64::max)
        }
        FloatBinary::Sub | FloatBinary::Div | FloatBinary::Rem => f64::INFINITY,
    }
}

/// The error of an operand as the dot uses it.
fn used(dot: &Dot, x: f64, e: f64) -> f64 {
    if e == 0.0 || dot.elem != Elem::F32 {
        return e;
    }
    let truncated = |x: f64| f64::from(f32::from_bits((x as f32).to_bits() & !0x1fff));
    let split = |precision: Precision| e + 2.0 * precision.operand_error() * x.abs();
    match dot.precision {
        DotPrecision::Ieee => e,
        DotPrecision::Tf32 => (truncated(x - e) - truncated(x)).abs().max((truncated(x + e) - truncated(x)).abs()),
        DotPrecision::Tf32x3 => split(Precision::Tf32x3),
        DotPrecision::Bf16x3 => split(Precision::Bf16x3),
        DotPrecision::Bf16x6 => split(Precision::Bf16x6),
    }
}
