//! What every elementwise operator shares: a Map over broadcast operands.
//!
//! A single number that is known while importing becomes a constant of the body, so that a kernel
//! does not load it.

use super::{Failure, Operand, Site};
use crate::expr::{Constant, ExprBuilder, ExprId, Node};
use crate::graph::Role;
use crate::graph::op::{Map, Op};
use crate::tensor::{Storage, Tensor};

impl Site<'_> {
    /// The Map `label` of `build` over the operands' elements.
    pub fn map(
        &mut self,
        label: &str,
        operands: &[Operand],
        build: impl FnOnce(&mut ExprBuilder, &[ExprId]) -> ExprId,
    ) -> Result<Operand, Failure> {
        let dims = self.broadcast(operands)?;
        let mut b = ExprBuilder::new();
        let (mut args, mut kept) = (Vec::new(), Vec::new());
        for operand in operands {
            let dtype = self.ty(operand).dtype;
            args.push(match operand.known().filter(|tensor| tensor.len() == 1) {
                Some(number) => b.node(Node::Constant(constant(number)), dtype),
                None => {
                    kept.push(operand.clone());
                    b.read(kept.len() as u32 - 1, dtype)
                }
            });
        }
        let root = build(&mut b, &args);
        let body = b.finish(root);
        let types: Vec<_> = kept.iter().map(|o| self.ty(o)).collect();
        if let Some(complaint) = body.complaint(&types.iter().map(|ty| ty.dtype).collect::<Vec<_>>()) {
            return Err(Failure::invalid(format!("operand types do not fit: {complaint}")));
        }
        let shapes: Vec<_> = types.iter().map(|ty| ty.shape.as_slice()).collect();
        self.emit(Op::Map(Map::pointwise(label, &dims, &shapes, body)), &kept)
    }

    /// [`map`](Site::map) of two operands. With a constant for one of them the Map reads one operand and gets a
    /// label of its own (`add_scalar`), so that a template for two operands does not meet it.
    pub fn binary(
        &mut self,
        label: &str,
        operands: &[Operand; 2],
        build: impl FnOnce(&mut ExprBuilder, ExprId, ExprId) -> ExprId,
    ) -> Result<Operand, Failure> {
        let scalar = operands.iter().any(|o| o.number().is_some());
        let label = if scalar { format!("{label}_scalar") } else { label.to_owned() };
        self.map(&label, operands, |b, args| build(b, args[0], args[1]))
    }

    /// [`map`](Site::map) of one operand.
    pub fn unary(
        &mut self,
        label: &str,
        x: &Operand,
        build: impl FnOnce(&mut ExprBuilder, ExprId) -> ExprId,
    ) -> Result<Operand, Failure> {
        self.map(label, std::slice::from_ref(x), |b, args| build(b, args[0]))
    }

    /// Says what a learned operand of an elementwise operator is for.
    pub fn with_role(&mut self, operand: Operand, role: Role) -> Operand {
        match &operand {
            Operand::Known(known) if known.exact || known.tensor.len() == 1 => operand,
            Operand::Known(_) | Operand::Graph(_) => self.set_role(&operand, role),
        }
    }
}

fn constant(tensor: &Tensor) -> Constant {
    match tensor.storage() {
        Storage::F64(v) => Constant::float(v[0]),
        Storage::F32(v) => Constant::float(f64::from(v[0])),
        Storage::I64(v) => Constant::Int(v[0]),
        Storage::Bool(v) => Constant::Bool(v[0] != 0),
    }
}

/// A constant of `like`'s type.
pub fn number(b: &mut ExprBuilder, value: f64, like: ExprId) -> ExprId {
    b.number(value, b.dtype(like))
}
