//! What a generated tensor's elements are: small data that Rust evaluates and torch or numpy prints.
//!
//! Every operation in a law is exact or one IEEE rounding to fp32, so that the three agree bit for
//! bit. Which law a value gets is decided from its role by `reference::seeded` (weights of a model)
//! and `conform::inputs` (cases of one kernel).

use super::{Seed, generate, uniform};
use crate::dtype::{Carrier, DType};
use crate::shape;

/// A distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// u · scale + offset, u uniform in [−1, 1) with 24 bits. A scale that is a power of two makes
    /// the product exact; the sum is rounded once, to fp32.
    Uniform { scale: f32, offset: f32 },
    /// (low + k) · step, k uniform in 0 .. count; zero instead in (256 − keep) of 256 cases.
    Integers { low: i64, count: u32, step: i64, keep: u16 },
    /// 2^(low + k), k uniform in 0 .. count; count is at most 31.
    Powers { low: i32, count: u32 },
    /// One number everywhere.
    Constant(f32),
}

/// k of 0 .. count from the high bits of a hash.
#[inline(always)]
fn below(hash: u32, count: u32) -> i64 {
    ((hash as u64 * count as u64) >> 32) as i64
}

impl Law {
    /// `len` lanes as fp32.
    pub(super) fn floats(self, seed: Seed, len: usize) -> Vec<f32> {
        match self {
            Law::Uniform { scale, offset } => generate(seed, len, |h| uniform(h) * scale + offset),
            Law::Integers { .. } => generate(seed, len, |h| self.integer(h) as f32),
            Law::Powers { low, count } => generate(seed, len, |h| (low as f32).exp2() * (1u64 << below(h, count)) as f32),
            Law::Constant(value) => vec![value; len],
        }
    }

    /// `len` lanes as integers; a law of reals gives them truncated.
    pub(super) fn integers(self, seed: Seed, len: usize) -> Vec<i64> {
        match self {
            Law::Integers { .. } => generate(seed, len, |h| self.integer(h)),
            Law::Uniform { .. } | Law::Powers { .. } | Law::Constant(_) => {
                self.floats(seed, len).into_iter().map(|v| v as i64).collect()
            }
        }
    }

    /// Element `index` of what [`super::fill`] makes, as f64.
    pub fn element(self, seed: Seed, index: u64, dtype: DType) -> f64 {
        let hash = super::hash(seed, index);
        let real = match self {
            Law::Uniform { scale, offset } => uniform(hash) * scale + offset,
            Law::Integers { .. } => self.integer(hash) as f32,
            Law::Powers { low, count } => (low as f32).exp2() * (1u64 << below(hash, count)) as f32,
            Law::Constant(value) => value,
        };
        let whole = match self {
            Law::Integers { .. } => self.integer(hash),
            Law::Uniform { .. } | Law::Powers { .. } | Law::Constant(_) => real as i64,
        };
        match dtype.carrier() {
            Carrier::F64 | Carrier::F32 => dtype.round(f64::from(real)),
            Carrier::I64 => whole as f64,
            Carrier::Bool => f64::from(u8::from(whole != 0)),
        }
    }

    #[inline(always)]
    fn integer(self, hash: u32) -> i64 {
        match self {
            Law::Integers { low, count, step, keep } if (hash & 255) < keep as u32 => (low + below(hash, count)) * step,
            Law::Integers { .. } | Law::Uniform { .. } | Law::Powers { .. } | Law::Constant(_) => 0,
        }
    }

    /// An expression that makes the same tensor with the functions of [`super::PYTHON`] (or, with
    /// numpy's dtype names, of [`super::NUMPY`]): `uniform((64, 3, 7, 7), 1, 2, 0.125, 0.0)`.
    pub fn python(self, seed: Seed, dtype: DType, size: &[usize]) -> String {
        let shape = match size {
            [one] => format!("({one},)"),
            sizes => format!("({})", sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        };
        debug_assert!(shape::numel(size).is_some(), "invariant: sizes are checked at import");
        let Seed { a, b } = seed;
        let dtype = if dtype == DType::F32 { String::new() } else { format!(", dtype=\"{}\"", dtype.torch_name()) };
        match self {
            Law::Uniform { scale, offset } => format!("uniform({shape}, {a}, {b}, {scale:?}, {offset:?}{dtype})"),
            Law::Integers { low, count, step, keep } => {
                format!("integers({shape}, {a}, {b}, {low}, {count}, {step}, {keep}{dtype})")
            }
            Law::Powers { low, count } => format!("powers({shape}, {a}, {b}, {low}, {count}{dtype})"),
            Law::Constant(value) => format!("constant({shape}, {value:?}{dtype})"),
        }
    }
}
