//! Add.
use crate::expr::{Binary, ExprBuilder};
use crate::graph::op::{Map, Op};
use crate::import::onnx::node::{Context, Failure};

pub(in crate::import::onnx) fn add(cx: &mut Context) -> Result<(), Failure> {
    let operands = cx.inputs()?;
    let dims = cx.broadcast(&operands)?;
    let dtype = cx.common_dtype(&operands)?;
    let mut b = ExprBuilder::new();
    let (l, r) = (b.read(0, dtype), b.read(1, dtype));
    let root = b.binary(Binary::Add, l, r);
    let shapes: Vec<_> = operands.iter().map(|o| cx.shape(o)).collect();
    let shapes: Vec<&[usize]> = shapes.iter().map(|s| s.as_slice()).collect();
    cx.finish(Op::Map(Map::pointwise("add", &dims, &shapes, b.finish(root))), &operands)
}
