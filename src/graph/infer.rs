//! Output types from an operator and its input types, and the conditions that make them meaningful.
//!
//! One function an operator; an error is one sentence without a full stop that names the sizes in
//! conflict (`import` makes it a "contradictory shapes" message at the model's node). It checks
//! shapes and dtypes only: whether an access of a Map stays inside its operand is `verify`'s work.

mod conv_transpose;
mod reduction;

use smallvec::{SmallVec, smallvec};

use super::op::{Conv, Lrn, Map, Op, Pool, PoolKind, TensorType, View};
use crate::shape::{self, Shape, display};

/// Types of the outputs, in order; every operator so far has one.
pub type Types = SmallVec<[TensorType; 1]>;

/// The types of a node's outputs, or why its inputs do not fit.
pub fn infer(op: &Op, inputs: &[Option<&TensorType>]) -> Result<Types, String> {
    let ty = match op {
        Op::Map(map) => infer_map(map, inputs)?,
        Op::Conv(conv) => infer_conv(conv, inputs)?,
        Op::Pool(pool) => infer_pool(pool, inputs)?,
        Op::BatchNorm { epsilon } => infer_batch_norm(*epsilon, inputs)?,
        Op::MatMul => infer_matmul(inputs)?,
        Op::ConvTranspose(conv) => conv_transpose::infer(conv, inputs)?,
        Op::Norm(norm) => reduction::norm(norm, inputs)?,
        Op::Softmax { axis, log: _ } => infer_softmax(*axis, inputs)?,
        Op::Reduce(reduce) => reduction::reduce(reduce, inputs)?,
        Op::ArgReduce(arg) => reduction::arg_reduce(arg, inputs)?,
        Op::Scan(scan) => reduction::scan(scan, inputs)?,
        Op::Lrn(lrn) => infer_lrn(lrn, inputs)?,
        Op::View(view) => infer_view(view, inputs)?,
    };
    if shape::numel(&ty.shape).is_none() {
        return Err(format!("the output {} has more elements than memory can address", display(&ty.shape)));
    }
    Ok(smallvec![ty])
}

/// How often a window of `kernel` taps, `dilation` apart, fits while it moves by `stride`:
/// ⌊(input + pads − dilation·(kernel − 1) − 1) / stride⌋ + 1 (ONNX Conv, torch Conv2d).
pub fn window_count(input: usize, pads: (usize, usize), kernel: usize, stride: usize, dilation: usize) -> Result<usize, String> {
    if kernel == 0 || stride == 0 || dilation == 0 {
        return Err(format!("kernel {kernel}, stride {stride} and dilation {dilation} must all be at least 1"));
    }
    let extent = (kernel - 1).checked_mul(dilation).and_then(|e| e.checked_add(1));
    let padded = input.checked_add(pads.0).and_then(|p| p.checked_add(pads.1));
    match (extent, padded) {
        (Some(extent), Some(padded)) if extent <= padded => Ok((padded - extent) / stride + 1),
        (Some(extent), Some(padded)) => Err(format!(
            "a window of {extent} (kernel {kernel}, dilation {dilation}) does not fit into {padded} (size {input}, padding {} + {})",
            pads.0, pads.1
        )),
        _ => Err(format!("window sizes overflow: kernel {kernel}, dilation {dilation}, size {input}")),
    }
}

/// Operand `i`, which must be there.
fn operand<'a>(inputs: &[Option<&'a TensorType>], i: usize, name: &str) -> Result<&'a TensorType, String> {
    inputs.get(i).copied().flatten().ok_or_else(|| format!("operand {i} ({name}) is missing"))
}

/// Refuses more operands than the operator has.
fn at_most(inputs: &[Option<&TensorType>], count: usize) -> Result<(), String> {
    if inputs.len() <= count { Ok(()) } else { Err(format!("{} operands given, at most {count} expected", inputs.len())) }
}

fn same_dtype(a: &TensorType, b: &TensorType, names: &str) -> Result<(), String> {
    if a.dtype == b.dtype { Ok(()) } else { Err(format!("{names} have different element types, {} and {}", a.dtype, b.dtype)) }
}

fn float(ty: &TensorType, name: &str) -> Result<(), String> {
    if ty.dtype.is_float() { Ok(()) } else { Err(format!("{name} has element type {}, a float is expected", ty.dtype)) }
}

/// The body's dtype over the iteration space; each read must have the operand's dtype and rank.
fn infer_map(map: &Map, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    for (k, access) in map.reads.iter().enumerate() {
        let ty = operand(inputs, access.input, "of an access")?;
        if access.index.len() != ty.shape.len() {
            return Err(format!("access {k} has {} indices for an operand {}", access.index.len(), display(&ty.shape)));
        }
    }
    for (node, dtype) in map.body.nodes() {
        if let crate::expr::Node::Read(k) = *node {
            let access = map.reads.get(k as usize).ok_or_else(|| format!("the body reads r{k}, which does not exist"))?;
            let ty = operand(inputs, access.input, "of an access")?;
            if ty.dtype != *dtype {
                return Err(format!("the body reads r{k} as {dtype}, the operand is {}", ty.dtype));
            }
        }
    }
    Ok(TensorType { dtype: map.body.dtype(), shape: map.dims.clone() })
}

/// Sizes of every spatial axis after windows have moved over it.
fn windows(
    spatial: &[usize],
    kernel: &[usize],
    strides: &[usize],
    dilations: &[usize],
    pads: (&[usize], &[usize]),
) -> Result<Shape, String> {
    let rank = spatial.len();
    for (name, len) in [
        ("kernel", kernel.len()),
        ("strides", strides.len()),
        ("dilations", dilations.len()),
        ("pads", pads.0.len()),
        ("pads", pads.1.len()),
    ] {
        if len != rank {
            return Err(format!("{name} has {len} entries for {rank} spatial axes"));
        }
    }
    (0..rank)
        .map(|i| {
            window_count(spatial[i], (pads.0[i], pads.1[i]), kernel[i], strides[i], dilations[i])
                .map_err(|e| format!("spatial axis {i}: {e}"))
        })
        .collect()
}

/// X [N, C, spatial…] * W [K, C / groups, kernel…] + B [K] → [N, K, windows…].
fn infer_conv(conv: &Conv, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 3)?;
    let (x, w) = (operand(inputs, 0, "X")?, operand(inputs, 1, "W")?);
    float(x, "X")?;
    same_dtype(x, w, "X and W")?;
    if x.shape.len() < 3 || w.shape.len() != x.shape.len() {
        return Err(format!("X {} and W {} must have one rank, at least 3", display(&x.shape), display(&w.shape)));
    }
    let (channels, out_channels) = (x.shape[1], w.shape[0]);
    if conv.groups == 0 || channels % conv.groups != 0 || out_channels % conv.groups != 0 {
        return Err(format!("{} groups do not divide {channels} input and {out_channels} output channels", conv.groups));
    }
    if w.shape[1] != channels / conv.groups {
        return Err(format!(
            "W {} expects {} input channels in {} group(s), X {} has {channels}",
            display(&w.shape),
            w.shape[1].saturating_mul(conv.groups),
            conv.groups,
            display(&x.shape)
        ));
    }
    if let Some(bias) = inputs.get(2).copied().flatten() {
        same_dtype(x, bias, "X and B")?;
        if bias.shape.as_slice() != [out_channels] {
            return Err(format!("B is {}, W has {out_channels} output channels", display(&bias.shape)));
        }
    }
    let pads = (conv.pads_begin.as_slice(), conv.pads_end.as_slice());
    let spatial = windows(&x.shape[2..], &w.shape[2..], &conv.strides, &conv.dilations, pads)?;
    Ok(TensorType { dtype: x.dtype, shape: [x.shape[0], out_channels].into_iter().chain(spatial).collect() })
}

/// X [N, C, spatial…] → [N, C, windows…]; every window must touch the operand.
fn infer_pool(pool: &Pool, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 1)?;
    let x = operand(inputs, 0, "X")?;
    if x.shape.len() < 3 {
        return Err(format!("X {} needs a batch, a channel and at least one spatial axis", display(&x.shape)));
    }
    let spatial: Shape = match pool.kind {
        PoolKind::AdaptiveAverage => {
            float(x, "X")?;
            if pool.kernel.len() != x.shape.len() - 2 || pool.kernel.contains(&0) {
                return Err(format!("output size {} does not fit X {}", display(&pool.kernel), display(&x.shape)));
            }
            SmallVec::from_slice(&pool.kernel)
        }
        PoolKind::Max | PoolKind::Average { .. } => {
            if matches!(pool.kind, PoolKind::Average { .. }) {
                float(x, "X")?;
            }
            let pads = (pool.pads_begin.as_slice(), pool.pads_end.as_slice());
            let out = windows(&x.shape[2..], &pool.kernel, &pool.strides, &pool.dilations, pads)?;
            for (i, &count) in out.iter().enumerate() {
                let last = (count - 1) * pool.strides[i];
                let extent = (pool.kernel[i] - 1) * pool.dilations[i] + 1;
                if pads.0[i] >= extent || last >= pads.0[i] + x.shape[2 + i] {
                    return Err(format!(
                        "spatial axis {i}: a window lies wholly in the padding (size {}, padding {} + {}, window {extent})",
                        x.shape[2 + i],
                        pads.0[i],
                        pads.1[i]
                    ));
                }
            }
            out
        }
    };
    Ok(TensorType { dtype: x.dtype, shape: x.shape[..2].iter().copied().chain(spatial).collect() })
}

/// X [N, C, …] and four [C] → X's type.
fn infer_batch_norm(epsilon: f64, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 5)?;
    let x = operand(inputs, 0, "X")?;
    float(x, "X")?;
    if x.shape.len() < 2 {
        return Err(format!("X {} has no channel axis", display(&x.shape)));
    }
    if !(epsilon >= 0.0 && epsilon.is_finite()) {
        return Err(format!("epsilon {epsilon} is not a non-negative number"));
    }
    for (i, name) in ["scale", "bias", "mean", "variance"].into_iter().enumerate() {
        let ty = operand(inputs, i + 1, name)?;
        if ty.shape.as_slice() != [x.shape[1]] {
            return Err(format!("{name} is {}, X {} has {} channels", display(&ty.shape), display(&x.shape), x.shape[1]));
        }
        float(ty, name)?;
    }
    Ok(x.clone())
}

fn infer_lrn(lrn: &Lrn, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 1)?;
    let x = operand(inputs, 0, "X")?;
    float(x, "X")?;
    let Lrn { size, alpha, beta, bias } = *lrn;
    if x.shape.len() < 2 {
        return Err(format!("X {} has no channel axis", display(&x.shape)));
    }
    if size == 0 {
        return Err("a window of 0 channels".to_owned());
    }
    if let Some((name, number)) = [("alpha", alpha), ("beta", beta), ("bias", bias)].into_iter().find(|(_, v)| !v.is_finite()) {
        return Err(format!("{name} {number} is not a finite number"));
    }
    Ok(x.clone())
}

/// A [b…, m, k] · B [b…, k, n] → [b…, m, n].
fn infer_matmul(inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 2)?;
    let (a, b) = (operand(inputs, 0, "A")?, operand(inputs, 1, "B")?);
    same_dtype(a, b, "A and B")?;
    let (ra, rb) = (a.shape.len(), b.shape.len());
    if ra < 2 || rb < 2 {
        return Err(format!("A {} and B {} must be at least matrices", display(&a.shape), display(&b.shape)));
    }
    if a.shape[ra - 1] != b.shape[rb - 2] {
        return Err(format!(
            "A {} has {} columns, B {} has {} rows",
            display(&a.shape),
            a.shape[ra - 1],
            display(&b.shape),
            b.shape[rb - 2]
        ));
    }
    let batch = shape::broadcast(&a.shape[..ra - 2], &b.shape[..rb - 2])
        .ok_or_else(|| format!("batch axes of A {} and B {} do not broadcast", display(&a.shape), display(&b.shape)))?;
    Ok(TensorType { dtype: a.dtype, shape: batch.into_iter().chain([a.shape[ra - 2], b.shape[rb - 1]]).collect() })
}

fn infer_softmax(axis: usize, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 1)?;
    let x = operand(inputs, 0, "X")?;
    float(x, "X")?;
    if axis >= x.shape.len() {
        return Err(format!("axis {axis} does not exist in X {}", display(&x.shape)));
    }
    Ok(x.clone())
}

fn infer_view(view: &View, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 1)?;
    let x = operand(inputs, 0, "X")?;
    let shape: Shape = match view {
        View::Reshape(shape) => {
            if shape::numel(shape) != shape::numel(&x.shape) {
                return Err(format!("{} cannot be reshaped to {}", display(&x.shape), display(shape)));
            }
            shape.clone()
        }
        View::Transpose(order) => {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..x.shape.len()) {
                return Err(format!("{order:?} is not a permutation of the axes of X {}", display(&x.shape)));
            }
            order.iter().map(|&axis| x.shape[axis]).collect()
        }
        View::Broadcast(shape) => {
            if shape::broadcast(&x.shape, shape).as_ref() != Some(shape) {
                return Err(format!("{} does not broadcast to {}", display(&x.shape), display(shape)));
            }
            shape.clone()
        }
    };
    Ok(TensorType { dtype: x.dtype, shape })
}

#[cfg(test)]
mod tests;
