//! Gather: y[…, i…, …] = data[…, indices[i…], …] along an axis.
//!
//! <https://onnx.ai/onnx/operators/onnx__Gather.html>. Opset 1; 11: negative indices, which count from
//! the end. Indices are int32 or int64; an index outside the axis is an error of the model's user.

use crate::dtype::DType;
use crate::expr::Expr;
use crate::expr::index::Index;
use crate::graph::Role;
use crate::graph::op::{Access, Map, Op, OutOfBounds};
use crate::import::onnx::node::{Context, Failure, Operand};
use crate::shape::Shape;
use crate::tensor::{Storage, Tensor};

pub fn lower(cx: &mut Context) -> Result<(), Failure> {
    let (data, indices) = (cx.input(0, "data")?, cx.input(1, "indices")?);
    let (ty, chosen) = (cx.ty(&data), cx.ty(&indices));
    if !matches!(chosen.dtype, DType::I64 | DType::I32) {
        return Err(Failure::invalid(format!("indices have element type {}", chosen.dtype)));
    }
    let axis = cx.axis(cx.attributes.int("axis")?.unwrap_or(0), ty.shape.len(), false)?;
    let (size, rank) = (ty.shape[axis], chosen.shape.len());
    let dims: Shape = ty.shape[..axis].iter().chain(&chosen.shape).chain(&ty.shape[axis + 1..]).copied().collect();
    let known = match &indices {
        Operand::Known(known) => known.tensor.as_i64(),
        Operand::Graph(_) => None,
    };
    let length = size as i64;
    if let Some(&outside) = known.and_then(|lanes| lanes.iter().find(|&&i| i < -length || i >= length)) {
        return Err(Failure::shapes(format!("index {outside} is outside axis {axis} of size {size}")));
    }
    let along = |index: Index| -> Vec<Index> {
        let before = (0..axis).map(Index::Dim);
        let after = (axis + 1..ty.shape.len()).map(|i| Index::Dim(i - 1 + rank));
        before.chain([index]).chain(after).collect()
    };
    let read = |input, index| Access { input, index, oob: OutOfBounds::InBounds };
    let label = "gather".to_owned();
    if let Some(&[index]) = known {
        let access = read(0, along(Index::Constant(index.rem_euclid(length))));
        return cx.finish(Op::Map(Map { label, dims, reads: vec![access], body: Expr::read(0, ty.dtype) }), &[data]);
    }
    let (indices, index) = match known {
        Some(lanes) if lanes.iter().all(|&i| i >= 0) => (indices, Index::Read(0)),
        Some(lanes) => {
            let lanes = lanes.iter().map(|i| i.rem_euclid(length)).collect();
            (cx.known("indices", Tensor::new(chosen.dtype, chosen.shape, Storage::I64(lanes))), Index::Read(0))
        }
        // The remainder turns an index from the end into one from the beginning.
        None => (cx.set_entering_role(&indices, Role::IndexBelow(size)), Index::Mod(Box::new(Index::Read(0)), length)),
    };
    let reads = vec![read(0, (axis..axis + rank).map(Index::Dim).collect()), read(1, along(index))];
    cx.finish(Op::Map(Map { label, dims, reads, body: Expr::read(1, ty.dtype) }), &[indices, data])
}
