//! Elementwise operators whose one output is a Map over broadcast operands.

use crate::expr::{ExprBuilder, ExprId};
use crate::import::build::pointwise;
use crate::import::onnx::node::{Context, Failure, Operand};

pub(super) use pointwise::number;

/// Makes output 0 the Map `label` of `build` over the operands' elements.
pub(super) fn map(
    cx: &mut Context,
    label: &str,
    operands: &[Operand],
    build: impl FnOnce(&mut ExprBuilder, &[ExprId]) -> ExprId,
) -> Result<(), Failure> {
    let result = cx.map(label, operands, build)?;
    cx.bind(0, result)
}

/// The result of the Map `label`, which is no output of the node.
pub(super) fn between(
    cx: &mut Context,
    label: &str,
    operands: &[Operand],
    build: impl FnOnce(&mut ExprBuilder, &[ExprId]) -> ExprId,
) -> Result<Operand, Failure> {
    cx.map(label, operands, build)
}

/// [`map`] of operands that must have one element type.
pub(super) fn uniform(
    cx: &mut Context,
    label: &str,
    operands: &[Operand],
    build: impl FnOnce(&mut ExprBuilder, &[ExprId]) -> ExprId,
) -> Result<(), Failure> {
    cx.common_dtype(operands)?;
    map(cx, label, operands, build)
}

/// [`map`] of input 0.
pub(super) fn unary(
    cx: &mut Context,
    label: &str,
    build: impl FnOnce(&mut ExprBuilder, ExprId) -> ExprId,
) -> Result<(), Failure> {
    let x = cx.input(0, "X")?;
    map(cx, label, &[x], |b, args| build(b, args[0]))
}
