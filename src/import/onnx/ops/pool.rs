//! MaxPool and the global pools.
//!
//! <https://onnx.ai/onnx/operators/onnx__MaxPool.html>. Opset 1; 8: a second output with indices
//! (refused when it is used); 10: `dilations`, `ceil_mode`; 12: int8, uint8.
//! <https://onnx.ai/onnx/operators/onnx__GlobalAveragePool.html>. Opset 1: adaptive average with
//! output sizes 1. X T [N, C, spatial…] with one to three spatial axes.

use smallvec::SmallVec;

use crate::graph::Op;
use crate::graph::op::{Pool, PoolKind};
use crate::import::onnx::node::{Context, Failure, Operand};
use crate::import::onnx::ops::window;
use crate::shape::display;

pub(in crate::import::onnx) fn max(cx: &mut Context) -> Result<(), Failure> {
    if cx.is_used(1) {
        return Err(Failure::unsupported("indices as second output"));
    }
    cx.attributes.int("storage_order")?; // only the indices depend on it
    let x = cx.input(0, "X")?;
    let pool = windowed(cx, &x, PoolKind::Max)?;
    cx.finish(Op::Pool(pool), &[x])
}

pub(in crate::import::onnx) fn global_average(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    let rank = spatial_rank(cx, &x)?;
    let pool = Pool::adaptive_average(SmallVec::from_elem(1, rank));
    cx.finish(Op::Pool(pool), &[x])
}

fn spatial_rank(cx: &Context, x: &Operand) -> Result<usize, Failure> {
    let shape = cx.shape(x);
    match shape.len() {
        0..=2 => Err(Failure::shapes(format!("X {} needs a batch, a channel and a spatial axis", display(&shape)))),
        3..=5 => Ok(shape.len() - 2),
        rank => Err(Failure::unsupported(format!("{} spatial axes", rank - 2))),
    }
}

/// A pool over windows, `ceil_mode` resolved.
///
/// In ceil mode the last window may stick out of the padded operand, but must begin inside it or
/// its left padding (torch; ONNX from opset 19 on): the padding at the end is grown to hold it.
fn windowed(cx: &Context, x: &Operand, kind: PoolKind) -> Result<Pool, Failure> {
    let rank = spatial_rank(cx, x)?;
    let spatial = &cx.shape(x)[2..];
    if cx.attributes.ints("kernel_shape")?.is_none() {
        return Err(Failure::invalid("attribute `kernel_shape` is missing"));
    }
    let kernel = cx.attributes.sizes("kernel_shape", rank, 1)?;
    let mut window = window::read(cx, spatial, &kernel)?;
    if cx.attributes.flag("ceil_mode")? {
        for i in 0..rank {
            window.pads_end[i] = ceil_padding(
                spatial[i],
                (window.pads_begin[i], window.pads_end[i]),
                (kernel[i] - 1).saturating_mul(window.dilations[i]).saturating_add(1),
                window.strides[i],
            );
        }
    }
    Ok(Pool {
        kind,
        kernel,
        strides: window.strides,
        dilations: window.dilations,
        pads_begin: window.pads_begin,
        pads_end: window.pads_end,
    })
}

/// The padding at the end with which the floor formula gives ceil mode's output size.
fn ceil_padding(size: usize, pads: (usize, usize), extent: usize, stride: usize) -> usize {
    let padded = size.saturating_add(pads.0).saturating_add(pads.1);
    let Some(rest) = padded.checked_sub(extent) else { return pads.1 };
    let mut last = rest.div_ceil(stride) * stride;
    if last >= size + pads.0 {
        last -= stride;
    }
    (last + extent).saturating_sub(size + pads.0)
}
