//! Pad with a constant; negative pads crop.
//!
//! <https://onnx.ai/onnx/operators/onnx__Pad.html>. Opset 2: `pads` and `value` are attributes; 11: inputs
//! (they must be known while importing); 18: `axes`; modes reflect, edge and wrap are refused.

use crate::expr::Expr;
use crate::expr::index::Index;
use crate::graph::op::{Access, Map, Op, OutOfBounds};
use crate::import::onnx::node::{Context, Failure};
use crate::shape::display;

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let ty = cx.ty(&x);
    match cx.attributes.string("mode")?.unwrap_or("constant") {
        "constant" => {}
        other => return Err(Failure::unsupported(format!("mode `{other}`"))),
    }
    let rank = ty.shape.len();
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
    if pads.iter().all(|&pad| pad == 0) {
        return cx.pass(x);
    }
    let mut dims = ty.shape.clone();
    let mut index: Vec<Index> = (0..rank).map(Index::Dim).collect();
    for (i, &axis) in axes.iter().enumerate() {
        let (begin, end) = (pads[i], pads[axes.len() + i]);
        let size = ty.shape[axis] as i128 + i128::from(begin) + i128::from(end);
        dims[axis] = usize::try_from(size).map_err(|_| {
            Failure::shapes(format!("pads {begin} and {end} leave nothing of axis {axis} of {}", display(&ty.shape)))
        })?;
        if begin != 0 {
            let offset = begin.checked_neg().ok_or_else(|| Failure::shapes(format!("pad {begin} is out of range")))?;
            index[axis] = Index::Add(Box::new(Index::Dim(axis)), Box::new(Index::Constant(offset)));
        }
    }
    let access = Access { input: 0, index, oob: OutOfBounds::Fill(ty.dtype.round(value.unwrap_or(0.0))) };
    cx.finish(Op::Map(Map { label: "pad".to_owned(), dims, reads: vec![access], body: Expr::read(0, ty.dtype) }), &[x])
}
