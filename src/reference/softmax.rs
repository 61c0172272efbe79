//! Softmax along one axis: e^(x − max) / Σ e^(x − max), and its logarithm x − max − ln Σ e^(x − max), in f64,
//! rounded once.

use rayon::prelude::*;

use super::Math;
use super::bridge::{floats, floats_only, hold};
use crate::diag::Result;
use crate::dtype::DType;
use crate::tensor::Tensor;

pub(super) fn evaluate(axis: usize, log: bool, x: &Tensor, dtype: DType, math: Math) -> Result<Tensor> {
    if !dtype.is_float() {
        return Err(floats_only("softmax", dtype));
    }
    let shape = x.shape();
    let size = shape[axis];
    let inner: usize = shape[axis + 1..].iter().product();
    let mut y = floats(x.storage()).into_owned();
    y.par_chunks_mut((size * inner).max(1)).for_each(|slab| {
        for i in 0..inner {
            let line = || (0..size).map(|k| k * inner + i);
            let maximum = line().map(|at| slab[at]).fold(f64::NEG_INFINITY, |m, v| if v > m || v.is_nan() { v } else { m });
            let mut sum = 0.0;
            for at in line() {
                let below = slab[at] - maximum;
                let power = below.exp();
                sum += power;
                slab[at] = if log { below } else { power };
            }
            line().for_each(|at| slab[at] = if log { slab[at] - sum.ln() } else { slab[at] / sum });
        }
    });
    Ok(hold(y, dtype, shape, math))
}
