//! Lanes of a line from scattered addresses, and under a mask of words; lines asked for ahead of time.

/// Lanes that are worked on at a time: the lines of blocks have multiples of them.
const LANES: usize = 16;

/// Asks for the cache lines of `len` elements from `first` on, which may lie anywhere: nothing is read.
#[inline(always)]
pub fn fetch<T>(memory: &[T], first: i64, len: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const CACHE_LINE: usize = 64;
        let start = memory.as_ptr().wrapping_offset(first as isize).cast::<i8>();
        let mut offset = 0;
        while offset < len * size_of::<T>() {
            // SAFETY: every x86-64 processor has SSE; a fetch of any address is allowed and does not fault.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) };
            offset += CACHE_LINE;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (memory, first, len);
}

/// Copies a line, of equal length. Those of blocks have multiples of 16 lanes and are copied in place: a call of memcpy
/// costs more than 16 lanes.
#[inline(always)]
pub fn copy<T: Copy>(from: &[T], to: &mut [T]) {
    debug_assert_eq!(from.len(), to.len(), "a line and its place");
    let (whole, []) = to.as_chunks_mut::<LANES>() else { return to.copy_from_slice(from) };
    for (to, from) in whole.iter_mut().zip(from.as_chunks::<LANES>().0) {
        *to = *from;
    }
}

/// `out[i] = window[terms[i] - lo]`.
///
/// # Safety
/// Every `terms[i] - lo` lies inside `window`.
#[inline(always)]
pub unsafe fn gather<T: Copy>(window: &[T], terms: &[i64], lo: i64, out: &mut [T]) {
    for (lane, &term) in out.iter_mut().zip(terms) {
        debug_assert!(((term - lo) as usize) < window.len());
        // SAFETY: the caller's promise.
        *lane = unsafe { *window.get_unchecked((term - lo) as usize) };
    }
}

/// A lane that a 32-bit word keeps or replaces; for f32 without a branch.
pub trait Lane: Copy {
    /// This number where the word is all ones, `other` where it is zero.
    fn kept(self, word: u32, other: Self) -> Self;
}

impl Lane for f32 {
    #[inline(always)]
    fn kept(self, word: u32, other: f32) -> f32 {
        f32::from_bits(self.to_bits() & word | other.to_bits() & !word)
    }
}

macro_rules! lanes {
    ($($ty:ty),*) => {$(
        impl Lane for $ty {
            #[inline(always)]
            fn kept(self, word: u32, other: $ty) -> $ty {
                if word != 0 { self } else { other }
            }
        }
    )*};
}

lanes!(f64, i64, u8);

/// Lanes whose word is zero become `other`; the words of the others are all ones.
#[inline(always)]
pub fn blend<T: Lane>(line: &mut [T], words: &[u32], other: T) {
    let (whole, rest) = line.as_chunks_mut::<LANES>();
    let (words, rest_of_words) = words.as_chunks::<LANES>();
    for (lanes, words) in whole.iter_mut().zip(words) {
        *lanes = std::array::from_fn(|i| lanes[i].kept(words[i], other));
    }
    rest.iter_mut().zip(rest_of_words).for_each(|(lane, &word)| *lane = lane.kept(word, other));
}
