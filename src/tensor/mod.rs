//! Dense host tensors, by carrier, loops over their lanes ([`strided`]), the bytes of lanes ([`lanes`]), and the files
//! that hold them ([`npy`], [`stored`]).

pub mod eight;
pub mod lanes;
pub mod npy;
pub mod stored;
pub mod strided;

use crate::dtype::{Carrier, DType};
use crate::shape::{self, Shape};

/// Lanes in row-major order. See [`DType::carrier`] for which variant a dtype uses.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    F64(Vec<f64>),
    /// f32, and f16/bf16/fp8 lanes holding only values that their type represents.
    F32(Vec<f32>),
    I64(Vec<i64>),
    /// 0 or 1.
    Bool(Vec<u8>),
}

impl Storage {
    pub fn zeros(carrier: Carrier, len: usize) -> Storage {
        match carrier {
            Carrier::F64 => Storage::F64(vec![0.0; len]),
            Carrier::F32 => Storage::F32(vec![0.0; len]),
            Carrier::I64 => Storage::I64(vec![0; len]),
            Carrier::Bool => Storage::Bool(vec![0; len]),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Storage::F64(v) => v.len(),
            Storage::F32(v) => v.len(),
            Storage::I64(v) => v.len(),
            Storage::Bool(v) => v.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn carrier(&self) -> Carrier {
        match self {
            Storage::F64(_) => Carrier::F64,
            Storage::F32(_) => Carrier::F32,
            Storage::I64(_) => Carrier::I64,
            Storage::Bool(_) => Carrier::Bool,
        }
    }

    /// Whether all lanes are equal, a NaN being equal to a NaN.
    pub fn is_same(&self, other: &Storage) -> bool {
        fn same<T: Copy + PartialOrd>(a: &[T], b: &[T]) -> bool {
            // Only a NaN cannot be compared with itself.
            let nan = |v: T| v.partial_cmp(&v).is_none();
            a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| a == b || (nan(a) && nan(b)))
        }
        match (self, other) {
            (Storage::F64(a), Storage::F64(b)) => same(a, b),
            (Storage::F32(a), Storage::F32(b)) => same(a, b),
            (Storage::I64(a), Storage::I64(b)) => a == b,
            (Storage::Bool(a), Storage::Bool(b)) => a == b,
            (Storage::F64(_) | Storage::F32(_) | Storage::I64(_) | Storage::Bool(_), _) => false,
        }
    }

    /// One lane as `f64` (exact but for integers beyond 2⁵³).
    pub fn get_f64(&self, index: usize) -> f64 {
        match self {
            Storage::F64(v) => v[index],
            Storage::F32(v) => v[index] as f64,
            Storage::I64(v) => v[index] as f64,
            Storage::Bool(v) => v[index] as f64,
        }
    }
}

/// A dense row-major tensor that owns its lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    dtype: DType,
    shape: Shape,
    storage: Storage,
}

impl Tensor {
    /// # Panics
    /// When the carrier or the length of `storage` does not belong to `dtype` and `shape`.
    pub fn new(dtype: DType, shape: impl Into<Shape>, storage: Storage) -> Tensor {
        let shape = shape.into();
        assert_eq!(storage.carrier(), dtype.carrier(), "invariant: a tensor's storage has its dtype's carrier");
        assert_eq!(shape::numel(&shape), Some(storage.len()), "invariant: a tensor's storage has its shape's length");
        Tensor { dtype, shape, storage }
    }

    pub fn from_f32(shape: impl Into<Shape>, lanes: Vec<f32>) -> Tensor {
        Tensor::new(DType::F32, shape, Storage::F32(lanes))
    }

    pub fn from_i64(shape: impl Into<Shape>, lanes: Vec<i64>) -> Tensor {
        Tensor::new(DType::I64, shape, Storage::I64(lanes))
    }

    pub fn zeros(dtype: DType, shape: impl Into<Shape>) -> Tensor {
        let shape = shape.into();
        let len = shape::numel(&shape).expect("invariant: a tensor's size was checked before it is allocated");
        Tensor { dtype, shape, storage: Storage::zeros(dtype.carrier(), len) }
    }

    /// Whether dtype, shape and lanes are the same ([`Storage::is_same`]).
    pub fn is_same(&self, other: &Tensor) -> bool {
        self.dtype == other.dtype && self.shape == other.shape && self.storage.is_same(&other.storage)
    }

    pub fn dtype(&self) -> DType {
        self.dtype
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    pub fn storage_mut(&mut self) -> &mut Storage {
        &mut self.storage
    }

    pub fn into_storage(self) -> Storage {
        self.storage
    }

    pub fn len(&self) -> usize {
        self.storage.len()
    }

    pub fn is_empty(&self) -> bool {
        self.storage.is_empty()
    }

    /// The lanes when the carrier is `f32`.
    pub fn as_f32(&self) -> Option<&[f32]> {
        match &self.storage {
            Storage::F32(v) => Some(v),
            _ => None,
        }
    }

    /// The lanes when the carrier is `i64`.
    pub fn as_i64(&self) -> Option<&[i64]> {
        match &self.storage {
            Storage::I64(v) => Some(v),
            _ => None,
        }
    }

    /// The same lanes under another shape of the same size, or `None`.
    pub fn reshaped(self, shape: impl Into<Shape>) -> Option<Tensor> {
        let shape = shape.into();
        (shape::numel(&shape) == Some(self.len())).then_some(Tensor { shape, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_the_same_as_itself_alone() {
        let of = |lanes: [f32; 2]| Tensor::from_f32(Shape::from_slice(&[2]), lanes.to_vec());
        assert!(of([f32::NAN, 1.0]).is_same(&of([f32::NAN, 1.0])));
        assert!(of([0.0, 1.0]).is_same(&of([-0.0, 1.0])));
        assert!(!of([f32::NAN, 1.0]).is_same(&of([1.0, 1.0])));
        assert!(!of([1.0, 2.0]).is_same(&Tensor::from_f32(Shape::from_slice(&[1, 2]), vec![1.0, 2.0])));
    }
}
