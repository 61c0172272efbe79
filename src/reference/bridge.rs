//! Between our tensors and slices, candle's tensors, and back.

use std::borrow::Cow;
use std::ops::Range;

use candle_core::{Device, Tensor as Candle, WithDType};
use rayon::prelude::*;

use super::{Math, plain};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::shape::Shape;
use crate::tensor::{Storage, Tensor};

/// A product of lanes with sizes m, k, n.
pub(super) type Product<T> = fn(&[T], &[T], [usize; 3]) -> Vec<T>;

/// A float type that contractions are computed in.
pub(super) trait Real: WithDType + Copy + Default + Send + Sync {
    fn lanes(tensor: &Tensor) -> Cow<'_, [Self]>;
    /// Some lanes in this type.
    fn range(tensor: &Tensor, range: Range<usize>) -> Vec<Self>;
    /// Lanes in this type as a tensor of `dtype` (rounded to it in f32), or of f64.
    fn tensor(lanes: Vec<Self>, dtype: DType, shape: &[usize]) -> Tensor;
    fn plus(self, other: Self) -> Self;
    /// A [m, k] · B [k, n], one of them a vector, where the library's own product is not what is wanted:
    /// in fp32, see [`plain`].
    const PRODUCT: Option<Product<Self>>;
}

impl Real for f64 {
    const PRODUCT: Option<Product<f64>> = None;

    fn lanes(tensor: &Tensor) -> Cow<'_, [f64]> {
        floats(tensor.storage())
    }

    fn range(tensor: &Tensor, range: Range<usize>) -> Vec<f64> {
        match tensor.storage() {
            Storage::F64(lanes) => lanes[range].to_vec(),
            Storage::F32(lanes) => lanes[range].par_iter().map(|&v| f64::from(v)).collect(),
            Storage::I64(lanes) => lanes[range].par_iter().map(|&v| v as f64).collect(),
            Storage::Bool(lanes) => lanes[range].par_iter().map(|&v| f64::from(v)).collect(),
        }
    }

    fn tensor(lanes: Vec<f64>, _: DType, shape: &[usize]) -> Tensor {
        Tensor::new(DType::F64, Shape::from_slice(shape), Storage::F64(lanes))
    }

    fn plus(self, other: f64) -> f64 {
        self + other
    }
}

impl Real for f32 {
    const PRODUCT: Option<Product<f32>> = Some(plain::product);

    fn lanes(tensor: &Tensor) -> Cow<'_, [f32]> {
        match tensor.storage() {
            Storage::F32(lanes) => Cow::Borrowed(lanes),
            Storage::F64(lanes) => Cow::Owned(lanes.par_iter().map(|&v| v as f32).collect()),
            Storage::I64(lanes) => Cow::Owned(lanes.par_iter().map(|&v| v as f32).collect()),
            Storage::Bool(lanes) => Cow::Owned(lanes.par_iter().map(|&v| v as f32).collect()),
        }
    }

    fn range(tensor: &Tensor, range: Range<usize>) -> Vec<f32> {
        match tensor.storage() {
            Storage::F64(lanes) => lanes[range].par_iter().map(|&v| v as f32).collect(),
            Storage::F32(lanes) => lanes[range].to_vec(),
            Storage::I64(lanes) => lanes[range].par_iter().map(|&v| v as f32).collect(),
            Storage::Bool(lanes) => lanes[range].par_iter().map(|&v| f32::from(v)).collect(),
        }
    }

    fn tensor(mut lanes: Vec<f32>, dtype: DType, shape: &[usize]) -> Tensor {
        if let (Some(format), false) = (dtype.format(), matches!(dtype, DType::F32 | DType::F64)) {
            lanes.par_iter_mut().for_each(|v| *v = format.round(*v as f64) as f32);
        }
        let storage = match dtype {
            DType::F64 => Storage::F64(lanes.into_par_iter().map(f64::from).collect()),
            _ => Storage::F32(lanes),
        };
        Tensor::new(dtype, Shape::from_slice(shape), storage)
    }

    fn plus(self, other: f32) -> f32 {
        self + other
    }
}

/// Lanes as f64 (exact but for integers beyond 2⁵³).
pub fn floats(storage: &Storage) -> Cow<'_, [f64]> {
    match storage {
        Storage::F64(lanes) => Cow::Borrowed(lanes),
        Storage::F32(lanes) => Cow::Owned(lanes.par_iter().map(|&v| v as f64).collect()),
        Storage::I64(lanes) => Cow::Owned(lanes.par_iter().map(|&v| v as f64).collect()),
        Storage::Bool(lanes) => Cow::Owned(lanes.par_iter().map(|&v| v as f64).collect()),
    }
}

/// A float result computed in f64, as `math` holds values of `dtype`: rounded to it, or kept.
pub(super) fn hold(lanes: Vec<f64>, dtype: DType, shape: &[usize], math: Math) -> Tensor {
    let held = math.holds(dtype);
    match held.format() {
        Some(format) if held != DType::F64 => {
            let lanes = lanes.into_par_iter().map(|v| format.round(v) as f32).collect();
            Tensor::new(held, Shape::from_slice(shape), Storage::F32(lanes))
        }
        Some(_) | None => Tensor::new(DType::F64, Shape::from_slice(shape), Storage::F64(lanes)),
    }
}

/// An f32 operand without the fraction bits that tf32 lacks; any other as it is.
pub(super) fn truncated(operand: &Tensor) -> Cow<'_, Tensor> {
    match operand.storage() {
        Storage::F32(lanes) if operand.dtype() == DType::F32 => {
            let lanes = lanes.par_iter().map(|v| f32::from_bits(v.to_bits() & !0x1fff)).collect();
            Cow::Owned(Tensor::from_f32(Shape::from_slice(operand.shape()), lanes))
        }
        Storage::F32(_) | Storage::F64(_) | Storage::I64(_) | Storage::Bool(_) => Cow::Borrowed(operand),
    }
}

pub(super) fn to_candle<T: Real>(lanes: Vec<T>, shape: &[usize]) -> Result<Candle> {
    Candle::from_vec(lanes, shape, &Device::Cpu).map_err(refused)
}

pub(super) fn from_candle<T: Real>(tensor: Candle) -> Result<Vec<T>> {
    tensor.flatten_all().and_then(|t| t.to_vec1::<T>()).map_err(refused)
}

/// Candle's own error: shapes are checked before it is called, so this is our fault.
pub(super) fn refused(error: candle_core::Error) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::INTERNAL, format!("candle refuses to evaluate the operator: {error}")))
}

/// An operator that is defined on floats alone met another dtype.
pub(super) fn floats_only(operator: &str, dtype: DType) -> Box<Diagnostic> {
    let message = format!("{operator} is not defined on {dtype}");
    Box::new(Diagnostic::new(&codes::DTYPE_UNSUPPORTED, message).help("cast the operand to a float type"))
}
