//! BatchNormalization in inference: y = (x − mean) / √(var + ε) · scale + bias per channel.
//!
//! <https://onnx.ai/onnx/operators/onnx__BatchNormalization.html>. Opset 7: `spatial` (0 normalises
//! every element apart: refused), five outputs in training; 9: no `spatial`; 14: `training_mode`,
//! three outputs; 15: scale and bias may have another float type than X (refused by type inference
//! of kernels, not here). X is T [N, C, …], the others [C].

use crate::graph::{Op, Role};
use crate::import::onnx::node::{Context, Failure};

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let epsilon = cx.attributes.float("epsilon")?.unwrap_or(f64::from(1e-5f32));
    cx.attributes.float("momentum")?; // only training reads it
    if cx.opset() < 9 && cx.attributes.int("spatial")? == Some(0) {
        return Err(Failure::unsupported("spatial = 0"));
    }
    if (cx.opset() >= 14 && cx.attributes.flag("training_mode")?) || (1..5).any(|i| cx.is_used(i)) {
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
