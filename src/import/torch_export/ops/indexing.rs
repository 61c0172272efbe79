//! Elements chosen by tensors of indices.
//!
//! Indices that the program computes are brought into their axis by a remainder, which is what a negative one means
//! where torch allows it; one outside the axis is an error of the model's user.

use crate::dtype::DType;
use crate::expr::Expr;
use crate::expr::index::Index;
use crate::graph::Role;
use crate::graph::op::{Access, Map, Op, OutOfBounds};
use crate::import::build::{Failure, Operand};
use crate::import::torch_export::call::{Call, Outs};
use crate::shape::{Shape, display};

pub fn index_select(call: &mut Call) -> Result<Outs, Failure> {
    let (x, index) = (call.tensor("self")?, call.tensor("index")?);
    let rank = call.shape(&x).len();
    let dim = call.dim("dim", rank)?;
    Ok(call.site.gather(x, index, dim)?.into())
}

pub fn embedding(call: &mut Call) -> Result<Outs, Failure> {
    let (table, indices) = (call.tensor("weight")?, call.tensor("indices")?);
    Ok(call.site.gather(table, indices, 0)?.into())
}

/// An index tensor that a kernel reads: integers, brought into the axis.
fn entering(call: &mut Call, index: &Operand, size: usize) -> Result<Operand, Failure> {
    match call.ty(index).dtype {
        DType::I64 | DType::I32 => Ok(call.set_entering_role(index, Role::IndexBelow(size))),
        DType::Bool => Err(Failure::unsupported("a mask as index, whose result has no size until the program runs")),
        other => Err(Failure::invalid(format!("indices have element type {other}"))),
    }
}

fn within(k: usize, size: usize) -> Index {
    Index::Mod(Box::new(Index::Read(k)), size as i64)
}

/// gather: y[i, j, k] = x[index[i, j, k], j, k] for axis 0.
pub fn gather(call: &mut Call) -> Result<Outs, Failure> {
    let (x, index) = (call.tensor("self")?, call.tensor("index")?);
    let (ty, dims) = (call.ty(&x), call.shape(&index));
    let dim = call.dim("dim", ty.shape.len())?;
    let fits = dims.len() == ty.shape.len() && (0..dims.len()).all(|axis| axis == dim || dims[axis] <= ty.shape[axis]);
    if !fits {
        return Err(Failure::shapes(format!("index {} does not fit {}", display(&dims), display(&ty.shape))));
    }
    let index = entering(call, &index, ty.shape[dim])?;
    let own: Vec<Index> = (0..dims.len()).map(Index::Dim).collect();
    let mut from = own.clone();
    from[dim] = within(0, ty.shape[dim]);
    let read = |input, index| Access { input, index, oob: OutOfBounds::InBounds };
    let map = Map { label: "gather".to_owned(), dims, reads: vec![read(0, own), read(1, from)], body: Expr::read(1, ty.dtype) };
    Ok(call.emit(Op::Map(map), &[index, x])?.into())
}

/// x[a, :, b, …]: index tensors broadcast to one shape, which stands where they stand, or in front where axes
/// without one lie between them.
pub fn index(call: &mut Call) -> Result<Outs, Failure> {
    let (x, indices) = (call.tensor("self")?, call.optional_tensors("indices")?);
    let ty = call.ty(&x);
    let given: Vec<(usize, Operand)> = indices.into_iter().enumerate().filter_map(|(axis, i)| Some((axis, i?))).collect();
    let Some(&(first, _)) = given.first() else { return Ok(x.into()) };
    if given.iter().any(|&(axis, _)| axis >= ty.shape.len()) {
        return Err(Failure::shapes(format!("more indices than {} has axes", display(&ty.shape))));
    }
    if let [(axis, index)] = given.as_slice()
        && call.ty(index).dtype != DType::Bool
    {
        return Ok(call.site.gather(x, index.clone(), *axis)?.into());
    }
    let shape = call.broadcast(&given.iter().map(|(_, index)| index.clone()).collect::<Vec<_>>())?;
    let adjacent = given.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0);
    let at = if adjacent { first } else { 0 };
    let rest: Vec<usize> = (0..ty.shape.len()).filter(|axis| given.iter().all(|(own, _)| own != axis)).collect();
    let mut dims: Shape = rest.iter().map(|&axis| ty.shape[axis]).collect();
    dims.insert_many(at, shape.iter().copied());
    let mut reads = Vec::new();
    let mut operands = Vec::new();
    let mut from = vec![Index::Constant(0); ty.shape.len()];
    for (k, (axis, index)) in given.iter().enumerate() {
        let own = call.shape(index);
        let skip = shape.len() - own.len();
        let along = |i: usize| if own[i] == 1 { Index::Constant(0) } else { Index::Dim(at + skip + i) };
        reads.push(Access { input: k, index: (0..own.len()).map(along).collect(), oob: OutOfBounds::InBounds });
        operands.push(entering(call, index, ty.shape[*axis])?);
        from[*axis] = within(k, ty.shape[*axis]);
    }
    for (position, &axis) in rest.iter().enumerate() {
        from[axis] = Index::Dim(if position < at { position } else { position + shape.len() });
    }
    reads.push(Access { input: given.len(), index: from, oob: OutOfBounds::InBounds });
    operands.push(x);
    let body = Expr::read(given.len() as u32, ty.dtype);
    Ok(call.emit(Op::Map(Map { label: "gather".to_owned(), dims, reads, body }), &operands)?.into())
}
