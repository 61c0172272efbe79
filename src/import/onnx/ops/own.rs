//! Operators that the caller describes by a formula ([`OwnOperator`]).

use crate::import::OwnOperator;
use crate::import::onnx::node::{Context, Failure};

/// The Map of the formula over the node's inputs.
pub(in crate::import::onnx) fn lower(cx: &mut Context, own: &OwnOperator) -> Result<(), Failure> {
    if let Some(name) = cx.attributes.unknown() {
        return Err(Failure::unsupported(format!("attribute `{name}`: the formula `{}` has operands alone", own.formula.text())));
    }
    if cx.node.output.len() != 1 {
        return Err(Failure::unsupported(format!("{} outputs, a formula gives one", cx.node.output.len())));
    }
    let operands = own.operands.iter().enumerate().map(|(i, name)| cx.input(i, name)).collect::<Result<Vec<_>, _>>()?;
    let result = cx.own(own, &operands)?;
    cx.bind(0, result)
}
