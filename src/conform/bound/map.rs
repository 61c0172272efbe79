//! Maps: errors carried through every node of the expression beside its values.
//!
//! Functions carry an operand's error by their slope, taken at the end of the interval where it is
//! steepest; each rounding adds its own ([`crate::tolerance::function_error`]), but not at infinite operands or
//! results, where an operator's limit is exact. A comparison whose operands' intervals meet is
//! undecided, and a `select` on it may give either side. At a pole the bound is infinite or NaN.

use std::borrow::Cow;
use std::f64::consts::PI;

use rayon::prelude::*;

use super::Error;
use crate::diag::Result;
use crate::dtype::DType;
use crate::expr::{Binary, Constant, ExprId, Node, Unary};
use crate::graph::op::Map;
use crate::reference::{BLOCK, Math, Reader, floats, registers};
use crate::tensor::Tensor;
use crate::tolerance::{constant_error, function_error, half_ulp, operator_error, rearranged_error};

/// The error of a Map's output, or `None` when it is exact.
pub(super) fn carry(map: &Map, operands: &[Option<&Tensor>], carried: &[Option<&Error>]) -> Result<Option<Error>> {
    if !map.body.nodes().iter().any(|&(node, dtype)| rounds(map, node, dtype)) && carried.iter().all(Option::is_none) {
        return Ok(None);
    }
    let reader = Reader::new(map, operands)?;
    let len: usize = map.dims.iter().product();
    let rounding = map.body.nodes().iter().filter(|&&(node, dtype)| rounds(map, node, dtype)).count();
    let rearranged = rounding > 1 || carried.iter().any(Option::is_some);
    let blocks = (0..len.div_ceil(BLOCK)).into_par_iter().map(|block| {
        let range = block * BLOCK..((block + 1) * BLOCK).min(len);
        let values = registers(map, &reader, range.clone(), Math::F64)?;
        let mut lanes = Lanes { values: values.iter().map(floats).collect(), errors: Vec::new(), marks: None, rearranged };
        for (i, &(node, dtype)) in map.body.nodes().iter().enumerate() {
            let error = match node {
                Node::Read(k) => match carried[map.reads[k as usize].input] {
                    Some(error) => {
                        if let Some(flags) = &error.unsettled {
                            let flags = reader.fetch(k as usize, range.clone(), Some(flags))?;
                            lanes.mark(floats(&flags).iter().map(|&f| f != 0.0));
                        }
                        Some(floats(&reader.fetch(k as usize, range.clone(), Some(&error.bound))?).into_owned())
                    }
                    None => None,
                },
                Node::Coordinate(_) => None,
                Node::Constant(constant) => lanes.constant(constant, dtype, range.len()),
                Node::Unary(..) | Node::Binary(..) | Node::Compare(..) | Node::Select(..) | Node::Cast(_) => {
                    lanes.step(map, i, node, dtype)
                }
            };
            lanes.errors.push(error);
        }
        let bound = lanes.errors.pop().flatten().unwrap_or_else(|| vec![0.0; range.len()]);
        if !map.body.dtype().is_float() {
            lanes.mark(bound.iter().map(|&e| e > 0.0));
        }
        Ok((bound, lanes.marks.unwrap_or_else(|| vec![0.0; range.len()])))
    });
    let (bounds, marks): (Vec<Vec<f64>>, Vec<Vec<f64>>) = blocks.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let bound: Vec<f64> = bounds.concat();
    let marks = marks.concat();
    if bound.iter().all(|&e| e == 0.0) {
        return Ok(None);
    }
    let unsettled = marks.iter().any(|&m| m != 0.0).then_some(marks);
    Ok(Some(Error { bound, unsettled }))
}

/// Whether a node rounds exact operands.
fn rounds(map: &Map, node: Node, dtype: DType) -> bool {
    match node {
        Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) | Node::Compare(..) | Node::Select(..) => false,
        // A cast is the same function on both sides.
        Node::Cast(_) => false,
        Node::Unary(op, _) => dtype.is_float() && function_error(op, 1.0, 1.0) > 0.0,
        Node::Binary(op, a, _) => map.body.nodes()[a.0 as usize].1.is_float() && operator_error(op, 1.0, 1.0, 1.0) > 0.0,
    }
}

/// A block: values and errors of the nodes so far; marks where either side may be taken.
struct Lanes<'v> {
    values: Vec<Cow<'v, [f64]>>,
    errors: Vec<Option<Vec<f64>>>,
    marks: Option<Vec<f64>>,
    /// Whether the formula has several operators, and so may be written another way.
    rearranged: bool,
}

impl Lanes<'_> {
    fn constant(&self, constant: Constant, dtype: DType, len: usize) -> Option<Vec<f64>> {
        match constant {
            Constant::Float(bits) if self.rearranged && dtype != DType::F64 => {
                Some(constant_error(f64::from_bits(bits))).filter(|&e| e > 0.0).map(|e| vec![e; len])
            }
            Constant::Float(_) | Constant::Int(_) | Constant::Bool(_) => None,
        }
    }

    fn mark(&mut self, flags: impl Iterator<Item = bool>) {
        for (i, _) in flags.enumerate().filter(|&(_, flag)| flag) {
            let len = self.values[0].len();
            self.marks.get_or_insert_with(|| vec![0.0; len])[i] = 1.0;
        }
    }

    fn error(&self, id: ExprId) -> Option<&Vec<f64>> {
        self.errors[id.0 as usize].as_ref()
    }

    /// Error, value.
    fn at(&self, id: ExprId, i: usize) -> (f64, f64) {
        (self.error(id).map_or(0.0, |e| e[i]), self.values[id.0 as usize][i])
    }

    /// The error of node `n`, whose operands come before it.
    fn step(&mut self, map: &Map, n: usize, node: Node, dtype: DType) -> Option<Vec<f64>> {
        let mut exact = true;
        crate::expr::operands(node, |id| exact &= self.error(id).is_none());
        if exact && !rounds(map, node, dtype) {
            return None;
        }
        let len = self.values[n].len();
        // Operations in f64 round 2²⁹ times finer.
        let unit = if dtype == DType::F64 { 1.0 / (1u64 << 29) as f64 } else { 1.0 };
        let float = dtype.is_float();
        let own = if self.rearranged { rearranged_error } else { operator_error };
        let each = |lane: &mut dyn FnMut(usize) -> f64| (0..len).map(lane).collect::<Vec<f64>>();
        let mut flags: Vec<bool> = Vec::new();
        let error = match node {
            Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) => return None,
            Node::Unary(op, a) => each(&mut |i| {
                let ((e, x), v) = (self.at(a, i), self.values[n][i]);
                let rounded = float && x.is_finite() && v.is_finite();
                slope(op, x, e, v) + if rounded { function_error(op, x, v) * unit } else { 0.0 }
            }),
            Node::Binary(op, a, b) => each(&mut |i| {
                let ((ea, x), (eb, y), v) = (self.at(a, i), self.at(b, i), self.values[n][i]);
                let rounded = float && x.is_finite() && y.is_finite() && v.is_finite();
                spread(op, (ea, x), (eb, y), v) + if rounded { own(op, x, y, v) * unit } else { 0.0 }
            }),
            Node::Compare(_, a, b) => each(&mut |i| {
                let ((ea, x), (eb, y)) = (self.at(a, i), self.at(b, i));
                (ea + eb > 0.0 && (x - y).abs() <= ea + eb) as u8 as f64
            }),
            Node::Select(c, a, b) => each(&mut |i| {
                let ((open, chosen), (ea, x), (eb, y)) = (self.at(c, i), self.at(a, i), self.at(b, i));
                if open == 0.0 {
                    return if chosen != 0.0 { ea } else { eb };
                }
                let jump = if x == y { 0.0 } else { (x - y).abs() };
                if jump > ea + eb {
                    flags.resize(len, false);
                    flags[i] = true;
                }
                ea.max(eb) + jump
            }),
            Node::Cast(a) => {
                let from = map.body.nodes()[a.0 as usize].1;
                each(&mut |i| cast(self.at(a, i), from, dtype, self.values[n][i]))
            }
        };
        if let Node::Unary(Unary::Floor | Unary::Ceil | Unary::RoundEven, _) = node {
            flags = error.iter().map(|&e| e > 0.0).collect();
        }
        self.mark(flags.into_iter());
        // What follows may bound the error again (tanh by 2) and yet say nothing.
        let open: Vec<bool> = error.iter().zip(self.values[n].iter()).map(|(e, v)| !e.is_finite() && v.is_finite()).collect();
        self.mark(open.into_iter());
        Some(error)
    }
}

/// How far f moves when its argument x moves by e; v = f(x).
fn slope(op: Unary, x: f64, e: f64, v: f64) -> f64 {
    if e == 0.0 {
        return 0.0;
    }
    // The point of the interval nearest to zero.
    let near = (x.abs() - e).max(0.0);
    match op {
        Unary::Neg | Unary::Abs => e,
        Unary::Exp => v * e.exp_m1(),
        Unary::Log if near == 0.0 => f64::INFINITY,
        Unary::Log => (e / near).ln_1p(),
        Unary::Sqrt => (v - (x - e).max(0.0).sqrt()).max((x + e).sqrt() - v),
        Unary::Rsqrt if near == 0.0 => f64::INFINITY,
        Unary::Rsqrt => 1.0 / near.sqrt() - v,
        Unary::Sin | Unary::Cos => e.min(2.0),
        Unary::Tanh => (e * (1.0 - near.tanh().powi(2))).min(2.0),
        Unary::Erf => (e * 2.0 / PI.sqrt() * (-near * near).exp()).min(2.0),
        Unary::Sigmoid => {
            // The small side: 1 − s of the other one would be 0 from 37 on.
            let s = 1.0 / (1.0 + near.exp());
            (e * s * (1.0 - s)).min(1.0)
        }
        Unary::Floor => (x + e).floor() - (x - e).floor(),
        Unary::Ceil => (x + e).ceil() - (x - e).ceil(),
        Unary::RoundEven => (x + e).round_ties_even() - (x - e).round_ties_even(),
        Unary::Not => e,
    }
}

/// How far an operator moves when its operands move by ea and eb; v is its value.
fn spread(op: Binary, (ea, a): (f64, f64), (eb, b): (f64, f64), v: f64) -> f64 {
    if ea == 0.0 && eb == 0.0 {
        return 0.0;
    }
    // An exact operand adds nothing beside an infinite one.
    let weigh = |factor: f64, error: f64| if error == 0.0 { 0.0 } else { factor.abs() * error };
    match op {
        Binary::Add | Binary::Sub => ea + eb,
        Binary::Mul => weigh(a, eb) + weigh(b, ea) + weigh(ea, eb),
        Binary::Div if eb >= b.abs() => f64::INFINITY,
        Binary::Div => (ea + weigh(v, eb)) / (b.abs() - eb),
        Binary::MinNan | Binary::MaxNan | Binary::MinNum | Binary::MaxNum => ea.max(eb),
        Binary::Pow if ea >= a.abs() => f64::INFINITY,
        Binary::Pow => {
            let exponent = (b.abs() + eb) * ea / (a.abs() - ea) + a.abs().ln().abs() * eb;
            v.abs() * exponent.exp_m1()
        }
        // Flags of bools, or integers that are already off.
        Binary::And | Binary::Or | Binary::Xor => ea.max(eb),
        Binary::DivTrunc | Binary::DivFloor => f64::INFINITY,
    }
}

/// A cast gives equal results for equal operands; otherwise a rounding may go either way.
fn cast((e, x): (f64, f64), from: DType, to: DType, v: f64) -> f64 {
    if e == 0.0 {
        return 0.0;
    }
    match (from.format(), to.format()) {
        (_, Some(target)) if from.format().is_none_or(|source| target.digits < source.digits) => e + target.ulp(v),
        (_, Some(_)) => e + if to == DType::F64 { 0.0 } else { half_ulp(v, to) },
        (Some(_), None) if to != DType::Bool => (x + e).trunc() - (x - e).trunc(),
        (_, None) if to == DType::Bool => (x.abs() <= e) as u8 as f64,
        (_, None) => e,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saturated_sigmoid_still_carries_an_error() {
        for x in [-39.0f64, -60.0, -80.0] {
            let v = 1.0 / (1.0 + (-x).exp());
            let moved = slope(Unary::Sigmoid, x, 1e-5, v);
            assert!(moved > 0.99e-5 * v && moved < 1.01e-5 * v, "{x}: {moved:e}");
        }
    }
}
