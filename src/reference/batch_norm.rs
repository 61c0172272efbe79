//! Inference-mode batch normalisation: y = (x − mean) / √(var + ε) · γ + β per channel (axis 1).
//!
//! In fp32 the scale γ / √(var + ε) is rounded after every step, so that var + ε is exactly 1 for
//! the variance of the structure pass.

use rayon::prelude::*;

use super::Math;
use super::bridge::{floats, floats_only, hold};
use crate::diag::Result;
use crate::dtype::DType;
use crate::tensor::Tensor;

/// Operands: x [N, C, …], γ, β, mean, var, each [C].
pub(super) fn evaluate(epsilon: f64, operands: [&Tensor; 5], dtype: DType, math: Math) -> Result<Tensor> {
    if !dtype.is_float() {
        return Err(floats_only("batch normalisation", dtype));
    }
    let [x, gamma, beta, mean, variance] = operands;
    let shape = x.shape();
    let channels = gamma.len();
    let plane = shape[2..].iter().product::<usize>().max(1);
    let round = |v: f64| if math.is_single(dtype) { v as f32 as f64 } else { v };
    let (gamma, beta) = (floats(gamma.storage()), floats(beta.storage()));
    let (mean, variance) = (floats(mean.storage()), floats(variance.storage()));
    let mut y = floats(x.storage()).into_owned();
    y.par_chunks_mut(plane).enumerate().for_each(|(row, lanes)| {
        let c = row % channels;
        let deviation = round(round(variance[c] + round(epsilon)).sqrt());
        let scale = round(gamma[c] / deviation);
        lanes.iter_mut().for_each(|v| *v = round(round(round(*v - mean[c]) * scale) + beta[c]));
    });
    Ok(hold(y, dtype, shape, math))
}
