//! Tensors by name in a `.safetensors` file, read and written.
//!
//! Not read: types below one byte, and complex numbers.

use std::borrow::{Borrow, Cow};
use std::collections::HashMap;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView, View};

use super::{Storage, Tensor, eight, lanes};
use crate::dtype::DType;
use crate::shape::Shape;

/// Every tensor of the file. The error is a phrase that says what is wrong.
pub fn read(bytes: &[u8]) -> Result<HashMap<String, Tensor>, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
    file.iter().map(|(name, view)| Ok((name.to_owned(), tensor(name, &view)?))).collect()
}

fn tensor(name: &str, view: &TensorView) -> Result<Tensor, String> {
    let dtype = match view.dtype() {
        Dtype::F64 => DType::F64,
        Dtype::F32 => DType::F32,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::I64 => DType::I64,
        Dtype::I32 => DType::I32,
        Dtype::I16 => DType::I16,
        Dtype::I8 => DType::I8,
        Dtype::U8 => DType::U8,
        Dtype::U16 => DType::U16,
        Dtype::U32 => DType::U32,
        Dtype::U64 => DType::U64,
        Dtype::F8_E5M2 => DType::F8E5M2,
        Dtype::F8_E4M3 => DType::F8E4M3,
        Dtype::BOOL => DType::Bool,
        other => return Err(format!("tensor `{name}` has type {other:?}, which is not read yet")),
    };
    Ok(Tensor::new(dtype, Shape::from_slice(view.shape()), lanes::from_le_bytes(dtype, view.data())))
}

/// A file of tensors.
///
/// # Errors
/// A phrase, when names are given twice.
pub fn write<T: Borrow<Tensor>>(tensors: &[(String, T)]) -> Result<Vec<u8>, String> {
    let views = tensors.iter().map(|(name, tensor)| (name.clone(), lanes(tensor.borrow())));
    safetensors::serialize(views, None).map_err(|e| e.to_string())
}

/// A tensor as safetensors takes it.
struct Lanes {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for Lanes {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Little-endian bytes of a tensor.
fn lanes(tensor: &Tensor) -> Lanes {
    let dtype = match tensor.dtype() {
        DType::F64 => Dtype::F64,
        // The crate that writes the file has no name for the second pair; float32 holds their values.
        DType::F32 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => Dtype::F32,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::F8E4M3 => Dtype::F8_E4M3,
        DType::F8E5M2 => Dtype::F8_E5M2,
        DType::I64 => Dtype::I64,
        DType::I32 => Dtype::I32,
        DType::I16 => Dtype::I16,
        DType::I8 => Dtype::I8,
        DType::U64 => Dtype::U64,
        DType::U32 => Dtype::U32,
        DType::U16 => Dtype::U16,
        DType::U8 => Dtype::U8,
        DType::Bool => Dtype::BOOL,
    };
    let bytes: Vec<u8> = match tensor.storage() {
        Storage::F64(lanes) => lanes.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Storage::F32(lanes) => lanes.iter().flat_map(|&v| small_float(tensor.dtype(), v)).collect(),
        Storage::I64(lanes) => lanes.iter().flat_map(|v| v.to_le_bytes()[..tensor.dtype().size()].to_vec()).collect(),
        Storage::Bool(lanes) => lanes.clone(),
    };
    Lanes { dtype, shape: tensor.shape().to_vec(), bytes }
}

/// Bytes of a float that its type represents.
fn small_float(dtype: DType, value: f32) -> Vec<u8> {
    match dtype {
        DType::F16 => half::f16::from_f32(value).to_le_bytes().to_vec(),
        DType::BF16 => half::bf16::from_f32(value).to_le_bytes().to_vec(),
        DType::F8E4M3 | DType::F8E5M2 => vec![eight::byte(dtype, value)],
        DType::F64 | DType::F32 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => value.to_le_bytes().to_vec(),
        DType::I64 | DType::I32 | DType::I16 | DType::I8 | DType::U64 | DType::U32 | DType::U16 | DType::U8 | DType::Bool => {
            unreachable!("invariant: lanes of integers are no floats")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let data: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = TensorView::new(Dtype::F32, vec![2, 1], &data).unwrap();
        let bytes = safetensors::serialize([("w", view)], None).unwrap();
        let tensors = read(&bytes).unwrap();
        assert_eq!(tensors["w"], Tensor::from_f32(Shape::from_slice(&[2, 1]), vec![1.5, -2.0]));
        assert!(read(&bytes[..bytes.len() - 1]).is_err());
        for dtype in DType::ALL {
            let storage = match dtype.carrier() {
                crate::dtype::Carrier::F64 => Storage::F64(vec![0.5, -2.0]),
                crate::dtype::Carrier::F32 => Storage::F32(vec![0.5, -2.0]),
                crate::dtype::Carrier::I64 => Storage::I64(vec![3, 100]),
                crate::dtype::Carrier::Bool => Storage::Bool(vec![1, 0]),
            };
            let tensor = Tensor::new(dtype, Shape::from_slice(&[2]), storage);
            let kept = match dtype {
                DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => Tensor::from_f32(Shape::from_slice(&[2]), vec![0.5, -2.0]),
                _ => tensor.clone(),
            };
            assert_eq!(read(&write(&[("t".to_owned(), tensor)]).unwrap()).unwrap()["t"], kept);
        }
    }
}
