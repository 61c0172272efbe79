//! MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool.
//!
//! <https://onnx.ai/onnx/operators/onnx__MaxPool.html>. Opset 1; 8: a second output with indices
//! (refused when it is used); 10: `dilations`, `ceil_mode`; 12: int8, uint8.
//! <https://onnx.ai/onnx/operators/onnx__AveragePool.html>. Opset 7: `count_include_pad`; 10: `ceil_mode`;
//! 19: `dilations`. The global pools: opset 1; the average is an adaptive one to output sizes 1.
//! X T [N, C, spatial…] with one to three spatial axes.

use smallvec::SmallVec;

use crate::graph::Op;
use crate::graph::op::{Pool, PoolKind};
use crate::import::build::pool::ceil_padding;
use crate::import::onnx::node::{Context, Failure, Operand};
use crate::import::onnx::ops::window;
use crate::shape::{Shape, display};

pub fn max(cx: &mut Context) -> Result<(), Failure> {
    if cx.is_used(1) {
        return Err(Failure::unsupported("indices as second output"));
    }
    cx.attributes.int("storage_order")?; // only the indices depend on it
    let x = cx.input(0, "X")?;
    let pool = windowed(cx, &x, PoolKind::Max)?;
    cx.finish(Op::Pool(pool), &[x])
}

pub fn average(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    let count_pad = cx.attributes.flag("count_include_pad")?;
    let pool = windowed(cx, &x, PoolKind::Average { count_pad })?;
    cx.finish(Op::Pool(pool), &[x])
}

pub fn global_average(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    let rank = spatial_rank(cx, &x)?;
    cx.finish(Op::Pool(Pool::adaptive_average(SmallVec::from_elem(1, rank))), &[x])
}

pub fn global_max(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    let rank = spatial_rank(cx, &x)?;
    let kernel = SmallVec::from_slice(&cx.shape(&x)[2..]);
    cx.finish(Op::Pool(Pool { kind: PoolKind::Max, kernel, ..Pool::adaptive_average(SmallVec::from_elem(1, rank)) }), &[x])
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
/// its left padding (torch; ONNX from opset 19 on): the padding at the end is grown to hold it. What
/// it grows by never counts in an average, while `count_pad` counts all padding: with both, refused.
///
/// onnx's own shape inference before opset 19 counts that last window although it begins outside;
/// a file that declares its sizes is read all the same.
fn windowed(cx: &mut Context, x: &Operand, mut kind: PoolKind) -> Result<Pool, Failure> {
    let rank = spatial_rank(cx, x)?;
    let shape = cx.shape(x);
    let spatial = &shape[2..];
    if cx.attributes.ints("kernel_shape")?.is_none() {
        return Err(Failure::invalid("attribute `kernel_shape` is missing"));
    }
    let kernel = cx.attributes.sizes("kernel_shape", rank, 1)?;
    let mut window = window::read(cx, spatial, &kernel)?;
    let pads_end = window.pads_end.clone();
    if window.pads_begin.iter().chain(&pads_end).all(|&pad| pad == 0) && matches!(kind, PoolKind::Average { .. }) {
        kind = PoolKind::Average { count_pad: false };
    }
    if cx.attributes.flag("ceil_mode")? {
        let mut misdeclared = Shape::from_slice(&shape[..2]);
        for i in 0..rank {
            let extent = (kernel[i] - 1).saturating_mul(window.dilations[i]).saturating_add(1);
            let (pads, stride) = ((window.pads_begin[i], pads_end[i]), window.strides[i]);
            window.pads_end[i] = ceil_padding(spatial[i], pads, extent, stride);
            let padded = spatial[i].saturating_add(pads.0).saturating_add(pads.1);
            misdeclared.push(padded.saturating_sub(extent).div_ceil(stride).saturating_add(1));
        }
        cx.misdeclared = Some(misdeclared);
    }
    if kind == (PoolKind::Average { count_pad: true }) && window.pads_end != pads_end {
        return Err(Failure::unsupported("ceil_mode with count_include_pad"));
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
