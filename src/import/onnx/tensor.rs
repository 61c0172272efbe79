//! TensorProto → [`Tensor`]: raw little-endian bytes or typed fields, checked against the dimensions.

use half::{bf16, f16};
use tract_onnx::pb::TensorProto;
use tract_onnx::pb::tensor_proto::{DataLocation, DataType};

use super::external::External;
use crate::diag::{Code, codes};
use crate::dtype::DType;
use crate::shape::{self, Shape, display};
use crate::tensor::{Storage, Tensor, lanes};

/// Why a tensor of the file cannot be used: a code and a sentence.
pub(super) type TensorError = (&'static Code, String);

/// Our type for ONNX's number, or its ONNX name when there is none.
pub(super) fn dtype(data_type: i32) -> Result<DType, String> {
    let Ok(known) = DataType::try_from(data_type) else { return Err(format!("number {data_type}")) };
    match known {
        DataType::Float => Ok(DType::F32),
        DataType::Double => Ok(DType::F64),
        DataType::Float16 => Ok(DType::F16),
        DataType::Bfloat16 => Ok(DType::BF16),
        DataType::Int8 => Ok(DType::I8),
        DataType::Int16 => Ok(DType::I16),
        DataType::Int32 => Ok(DType::I32),
        DataType::Int64 => Ok(DType::I64),
        DataType::Uint8 => Ok(DType::U8),
        DataType::Uint16 => Ok(DType::U16),
        DataType::Uint32 => Ok(DType::U32),
        DataType::Uint64 => Ok(DType::U64),
        DataType::Bool => Ok(DType::Bool),
        DataType::Float8e4m3fn
        | DataType::Float8e5m2
        | DataType::Float8e4m3fnuz
        | DataType::Float8e5m2fnuz
        | DataType::Undefined
        | DataType::String
        | DataType::Complex64
        | DataType::Complex128
        | DataType::Uint4
        | DataType::Int4
        | DataType::Float4e2m1 => Err(known.as_str_name().to_owned()),
    }
}

/// The dimensions as a shape; zero is legal (an empty list of axes), negative is not.
fn dimensions(proto: &TensorProto) -> Result<(Shape, usize), TensorError> {
    let sizes: Option<Shape> = proto.dims.iter().map(|&d| usize::try_from(d).ok()).collect();
    let sizes = sizes.ok_or_else(|| (&codes::MODEL_INITIALIZER, format!("dimensions {:?} are negative", proto.dims)))?;
    let count = shape::numel(&sizes)
        .ok_or_else(|| (&codes::MODEL_INITIALIZER, format!("dimensions {} are larger than memory", display(&sizes))))?;
    Ok((sizes, count))
}

/// Decodes a tensor with all its elements, which may lie in a file beside the model.
pub(super) fn tensor(proto: &TensorProto, external: &External) -> Result<Tensor, TensorError> {
    let dtype =
        dtype(proto.data_type).map_err(|name| (&codes::DTYPE_UNSUPPORTED, format!("element type {name} is not supported")))?;
    if proto.segment.is_some() {
        return Err((&codes::MODEL_INITIALIZER, "tensors in segments are not read".to_owned()));
    }
    let (shape, count) = dimensions(proto)?;
    let storage = if proto.data_location == Some(DataLocation::External as i32) {
        if !proto.raw_data.is_empty() || !typed(proto, dtype).is_empty() {
            return Err((&codes::MODEL_INITIALIZER, "it has elements here and in another file".to_owned()));
        }
        let needed = count.checked_mul(dtype.size()).filter(|&needed| isize::try_from(needed).is_ok());
        let needed = needed.ok_or_else(|| (&codes::MODEL_INITIALIZER, format!("{} is larger than memory", display(&shape))))?;
        raw(&external.bytes(proto, needed)?, dtype, count)?
    } else if proto.raw_data.is_empty() {
        typed(proto, dtype)
    } else {
        raw(&proto.raw_data, dtype, count)?
    };
    if storage.len() != count {
        return Err((
            &codes::MODEL_INITIALIZER,
            format!("it has {} elements, its dimensions {} need {count}", storage.len(), display(&shape)),
        ));
    }
    Ok(Tensor::new(dtype, shape, storage))
}

/// Elements of the typed field that belongs to the dtype. Narrow types travel in `int32_data`,
/// 16-bit floats there by their bits.
fn typed(proto: &TensorProto, dtype: DType) -> Storage {
    let narrow = || proto.int32_data.iter();
    match dtype {
        DType::F32 => Storage::F32(proto.float_data.clone()),
        DType::F64 => Storage::F64(proto.double_data.clone()),
        DType::F16 => Storage::F32(narrow().map(|&b| f16::from_bits(b as u16).to_f32()).collect()),
        DType::BF16 => Storage::F32(narrow().map(|&b| bf16::from_bits(b as u16).to_f32()).collect()),
        DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => Storage::F32(Vec::new()),
        DType::I64 => Storage::I64(proto.int64_data.clone()),
        DType::U64 | DType::U32 => Storage::I64(proto.uint64_data.iter().map(|&v| v as i64).collect()),
        DType::I32 => Storage::I64(narrow().map(|&v| i64::from(v)).collect()),
        DType::I16 => Storage::I64(narrow().map(|&v| i64::from(v as i16)).collect()),
        DType::I8 => Storage::I64(narrow().map(|&v| i64::from(v as i8)).collect()),
        DType::U16 => Storage::I64(narrow().map(|&v| i64::from(v as u16)).collect()),
        DType::U8 => Storage::I64(narrow().map(|&v| i64::from(v as u8)).collect()),
        DType::Bool => Storage::Bool(narrow().map(|&v| u8::from(v != 0)).collect()),
    }
}

/// Elements of little-endian bytes.
fn raw(bytes: &[u8], dtype: DType, count: usize) -> Result<Storage, TensorError> {
    let size = dtype.size();
    if Some(bytes.len()) != count.checked_mul(size) {
        return Err((
            &codes::MODEL_INITIALIZER,
            format!("it has {} bytes, {count} elements of {dtype} need {}", bytes.len(), count.saturating_mul(size)),
        ));
    }
    Ok(match dtype {
        DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => Storage::F32(Vec::new()),
        offered => lanes::from_le_bytes(offered, bytes),
    })
}
