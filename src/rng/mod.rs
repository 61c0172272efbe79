//! Generated inputs: a counter-based integer hash, the same numbers in Rust, numpy and torch.
//!
//! Element `i` of a tensor is a pure function of its [`Seed`] and `i`, so that any element can be
//! made on demand and the order of filling does not matter. The hash is two rounds of
//! multiply-xorshift on 32 bits; every multiplier is below 2³¹, so that torch and numpy compute it
//! exactly in int64 with a mask. [`PYTHON`] and [`NUMPY`] are the same functions as text:
//! `tools/check_rng.py` compares the numpy text with numbers blessed from here.
//!
//! Not for cryptography, and not a stream: two seeds give independent tensors, nothing more.

mod law;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::dtype::{Carrier, DType};
use crate::shape::{self, Shape};
use crate::tensor::{Storage, Tensor};

pub use law::Law;

/// The functions that [`Law::python`] calls, for torch: a fragment of an emitted `weights.py`
/// (it needs `import torch`).
pub const PYTHON: &str = include_str!("seeded_torch.py");

/// The same functions for numpy.
pub const NUMPY: &str = include_str!("seeded_numpy.py");

/// What a tensor's elements are derived from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed {
    pub a: u32,
    pub b: u32,
}

impl Seed {
    /// The seed of one value: the first eight bytes, as two little-endian words, of the SHA-256 of
    /// the text `<global>/<name>`.
    pub fn derive(global: u64, name: &str) -> Seed {
        let digest = Sha256::digest(format!("{global}/{name}").as_bytes());
        let word = |i: usize| u32::from_le_bytes([digest[i], digest[i + 1], digest[i + 2], digest[i + 3]]);
        Seed { a: word(0), b: word(4) }
    }
}

/// A bijection of 32-bit words in which every input bit flips every output bit about half the time.
#[inline(always)]
fn mix(h: u32) -> u32 {
    let h = (h ^ (h >> 16)).wrapping_mul(0x208b_9cb7);
    let h = (h ^ (h >> 16)).wrapping_mul(0x3406_a979);
    h ^ (h >> 14)
}

/// The hash of element `index`.
#[inline]
pub fn hash(seed: Seed, index: u64) -> u32 {
    hash_low(seed, mix((index >> 32) as u32), index as u32)
}

#[inline(always)]
fn hash_low(seed: Seed, mixed_high: u32, low: u32) -> u32 {
    mix(mix(low ^ seed.a).wrapping_add(seed.b).wrapping_add(mixed_high))
}

/// The 24 high bits of a hash as a number in [−1, 1), a multiple of 2⁻²³.
#[inline(always)]
pub fn uniform(hash: u32) -> f32 {
    ((hash >> 8) as i32 - (1 << 23)) as f32 * (1.0 / (1 << 23) as f32)
}

/// A tensor whose element i is `law` of hash(seed, i), rounded to `dtype`.
///
/// # Panics
/// When the shape's size overflows: sizes are checked where a model is read.
pub fn fill(law: Law, seed: Seed, dtype: DType, shape: impl Into<Shape>) -> Tensor {
    let shape = shape.into();
    let len = shape::numel(&shape).expect("invariant: a tensor's size was checked before it is generated");
    let storage = match dtype.carrier() {
        Carrier::F64 => Storage::F64(law.floats(seed, len).into_iter().map(f64::from).collect()),
        Carrier::F32 => {
            let mut lanes = law.floats(seed, len);
            if let Some(format) = dtype.format().filter(|_| dtype != DType::F32) {
                lanes.par_iter_mut().for_each(|v| *v = format.round(*v as f64) as f32);
            }
            Storage::F32(lanes)
        }
        Carrier::I64 => Storage::I64(law.integers(seed, len)),
        Carrier::Bool => Storage::Bool(law.integers(seed, len).into_iter().map(|v| (v != 0) as u8).collect()),
    };
    Tensor::new(dtype, shape, storage)
}

/// Lanes made chunk by chunk in parallel, each from its own hash.
fn generate<T: Clone + Default + Send + Sync>(seed: Seed, len: usize, lane: impl Fn(u32) -> T + Sync) -> Vec<T> {
    const CHUNK: usize = 1 << 16;
    let mut lanes = vec![T::default(); len];
    lanes.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, lanes)| {
        // A chunk never straddles a multiple of 2³², so the high word is one for all of it.
        let start = (chunk * CHUNK) as u64;
        let high = mix((start >> 32) as u32);
        for (low, out) in (start as u32..).zip(lanes.iter_mut()) {
            *out = lane(hash_low(seed, high, low));
        }
    });
    lanes
}

#[cfg(test)]
mod tests;
