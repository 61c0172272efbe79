//! Operators over whole lines: reductions, positions, running sums, normalisation by own statistics. An
//! element is marked as unsettled when one of its line is.
//!
//! Sums of n elements are contractions with weights 1. A product rounds once a factor. A position may be
//! any where the errors of two elements overlap.

use rayon::prelude::*;

use super::{Error, as_tensor};
use crate::diag::Result;
use crate::dtype::DType;
use crate::graph::op::{ArgKind, ArgReduce, Norm, Op, Reduce, ReduceKind, Scan, ScanKind};
use crate::reference::{Math, apply, floats, spread};
use crate::shape::{Lines, lines};
use crate::tensor::Tensor;
use crate::tolerance::{Contraction, Precision, UNIT, half_ulp};

/// The least that a result near 0 may be off by, where numbers have no digits left.
fn least() -> f64 {
    half_ulp(0.0, DType::F32)
}

/// A flag for every line: whether an element of it is marked.
fn marked_lines(error: Option<&Error>, all: &Lines) -> Option<Vec<bool>> {
    let flags = error?.unsettled.as_ref()?;
    Some(all.starts.iter().map(|start| all.steps.iter().any(|step| flags[start + step] != 0.0)).collect())
}

/// Sums are bounded as contractions, a mean's is divided; extremes move by at most the largest error of
/// their line and round nothing. `None`: exact.
pub(super) fn reduce(
    reduce: &Reduce,
    operands: &[Option<&Tensor>],
    carried: &[Option<&Error>],
    output: &Tensor,
) -> Option<Error> {
    let operand = operands[0]?;
    let error = carried[0];
    let chooses = matches!(reduce.kind, ReduceKind::Max | ReduceKind::Min);
    if !output.dtype().is_float() || (chooses && error.is_none()) {
        return None;
    }
    let (x, y) = (floats(operand.storage()), floats(output.storage()));
    let all = lines(operand.shape(), &reduce.axes);
    let terms = all.steps.len();
    let line = |(&start, &r): (&usize, &f64)| {
        let at = || all.steps.iter().map(move |step| start + step);
        let off = |at: usize| error.map_or(0.0, |error| error.bound[at]);
        let sum = |of: f64| {
            let square: f64 = at().map(|at| x[at] * x[at]).sum();
            Contraction { precision: Precision::Ieee, terms }.bound(square.sqrt(), of) + at().map(off).sum::<f64>()
        };
        match reduce.kind {
            ReduceKind::Sum => sum(r) + half_ulp(r, DType::F32),
            ReduceKind::Mean => sum(r * terms as f64) / terms as f64 + 4.0 * UNIT * r.abs() + half_ulp(r, DType::F32),
            ReduceKind::Max | ReduceKind::Min => at().map(off).fold(0.0, f64::max),
            ReduceKind::Prod => product(at().map(|at| (x[at], off(at))), r),
            ReduceKind::LogSumExp => {
                let Powers { sum, error, maximum } = Powers::of(&mut at().map(|at| (x[at], off(at))));
                let own = error + UNIT * (4.0 * (sum.ln().abs() + 1.0) + maximum.abs());
                own + half_ulp(r, DType::F32)
            }
        }
    };
    let mut derived = Error::of(all.starts.par_iter().zip(y.par_iter()).map(line).collect());
    if let Some(flags) = marked_lines(error, &all) {
        derived.mark(flags.into_iter());
    }
    Some(derived)
}

/// Π (|x| + e) − Π |x| of the operands' errors, and two units a factor, of the largest product on the way
/// where numbers run out of digits.
fn product(line: impl Iterator<Item = (f64, f64)>, r: f64) -> f64 {
    let (mut exact, mut moved, mut terms) = (1.0, 1.0, 0.0);
    for (v, e) in line {
        exact *= v.abs();
        moved *= v.abs() + e;
        terms += 1.0;
    }
    let grown = if moved == exact { 0.0 } else { moved - exact };
    grown + 2.0 * UNIT * terms * r.abs() + 2.0 * least() * terms
}

/// Σ e^(x − max) of a line, its logarithm's error but for the logarithm's own rounding, and max.
pub(super) struct Powers {
    pub sum: f64,
    pub error: f64,
    pub maximum: f64,
}

impl Powers {
    /// Of elements with their errors. With d = max − x, a term is off by (4 + 2d) units and half a unit of d, again
    /// as it is rescaled by blocks; the sum by 4√n; each element's error moves the result by as much as its share.
    pub fn of(line: &mut dyn Iterator<Item = (f64, f64)>) -> Powers {
        let line: Vec<(f64, f64)> = line.collect();
        let maximum = line.iter().map(|l| l.0).fold(f64::NEG_INFINITY, f64::max);
        let maximum = if maximum.is_finite() { maximum } else { 0.0 };
        let power = |v: f64| (v - maximum).exp();
        let sum: f64 = line.iter().map(|l| power(l.0)).sum();
        let depth = |v: f64| if power(v) > 0.0 && v.is_finite() { power(v) * (maximum - v) } else { 0.0 };
        let mean_depth = line.iter().map(|l| depth(l.0)).sum::<f64>() / sum;
        let operand = line.iter().map(|l| l.1).fold(0.0, f64::max);
        let relative = UNIT * (12.0 + 4.0 * (line.len() as f64).sqrt() + 6.0 * mean_depth);
        Powers { sum, error: relative + operand, maximum }
    }
}

/// Exact on exact operands. Where another element's error reaches the extreme, the position may be any.
pub(super) fn positions(arg: &ArgReduce, operands: &[Option<&Tensor>], carried: &[Option<&Error>]) -> Option<Error> {
    let (operand, error) = (operands[0]?, carried[0]?);
    let x = floats(operand.storage());
    let all = lines(operand.shape(), &[arg.axis]);
    let marked = marked_lines(Some(error), &all);
    let sign = if arg.kind == ArgKind::Max { 1.0 } else { -1.0 };
    let open = |(line, &start): (usize, &usize)| {
        if marked.as_ref().is_some_and(|marked| marked[line]) {
            return true;
        }
        let at = || all.steps.iter().map(move |step| start + step);
        // The extreme is at least the largest lower end. Equal elements without errors are a tie, which is no doubt.
        let surest = at().map(|at| sign * x[at] - error.bound[at]).fold(f64::NEG_INFINITY, f64::max);
        let reaching: Vec<usize> = at().filter(|&at| sign * x[at] + error.bound[at] >= surest).collect();
        reaching.len() > 1 && reaching.iter().any(|&at| error.bound[at] > 0.0)
    };
    let open: Vec<bool> = all.starts.par_iter().enumerate().map(open).collect();
    let farthest = all.steps.len() as f64;
    let mut derived = Error::of(open.iter().map(|&open| if open { farthest } else { 0.0 }).collect());
    derived.mark(open.into_iter());
    Some(derived)
}

/// A running sum is a contraction over what it has summed, a running product rounds once a factor. `None`: exact.
pub(super) fn scan(
    scan: &Scan,
    operands: &[Option<&Tensor>],
    carried: &[Option<&Error>],
    output: &Tensor,
) -> Result<Option<Error>> {
    let Some(operand) = operands[0].filter(|_| output.dtype().is_float()) else { return Ok(None) };
    let (x, y) = (floats(operand.storage()), floats(output.storage()));
    let running = |kind: ScanKind, lanes: Vec<f64>| -> Result<Vec<f64>> {
        let op = Op::Scan(Scan { kind, ..*scan });
        let result = apply(&op, &[Some(&as_tensor(lanes, operand.shape()))], DType::F64, Math::F64)?;
        Ok(floats(result.storage()).into_owned())
    };
    let terms = operand.shape()[scan.axis];
    let off = |at: usize| carried[0].map_or(0.0, |error| error.bound[at]);
    let bound = match scan.kind {
        ScanKind::Sum => {
            let squares = running(ScanKind::Sum, x.iter().map(|v| v * v).collect())?;
            let moved = running(ScanKind::Sum, (0..x.len()).map(off).collect())?;
            let sum = Contraction { precision: Precision::Ieee, terms };
            (0..x.len()).map(|at| sum.bound(squares[at].sqrt(), y[at]) + moved[at] + half_ulp(y[at], DType::F32)).collect()
        }
        ScanKind::Prod => {
            let exact = running(ScanKind::Prod, x.iter().map(|v| v.abs()).collect())?;
            let moved = running(ScanKind::Prod, (0..x.len()).map(|at| x[at].abs() + off(at)).collect())?;
            let grown = |at: usize| if moved[at] == exact[at] { 0.0 } else { moved[at] - exact[at] };
            let own = |at: usize| 2.0 * terms as f64 * (UNIT * y[at].abs() + least());
            (0..x.len()).map(|at| grown(at) + own(at)).collect()
        }
    };
    let mut derived = Error::of(bound);
    if let Some(flags) = carried[0].and_then(|error| error.unsettled.as_ref()) {
        let counts = running(ScanKind::Sum, flags.clone())?;
        derived.mark(counts.into_iter().map(|count| count > 0.0));
    }
    Ok(Some(derived))
}

/// With n elements a line, s = 1/√(var + ε) and d = x − mean: the mean is off by a contraction's bound over n; that
/// moves var in second order only, and its own sum by 8√n + 6 units; each product and sum rounds once, also when
/// the formula is written as x·s + (β − mean·s).
pub(super) fn norm(norm: &Norm, operands: &[Option<&Tensor>], carried: &[Option<&Error>], output: &Tensor) -> Option<Error> {
    let shape = output.shape();
    let (x, y) = (floats(operands[0]?.storage()), floats(output.storage()));
    let parameter = |i: usize| operands.get(i).copied().flatten();
    let gamma = parameter(1).map(|t| spread(t, shape));
    let beta = parameter(2).map(|t| spread(t, shape));
    let error = |i: usize| carried.get(i).copied().flatten();
    let moved = |i: usize| Some(spread(&error(i)?.tensor(parameter(i)?.shape()), shape));
    let (gamma_off, beta_off) = (moved(1), moved(2));
    let own = error(0);
    let all = lines(shape, &norm.axes);
    let count = all.steps.len() as f64;
    let sum = Contraction { precision: Precision::Ieee, terms: all.steps.len() };
    // Of each line: mean and its error, s and its relative error.
    let statistics = |&start: &usize| {
        let at = || all.steps.iter().map(move |step| start + step);
        let off = |at: usize| own.map_or(0.0, |error| error.bound[at]);
        let squares: f64 = at().map(|at| x[at] * x[at]).sum();
        let (mean, mean_off) = if norm.centred {
            let total: f64 = at().map(|at| x[at]).sum();
            let mean = total / count;
            (mean, (sum.bound(squares.sqrt(), total) + at().map(off).sum::<f64>()) / count + 3.0 * UNIT * mean.abs())
        } else {
            (0.0, 0.0)
        };
        let distance = |at: usize| (x[at] - mean).abs();
        let variance = at().map(|at| distance(at).powi(2)).sum::<f64>() / count;
        let entered = at().map(|at| 2.0 * distance(at) * off(at) + off(at).powi(2)).sum::<f64>() / count;
        let rounded = UNIT * (8.0 * count.sqrt() + 6.0) * variance + mean_off * mean_off;
        let relative = (rounded + entered) / (variance + norm.epsilon) + 2.0 * UNIT;
        let scale = 1.0 / (variance + norm.epsilon).sqrt();
        let growth = if relative < 1.0 { 1.0 / (1.0 - relative).sqrt() - 1.0 } else { f64::INFINITY };
        (mean, mean_off, scale, growth + 4.0 * UNIT)
    };
    let statistics: Vec<(f64, f64, f64, f64)> = all.starts.par_iter().map(statistics).collect();
    let mut bound = vec![0.0; y.len()];
    for (&start, (mean, mean_off, scale, growth)) in all.starts.iter().zip(statistics) {
        for step in &all.steps {
            let at = start + step;
            let g = gamma.as_ref().map_or(1.0, |gamma| gamma[at].abs());
            let shift = beta.as_ref().map_or(0.0, |beta| beta[at].abs());
            let distance = (x[at] - mean).abs();
            let apart = mean_off + own.map_or(0.0, |error| error.bound[at]);
            let parts = 5.0 * UNIT * scale * g * (x[at].abs() + mean.abs()) + 2.0 * UNIT * shift;
            let statistics = g * scale * (apart * (1.0 + growth) + distance * growth);
            let parameters = gamma_off.as_ref().map_or(0.0, |off| off[at] * scale * (distance + apart) * (1.0 + growth))
                + beta_off.as_ref().map_or(0.0, |off| off[at]);
            bound[at] = statistics + parts + parameters + half_ulp(y[at], DType::F32) + 2.0 * least();
        }
    }
    let mut derived = Error::of(bound);
    if let Some(flags) = marked_lines(own, &all) {
        let mut marks = vec![false; y.len()];
        for (&start, _) in all.starts.iter().zip(flags).filter(|(_, flag)| *flag) {
            all.steps.iter().for_each(|step| marks[start + step] = true);
        }
        derived.mark(marks.into_iter());
    }
    for i in [1, 2] {
        if let (Some(flags), Some(tensor)) = (error(i).and_then(|error| error.unsettled.clone()), parameter(i)) {
            derived.mark(spread(&as_tensor(flags, tensor.shape()), shape).into_iter().map(|flag| flag != 0.0));
        }
    }
    Some(derived)
}
