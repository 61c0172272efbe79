//! Normalisation by own statistics: LayerNormalization, InstanceNormalization, GroupNormalization,
//! RMSNormalization: y = (x − mean) / √(var + ε) · scale + bias.
//!
//! <https://onnx.ai/onnx/operators/onnx__LayerNormalization.html>. Opset 17: over the axes from `axis` on;
//! scale and bias broadcast to X; further outputs mean and 1/√(var + ε), with size 1 along those axes.
//! <https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html>. Opset 6: over the spatial axes of X [N, C, …].
//! <https://onnx.ai/onnx/operators/onnx__GroupNormalization.html>. Opset 18: over groups of channels, scale and bias
//! [groups]; 21: [C]. <https://onnx.ai/onnx/operators/onnx__RMSNormalization.html>. Opset 23: not centred, no bias.
//! Statistics are computed in fp32 (`stash_type` 1; another one is refused). T is a float.

use crate::dtype::DType;
use crate::expr::{Binary, Unary};
use crate::graph::Role;
use crate::graph::op::{Norm, Op, View};
use crate::graph::reduction::Axes;
use crate::import::onnx::node::{Context, Failure, Operand};
use crate::import::onnx::ops::{pointwise, reduce};
use crate::shape::{Shape, display};

pub fn layer(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    let (axes, epsilon) = trailing(cx, &x)?;
    let mut operands = vec![x.clone()];
    for (i, role) in [(1, Role::Scale), (2, Role::Bias)] {
        if let Some(parameter) = cx.optional(i) {
            operands.push(aligned(cx, &parameter, &x, role)?);
        }
    }
    if cx.is_used(1) || cx.is_used(2) {
        statistics(cx, &x, &axes, epsilon)?;
    }
    cx.finish(Op::Norm(Norm { axes, epsilon, centred: true }), &operands)
}

pub fn root_mean_square(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    let (axes, epsilon) = trailing(cx, &x)?;
    let scale = cx.input(1, "scale")?;
    let scale = aligned(cx, &scale, &x, Role::Scale)?;
    cx.finish(Op::Norm(Norm { axes, epsilon, centred: false }), &[x, scale])
}

pub fn instance(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "input")?;
    let shape = cx.shape(&x);
    if shape.len() < 3 {
        return Err(Failure::shapes(format!("X {} needs a batch, a channel and a spatial axis", display(&shape))));
    }
    let epsilon = cx.attributes.float("epsilon")?.unwrap_or(f64::from(1e-5f32));
    let mut operands = vec![x];
    for (i, (name, role)) in [("scale", Role::Scale), ("B", Role::Bias)].into_iter().enumerate() {
        let parameter = cx.input(i + 1, name)?;
        operands.push(of_channels(cx, &parameter, shape[1], shape.len(), role)?);
    }
    cx.finish(Op::Norm(Norm { axes: (2..shape.len()).collect(), epsilon, centred: true }), &operands)
}

pub fn group(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    let shape = cx.shape(&x);
    single_statistics(cx)?;
    let groups = cx.attributes.int("num_groups")?.ok_or_else(|| Failure::invalid("attribute `num_groups` is missing"))?;
    let fits = |&groups: &usize| groups > 0 && shape.len() > 1 && shape[1].is_multiple_of(groups);
    let Some(groups) = usize::try_from(groups).ok().filter(fits) else {
        return Err(Failure::shapes(format!("{groups} groups do not divide the channels of X {}", display(&shape))));
    };
    let epsilon = cx.attributes.float("epsilon")?.unwrap_or(f64::from(1e-5f32));
    // [N, groups, C / groups, …]
    let split: Shape = [shape[0], groups, shape[1] / groups].into_iter().chain(shape[2..].iter().copied()).collect();
    let mut operands = vec![cx.reshape(x, &split)?];
    for (i, (name, role)) in [("scale", Role::Scale), ("bias", Role::Bias)].into_iter().enumerate() {
        let parameter = cx.input(i + 1, name)?;
        let size = if cx.opset() < 21 { groups } else { shape[1] };
        if cx.shape(&parameter).as_slice() != [size] {
            return Err(Failure::shapes(format!("{name} is {}, {size} numbers are expected", display(&cx.shape(&parameter)))));
        }
        let parameter = cx.set_role(&parameter, role);
        let mut place = Shape::from_elem(1, split.len());
        place[1] = groups;
        place[2] = size / groups;
        operands.push(cx.reshape(parameter, &place)?);
    }
    let normalised = cx.emit(Op::Norm(Norm { axes: (2..split.len()).collect(), epsilon, centred: true }), &operands)?;
    cx.finish(Op::View(View::Reshape(shape)), &[normalised])
}

/// The axes from `axis` on, and ε.
fn trailing(cx: &Context, x: &Operand) -> Result<(Axes, f64), Failure> {
    let rank = cx.shape(x).len();
    let axis = cx.axis(cx.attributes.int("axis")?.unwrap_or(-1), rank, false)?;
    let epsilon = cx.attributes.float("epsilon")?.unwrap_or(f64::from(1e-5f32));
    single_statistics(cx)?;
    Ok(((axis..rank).collect(), epsilon))
}

fn single_statistics(cx: &Context) -> Result<(), Failure> {
    match cx.attributes.int("stash_type")? {
        None | Some(1) => Ok(()),
        Some(other) => Err(Failure::unsupported(format!("stash_type = {other}"))),
    }
}

/// A parameter that broadcasts to X, with X's rank.
fn aligned(cx: &mut Context, parameter: &Operand, x: &Operand, role: Role) -> Result<Operand, Failure> {
    let (own, shape) = (cx.shape(parameter), cx.shape(x));
    let Some(lead) = shape.len().checked_sub(own.len()) else {
        return Err(Failure::shapes(format!("a parameter {} has more axes than X {}", display(&own), display(&shape))));
    };
    let place: Shape = std::iter::repeat_n(1, lead).chain(own).collect();
    let parameter = cx.set_role(parameter, role);
    cx.reshape(parameter, &place)
}

/// One number a channel, along axis 1 of `rank` axes.
pub(super) fn of_channels(
    cx: &mut Context,
    parameter: &Operand,
    channels: usize,
    rank: usize,
    role: Role,
) -> Result<Operand, Failure> {
    if cx.shape(parameter).as_slice() != [channels] {
        return Err(Failure::shapes(format!("a parameter is {}, there are {channels} channels", display(&cx.shape(parameter)))));
    }
    let mut place = Shape::from_elem(1, rank);
    place[1] = channels;
    let parameter = cx.set_role(parameter, role);
    cx.reshape(parameter, &place)
}

/// Mean and variance over some axes, which stay with size 1.
pub(super) fn moments(cx: &mut Context, x: &Operand, axes: &[usize]) -> Result<(Operand, Operand), Failure> {
    let mean = reduce::mean_of(cx, x, axes, true)?;
    let squares = pointwise::between(cx, "deviation", &[x.clone(), mean.clone()], |b, args| {
        let apart = b.binary(Binary::Sub, args[0], args[1]);
        b.binary(Binary::Mul, apart, apart)
    })?;
    let variance = reduce::mean_of(cx, &squares, axes, true)?;
    Ok((mean, variance))
}

/// The outputs mean and 1/√(var + ε).
fn statistics(cx: &mut Context, x: &Operand, axes: &[usize], epsilon: f64) -> Result<(), Failure> {
    let dtype = cx.ty(x).dtype;
    if dtype != DType::F32 {
        return Err(Failure::unsupported(format!("statistics of {dtype} as outputs")));
    }
    let (mean, variance) = moments(cx, x, axes)?;
    if cx.is_used(1) {
        cx.bind(1, mean)?;
    }
    if cx.is_used(2) {
        let factor = pointwise::between(cx, "inverse_deviation", &[variance], |b, args| {
            let epsilon = pointwise::number(b, epsilon, args[0]);
            let sum = b.binary(Binary::Add, args[0], epsilon);
            b.unary(Unary::Rsqrt, sum)
        })?;
        cx.bind(2, factor)?;
    }
    Ok(())
}
