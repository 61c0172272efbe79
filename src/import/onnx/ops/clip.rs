//! Clip: min(max(x, low), high), keeping NaN.
//!
//! <https://onnx.ai/onnx/operators/onnx__Clip.html>. Opset 6: attributes; 11: optional inputs, each a
//! scalar; 12: integers. Without a limit that side is open.

use crate::expr::{Binary, ExprBuilder, ExprId};
use crate::import::onnx::node::{Context, Failure};
use crate::import::onnx::ops::pointwise::{number, unary, uniform};
use crate::shape::display;

fn limited(b: &mut ExprBuilder, x: ExprId, low: Option<ExprId>, high: Option<ExprId>) -> ExprId {
    let raised = low.map_or(x, |low| b.binary(Binary::MaxNan, x, low));
    high.map_or(raised, |high| b.binary(Binary::MinNan, raised, high))
}

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    if cx.opset() < 11 {
        let (low, high) = (cx.attributes.float("min")?, cx.attributes.float("max")?);
        return unary(cx, "clip", |b, x| {
            let (low, high) = (low.map(|v| number(b, v, x)), high.map(|v| number(b, v, x)));
            limited(b, x, low, high)
        });
    }
    let (low, high) = (cx.optional(1), cx.optional(2));
    for limit in [&low, &high].into_iter().flatten() {
        let shape = cx.shape(limit);
        if !shape.is_empty() && shape.as_slice() != [1] {
            return Err(Failure::shapes(format!("a limit is {}, a scalar is expected", display(&shape))));
        }
    }
    let positions = (low.as_ref().map(|_| 1), high.as_ref().map(|_| if low.is_some() { 2 } else { 1 }));
    let operands: Vec<_> = [Some(cx.input(0, "input")?), low, high].into_iter().flatten().collect();
    uniform(cx, "clip", &operands, |b, args| {
        limited(b, args[0], positions.0.map(|i: usize| args[i]), positions.1.map(|i: usize| args[i]))
    })
}
