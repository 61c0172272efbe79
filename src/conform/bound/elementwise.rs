//! Operators whose errors follow from their formulas: pools, normalisations, softmax. An element
//! is marked as unsettled when one that it depends on is.

use rayon::prelude::*;

use super::Error;
use super::reduction::Powers;
use crate::diag::Result;
use crate::dtype::DType;
use crate::graph::op::{Lrn, Op, Pool, PoolKind};
use crate::reference::{Math, apply, bins, floats};
use crate::tensor::Tensor;
use crate::tolerance::{Contraction, Precision, UNIT, half_ulp};

/// A maximum moves by at most the largest error under its window and rounds nothing. An average of n
/// elements is a contraction with weights 1/n, then a division.
pub(super) fn pool(
    pool: &Pool,
    operands: &[Option<&Tensor>],
    carried: &[Option<&Error>],
    output: &Tensor,
) -> Result<Option<Error>> {
    let Some(x) = operands[0] else { return Ok(None) };
    let op = Op::Pool(pool.clone());
    let over = |lanes: Vec<f64>| -> Result<Vec<f64>> {
        let pooled = apply(&op, &[Some(&super::as_tensor(lanes, x.shape()))], DType::F64, Math::F64)?;
        Ok(floats(pooled.storage()).into_owned())
    };
    let moved = carried[0].map(|error| over(error.bound.clone())).transpose()?;
    let flags = carried[0].and_then(|error| error.unsettled.as_ref()).map(|flags| over(flags.clone())).transpose()?;
    let marked = |bound: Vec<f64>| {
        let mut error = Error::of(bound);
        if let Some(flags) = &flags {
            error.mark(flags.iter().map(|&flag| flag > 0.0));
        }
        error
    };
    let terms = match pool.kind {
        PoolKind::Max => {
            // An empty window's maximum is −∞.
            return Ok(moved.map(|bound| marked(bound.into_iter().map(|e| e.max(0.0)).collect())));
        }
        PoolKind::Average { .. } => pool.kernel.iter().product(),
        PoolKind::AdaptiveAverage => {
            let largest = |(&input, &output): (&usize, &usize)| bins(input, output).map(|bin| bin.len()).max().unwrap_or(1);
            x.shape()[2..].iter().zip(&pool.kernel).map(largest).product()
        }
    };
    let sum = Contraction { precision: Precision::Ieee, terms };
    let squares = over(floats(x.storage()).iter().map(|v| v * v).collect())?;
    let truth = floats(output.storage());
    let own = |(&square, &r): (&f64, &f64)| {
        // √(mean of squares / n) weighs the mean; windows cut by padding hold fewer, so n is left out.
        sum.bound(square.sqrt(), r) + 4.0 * UNIT * r.abs() + half_ulp(r, DType::F32)
    };
    let mut bound: Vec<f64> = squares.par_iter().zip(truth.par_iter()).map(own).collect();
    if let Some(moved) = moved {
        bound.iter_mut().zip(moved).for_each(|(e, m)| *e += m);
    }
    Ok(Some(marked(bound)))
}

/// y = (x − mean)·s + β with s = γ / √(var + ε), or x·s + (β − mean·s), or s folded into the weights
/// of the contraction before: s is off by four units, each product and sum by one. `inside`: the
/// result is no output of the kernel, which may round it to this type.
pub(super) fn batch_norm(
    epsilon: f64,
    operands: &[Option<&Tensor>],
    carried: &[Option<&Error>],
    output: &Tensor,
    inside: Option<DType>,
) -> Option<Error> {
    let narrow = inside.filter(|dtype| dtype.computed_in() != *dtype).and_then(DType::format);
    let lanes = |i: usize| operands[i].map(|t| floats(t.storage()));
    let (x, gamma, beta, mean, variance) = (lanes(0)?, lanes(1)?, lanes(2)?, lanes(3)?, lanes(4)?);
    let y = floats(output.storage());
    let plane = output.shape()[2..].iter().product::<usize>().max(1);
    let channels = gamma.len();
    let mut bound = carried[0].map_or_else(|| vec![0.0; y.len()], |error| error.bound.clone());
    bound.par_chunks_mut(plane).enumerate().for_each(|(row, bound)| {
        let c = row % channels;
        let s = (gamma[c] / (variance[c] + epsilon).sqrt()).abs();
        let shift = 5.0 * UNIT * s * mean[c].abs() + 2.0 * UNIT * beta[c].abs();
        for ((e, x), y) in bound.iter_mut().zip(&x[row * plane..]).zip(&y[row * plane..]) {
            let rounded = narrow.map_or(0.0, |format| format.ulp(*y) / 2.0);
            *e = s * *e + 5.0 * UNIT * s * x.abs() + shift + half_ulp(*y, DType::F32) + rounded;
        }
    });
    let mut error = Error::of(bound);
    for (i, operand) in carried.iter().enumerate() {
        if let Some(flags) = operand.and_then(|operand| operand.unsettled.as_ref()) {
            error.mark((0..y.len()).map(|at| flags[if i == 0 { at } else { at / plane % channels }] != 0.0));
        }
    }
    Some(error)
}

/// With d = max − x, the term e^(−d) is off by (4 + 2d) units (see `tolerance::function_error`) and
/// half a unit of d; their sum by 4√n units more; the quotient by 4. An error of the operand by at
/// most e multiplies a quotient by at most e^(2e). The logarithm x − max − ln Σ rounds each of its parts.
pub(super) fn softmax(
    (axis, log): (usize, bool),
    operands: &[Option<&Tensor>],
    carried: &[Option<&Error>],
    output: &Tensor,
) -> Option<Error> {
    let x = floats(operands[0]?.storage());
    let y = floats(output.storage());
    let shape = output.shape();
    let (size, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let mut bound = vec![0.0; y.len()];
    bound.par_chunks_mut((size * inner).max(1)).enumerate().for_each(|(slab, bound)| {
        let start = slab * size * inner;
        for i in 0..inner {
            let line = || (0..size).map(|k| k * inner + i);
            if log {
                let off = |at: usize| carried[0].map_or(0.0, |error| error.bound[start + at]);
                let Powers { sum, error, maximum } = Powers::of(&mut line().map(|at| (x[start + at], off(at))));
                let logarithm = error + 4.0 * UNIT * (sum.ln().abs() + 1.0);
                for at in line() {
                    // Also as x − (max + ln Σ).
                    let parts = 2.0 * UNIT * (maximum.abs() + sum.ln().abs() + (x[start + at] - maximum).abs());
                    bound[at] = logarithm + off(at) + parts + half_ulp(y[start + at], DType::F32);
                }
                continue;
            }
            let maximum = line().map(|at| x[start + at]).fold(f64::NEG_INFINITY, f64::max);
            let depth = |at: usize| if x[start + at] == maximum { 0.0 } else { maximum - x[start + at] };
            let weigh = |at: usize| if y[start + at] > 0.0 { y[start + at] * depth(at) } else { 0.0 };
            let mean_depth: f64 = line().map(weigh).sum();
            let operand = carried[0].map_or(0.0, |error| line().map(|at| error.bound[start + at]).fold(0.0, f64::max));
            let shared = 12.0 + 4.0 * (size as f64).sqrt() + 3.0 * mean_depth;
            for at in line() {
                let v = y[start + at];
                let relative = UNIT * (shared + if v > 0.0 { 3.0 * depth(at) } else { 0.0 });
                bound[at] = v * (relative + (2.0 * operand).exp_m1()) + 2.0 * half_ulp(0.0, DType::F32);
            }
        }
    });
    let mut error = Error::of(bound);
    if let Some(flags) = carried[0].and_then(|error| error.unsettled.as_ref()) {
        let line = |at: usize| at / (size * inner) * inner + at % inner;
        let mut lines = vec![false; y.len() / size.max(1)];
        flags.iter().enumerate().filter(|&(_, &flag)| flag != 0.0).for_each(|(at, _)| lines[line(at)] = true);
        error.mark((0..y.len()).map(|at| lines[line(at)]));
    }
    Some(error)
}

/// The base b = bias + α/size · Σx² is off by size + 4 units of its parts and by what its terms carry; a
/// relative error δ of it becomes β·δ/(1 − δ) in the exponent of e^(−β·ln b), which itself is off by
/// 8 + 4·|β·ln b| units (see `tolerance::operator_error`).
pub(super) fn lrn(lrn: &Lrn, operands: &[Option<&Tensor>], carried: &[Option<&Error>], output: &Tensor) -> Option<Error> {
    let x = floats(operands[0]?.storage());
    let shape = output.shape();
    let (channels, plane) = (shape[1], shape[2..].iter().product::<usize>());
    let error = carried[0].map(|error| &error.bound);
    let scale = lrn.alpha / lrn.size as f64;
    let mut bound = vec![0.0; x.len()];
    bound.par_chunks_mut(plane.max(1)).enumerate().for_each(|(row, bound)| {
        let (image, c) = (row / channels * channels, row % channels);
        for (i, out) in bound.iter_mut().enumerate() {
            let (mut sum, mut moved) = (0.0, 0.0);
            for k in lrn.window(c, channels) {
                let at = (image + k) * plane + i;
                let e = error.map_or(0.0, |error| error[at]);
                sum += x[at] * x[at];
                moved += 2.0 * x[at].abs() * e + e * e;
            }
            let base = lrn.bias + scale * sum;
            let parts = (lrn.size as f64 + 4.0) * UNIT * (lrn.bias.abs() + scale.abs() * sum);
            let off = (parts + scale.abs() * moved) / base.abs();
            let exponent = if off < 1.0 { lrn.beta.abs() * off / (1.0 - off) } else { f64::INFINITY };
            let growth = (exponent + UNIT * (8.0 + 4.0 * (lrn.beta * base.abs().ln()).abs())).exp_m1();
            let (at, power) = (row * plane + i, base.abs().powf(-lrn.beta));
            let own = error.map_or(0.0, |error| error[at]);
            *out = power * (x[at].abs() * growth + own * (1.0 + growth)) + 2.0 * UNIT * power * x[at].abs();
            *out += half_ulp(0.0, DType::F32);
        }
    });
    let mut error = Error::of(bound);
    if let Some(flags) = carried[0].and_then(|error| error.unsettled.as_ref()) {
        let near = |at: usize| {
            let (row, i) = (at / plane, at % plane);
            lrn.window(row % channels, channels).any(|k| flags[(row / channels * channels + k) * plane + i] != 0.0)
        };
        error.mark((0..x.len()).map(near));
    }
    Some(error)
}
