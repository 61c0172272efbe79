//! Transposed convolution: y[n, k, p…] = b[k] + Σ x[n, c, h…] · w[c, k, r…] over all c, h, r with
//! h · stride + r · dilation − pad = p.
//!
//! The products of each group are one matrix, weights times elements, made with candle; its rows are then
//! added where they belong (col2im).

use rayon::prelude::*;

use super::Math;
use super::bridge::{Real, floats_only, from_candle, refused, to_candle, truncated};
use super::spatial::Axis;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::graph::op::ConvTranspose;
use crate::tensor::Tensor;

pub(super) fn evaluate(
    conv: &ConvTranspose,
    x: &Tensor,
    w: &Tensor,
    bias: Option<&Tensor>,
    dtype: DType,
    math: Math,
) -> Result<Tensor> {
    if !dtype.is_float() {
        return Err(floats_only("transposed convolution", dtype));
    }
    match math {
        Math::F64 => typed::<f64>(conv, x, w, bias, dtype),
        Math::Tf32 => typed::<f32>(conv, &truncated(x), &truncated(w), bias, dtype),
        Math::F32 | Math::Unrounded => typed::<f32>(conv, x, w, bias, math.holds(dtype)),
    }
}

fn typed<T: Real>(conv: &ConvTranspose, x: &Tensor, w: &Tensor, bias: Option<&Tensor>, dtype: DType) -> Result<Tensor> {
    let (batch, channels) = (x.shape()[0], x.shape()[1]);
    let groups = conv.groups;
    let (group_channels, group_filters) = (channels / groups, w.shape()[1]);
    let axes = axes(conv, &x.shape()[2..], &w.shape()[2..])?;
    let plane: usize = axes.iter().map(|a| a.output).product();
    let window: usize = axes.iter().map(|a| a.kernel).product();
    let pixels: usize = axes.iter().map(|a| a.input).product();
    let (x_lanes, w_lanes) = (T::lanes(x), T::lanes(w));
    let depth = group_filters * window;
    let mut y = vec![T::default(); batch * groups * group_filters * pixels];
    for g in 0..groups {
        let weights =
            to_candle(w_lanes[g * group_channels * depth..][..group_channels * depth].to_vec(), &[group_channels, depth])?;
        let weights = weights.t().map_err(refused)?;
        for n in 0..batch {
            let elements = &x_lanes[(n * channels + g * group_channels) * plane..][..group_channels * plane];
            let elements = to_candle(elements.to_vec(), &[group_channels, plane])?;
            let products = from_candle::<T>(weights.matmul(&elements).map_err(refused)?)?;
            let out = &mut y[(n * groups + g) * group_filters * pixels..][..group_filters * pixels];
            out.par_chunks_mut(pixels).zip(products.par_chunks(window * plane)).for_each(|(out, rows)| col2im(&axes, rows, out));
        }
    }
    let filters = groups * group_filters;
    if let Some(bias) = bias.map(T::lanes) {
        y.par_chunks_mut(pixels).enumerate().for_each(|(row, lanes)| {
            let b = bias[row % filters];
            lanes.iter_mut().for_each(|v| *v = v.plus(b));
        });
    }
    let mut shape = vec![batch, filters];
    shape.extend(axes[3 - conv.strides.len()..].iter().map(|a| a.input));
    Ok(T::tensor(y, dtype, &shape))
}

/// Adds one row a tap of the kernel to an output plane.
fn col2im<T: Real>(axes: &[Axis; 3], rows: &[T], out: &mut [T]) {
    let [d, h, w] = axes;
    let plane = d.output * h.output * w.output;
    for (tap, row) in rows.chunks(plane).enumerate() {
        let (t, r, s) = (tap / (h.kernel * w.kernel), tap / w.kernel % h.kernel, tap % w.kernel);
        for z in 0..d.output {
            for y in 0..h.output {
                let (Some(o), Some(p)) = (d.position(z, t), h.position(y, r)) else { continue };
                let line = &row[(z * h.output + y) * w.output..][..w.output];
                for (column, &v) in line.iter().enumerate() {
                    if let Some(q) = w.position(column, s) {
                        let at = (o * h.input + p) * w.input + q;
                        out[at] = out[at].plus(v);
                    }
                }
            }
        }
    }
}

/// The axes of the convolution that this one is the transpose of: its input is our output.
fn axes(conv: &ConvTranspose, input: &[usize], kernel: &[usize]) -> Result<[Axis; 3]> {
    let rank = input.len();
    if rank > 3 {
        let message = format!("{rank} spatial axes; at most three are supported");
        return Err(Box::new(Diagnostic::new(&codes::OP_UNSUPPORTED, message)));
    }
    let mut axes = [Axis::ONE; 3];
    for i in 0..rank {
        let full = (input[i] - 1) * conv.strides[i] + conv.dilations[i] * (kernel[i] - 1) + 1 + conv.output_padding[i];
        axes[3 - rank + i] = Axis {
            input: full - conv.pads_begin[i] - conv.pads_end[i],
            output: input[i],
            kernel: kernel[i],
            stride: conv.strides[i],
            dilation: conv.dilations[i],
            pad_begin: conv.pads_begin[i],
        };
    }
    Ok(axes)
}
