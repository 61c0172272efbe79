//! ArgMax, ArgMin: where along an axis the extreme stands, as int64.
//!
//! <https://onnx.ai/onnx/operators/onnx__ArgMax.html>, ArgMin. Opset 1; 11: negative axis; 12: with
//! `select_last_index` the last of equal extremes counts; 13: bfloat16. X T: numbers.

use crate::graph::op::{ArgKind, ArgReduce, Op};
use crate::import::onnx::node::{Context, Failure};

pub fn max(cx: &mut Context) -> Result<(), Failure> {
    lower(cx, ArgKind::Max)
}

pub fn min(cx: &mut Context) -> Result<(), Failure> {
    lower(cx, ArgKind::Min)
}

fn lower(cx: &mut Context, kind: ArgKind) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let axis = cx.axis(cx.attributes.int("axis")?.unwrap_or(0), cx.shape(&x).len(), false)?;
    let keep = cx.attributes.int("keepdims")?.unwrap_or(1) != 0;
    let last = cx.attributes.flag("select_last_index")?;
    cx.finish(Op::ArgReduce(ArgReduce { kind, axis, keep, last }), &[x])
}
