//! Pooling over spatial windows, in exact loops: maxima keep NaN and see −∞ in the padding; averages
//! sum in f64 and divide by the count once.

use std::ops::Range;

use rayon::prelude::*;

use super::Math;
use super::bridge::{floats, floats_only, hold};
use super::spatial::{Axis, axes};
use crate::diag::Result;
use crate::dtype::DType;
use crate::graph::op::{Pool, PoolKind};
use crate::shape::Shape;
use crate::tensor::{Storage, Tensor};

pub(super) fn evaluate(pool: &Pool, x: &Tensor, dtype: DType, math: Math) -> Result<Tensor> {
    let spatial = &x.shape()[2..];
    let axes = match pool.kind {
        PoolKind::Max | PoolKind::Average { .. } => {
            axes(spatial, &pool.kernel, &pool.strides, &pool.dilations, &pool.pads_begin, &pool.pads_end)?
        }
        // Bins differ in size, so windows are found one by one; only sizes matter here.
        PoolKind::AdaptiveAverage => {
            let ones = vec![1; spatial.len()];
            let mut axes = axes(spatial, &ones, &ones, &ones, &vec![0; spatial.len()], &vec![0; spatial.len()])?;
            for (axis, &output) in axes[3 - spatial.len()..].iter_mut().zip(&pool.kernel) {
                axis.output = output;
            }
            axes
        }
    };
    let mut shape = Shape::from_slice(&x.shape()[..2]);
    shape.extend(axes[3 - spatial.len()..].iter().map(|a| a.output));
    match (pool.kind, x.storage()) {
        (PoolKind::Max, Storage::I64(lanes)) => {
            let y = windows(&axes, lanes, |window| window.max().unwrap_or(i64::MIN));
            Ok(Tensor::new(dtype, shape, Storage::I64(y)))
        }
        (PoolKind::Max, Storage::F32(lanes)) if math != Math::F64 => {
            let y =
                windows(&axes, lanes, |window| window.fold(f32::NEG_INFINITY, |m, v| if v > m || v.is_nan() { v } else { m }));
            Ok(Tensor::new(math.holds(dtype), shape, Storage::F32(y)))
        }
        (PoolKind::Max, storage @ (Storage::F32(_) | Storage::F64(_))) => {
            let maximum = |m: f64, v: f64| if v > m || v.is_nan() { v } else { m };
            let y = windows(&axes, &floats(storage), |window| window.fold(f64::NEG_INFINITY, maximum));
            Ok(hold(y, dtype, &shape, math))
        }
        (PoolKind::Average { count_pad }, storage @ (Storage::F32(_) | Storage::F64(_))) => {
            let all = axes.iter().map(|a| a.kernel).product::<usize>() as f64;
            let y = windows(&axes, &floats(storage), |window| {
                let (sum, count) = window.fold((0.0, 0usize), |(sum, count), v| (sum + v, count + 1));
                sum / if count_pad { all } else { count as f64 }
            });
            Ok(hold(y, dtype, &shape, math))
        }
        (PoolKind::AdaptiveAverage, storage @ (Storage::F32(_) | Storage::F64(_))) => {
            Ok(hold(adaptive(&axes, &floats(storage)), dtype, &shape, math))
        }
        (PoolKind::Max, Storage::Bool(_)) => Err(floats_only("max pool", dtype)),
        (PoolKind::Average { .. } | PoolKind::AdaptiveAverage, Storage::I64(_) | Storage::Bool(_)) => {
            Err(floats_only("average pool", dtype))
        }
    }
}

/// Every output element from the input elements of its window that are not padding.
///
/// Once a maximum is NaN it stays so only if `fold` compares false against it: `v > NaN` is.
fn windows<T: Copy + Send + Sync + Default>(
    axes: &[Axis; 3],
    x: &[T],
    fold: impl Fn(&mut dyn Iterator<Item = T>) -> T + Sync,
) -> Vec<T> {
    let [d, h, w] = axes;
    let plane = d.input * h.input * w.input;
    let pixels = d.output * h.output * w.output;
    let mut y = vec![T::default(); x.len() / plane * pixels];
    y.par_chunks_mut(pixels).zip(x.par_chunks(plane)).for_each(|(y, x)| {
        for (at, out) in y.iter_mut().enumerate() {
            let (o, p, q) = (at / (h.output * w.output), at / w.output % h.output, at % w.output);
            let mut window = (0..d.kernel).filter_map(|t| d.position(o, t)).flat_map(|z| {
                (0..h.kernel).filter_map(move |r| h.position(p, r)).flat_map(move |y| {
                    (0..w.kernel).filter_map(move |s| w.position(q, s)).map(move |column| (z * h.input + y) * w.input + column)
                })
            });
            *out = fold(&mut window.by_ref().map(|at| x[at]));
        }
    });
    y
}

/// torch's bins along one axis, in order: start = ⌊i·in/out⌋, end = ⌈(i+1)·in/out⌉.
pub fn bins(input: usize, output: usize) -> impl Iterator<Item = Range<usize>> {
    (0..output).map(move |i| i * input / output..((i + 1) * input).div_ceil(output))
}

fn adaptive(axes: &[Axis; 3], x: &[f64]) -> Vec<f64> {
    let [d, h, w] = axes;
    let plane = d.input * h.input * w.input;
    let pixels = d.output * h.output * w.output;
    let mut means = vec![0.0; x.len() / plane * pixels];
    means.par_chunks_mut(pixels).zip(x.par_chunks(plane)).for_each(|(means, x)| {
        let mut means = means.iter_mut();
        for planes in bins(d.input, d.output) {
            for lines in bins(h.input, h.output) {
                for (columns, out) in bins(w.input, w.output).zip(means.by_ref()) {
                    let mut sum = 0.0;
                    for z in planes.clone() {
                        for y in lines.clone() {
                            sum += x[(z * h.input + y) * w.input..][columns.clone()].iter().sum::<f64>();
                        }
                    }
                    *out = sum / (planes.len() * lines.len() * columns.len()) as f64;
                }
            }
        }
    });
    means
}
