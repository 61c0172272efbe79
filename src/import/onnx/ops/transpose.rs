//! Transpose: result axis i is operand axis perm[i]; without `perm` the axes are reversed.
//!
//! <https://onnx.ai/onnx/operators/onnx__Transpose.html>. Opset 1. All types.

use crate::graph::op::{Op, View};
use crate::import::onnx::node::{Context, Failure};

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let rank = cx.shape(&x).len();
    let order = match cx.attributes.ints("perm")? {
        Some(perm) if perm.len() == rank => perm.iter().map(|&axis| cx.axis(axis, rank, false)).collect::<Result<_, _>>()?,
        Some(perm) => return Err(Failure::shapes(format!("perm {perm:?} is not for a tensor of rank {rank}"))),
        None => (0..rank).rev().collect(),
    };
    cx.finish(Op::View(View::Transpose(order)), &[x])
}
