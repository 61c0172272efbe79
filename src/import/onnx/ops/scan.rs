//! CumSum, CumProd: running sums and products along an axis.
//!
//! <https://onnx.ai/onnx/operators/onnx__CumSum.html>, opset 11; CumProd, opset 26. The axis is an input that must
//! be known while importing; `reverse` begins at the end, `exclusive` leaves the element itself out. X T:
//! numbers.

use crate::graph::op::{Op, Scan, ScanKind};
use crate::import::onnx::node::{Context, Failure};

pub fn sum(cx: &mut Context) -> Result<(), Failure> {
    lower(cx, ScanKind::Sum)
}

pub fn product(cx: &mut Context) -> Result<(), Failure> {
    lower(cx, ScanKind::Prod)
}

fn lower(cx: &mut Context, kind: ScanKind) -> Result<(), Failure> {
    let x = cx.input(0, "x")?;
    let given = cx.ints(1, "axis")?.ok_or_else(|| Failure::invalid("input 1 (axis) is missing"))?;
    let [axis] = given[..] else {
        return Err(Failure::shapes(format!("axis {given:?}: one number is expected")));
    };
    let axis = cx.axis(axis, cx.shape(&x).len(), false)?;
    let (reverse, exclusive) = (cx.attributes.flag("reverse")?, cx.attributes.flag("exclusive")?);
    cx.finish(Op::Scan(Scan { kind, axis, reverse, exclusive }), &[x])
}
