//! `weights.safetensors` of a suite, read back: the model's own weights by name.

use std::collections::HashMap;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use crate::dtype::DType;
use crate::shape::Shape;
use crate::tensor::{Storage, Tensor};

/// Every tensor of the file. The error is a phrase that says what is wrong.
pub fn read(bytes: &[u8]) -> Result<HashMap<String, Tensor>, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
    file.iter().map(|(name, view)| Ok((name.to_owned(), tensor(name, &view)?))).collect()
}

fn tensor(name: &str, view: &TensorView) -> Result<Tensor, String> {
    /// Little-endian elements of N bytes each.
    fn elements<const N: usize, T>(data: &[u8], of: impl Fn([u8; N]) -> T) -> Vec<T> {
        let chunk = |c: &[u8]| of(c.try_into().expect("invariant: chunks_exact gives N bytes"));
        data.chunks_exact(N).map(chunk).collect()
    }
    let data = view.data();
    let (dtype, lanes) = match view.dtype() {
        Dtype::F64 => (DType::F64, Storage::F64(elements(data, f64::from_le_bytes))),
        Dtype::F32 => (DType::F32, Storage::F32(elements(data, f32::from_le_bytes))),
        Dtype::F16 => (DType::F16, Storage::F32(elements(data, |b| half::f16::from_le_bytes(b).to_f32()))),
        Dtype::BF16 => (DType::BF16, Storage::F32(elements(data, |b| half::bf16::from_le_bytes(b).to_f32()))),
        Dtype::I64 => (DType::I64, Storage::I64(elements(data, i64::from_le_bytes))),
        Dtype::I32 => (DType::I32, Storage::I64(elements(data, |b| i32::from_le_bytes(b).into()))),
        Dtype::I16 => (DType::I16, Storage::I64(elements(data, |b| i16::from_le_bytes(b).into()))),
        Dtype::I8 => (DType::I8, Storage::I64(elements(data, |b| i8::from_le_bytes(b).into()))),
        Dtype::U8 => (DType::U8, Storage::I64(elements(data, |b| u8::from_le_bytes(b).into()))),
        Dtype::BOOL => (DType::Bool, Storage::Bool(data.to_vec())),
        other => return Err(format!("tensor `{name}` has type {other:?}, which is not read yet")),
    };
    Ok(Tensor::new(dtype, Shape::from_slice(view.shape()), lanes))
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
    }
}
