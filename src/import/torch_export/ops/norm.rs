//! Normalisation by given statistics (batch normalisation in inference) or by the operand's own.
//!
//! y = (x − mean) / √(var + ε) · γ + β. In training, batch normalisation takes mean and biased variance over the batch
//! and the spatial axes, and writes running statistics: (1 − momentum)·old + momentum·new, the variance unbiased.

use crate::dtype::DType;
use crate::expr::Binary;
use crate::graph::op::{Norm, Reduce, ReduceKind};
use crate::graph::reduction::Axes;
use crate::graph::{Op, Role};
use crate::import::build::activation::scaled;
use crate::import::build::{Failure, Operand};
use crate::import::torch_export::call::{Call, Out, Outs};
use crate::shape::{Shape, display};
use crate::tensor::{Storage, Tensor};

/// γ and β under a shape of x's rank; β alone gets a γ of ones.
fn affine(call: &mut Call, names: [&str; 2], shape: &[usize], dtype: DType) -> Result<Vec<Operand>, Failure> {
    let [gamma, beta] = names.map(|name| call.optional(name));
    let gamma = match (gamma, &beta) {
        (None, Some(_)) => Some(constant(call, shape, dtype, 1.0)),
        (gamma, _) => gamma,
    };
    let mut operands = Vec::new();
    for (operand, role) in [(gamma, Role::Scale), (beta, Role::Bias)] {
        if let Some(operand) = operand {
            let operand = call.set_role(&operand, role);
            operands.push(call.reshape(operand, shape)?);
        }
    }
    Ok(operands)
}

/// A tensor of one number under this shape, as elements.
fn constant(call: &mut Call, shape: &[usize], dtype: DType, value: f32) -> Operand {
    let count = shape.iter().product();
    let storage = if dtype == DType::F64 { Storage::F64(vec![value.into(); count]) } else { Storage::F32(vec![value; count]) };
    call.known("ones", Tensor::new(dtype, Shape::from_slice(shape), storage))
}

fn normalised(call: &mut Call, x: Operand, axes: Axes, epsilon: f64, affine: Vec<Operand>) -> Result<Operand, Failure> {
    let operands: Vec<Operand> = [x].into_iter().chain(affine).collect();
    call.emit(Op::Norm(Norm { axes, epsilon, centred: true }), &operands)
}

/// [1, C, 1, …] for a tensor of rank `rank`.
fn per_channel(channels: usize, rank: usize) -> Shape {
    (0..rank).map(|axis| if axis == 1 { channels } else { 1 }).collect()
}

const SAVED: &str = "the statistics of a normalisation";

/// batch_norm, native_batch_norm and its functional forms.
pub fn batch(call: &mut Call) -> Result<Outs, Failure> {
    let training = !call.has("training") || call.flag("training")?;
    if training { batch_in_training(call) } else { batch_in_inference(call) }
}

pub fn batch_in_inference(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("input")?;
    let ty = call.ty(&x);
    let channels = ty.shape.get(1).copied().unwrap_or(0);
    let mut operands = vec![x];
    let parts = [
        ("weight", Role::Scale, 1.0),
        ("bias", Role::Bias, 0.0),
        ("running_mean", Role::Mean, 0.0),
        ("running_var", Role::Variance, 1.0),
    ];
    for (name, role, neutral) in parts {
        let given = call.optional(name);
        operands.push(match given {
            Some(operand) => call.set_role(&operand, role),
            None if role == Role::Scale || role == Role::Bias => constant(call, &[channels], ty.dtype, neutral),
            None => return Err(Failure::unsupported("no running statistics in inference")),
        });
    }
    let epsilon = call.number("eps")?;
    let y = call.emit(Op::BatchNorm { epsilon }, &operands)?;
    Ok(vec![Out::Value(y), Out::Absent(SAVED), Out::Absent(SAVED)].into())
}

fn batch_in_training(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("input")?;
    let ty = call.ty(&x);
    let rank = ty.shape.len();
    if rank < 2 {
        return Err(Failure::shapes(format!("input is {}: a batch and channels are expected", display(&ty.shape))));
    }
    // A batch of one, as an instance normalisation decomposes into, has no say.
    let axes: Axes = (0..rank).filter(|&axis| axis != 1 && (axis > 0 || ty.shape[0] > 1 || rank == 2)).collect();
    let affine = affine(call, ["weight", "bias"], &per_channel(ty.shape[1], rank), ty.dtype)?;
    let epsilon = call.number("eps")?;
    let y = normalised(call, x.clone(), axes.clone(), epsilon, affine)?;
    let mut outs: Vec<Out> = vec![Out::Value(y), Out::Absent(SAVED), Out::Absent(SAVED)];
    let mut writes = Vec::new();
    if call.has("running_mean") && !call.is_none("running_mean") && !call.is_none("running_var") {
        let [mean, variance] = statistics(call, &x, axes)?;
        for (name, new) in [("running_mean", mean), ("running_var", variance)] {
            let running = call.tensor_arg(name)?;
            let momentum = call.number("momentum")?;
            let updated = call.map("running", &[running.operand, new], |b, args| {
                let (old, new) = (scaled(b, args[0], 1.0 - momentum), scaled(b, args[1], momentum));
                b.binary(Binary::Add, old, new)
            })?;
            outs.push(Out::Value(updated.clone()));
            writes.push((running.name, updated));
        }
    }
    // The functional form returns the running statistics, the others write them.
    let functional = call.schema.name == "_native_batch_norm_legit_functional";
    if functional {
        writes.clear();
    } else {
        outs.truncate(3);
    }
    Ok(Outs { outs, writes })
}

/// Mean and unbiased variance over some axes.
fn statistics(call: &mut Call, x: &Operand, axes: Axes) -> Result<[Operand; 2], Failure> {
    let shape = call.shape(x);
    let count: usize = axes.iter().map(|&axis| shape[axis]).product();
    let mean = |keep| Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: axes.clone(), keep });
    let kept = call.emit(mean(true), std::slice::from_ref(x))?;
    let squares = call.map("squared_difference", &[x.clone(), kept.clone()], |b, args| {
        let difference = b.binary(Binary::Sub, args[0], args[1]);
        b.binary(Binary::Mul, difference, difference)
    })?;
    let biased = call.emit(mean(false), &[squares])?;
    let correction = count as f64 / (count.max(2) - 1) as f64;
    let variance = call.unary("mul_scalar", &biased, |b, v| scaled(b, v, correction))?;
    let flat = call.shape(&variance);
    Ok([call.reshape(kept, &flat)?, variance])
}

pub fn layer(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("input")?;
    let (ty, own) = (call.ty(&x), call.sizes("normalized_shape")?);
    let rank = ty.shape.len();
    if own.is_empty() || !ty.shape.ends_with(&own) {
        return Err(Failure::shapes(format!("normalized_shape {} is not the end of {}", display(&own), display(&ty.shape))));
    }
    let first = rank - own.len();
    let shape: Shape = (0..first).map(|_| 1).chain(own).collect();
    let affine = affine(call, ["weight", "bias"], &shape, ty.dtype)?;
    let epsilon = call.number("eps")?;
    let y = normalised(call, x, (first..rank).collect(), epsilon, affine)?;
    Ok(vec![Out::Value(y), Out::Absent(SAVED), Out::Absent(SAVED)].into())
}

/// Groups of channels, each normalised with its spatial axes: x as [N, groups, C / groups, …].
pub fn group(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("input")?;
    let groups = usize::try_from(call.int(if call.has("num_groups") { "num_groups" } else { "group" })?).unwrap_or(0);
    let ty = call.ty(&x);
    if ty.shape.len() < 2 || groups == 0 || !ty.shape[1].is_multiple_of(groups) {
        return Err(Failure::shapes(format!("{groups} groups of the channels of {}", display(&ty.shape))));
    }
    let each = ty.shape[1] / groups;
    let split: Shape = [ty.shape[0], groups, each].into_iter().chain(ty.shape[2..].iter().copied()).collect();
    let per_group: Shape = [1, groups, each].into_iter().chain(ty.shape[2..].iter().map(|_| 1)).collect();
    let affine = affine(call, ["weight", "bias"], &per_group, ty.dtype)?;
    let epsilon = call.number("eps")?;
    let x = call.reshape(x, &split)?;
    let y = normalised(call, x, (2..split.len()).collect(), epsilon, affine)?;
    let y = call.reshape(y, &ty.shape)?;
    Ok(vec![Out::Value(y), Out::Absent(SAVED), Out::Absent(SAVED)].into())
}

/// Every channel of every sample by its own spatial statistics.
pub fn instance(call: &mut Call) -> Result<Outs, Failure> {
    if !call.flag("use_input_stats")? {
        return batch_in_inference(call);
    }
    if !call.is_none("running_mean") {
        return Err(Failure::unsupported("running statistics of an instance normalisation"));
    }
    let x = call.tensor("input")?;
    let ty = call.ty(&x);
    let rank = ty.shape.len();
    if rank < 3 {
        return Err(Failure::shapes(format!("input is {}: spatial axes are expected", display(&ty.shape))));
    }
    let affine = affine(call, ["weight", "bias"], &per_channel(ty.shape[1], rank), ty.dtype)?;
    let epsilon = call.number("eps")?;
    Ok(normalised(call, x, (2..rank).collect(), epsilon, affine)?.into())
}
