//! Conv: y[n, k, p…] = Σ x[n, c, p·stride + r·dilation − pad…] · w[k, c, r…] + b[k], in groups.
//!
//! <https://onnx.ai/onnx/operators/onnx__Conv.html>. Opset 1; 11: defaults of strides and dilations
//! written down; 22: bfloat16. X T [N, C, spatial…] with one to three spatial axes, W T
//! [K, C / group, kernel…], B T [K] optional; T is a float type.

use crate::graph::op::Conv;
use crate::graph::{Op, Role};
use crate::import::onnx::node::{Context, Failure};
use crate::import::onnx::ops::window;
use crate::shape::display;

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let (x, w) = (cx.input(0, "X")?, cx.input(1, "W")?);
    let (x_shape, w_shape) = (cx.shape(&x), cx.shape(&w));
    if x_shape.len() < 3 || w_shape.len() != x_shape.len() {
        return Err(Failure::shapes(format!(
            "X {} and W {} must have one rank, at least 3",
            display(&x_shape),
            display(&w_shape)
        )));
    }
    let rank = x_shape.len() - 2;
    if rank > 3 {
        return Err(Failure::unsupported(format!("{rank} spatial axes")));
    }
    let kernel = &w_shape[2..];
    if kernel.contains(&0) {
        return Err(Failure::shapes(format!("W is {}: its kernel is empty", display(&w_shape))));
    }
    let stated = cx.attributes.sizes("kernel_shape", rank, 1)?;
    if cx.attributes.ints("kernel_shape")?.is_some() && stated.as_slice() != kernel {
        return Err(Failure::shapes(format!("attribute `kernel_shape` is {}, W is {}", display(&stated), display(&w_shape))));
    }
    let group = cx.attributes.int("group")?.unwrap_or(1);
    let groups = usize::try_from(group).ok().filter(|&g| g > 0);
    let groups = groups.ok_or_else(|| Failure::invalid(format!("attribute `group` is {group}: it must be at least 1")))?;
    let window = window::read(cx, &x_shape[2..], kernel)?;
    let fan_in = cx.product(&w_shape[1..])?;
    let mut operands = vec![x, cx.set_role(&w, Role::Weight { fan_in })];
    if let Some(bias) = cx.optional(2) {
        operands.push(cx.set_role(&bias, Role::Bias));
    }
    let conv = Conv {
        strides: window.strides,
        dilations: window.dilations,
        pads_begin: window.pads_begin,
        pads_end: window.pads_end,
        groups,
    };
    cx.finish(Op::Conv(conv), &operands)
}
