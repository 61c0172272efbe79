//! Shape and Size: always known while importing.
//!
//! <https://onnx.ai/onnx/operators/onnx__Shape.html>. Opset 1; 15: `start`, `end`, clamped. int64 results.

use crate::import::onnx::node::{Context, Failure};
use crate::tensor::Tensor;

pub fn shape(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let sizes: Vec<i64> = cx.shape(&x).iter().map(|&size| size as i64).collect();
    let rank = sizes.len() as i64;
    let clamped = |at: i64| (if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize;
    let start = clamped(cx.attributes.int("start")?.unwrap_or(0));
    let end = clamped(cx.attributes.int("end")?.unwrap_or(rank)).max(start);
    let part = sizes[start..end].to_vec();
    cx.bind_known(Tensor::from_i64([part.len()].as_slice(), part), true)
}

pub fn size(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let count = cx.product(&cx.shape(&x))?;
    cx.bind_known(Tensor::from_i64([].as_slice(), vec![count as i64]), true)
}
