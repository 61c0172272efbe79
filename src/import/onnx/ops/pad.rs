//! Pad with a constant; negative pads crop.
//!
//! <https://onnx.ai/onnx/operators/onnx__Pad.html>. Opset 2: `pads` and `value` are attributes; 11: inputs
//! (they must be known while importing); 18: `axes`; modes reflect, edge and wrap are refused.

use crate::import::onnx::node::{Context, Failure};

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let rank = cx.shape(&x).len();
    match cx.attributes.string("mode")?.unwrap_or("constant") {
        "constant" => {}
        other => return Err(Failure::unsupported(format!("mode `{other}`"))),
    }
    let (pads, value, axes) = if cx.opset() < 11 {
        (cx.attributes.ints("pads")?.map(<[i64]>::to_vec), cx.attributes.float("value")?, None)
    } else {
        (cx.ints(1, "pads")?, cx.scalar(2, "constant_value")?, cx.ints(3, "axes")?)
    };
    let pads = pads.ok_or_else(|| Failure::invalid("`pads` is missing"))?;
    let axes = match axes {
        Some(axes) => axes.iter().map(|&axis| cx.axis(axis, rank, false)).collect::<Result<Vec<_>, _>>()?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(Failure::shapes(format!("`pads` has {} entries for {} axes", pads.len(), axes.len())));
    }
    let mut around = vec![(0, 0); rank];
    for (i, &axis) in axes.iter().enumerate() {
        around[axis] = (pads[i], pads[axes.len() + i]);
    }
    let result = cx.pad(x, &around, value.unwrap_or(0.0))?;
    cx.pass(result)
}
