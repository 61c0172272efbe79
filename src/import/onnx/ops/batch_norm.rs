//! BatchNormalization: y = (x − mean) / √(var + ε) · scale + bias per channel, with the mean and variance that
//! are given, or in training with those of X itself over the batch and space.
//!
//! <https://onnx.ai/onnx/operators/onnx__BatchNormalization.html>. Opset 7: `spatial` (0 normalises
//! every element apart: refused), five outputs in training (refused); 9: no `spatial`; 14: `training_mode`,
//! three outputs, the others running_mean · momentum + mean · (1 − momentum), and the variance alike; 15: scale and bias may have another float type than X (refused by type inference
//! of kernels, not here). X is T [N, C, …], the others [C].

use crate::expr::Binary;
use crate::graph::op::Norm;
use crate::graph::reduction::Axes;
use crate::graph::{Op, Role};
use crate::import::onnx::node::{Context, Failure};
use crate::import::onnx::ops::{norm, pointwise};
use crate::shape::display;

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let epsilon = cx.attributes.float("epsilon")?.unwrap_or(f64::from(1e-5f32));
    let momentum = cx.attributes.float("momentum")?.unwrap_or(f64::from(0.9f32));
    if cx.opset() < 9 && cx.attributes.int("spatial")? == Some(0) {
        return Err(Failure::unsupported("spatial = 0"));
    }
    if cx.opset() >= 14 && cx.attributes.flag("training_mode")? {
        return training(cx, epsilon, momentum);
    }
    if (1..5).any(|i| cx.is_used(i)) {
        return Err(Failure::unsupported("training mode (statistics as outputs)"));
    }
    let x = cx.input(0, "X")?;
    let roles = [("scale", Role::Scale), ("bias", Role::Bias), ("mean", Role::Mean), ("variance", Role::Variance)];
    let mut operands = vec![x];
    for (i, (name, role)) in roles.into_iter().enumerate() {
        let operand = cx.input(i + 1, name)?;
        operands.push(cx.set_role(&operand, role));
    }
    cx.finish(Op::BatchNorm { epsilon }, &operands)
}

fn training(cx: &mut Context, epsilon: f64, momentum: f64) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    let shape = cx.shape(&x);
    if shape.len() < 2 {
        return Err(Failure::shapes(format!("X {} has no channel axis", display(&shape))));
    }
    let axes: Axes = (0..shape.len()).filter(|&axis| axis != 1).collect();
    if cx.is_used(1) || cx.is_used(2) {
        let (mean, variance) = norm::moments(cx, &x, &axes)?;
        for (i, (name, batch)) in [("mean", mean), ("variance", variance)].into_iter().enumerate() {
            let running = cx.input(i + 3, name)?;
            if cx.ty(&running).dtype != cx.ty(&x).dtype {
                return Err(Failure::unsupported("running statistics of another type than X"));
            }
            let batch = cx.reshape(batch, &[shape[1]])?;
            if !cx.is_used(i + 1) {
                continue;
            }
            let updated = pointwise::between(cx, "running", &[running, batch], |b, args| {
                let (old, new) = (pointwise::number(b, momentum, args[0]), pointwise::number(b, 1.0 - momentum, args[0]));
                let (old, new) = (b.binary(Binary::Mul, args[0], old), b.binary(Binary::Mul, args[1], new));
                b.binary(Binary::Add, old, new)
            })?;
            cx.bind(i + 1, updated)?;
        }
    }
    let mut operands = vec![x];
    for (i, (name, role)) in [("scale", Role::Scale), ("bias", Role::Bias)].into_iter().enumerate() {
        let parameter = cx.input(i + 1, name)?;
        operands.push(norm::of_channels(cx, &parameter, shape[1], shape.len(), role)?);
    }
    cx.finish(Op::Norm(Norm { axes, epsilon, centred: true }), &operands)
}
