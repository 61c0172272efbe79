//! Bytes as formats store elements (little-endian, without gaps) → lanes.

use half::{bf16, f16};

use super::{Storage, eight};
use crate::dtype::DType;

/// The lanes of `bytes`; a rest that is no whole element is left out. A bool is true where its byte is not 0.
pub fn from_le_bytes(dtype: DType, bytes: &[u8]) -> Storage {
    fn lanes<const N: usize, T>(bytes: &[u8], convert: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|&chunk| convert(chunk)).collect()
    }
    match dtype {
        DType::F32 => Storage::F32(lanes(bytes, f32::from_le_bytes)),
        DType::F64 => Storage::F64(lanes(bytes, f64::from_le_bytes)),
        DType::F16 => Storage::F32(lanes(bytes, |b| f16::from_le_bytes(b).to_f32())),
        DType::BF16 => Storage::F32(lanes(bytes, |b| bf16::from_le_bytes(b).to_f32())),
        DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => {
            Storage::F32(bytes.iter().map(|&b| eight::value(dtype, b)).collect())
        }
        DType::I64 => Storage::I64(lanes(bytes, i64::from_le_bytes)),
        DType::U64 => Storage::I64(lanes(bytes, |b| u64::from_le_bytes(b) as i64)),
        DType::I32 => Storage::I64(lanes(bytes, |b| i64::from(i32::from_le_bytes(b)))),
        DType::U32 => Storage::I64(lanes(bytes, |b| i64::from(u32::from_le_bytes(b)))),
        DType::I16 => Storage::I64(lanes(bytes, |b| i64::from(i16::from_le_bytes(b)))),
        DType::U16 => Storage::I64(lanes(bytes, |b| i64::from(u16::from_le_bytes(b)))),
        DType::I8 => Storage::I64(lanes(bytes, |b| i64::from(i8::from_le_bytes(b)))),
        DType::U8 => Storage::I64(bytes.iter().map(|&b| i64::from(b)).collect()),
        DType::Bool => Storage::Bool(bytes.iter().map(|&b| u8::from(b != 0)).collect()),
    }
}
