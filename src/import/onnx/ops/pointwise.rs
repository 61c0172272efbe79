//! What every elementwise operator shares: a Map over broadcast operands.
//!
//! A single number that is known while importing becomes a constant of the body, so that a kernel
//! does not load it.

use crate::expr::{Constant, ExprBuilder, ExprId, Node};
use crate::graph::Role;
use crate::graph::op::{Map, Op};
use crate::import::onnx::node::{Context, Failure, Operand};
use crate::tensor::{Storage, Tensor};

/// Makes output 0 the Map `label` of `build` over the operands' elements.
pub(super) fn map(
    cx: &mut Context,
    label: &str,
    operands: &[Operand],
    build: impl FnOnce(&mut ExprBuilder, &[ExprId]) -> ExprId,
) -> Result<(), Failure> {
    let (op, kept) = built(cx, label, operands, build)?;
    cx.finish(op, &kept)
}

/// The result of the Map `label`, which is no output of the node.
pub(super) fn between(
    cx: &mut Context,
    label: &str,
    operands: &[Operand],
    build: impl FnOnce(&mut ExprBuilder, &[ExprId]) -> ExprId,
) -> Result<Operand, Failure> {
    let (op, kept) = built(cx, label, operands, build)?;
    cx.emit(op, &kept)
}

/// The Map, and the operands that it reads.
fn built(
    cx: &Context,
    label: &str,
    operands: &[Operand],
    build: impl FnOnce(&mut ExprBuilder, &[ExprId]) -> ExprId,
) -> Result<(Op, Vec<Operand>), Failure> {
    let dims = cx.broadcast(operands)?;
    let mut b = ExprBuilder::new();
    let (mut args, mut kept) = (Vec::new(), Vec::new());
    for operand in operands {
        let dtype = cx.ty(operand).dtype;
        args.push(match operand {
            Operand::Known(known) if known.tensor.len() == 1 => b.node(Node::Constant(constant(&known.tensor)), dtype),
            Operand::Known(_) | Operand::Graph(_) => {
                kept.push(operand.clone());
                b.read(kept.len() as u32 - 1, dtype)
            }
        });
    }
    let root = build(&mut b, &args);
    let body = b.finish(root);
    let types: Vec<_> = kept.iter().map(|o| cx.ty(o)).collect();
    if let Some(complaint) = body.complaint(&types.iter().map(|ty| ty.dtype).collect::<Vec<_>>()) {
        return Err(Failure::invalid(format!("operand types do not fit: {complaint}")));
    }
    let shapes: Vec<_> = types.iter().map(|ty| ty.shape.as_slice()).collect();
    Ok((Op::Map(Map::pointwise(label, &dims, &shapes, body)), kept))
}

fn constant(tensor: &Tensor) -> Constant {
    match tensor.storage() {
        Storage::F64(v) => Constant::float(v[0]),
        Storage::F32(v) => Constant::float(f64::from(v[0])),
        Storage::I64(v) => Constant::Int(v[0]),
        Storage::Bool(v) => Constant::Bool(v[0] != 0),
    }
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

/// A constant of `like`'s type.
pub(super) fn number(b: &mut ExprBuilder, value: f64, like: ExprId) -> ExprId {
    b.number(value, b.dtype(like))
}

/// Says what a learned operand of an elementwise operator is for.
pub(super) fn with_role(cx: &mut Context, operand: Operand, role: Role) -> Operand {
    match &operand {
        Operand::Known(known) if known.exact || known.tensor.len() == 1 => operand,
        Operand::Known(_) | Operand::Graph(_) => cx.set_role(&operand, role),
    }
}
