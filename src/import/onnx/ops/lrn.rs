//! LRN: y = x / (bias + α / size · Σ x²)^β over the `size` channels around each one.
//!
//! <https://onnx.ai/onnx/operators/onnx__LRN.html>. Opset 1; 13: bfloat16. X T [N, C, …], T a float. The
//! window of channel c is c − ⌊(size − 1)/2⌋ … c + ⌈(size − 1)/2⌉, cut at the ends.

use crate::graph::op::{Lrn, Op};
use crate::import::onnx::node::{Context, Failure};

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    let alpha = cx.attributes.float("alpha")?.unwrap_or(f64::from(1e-4f32));
    let beta = cx.attributes.float("beta")?.unwrap_or(0.75);
    let bias = cx.attributes.float("bias")?.unwrap_or(1.0);
    let size = cx.attributes.int("size")?.ok_or_else(|| Failure::invalid("attribute `size` is missing"))?;
    let size = usize::try_from(size)
        .ok()
        .filter(|&size| size > 0)
        .ok_or_else(|| Failure::invalid(format!("attribute `size` is {size}: it must be at least 1")))?;
    cx.finish(Op::Lrn(Lrn { size, alpha, beta, bias }), &[x])
}
