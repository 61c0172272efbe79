//! Concat: operands one after the other along an axis.
//!
//! <https://onnx.ai/onnx/operators/onnx__Concat.html>. Opset 4; 11: negative axis. One type. Lowered to
//! a Map that reads each operand shifted by where it begins and selects by the coordinate.

use crate::dtype::DType;
use crate::expr::index::Index;
use crate::expr::{Compare, Constant, ExprBuilder, Node};
use crate::graph::op::{Access, Map, Op, OutOfBounds};
use crate::import::onnx::node::{Context, Failure, Operand};
use crate::shape::display;

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let mut operands = cx.inputs()?;
    let dtype = cx.common_dtype(&operands)?;
    let first = cx.shape(&operands[0]);
    let axis = cx.attributes.int("axis")?.ok_or_else(|| Failure::invalid("attribute `axis` is missing"))?;
    let axis = cx.axis(axis, first.len(), false)?;
    let is_empty = |o: &Operand| cx.shape(o).get(axis) == Some(&0);
    if !operands.iter().all(is_empty) {
        operands.retain(|operand| !is_empty(operand));
    }
    let first = cx.shape(&operands[0]);
    if operands.len() == 1 {
        return cx.pass(operands[0].clone());
    }
    let mut reads = Vec::new();
    let mut ends = Vec::new();
    let mut begin = 0usize;
    for (input, operand) in operands.iter().enumerate() {
        let shape = cx.shape(operand);
        let same = |i: usize| i == axis || shape[i] == first[i];
        if shape.len() != first.len() || !(0..first.len()).all(same) {
            return Err(Failure::shapes(format!("{} and {} differ in more than axis {axis}", display(&first), display(&shape))));
        }
        let at = |i| if i == axis { shifted(i, begin) } else { Index::Dim(i) };
        reads.push(Access { input, index: (0..first.len()).map(at).collect(), oob: OutOfBounds::Fill(0.0) });
        begin = begin.checked_add(shape[axis]).ok_or_else(|| Failure::shapes("the sizes along the axis overflow"))?;
        ends.push(begin);
    }
    let mut dims = first;
    dims[axis] = begin;
    let mut b = ExprBuilder::new();
    let coordinate = b.node(Node::Coordinate(axis as u32), DType::I64);
    let last = operands.len() - 1;
    let mut value = b.read(last as u32, dtype);
    for piece in (0..last).rev() {
        let end = b.node(Node::Constant(Constant::Int(ends[piece] as i64)), DType::I64);
        let before = b.compare(Compare::Lt, coordinate, end);
        let read = b.read(piece as u32, dtype);
        value = b.select(before, read, value);
    }
    cx.finish(Op::Map(Map { label: "concat".to_owned(), dims, reads, body: b.finish(value) }), &operands)
}

fn shifted(axis: usize, begin: usize) -> Index {
    let dim = Index::Dim(axis);
    if begin == 0 { dim } else { Index::Add(Box::new(dim), Box::new(Index::Constant(-(begin as i64)))) }
}
