//! Normalisation by the operand's own statistics over any axes: y = (x − mean) / √(var + ε) · γ + β with
//! var = mean of (x − mean)², in two passes; not centred, y = x / √(mean of x² + ε) · γ + β.
//!
//! Sums are made in f64. In fp32 every other step is rounded, so that a square that overflows there
//! overflows here.

use rayon::prelude::*;

use super::Math;
use super::bridge::{floats, floats_only, hold};
use crate::diag::Result;
use crate::dtype::DType;
use crate::graph::op::Norm;
use crate::shape::{Lines, contiguous_strides, lines};
use crate::tensor::Tensor;

pub(super) fn evaluate(
    norm: &Norm,
    x: &Tensor,
    gamma: Option<&Tensor>,
    beta: Option<&Tensor>,
    dtype: DType,
    math: Math,
) -> Result<Tensor> {
    if !dtype.is_float() {
        return Err(floats_only(norm.name(), dtype));
    }
    let round = |v: f64| if math.is_single(dtype) { v as f32 as f64 } else { v };
    let shape = x.shape();
    let (gamma, beta) = (gamma.map(|t| spread(t, shape)), beta.map(|t| spread(t, shape)));
    let lanes = floats(x.storage());
    let all = lines(shape, &norm.axes);
    let count = all.steps.len() as f64;
    let statistics = |&start: &usize| {
        let line = || all.steps.iter().map(|step| lanes[start + step]);
        let mean = if norm.centred { round(line().sum::<f64>() / count) } else { 0.0 };
        let squares: f64 = line().map(|v| round(round(v - mean).powi(2))).sum();
        let variance = round(round(squares) / count);
        (mean, round(round(variance + round(norm.epsilon)).sqrt()))
    };
    let statistics: Vec<(f64, f64)> = all.starts.par_iter().map(statistics).collect();
    let mut y = vec![0.0; lanes.len()];
    for (&start, (mean, deviation)) in all.starts.iter().zip(statistics) {
        for step in &all.steps {
            let at = start + step;
            let mut v = round(round(lanes[at] - mean) / deviation);
            if let Some(gamma) = &gamma {
                v = round(v * gamma[at]);
            }
            if let Some(beta) = &beta {
                v = round(v + beta[at]);
            }
            y[at] = v;
        }
    }
    Ok(hold(y, dtype, shape, math))
}

/// A parameter's element for every element of the operand: its axes are those of the operand or 1.
pub fn spread(parameter: &Tensor, shape: &[usize]) -> Vec<f64> {
    let lanes = floats(parameter.storage());
    let own = contiguous_strides(parameter.shape());
    let fixed: Vec<usize> = (0..shape.len()).filter(|&axis| parameter.shape()[axis] == 1).collect();
    // A line along the axes that the parameter lacks has one of its elements.
    let Lines { starts, steps } = lines(shape, &fixed);
    let strides = contiguous_strides(shape);
    let mut spread = vec![0.0; starts.len() * steps.len()];
    for start in starts {
        let offset = |axis: usize| start / strides[axis] as usize % shape[axis] * own[axis] as usize;
        let element = lanes[(0..shape.len()).filter(|axis| !fixed.contains(axis)).map(offset).sum::<usize>()];
        steps.iter().for_each(|step| spread[start + step] = element);
    }
    spread
}
