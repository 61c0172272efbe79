//! Operators that the caller describes by a formula.

use super::{Failure, Operand, Site};
use crate::graph::op::{Map, Op};
use crate::import::OwnOperator;

impl Site<'_> {
    /// The Map of the formula over the broadcast operands. Every operand is read, numbers too, so that a
    /// template of the same formula serves it.
    pub fn own(&mut self, own: &OwnOperator, operands: &[Operand]) -> Result<Operand, Failure> {
        if operands.len() != own.operands.len() {
            return Err(Failure::invalid(format!("{} operands, the formula has {}", operands.len(), own.operands.len())));
        }
        let types: Vec<_> = operands.iter().map(|operand| self.ty(operand)).collect();
        let names: Vec<_> = own.operands.iter().map(String::as_str).zip(types.iter().map(|ty| ty.dtype)).collect();
        let body = own.formula.over(&names).map_err(|error| Failure::unsupported(error.message))?;
        let dims = self.broadcast(operands)?;
        let shapes: Vec<_> = types.iter().map(|ty| ty.shape.as_slice()).collect();
        self.emit(Op::Map(Map::pointwise(&own.label, &dims, &shapes, body)), operands)
    }
}
