//! Lanes as the bits that memory holds, and cells made of such lanes.

use std::sync::Arc;

use crate::dtype::{Carrier, DType};
use crate::emulate::memory::Line;
use crate::emulate::value::int::wrap;
use crate::emulate::value::{Cell, FloatBlock, Floats, IntBlock, Layout, MaskBlock, Scalar, misfit, taint};
use crate::kernel::ir::Elem;
use crate::tensor::Storage;

/// Bytes that a lane takes in memory.
pub fn size(elem: Elem) -> usize {
    (elem.bits() as usize).div_ceil(8)
}

/// The low bits.
pub fn mask(bytes: usize) -> u64 {
    if bytes >= 8 { !0 } else { (1 << (8 * bytes)) - 1 }
}

/// The bits of a number of a float type; `None` for 8-bit ones.
fn float_bits(elem: Elem, value: f64) -> Option<u64> {
    match elem {
        Elem::F64 => Some(value.to_bits()),
        Elem::F32 => Some((value as f32).to_bits().into()),
        Elem::F16 => Some(half::f16::from_f64(value).to_bits().into()),
        Elem::BF16 => Some(half::bf16::from_f64(value).to_bits().into()),
        Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz => None,
        Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => None,
    }
}

/// The number that bits of a float type are.
pub fn float_of(elem: Elem, bits: u64) -> Option<f64> {
    match elem {
        Elem::F64 => Some(f64::from_bits(bits)),
        Elem::F32 => Some(f32::from_bits(bits as u32).into()),
        Elem::F16 => Some(half::f16::from_bits(bits as u16).to_f64()),
        Elem::BF16 => Some(half::bf16::from_bits(bits as u16).to_f64()),
        Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz => None,
        Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => None,
    }
}

/// The bits of one lane of a block in row-major order; `None` where the type's bits are not known.
pub fn lane_bits(cell: &Cell, lane: usize, elem: Elem) -> Option<u64> {
    match cell {
        Cell::Ints(block) => Some(block.at(lane) as u64 & mask(size(elem))),
        Cell::Mask(block) => Some(block.values()[lane].into()),
        Cell::Floats(FloatBlock { lanes: Floats::F32(v), .. }) if elem == Elem::F32 => Some(v[lane].to_bits().into()),
        Cell::Floats(FloatBlock { lanes: Floats::F32(v), .. }) => float_bits(elem, v[lane].into()),
        Cell::Floats(FloatBlock { lanes: Floats::F64(v), .. }) => float_bits(elem, v[lane]),
        Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) | Cell::Ptrs(_) => misfit(cell, "a block of numbers"),
    }
}

/// A cell of these lanes, in row-major order.
pub fn assemble(elem: Elem, shape: &[usize], bits: &[u64], taints: Vec<u8>) -> Option<Cell> {
    let layout = Layout::row_major(shape);
    let int = |bits: u64| wrap(bits as i64, elem);
    if shape.is_empty() {
        let (bits, taint) = (bits[0], taints[0]);
        return Some(match elem {
            elem if elem.is_float() => Cell::Float(Scalar { value: float_of(elem, bits)?, taint }),
            _ => Cell::Int(Scalar { value: int(bits), taint }),
        });
    }
    let taints = taint::seal(taints);
    Some(match elem {
        Elem::F64 => {
            let lanes = Floats::F64(Arc::new(bits.iter().map(|&b| f64::from_bits(b)).collect()));
            Cell::Floats(FloatBlock { layout, lanes, taints })
        }
        Elem::F32 => Cell::f32_block(layout, bits.iter().map(|&b| f32::from_bits(b as u32)).collect(), taints),
        elem if elem.is_float() => {
            let lanes = bits.iter().map(|&b| float_of(elem, b).map(|x| x as f32)).collect::<Option<Vec<f32>>>()?;
            Cell::f32_block(layout, lanes, taints)
        }
        Elem::I1 => Cell::Mask(MaskBlock::dense(layout, bits.iter().map(|&b| (b & 1) as u8).collect(), taints)),
        _ => Cell::Ints(IntBlock::dense(layout, bits.iter().map(|&b| int(b)).collect(), taints)),
    })
}

/// The bits of an element of a buffer of a type.
pub fn element_bits(lanes: &Storage, element: usize, dtype: DType) -> Option<u64> {
    match lanes {
        Storage::F32(v) if dtype == DType::F32 => Some(v[element].to_bits().into()),
        Storage::F32(v) => float_bits(Elem::of(dtype), v[element].into()),
        Storage::F64(v) => Some(v[element].to_bits()),
        Storage::I64(v) => Some(v[element] as u64 & mask(dtype.size())),
        Storage::Bool(v) => Some(v[element].into()),
    }
}

/// Hands an element of these bits to `write`, as the buffer holds it.
pub fn with_element<R>(carrier: Carrier, bits: u64, dtype: DType, write: impl FnOnce(Line<'_>) -> R) -> Option<R> {
    Some(match carrier {
        Carrier::F32 if dtype == DType::F32 => write(Line::F32(&[f32::from_bits(bits as u32)])),
        Carrier::F32 => write(Line::F32(&[float_of(Elem::of(dtype), bits)? as f32])),
        Carrier::F64 => write(Line::F64(&[f64::from_bits(bits)])),
        Carrier::I64 if dtype.is_unsigned() => write(Line::I64(&[bits as i64])),
        Carrier::I64 => write(Line::I64(&[wrap(bits as i64, Elem::of(dtype))])),
        Carrier::Bool => write(Line::Bool(&[u8::from(bits & 0xff != 0)])),
    })
}
