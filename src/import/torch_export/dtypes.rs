//! Numbers of torch's `ScalarType`, as `torch/_export/serde/schema.py` counts them.

use crate::dtype::DType;

/// Our type for a number, or torch's name of one that has none here.
pub fn dtype(number: i64) -> Result<DType, String> {
    Ok(match number {
        1 => DType::U8,
        2 => DType::I8,
        3 => DType::I16,
        4 => DType::I32,
        5 => DType::I64,
        6 => DType::F16,
        7 => DType::F32,
        8 => DType::F64,
        12 => DType::Bool,
        13 => DType::BF16,
        28 => DType::U16,
        29 => DType::F8E4M3,
        30 => DType::F8E5M2,
        34 => DType::U32,
        35 => DType::U64,
        9 => return Err("complex32".to_owned()),
        10 => return Err("complex64".to_owned()),
        11 => return Err("complex128".to_owned()),
        31 => return Err("float8_e4m3fnuz".to_owned()),
        32 => return Err("float8_e5m2fnuz".to_owned()),
        33 => return Err("float8_e8m0fnu".to_owned()),
        other => return Err(format!("number {other}")),
    })
}
