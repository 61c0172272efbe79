//! What is refused for its size or its element type, although the format allows it.
//!
//! Everything here is checked before memory is taken or a kernel is emulated, from types alone. Not
//! caught: many nodes that are each small enough and too much together (the emulator's fuel is for that).

use super::Failure;
use crate::diag::codes;
use crate::dtype::DType;
use crate::graph::op::{PoolKind, TensorType};
use crate::graph::{Op, infer};
use crate::import::Binding;
use crate::shape::{display, numel};

/// Elements of one tensor: 4 GiB of fp32, of which verifying holds several (inputs, the reference's
/// result, the kernel's).
pub const MAX_ELEMENTS: usize = 1 << 30;
/// Elements of one tensor that nobody holds here, as kernels address it with 64-bit offsets: 64 GiB of fp32.
const HUGE: usize = 1 << 34;
/// Positions of one pooling window, which one program of a kernel walks over.
const MAX_WINDOW: usize = 1 << 16;
/// Multiply-adds of one operator: minutes on a CPU core at 10¹⁰ a second, a thousand times those of all
/// of ResNet-50.
const MAX_PRODUCTS: usize = 1 << 42;

/// Whether nodes may have operands and results of this type. f64 and 8-bit floats are read (weights,
/// shape computations), but no kernel computes in them.
pub fn is_offered(dtype: DType) -> bool {
    !dtype.is_float() || matches!(dtype, DType::F32 | DType::F16 | DType::BF16)
}

/// Elements that a tensor of the graph may have.
pub fn most(binding: &Binding) -> usize {
    if binding.huge { HUGE } else { MAX_ELEMENTS }
}

/// Why a tensor of this shape, whose elements are held here, is too large to be decomposed.
pub fn too_large(shape: &[usize]) -> Option<String> {
    larger_than(MAX_ELEMENTS, shape)
}

/// Why a tensor of this shape is too large where so many elements are offered.
pub fn larger_than(most: usize, shape: &[usize]) -> Option<String> {
    let count = numel(shape).filter(|&count| count > most)?;
    Some(format!("{} has {count} elements, at most {most} are offered", display(shape)))
}

/// Refuses a node of an element type that is not offered, or that is too large: with results of more than `most` elements.
pub fn check(op: &Op, operands: &[Option<&TensorType>], outputs: &infer::Types, most: usize) -> Result<(), Failure> {
    if let Some(ty) = operands.iter().flatten().copied().chain(outputs).find(|ty| !is_offered(ty.dtype)) {
        let message = format!("the element type {} is not supported", ty.dtype);
        return Err(Failure::Unsupported(&codes::DTYPE_UNSUPPORTED, message));
    }
    let limit = |message: String| Err(Failure::Invalid(&codes::MEMORY, message));
    if let Some(message) = outputs.iter().find_map(|ty| larger_than(most, &ty.shape)) {
        return limit(format!("the output {message}"));
    }
    let window = |sizes: &[usize]| sizes.iter().fold(1, |product: usize, &size| product.saturating_mul(size));
    let terms = match op {
        Op::Pool(pool) => match pool.kind {
            PoolKind::Max | PoolKind::Average { .. } => window(&pool.kernel),
            PoolKind::AdaptiveAverage => 1,
        },
        Op::ConvTranspose(conv) => {
            operands.get(1).copied().flatten().map_or(1, |w| w.shape[0] / conv.groups * window(&w.shape[2..]))
        }
        Op::Reduce(reduce) => operands.first().copied().flatten().map_or(1, |x| reduce.terms(&x.shape)),
        Op::Conv(_) => operands.get(1).copied().flatten().map_or(1, |w| window(&w.shape[1..])),
        Op::Lrn(lrn) => lrn.size,
        Op::MatMul => operands.first().copied().flatten().and_then(|a| a.shape.last().copied()).unwrap_or(1),
        Op::Map(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::Softmax { .. } | Op::View(_) => 1,
        Op::ArgReduce(_) | Op::Scan(_) => 1,
    };
    if let Op::Pool(pool) = op
        && terms > MAX_WINDOW
    {
        return limit(format!("its window is {}: at most {MAX_WINDOW} positions are offered", display(&pool.kernel)));
    }
    let products = outputs.iter().map(|ty| window(&ty.shape)).fold(0, usize::saturating_add).saturating_mul(terms);
    if products > MAX_PRODUCTS {
        return limit(format!("{products} multiply-adds, at most {MAX_PRODUCTS} are offered"));
    }
    Ok(())
}
