//! Local response normalisation: y = x / (bias + α / size · Σ x²)^β over a window of channels, in f64,
//! rounded once. Each sum is made anew: a running sum would cancel.

use rayon::prelude::*;

use super::Math;
use super::bridge::{floats, floats_only, hold};
use crate::diag::Result;
use crate::dtype::DType;
use crate::graph::op::Lrn;
use crate::tensor::Tensor;

/// X is [N, C, …].
pub(super) fn evaluate(lrn: &Lrn, x: &Tensor, dtype: DType, math: Math) -> Result<Tensor> {
    if !dtype.is_float() {
        return Err(floats_only("local response normalisation", dtype));
    }
    let shape = x.shape();
    let (channels, plane) = (shape[1], shape[2..].iter().product::<usize>());
    let lanes = floats(x.storage());
    let mut y = vec![0.0; lanes.len()];
    y.par_chunks_mut(plane.max(1)).enumerate().for_each(|(row, out)| {
        let (image, c) = (row / channels * channels, row % channels);
        for (i, y) in out.iter_mut().enumerate() {
            let squares = lrn.window(c, channels).map(|k| lanes[(image + k) * plane + i].powi(2));
            let base = lrn.bias + lrn.alpha / lrn.size as f64 * squares.sum::<f64>();
            *y = lanes[row * plane + i] / base.powf(lrn.beta);
        }
    });
    Ok(hold(y, dtype, shape, math))
}
