//! Lanes of a line from scattered addresses, and under a mask of bytes; lines asked for ahead of time.

/// Asks for the cache lines of `len` elements from `first` on, which may lie anywhere: nothing is read.
#[inline(always)]
pub fn fetch<T>(memory: &[T], first: i64, len: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const CACHE_LINE: usize = 64;
        let start = memory.as_ptr().wrapping_offset(first as isize).cast::<i8>();
        for offset in (0..len * size_of::<T>()).step_by(CACHE_LINE) {
            // SAFETY: every x86-64 processor has SSE; a fetch of any address is allowed and does not fault.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (memory, first, len);
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

/// Lanes whose byte is zero become `other`.
#[inline(always)]
pub fn blend<T: Copy>(line: &mut [T], mask: &[u8], other: T) {
    for (lane, &byte) in line.iter_mut().zip(mask) {
        *lane = if byte != 0 { *lane } else { other };
    }
}
