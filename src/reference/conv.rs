//! Convolution: y[n, k, p…] = b[k] + Σ over c, r… of x[n, c, p·stride + r·dilation − pad] · w[k, c, r…].
//!
//! The patches of each group are copied into a matrix (im2col) and multiplied by the weights with
//! candle. Candle's own `conv2d` takes one stride, dilation and symmetric pad for both axes and has
//! no third axis; the tests compare with it where it applies.

use std::borrow::Cow;

use rayon::prelude::*;

use super::Math;
use super::bridge::{Real, floats_only, from_candle, refused, to_candle, truncated};
use super::spatial::{Axis, axes};
use crate::diag::Result;
use crate::dtype::DType;
use crate::graph::op::Conv;
use crate::tensor::Tensor;

pub(super) fn evaluate(conv: &Conv, x: &Tensor, w: &Tensor, bias: Option<&Tensor>, dtype: DType, math: Math) -> Result<Tensor> {
    if !dtype.is_float() {
        return Err(floats_only("convolution", dtype));
    }
    match math {
        Math::F64 => typed::<f64>(conv, x, w, bias, dtype),
        Math::Tf32 => typed::<f32>(conv, &truncated(x), &truncated(w), bias, dtype),
        Math::F32 | Math::Unrounded => typed::<f32>(conv, x, w, bias, math.holds(dtype)),
    }
}

fn typed<T: Real>(conv: &Conv, x: &Tensor, w: &Tensor, bias: Option<&Tensor>, dtype: DType) -> Result<Tensor> {
    let (batch, channels) = (x.shape()[0], x.shape()[1]);
    let filters = w.shape()[0];
    let groups = conv.groups;
    let axes = axes(&x.shape()[2..], &w.shape()[2..], &conv.strides, &conv.dilations, &conv.pads_begin, &conv.pads_end)?;
    let plane: usize = axes.iter().map(|a| a.input).product();
    let window: usize = axes.iter().map(|a| a.kernel).product();
    let pixels: usize = axes.iter().map(|a| a.output).product();
    let (group_channels, group_filters) = (channels / groups, filters / groups);
    let depth = group_channels * window;

    let x = T::lanes(x);
    let w = T::lanes(w);
    let bias = bias.map(T::lanes);
    let weights: Vec<_> = (0..groups)
        .map(|g| to_candle(w[g * group_filters * depth..][..group_filters * depth].to_vec(), &[group_filters, depth]))
        .collect::<Result<_>>()?;
    let mut y: Vec<T> = Vec::with_capacity(batch * filters * pixels);
    for n in 0..batch {
        for (g, weights) in weights.iter().enumerate() {
            let input = &x[(n * channels + g * group_channels) * plane..][..group_channels * plane];
            let patches = im2col(input, group_channels, &axes);
            let vector = pixels == 1 || group_filters == 1;
            match T::PRODUCT.filter(|_| vector) {
                Some(product) => {
                    let own = &w[g * group_filters * depth..][..group_filters * depth];
                    y.extend(product(own, &patches, [group_filters, depth, pixels]));
                }
                None => {
                    let patches = to_candle(patches.into_owned(), &[depth, pixels])?;
                    y.extend(from_candle::<T>(weights.matmul(&patches).map_err(refused)?)?);
                }
            }
        }
    }
    if let Some(bias) = bias {
        y.par_chunks_mut(pixels).enumerate().for_each(|(row, lanes)| {
            let b = bias[row % filters];
            lanes.iter_mut().for_each(|v| *v = v.plus(b));
        });
    }
    let mut shape = vec![batch, filters];
    shape.extend(axes[3 - conv.strides.len()..].iter().map(|a| a.output));
    Ok(T::tensor(y, dtype, &shape))
}

/// Rows (channel, kernel position), columns output positions; zeros stand in the padding.
fn im2col<'x, T: Real>(x: &'x [T], channels: usize, axes: &[Axis; 3]) -> Cow<'x, [T]> {
    let [d, h, w] = axes;
    if axes.iter().all(|a| a.kernel == 1 && a.stride == 1 && a.output == a.input) {
        return Cow::Borrowed(x);
    }
    let pixels = d.output * h.output * w.output;
    let plane = d.input * h.input * w.input;
    let mut patches = vec![T::default(); channels * d.kernel * h.kernel * w.kernel * pixels];
    patches.par_chunks_mut(pixels).enumerate().for_each(|(row, out)| {
        let (rest, s) = (row / w.kernel, row % w.kernel);
        let (rest, r) = (rest / h.kernel, rest % h.kernel);
        let (channel, t) = (rest / d.kernel, rest % d.kernel);
        let x = &x[channel * plane..][..plane];
        let inside = inside(w, s);
        if inside.is_empty() {
            return;
        }
        let first = inside.start * w.stride + s * w.dilation - w.pad_begin;
        for o in 0..d.output {
            for p in 0..h.output {
                let (Some(z), Some(y)) = (d.position(o, t), h.position(p, r)) else { continue };
                let line = &x[(z * h.input + y) * w.input..][..w.input];
                let out = &mut out[(o * h.output + p) * w.output..][inside.clone()];
                match w.stride {
                    1 => out.copy_from_slice(&line[first..first + out.len()]),
                    stride => out.iter_mut().zip(line[first..].iter().step_by(stride)).for_each(|(o, &v)| *o = v),
                }
            }
        }
    });
    Cow::Owned(patches)
}

/// Output positions whose input under kernel position `s` is not padding: always a range.
fn inside(axis: &Axis, s: usize) -> std::ops::Range<usize> {
    let start = (0..axis.output).find(|&q| axis.position(q, s).is_some()).unwrap_or(axis.output);
    let end = (start..axis.output).rev().find(|&q| axis.position(q, s).is_some()).map_or(start, |q| q + 1);
    start..end
}
