//! Views, as copies: the same lanes under another shape or order. The dtype is the operand's.

use super::access::{Walk, contiguous};
use crate::graph::op::View;
use crate::shape::{Strides, contiguous_strides};
use crate::tensor::{Storage, Tensor};

pub(super) fn evaluate(view: &View, x: &Tensor) -> Tensor {
    let dense = contiguous_strides(x.shape());
    match view {
        View::Reshape(shape) => Tensor::new(x.dtype(), shape.clone(), x.storage().clone()),
        View::Transpose(order) => {
            let shape: Vec<usize> = order.iter().map(|&axis| x.shape()[axis]).collect();
            let strides: Strides = order.iter().map(|&axis| dense[axis]).collect();
            copy(x, &shape, &strides)
        }
        View::Broadcast(shape) => {
            let missing = shape.len() - x.shape().len();
            let stride = |axis: usize| match axis.checked_sub(missing) {
                Some(i) if x.shape()[i] != 1 => dense[i],
                Some(_) | None => 0,
            };
            copy(x, shape, &(0..shape.len()).map(stride).collect::<Strides>())
        }
    }
}

fn copy(x: &Tensor, shape: &[usize], strides: &[i64]) -> Tensor {
    let walk = Walk::strided(shape, strides, 0);
    let len = shape.iter().product();
    let storage = match x.storage() {
        Storage::F64(lanes) => Storage::F64(contiguous(&walk, lanes, 0..len, |v| v)),
        Storage::F32(lanes) => Storage::F32(contiguous(&walk, lanes, 0..len, |v| v)),
        Storage::I64(lanes) => Storage::I64(contiguous(&walk, lanes, 0..len, |v| v)),
        Storage::Bool(lanes) => Storage::Bool(contiguous(&walk, lanes, 0..len, |v| v)),
    };
    Tensor::new(x.dtype(), crate::shape::Shape::from_slice(shape), storage)
}
