//! Tensors joined, padded, turned and repeated.

use crate::dtype::DType;
use crate::expr::index::Index;
use crate::expr::{Binary, Compare, Constant, Expr, Node};
use crate::graph::op::{Access, Map, Op, OutOfBounds};
use crate::import::build::movement::Part;
use crate::import::build::{Failure, Operand};
use crate::import::torch_export::call::{Call, Outs};
use crate::import::torch_export::promote::Value;
use crate::shape::Shape;

/// Operands of one type: that in which they meet.
fn alike(call: &mut Call, name: &str) -> Result<Vec<Operand>, Failure> {
    let all = call.tensors(name)?;
    let dtype = call.promoted(&all.iter().cloned().map(Value::Tensor).collect::<Vec<_>>());
    let each = |x: Operand| match call.ty(&x).dtype == dtype {
        true => Ok(x),
        false => call.joined("cast", &[Value::Tensor(x)], dtype, |_, args| args[0]),
    };
    all.into_iter().map(each).collect()
}

pub fn cat(call: &mut Call) -> Result<Outs, Failure> {
    let mut all = alike(call, "tensors")?;
    // For torch, a vector without elements joins with anything.
    if all.iter().any(|x| call.shape(x).as_slice() != [0]) {
        all.retain(|x| call.shape(x).as_slice() != [0]);
    }
    let Some(first) = all.first() else { return Err(Failure::invalid("it has no operand")) };
    let dim = call.dim("dim", call.shape(first).len())?;
    Ok(call.concat(all, dim)?.into())
}

/// Along a new axis.
pub fn stack(call: &mut Call) -> Result<Outs, Failure> {
    let all = alike(call, "tensors")?;
    let Some(first) = all.first() else { return Err(Failure::invalid("it has no operand")) };
    let shape = call.shape(first);
    let dim = call.dim("dim", shape.len() + 1)?;
    let mut grown = shape;
    grown.insert(dim, 1);
    let each = |x: Operand| call.reshape(x, &grown);
    let all = all.into_iter().map(each).collect::<Result<Vec<_>, _>>()?;
    Ok(call.concat(all, dim)?.into())
}

/// `(before, after)` of the last axis first, as torch counts them.
fn pads(call: &Call, x: &Operand) -> Result<Vec<(i64, i64)>, Failure> {
    let (given, rank) = (call.ints("pad")?, call.shape(x).len());
    if given.len() % 2 != 0 || given.len() > 2 * rank {
        return Err(Failure::invalid(format!("argument `pad` has {} entries for {rank} axes", given.len())));
    }
    let mut pads = vec![(0, 0); rank];
    for (i, pair) in given.chunks_exact(2).enumerate() {
        pads[rank - 1 - i] = (pair[0], pair[1]);
    }
    Ok(pads)
}

pub fn constant_pad(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let pads = pads(call, &x)?;
    let value = call.optional_number("value").unwrap_or(0.0);
    Ok(call.pad(x, &pads, value)?.into())
}

pub fn pad(call: &mut Call) -> Result<Outs, Failure> {
    match call.text("mode")? {
        "constant" => constant_pad(call),
        other => Err(Failure::unsupported(format!("mode `{other}`"))),
    }
}

pub fn flip(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let dims = call.dims("dims", shape.len())?;
    let part = |axis: usize| match dims.contains(&axis) {
        true => Part { start: shape[axis] as i64 - 1, step: -1, count: shape[axis] },
        false => Part::whole(shape[axis]),
    };
    let parts: Vec<Part> = (0..shape.len()).map(part).collect();
    Ok(call.slice(x, &parts)?.into())
}

/// A Map that reads every axis by an index of its own.
fn moved(call: &mut Call, label: &str, x: Operand, dims: Shape, index: Vec<Index>) -> Result<Outs, Failure> {
    let access = Access { input: 0, index, oob: OutOfBounds::InBounds };
    let body = Expr::read(0, call.ty(&x).dtype);
    Ok(call.emit(Op::Map(Map { label: label.to_owned(), dims, reads: vec![access], body }), &[x])?.into())
}

/// Element i comes from i − shift, around the end.
pub fn roll(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let (shape, shifts, dims) = (call.shape(&x), call.ints("shifts")?, call.ints("dims")?);
    if dims.len() != shifts.len() {
        return Err(Failure::unsupported("a roll of all elements in a row"));
    }
    let mut index: Vec<Index> = (0..shape.len()).map(Index::Dim).collect();
    for (&shift, &dim) in shifts.iter().zip(&dims) {
        let axis = call.axis(dim, shape.len(), false)?;
        let size = shape[axis] as i64;
        let from = Index::Add(Box::new(Index::Dim(axis)), Box::new(Index::Constant((-shift).rem_euclid(size.max(1)))));
        index[axis] = Index::Mod(Box::new(from), size);
    }
    moved(call, "roll", x, shape, index)
}

/// The tensor several times along each axis.
pub fn repeat(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let (shape, times) = (call.shape(&x), call.sizes("repeats")?);
    let new = times.len().checked_sub(shape.len());
    let new = new.ok_or_else(|| Failure::shapes(format!("{} repeats for {} axes", times.len(), shape.len())))?;
    let mut dims = Shape::new();
    let mut index = Vec::new();
    for (axis, &times) in times.iter().enumerate() {
        let size = if axis < new { 1 } else { shape[axis - new] };
        dims.push(call.product(&[size, times])?);
        if axis >= new {
            let dim = Index::Dim(axis);
            index.push(if times == 1 { dim } else { Index::Mod(Box::new(dim), size as i64) });
        }
    }
    moved(call, "tile", x, dims, index)
}

/// Every element several times.
pub fn repeat_interleave(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    if call.is_none("dim") {
        return Err(Failure::unsupported("without `dim`"));
    }
    let axis = call.dim("dim", shape.len())?;
    let times = usize::try_from(call.int("repeats")?).ok().filter(|&n| n > 0);
    let times = times.ok_or_else(|| Failure::invalid("argument `repeats` must be positive"))?;
    let result = interleaved(call, x, axis, times)?;
    Ok(result.into())
}

/// Every element of an axis `times` times in a row.
pub fn interleaved(call: &mut Call, x: Operand, axis: usize, times: usize) -> Result<Operand, Failure> {
    let mut dims = call.shape(&x);
    dims[axis] = call.product(&[dims[axis], times])?;
    let mut index: Vec<Index> = (0..dims.len()).map(Index::Dim).collect();
    index[axis] = Index::FloorDiv(Box::new(Index::Dim(axis)), times as i64);
    let access = Access { input: 0, index, oob: OutOfBounds::InBounds };
    let body = Expr::read(0, call.ty(&x).dtype);
    call.emit(Op::Map(Map { label: "repeat_interleave".to_owned(), dims, reads: vec![access], body }), &[x])
}

/// Zero above (tril) or below (triu) a diagonal.
fn triangle(call: &mut Call, label: &str, kept: Compare) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let ty = call.ty(&x);
    let rank = ty.shape.len();
    if rank < 2 {
        return Err(Failure::shapes(format!("a matrix is expected, not rank {rank}")));
    }
    let diagonal = call.int("diagonal")?;
    let mut b = crate::expr::ExprBuilder::new();
    let [row, column] = [rank - 2, rank - 1].map(|axis| b.node(Node::Coordinate(axis as u32), DType::I64));
    let offset = b.binary(Binary::Sub, column, row);
    let diagonal = b.node(Node::Constant(Constant::Int(diagonal)), DType::I64);
    let inside = b.compare(kept, offset, diagonal);
    let (value, zero) = (b.read(0, ty.dtype), b.number(0.0, ty.dtype));
    let body = b.select(inside, value, zero);
    let access = Access { input: 0, index: (0..rank).map(Index::Dim).collect(), oob: OutOfBounds::InBounds };
    let map = Map { label: label.to_owned(), dims: ty.shape, reads: vec![access], body: b.finish(body) };
    Ok(call.emit(Op::Map(map), &[x])?.into())
}

pub fn tril(call: &mut Call) -> Result<Outs, Failure> {
    triangle(call, "tril", Compare::Le)
}

pub fn triu(call: &mut Call) -> Result<Outs, Failure> {
    triangle(call, "triu", Compare::Ge)
}
