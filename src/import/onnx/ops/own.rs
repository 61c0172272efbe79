//! Operators that the caller describes by a formula ([`OwnOperator`]).

use crate::graph::op::{Map, Op};
use crate::import::OwnOperator;
use crate::import::onnx::node::{Context, Failure};

/// The Map of the formula over the broadcast operands. Every operand is read, numbers too, so that a
/// template of the same formula serves it.
pub(in crate::import::onnx) fn lower(cx: &mut Context, own: &OwnOperator) -> Result<(), Failure> {
    if let Some(name) = cx.attributes.unknown() {
        return Err(Failure::unsupported(format!("attribute `{name}`: the formula `{}` has operands alone", own.formula.text())));
    }
    if cx.node.output.len() != 1 {
        return Err(Failure::unsupported(format!("{} outputs, a formula gives one", cx.node.output.len())));
    }
    let operands = own.operands.iter().enumerate().map(|(i, name)| cx.input(i, name)).collect::<Result<Vec<_>, _>>()?;
    let types: Vec<_> = operands.iter().map(|operand| cx.ty(operand)).collect();
    let names: Vec<_> = own.operands.iter().map(String::as_str).zip(types.iter().map(|ty| ty.dtype)).collect();
    let body = own.formula.over(&names).map_err(|error| Failure::unsupported(error.message))?;
    let dims = cx.broadcast(&operands)?;
    let shapes: Vec<_> = types.iter().map(|ty| ty.shape.as_slice()).collect();
    cx.finish(Op::Map(Map::pointwise(&own.label, &dims, &shapes, body)), &operands)
}
