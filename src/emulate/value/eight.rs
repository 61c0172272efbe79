//! Floats of 8 bits as their bits, for casts of bits and inline assembly.

use crate::dtype::DType;
use crate::kernel::ir::Elem;
use crate::tensor::eight;

/// The element type of memory that holds such lanes.
pub fn dtype(elem: Elem) -> DType {
    match elem {
        Elem::F8E4M3 => DType::F8E4M3,
        Elem::F8E5M2 => DType::F8E5M2,
        Elem::F8E4M3Fnuz => DType::F8E4M3Fnuz,
        Elem::F8E5M2Fnuz => DType::F8E5M2Fnuz,
        Elem::F16 | Elem::BF16 | Elem::F32 | Elem::F64 => unreachable!("invariant: {elem} is no float of 8 bits"),
        Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            unreachable!("invariant: {elem} is no float of 8 bits")
        }
    }
}

/// The value of a byte.
pub fn value(elem: Elem, byte: u8) -> f32 {
    eight::value(dtype(elem), byte)
}

/// The byte of a value that the type represents.
pub fn bits(elem: Elem, value: f32) -> u8 {
    eight::byte(dtype(elem), value)
}
