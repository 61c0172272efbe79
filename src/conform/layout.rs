//! Tensors into strided storages and back.

use crate::dtype::DType;
use crate::emit::manifest::OperandEntry;
use crate::shape::{self, Shape};
use crate::tensor::{Storage, Tensor};

/// Storage positions of a layout's elements, in row-major order of its shape.
pub fn positions(shape: &[usize], strides: &[i64], offset: i64) -> impl Iterator<Item = usize> {
    let total = shape::numel(shape).unwrap_or(0);
    let (shape, strides) = (Shape::from_slice(shape), strides.to_vec());
    let mut index: Vec<usize> = vec![0; shape.len()];
    let mut at = offset;
    (0..total).map(move |_| {
        let here = at as usize;
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis] as i64;
            index[axis] = 0;
        }
        here
    })
}

/// The elements of an operand, out of its storage.
pub fn gather(storage: &Storage, dtype: DType, entry: &OperandEntry) -> Tensor {
    read(storage, dtype, &entry.shape, &entry.strides, entry.offset)
}

/// The elements of a strided tensor, out of its storage.
pub fn read(storage: &Storage, dtype: DType, shape: &[usize], strides: &[i64], offset: i64) -> Tensor {
    let at = positions(shape, strides, offset);
    let lanes = match storage {
        Storage::F64(v) => Storage::F64(at.map(|i| v[i]).collect()),
        Storage::F32(v) => Storage::F32(at.map(|i| v[i]).collect()),
        Storage::I64(v) => Storage::I64(at.map(|i| v[i]).collect()),
        Storage::Bool(v) => Storage::Bool(at.map(|i| v[i]).collect()),
    };
    Tensor::new(dtype, Shape::from_slice(shape), lanes)
}

/// A storage that holds a tensor's elements where a layout has them, and zeros between. Where a
/// layout names one place twice (a broadcast), the last element stands.
pub fn scatter(tensor: &Tensor, entry: &OperandEntry) -> Storage {
    let mut storage = Storage::zeros(tensor.dtype().carrier(), entry.storage);
    let at = positions(&entry.shape, &entry.strides, entry.offset);
    match (&mut storage, tensor.storage()) {
        (Storage::F64(to), Storage::F64(from)) => at.zip(from).for_each(|(i, &v)| to[i] = v),
        (Storage::F32(to), Storage::F32(from)) => at.zip(from).for_each(|(i, &v)| to[i] = v),
        (Storage::I64(to), Storage::I64(from)) => at.zip(from).for_each(|(i, &v)| to[i] = v),
        (Storage::Bool(to), Storage::Bool(from)) => at.zip(from).for_each(|(i, &v)| to[i] = v),
        (Storage::F64(_) | Storage::F32(_) | Storage::I64(_) | Storage::Bool(_), _) => {
            unreachable!("invariant: a storage made for a tensor has its carrier")
        }
    }
    storage
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transposed() -> OperandEntry {
        OperandEntry {
            name: "x".into(),
            dtype: "f32".into(),
            access: crate::emit::manifest::AccessEntry::Read,
            shape: vec![2, 3],
            strides: vec![1, 2],
            offset: 1,
            storage: 8,
        }
    }

    #[test]
    fn what_is_scattered_is_gathered() {
        let tensor = Tensor::from_f32(Shape::from_slice(&[2, 3]), vec![1., 2., 3., 4., 5., 6.]);
        let storage = scatter(&tensor, &transposed());
        assert_eq!(storage, Storage::F32(vec![0., 1., 4., 2., 5., 3., 6., 0.]));
        assert_eq!(gather(&storage, DType::F32, &transposed()), tensor);
    }
}
