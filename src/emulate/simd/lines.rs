//! Lanes of a line from scattered addresses, and under a mask of bytes.

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
