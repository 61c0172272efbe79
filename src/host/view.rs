//! Views of tensor descriptors, with torch's rules.
//!
//! A view or reshape is taken of contiguous tensors only: of others torch may copy, and a copy would
//! be a computation that no kernel did.

use smallvec::SmallVec;

use super::trace::HostTensor;
use crate::shape::{self, Shape, Strides};

/// Why a view cannot be had.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ViewError {
    /// torch might copy.
    NotContiguous,
    /// torch would raise this.
    Raises(String),
}

impl HostTensor {
    pub(super) fn is_contiguous(&self) -> bool {
        shape::is_contiguous(&self.shape, &self.strides)
    }

    /// `view(sizes)` and `reshape(sizes)`.
    pub(super) fn viewed(&self, sizes: &[i64]) -> Result<HostTensor, ViewError> {
        let shape = resolve(sizes, &self.shape).map_err(ViewError::Raises)?;
        if !self.is_contiguous() {
            return Err(ViewError::NotContiguous);
        }
        let strides = shape::contiguous_strides(&shape);
        Ok(HostTensor { shape, strides, ..self.clone() })
    }

    /// `permute(order)`: result axis i is axis `order[i]`.
    pub(super) fn permuted(&self, order: &[i64]) -> Result<HostTensor, ViewError> {
        let order = permutation(order, self.shape.len()).map_err(ViewError::Raises)?;
        let shape: Shape = order.iter().map(|&i| self.shape[i]).collect();
        let strides: Strides = order.iter().map(|&i| self.strides[i]).collect();
        Ok(HostTensor { shape, strides, ..self.clone() })
    }
}

/// The sizes of a view: at most one is −1 and is computed, the product must agree.
pub(super) fn resolve(sizes: &[i64], from: &[usize]) -> Result<Shape, String> {
    let wrong = || format!("shape {sizes:?} does not hold the elements of a tensor of shape {from:?}");
    let have = shape::numel(from).ok_or_else(wrong)?;
    let mut free = None;
    let mut result: Shape = SmallVec::new();
    for (i, &size) in sizes.iter().enumerate() {
        match usize::try_from(size) {
            Ok(size) => result.push(size),
            Err(_) if size == -1 && free.is_none() => {
                free = Some(i);
                result.push(1);
            }
            Err(_) => return Err(wrong()),
        }
    }
    if let Some(i) = free {
        let rest = shape::numel(&result).filter(|&n| n > 0).ok_or_else(wrong)?;
        result[i] = have / rest;
    }
    if shape::numel(&result) == Some(have) { Ok(result) } else { Err(wrong()) }
}

/// An axis as Python writes it: negative ones count from the end.
pub(super) fn axis(axis: i64, rank: usize) -> Result<usize, String> {
    let positive = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    positive
        .and_then(|a| usize::try_from(a).ok())
        .filter(|&a| a < rank)
        .ok_or_else(|| format!("axis {axis} of a tensor with {rank} axes"))
}

/// A permutation of all axes.
pub(super) fn permutation(order: &[i64], rank: usize) -> Result<Vec<usize>, String> {
    let axes: Vec<usize> = order.iter().map(|&a| axis(a, rank)).collect::<Result<_, _>>()?;
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if sorted.iter().copied().eq(0..rank) { Ok(axes) } else { Err(format!("{order:?} is not an order of {rank} axes")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::host::trace::StorageId;

    fn tensor(shape: &[usize]) -> HostTensor {
        HostTensor {
            storage: StorageId(0),
            dtype: DType::F32,
            shape: SmallVec::from_slice(shape),
            strides: shape::contiguous_strides(shape),
            offset: 0,
        }
    }

    #[test]
    fn views_resolve_sizes_and_refuse_copies() {
        let t = tensor(&[2, 3, 4]);
        let flat = t.viewed(&[-1, 4]).unwrap();
        assert_eq!((flat.shape.as_slice(), flat.strides.as_slice()), ([6, 4].as_slice(), [4, 1].as_slice()));
        let p = t.permuted(&[0, -1, 1]).unwrap();
        assert_eq!((p.shape.as_slice(), p.strides.as_slice()), ([2, 4, 3].as_slice(), [12, 1, 4].as_slice()));
        assert_eq!(p.viewed(&[24]), Err(ViewError::NotContiguous));
        assert!(matches!(t.viewed(&[5, -1]), Err(ViewError::Raises(_))));
        assert!(matches!(t.viewed(&[-1, -1]), Err(ViewError::Raises(_))));
        assert!(matches!(t.permuted(&[0, 0, 1]), Err(ViewError::Raises(_))));
    }
}
