//! The dot's inner loop: a tile of the accumulator in registers, walked along k.
//!
//! One operand is a *vector* operand (contiguous along the axis that becomes the vector), the other
//! a *scalar* operand (broadcast, any strides). Each accumulator element is
//! `acc = fma(a_k, b_k, acc)` for k = 0, 1, …, in this order, whatever the width of the vectors, so
//! AVX2, AVX-512 and the one-lane loop below give the same bits. Without FMA (portable build) each
//! step rounds twice.
//!
//! An operand that is read where it lies comes from afar, with a page or more between its lines, which
//! the processor does not foresee: its lanes are asked for ahead of time, those of the next rows here,
//! and those that the next dot of a loop along k will want.

/// Strides and sizes in elements. `vector[k * vector_k + v]`, `scalar[k * scalar_k + s * scalar_s]`,
/// `acc[s * acc_s + v]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    pub k: usize,
    /// Lanes along the vector axis.
    pub v: usize,
    /// Lanes along the scalar axis.
    pub s: usize,
    pub vector_k: usize,
    pub scalar_k: usize,
    pub scalar_s: usize,
    pub acc_s: usize,
    /// The operand lies in memory that the loop around this dot walks along k.
    pub vector_streams: bool,
    pub scalar_streams: bool,
}

impl Shape {
    fn check(&self, vector: &[f32], scalar: &[f32], acc: &[f32]) {
        if self.k == 0 || self.v == 0 || self.s == 0 {
            return;
        }
        assert!(vector.len() >= (self.k - 1) * self.vector_k + self.v, "invariant: the vector operand holds k × v lanes");
        assert!(
            scalar.len() > (self.k - 1) * self.scalar_k + (self.s - 1) * self.scalar_s,
            "invariant: the scalar operand holds k × s lanes"
        );
        assert!(acc.len() >= (self.s - 1) * self.acc_s + self.v, "invariant: the accumulator holds s × v lanes");
    }
}

/// `acc += scalar · vector`.
pub fn dot(shape: Shape, vector: &[f32], scalar: &[f32], acc: &mut [f32]) {
    shape.check(vector, scalar, acc);
    if shape.k == 0 || shape.v == 0 || shape.s == 0 {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    {
        if super::has_avx512() && shape.v.is_multiple_of(16) {
            // SAFETY: the processor has AVX-512F; `check` has proven every access in bounds.
            return unsafe { x86::dot_avx512(shape, vector.as_ptr(), scalar.as_ptr(), acc.as_mut_ptr()) };
        }
        if super::has_avx2() && shape.v.is_multiple_of(8) {
            // SAFETY: the processor has AVX2 and FMA; `check` has proven every access in bounds.
            return unsafe { x86::dot_avx2(shape, vector.as_ptr(), scalar.as_ptr(), acc.as_mut_ptr()) };
        }
        if super::has_avx2() {
            // SAFETY: the processor has FMA.
            return unsafe { plain_fma(shape, vector, scalar, acc) };
        }
    }
    plain::<false>(shape, vector, scalar, acc);
}

/// The same sums by one-lane loops: the oracle of the vector loops.
pub fn dot_plain(shape: Shape, vector: &[f32], scalar: &[f32], acc: &mut [f32]) {
    shape.check(vector, scalar, acc);
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        // SAFETY: the processor has FMA.
        return unsafe { plain_fma(shape, vector, scalar, acc) };
    }
    plain::<false>(shape, vector, scalar, acc);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn plain_fma(shape: Shape, vector: &[f32], scalar: &[f32], acc: &mut [f32]) {
    plain::<true>(shape, vector, scalar, acc);
}

#[inline(always)]
fn plain<const FMA: bool>(shape: Shape, vector: &[f32], scalar: &[f32], acc: &mut [f32]) {
    for s in 0..shape.s {
        for k in 0..shape.k {
            let x = scalar[k * shape.scalar_k + s * shape.scalar_s];
            let from = &vector[k * shape.vector_k..][..shape.v];
            for (a, &y) in acc[s * shape.acc_s..][..shape.v].iter_mut().zip(from) {
                *a = if FMA { x.mul_add(y, *a) } else { *a + x * y };
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Shape;
    use std::arch::x86_64::*;

    /// Lanes of a cache line.
    const CACHE_LINE: usize = 16;

    /// Asks for the cache line of an address, which may lie anywhere: a fetch does not fault and reads nothing.
    #[inline(always)]
    fn fetch(at: *const f32) {
        // SAFETY: every x86-64 processor has SSE.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }

    /// The same into the second-level cache, for what is not wanted soon.
    #[inline(always)]
    fn fetch_far(at: *const f32) {
        // SAFETY: every x86-64 processor has SSE.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
    }

    /// Asks for the rows of a scalar operand after these `block` rows of `left`, and for what follows these along k.
    #[inline(always)]
    fn fetch_rows(shape: &Shape, rows: *const f32, block: usize, left: usize) {
        for s in 0..block.min(left) {
            let row = rows.wrapping_add(s * shape.scalar_s);
            for k in (0..shape.k).step_by(CACHE_LINE) {
                fetch_far(row.wrapping_add(shape.k + k));
                if block + s < left {
                    fetch(row.wrapping_add(block * shape.scalar_s + k));
                }
            }
        }
    }

    macro_rules! kernel {
        ($panel:ident, $rows:ident, $dot:ident, $feature:literal, $width:literal, $vectors:literal, $block:literal,
         $load:ident, $store:ident, $set:ident, $fma:ident, $zero:ident) => {
            /// `VECTORS` vectors by `S` scalars. `AHEAD`: ask for the vector operand's next lanes.
            ///
            /// # Safety
            /// The processor has the feature; all accesses of `k × (VECTORS·width) × S` are in bounds.
            #[target_feature(enable = $feature)]
            unsafe fn $panel<const VECTORS: usize, const S: usize, const AHEAD: bool>(
                shape: &Shape,
                vector: *const f32,
                scalar: *const f32,
                acc: *mut f32,
            ) {
                unsafe {
                    let mut sums = [[$zero(); VECTORS]; S];
                    for s in 0..S {
                        for v in 0..VECTORS {
                            sums[s][v] = $load(acc.add(s * shape.acc_s + v * $width));
                        }
                    }
                    let (mut vector, mut scalar) = (vector, scalar);
                    for _ in 0..shape.k {
                        if AHEAD {
                            fetch(vector.wrapping_add(VECTORS * $width));
                            fetch_far(vector.wrapping_add(shape.k * shape.vector_k));
                        }
                        let mut loaded = [$zero(); VECTORS];
                        for v in 0..VECTORS {
                            loaded[v] = $load(vector.add(v * $width));
                        }
                        for s in 0..S {
                            let x = $set(*scalar.add(s * shape.scalar_s));
                            for v in 0..VECTORS {
                                sums[s][v] = $fma(x, loaded[v], sums[s][v]);
                            }
                        }
                        vector = vector.add(shape.vector_k);
                        scalar = scalar.add(shape.scalar_k);
                    }
                    for s in 0..S {
                        for v in 0..VECTORS {
                            $store(acc.add(s * shape.acc_s + v * $width), sums[s][v]);
                        }
                    }
                }
            }

            /// `S` scalars by all vectors: their lanes stay in the first cache while the vectors pass.
            ///
            /// # Safety
            /// As the panel's.
            #[target_feature(enable = $feature)]
            unsafe fn $rows<const S: usize>(shape: &Shape, first: bool, vector: *const f32, scalar: *const f32, acc: *mut f32) {
                unsafe {
                    let mut v = 0;
                    while v + $vectors * $width <= shape.v {
                        if first && shape.vector_streams {
                            $panel::<$vectors, S, true>(shape, vector.add(v), scalar, acc.add(v));
                        } else {
                            $panel::<$vectors, S, false>(shape, vector.add(v), scalar, acc.add(v));
                        }
                        v += $vectors * $width;
                    }
                    while v + $width <= shape.v {
                        $panel::<1, S, false>(shape, vector.add(v), scalar, acc.add(v));
                        v += $width;
                    }
                }
            }

            /// # Safety
            /// The processor has the feature; `Shape::check` holds.
            #[target_feature(enable = $feature)]
            pub unsafe fn $dot(shape: Shape, vector: *const f32, scalar: *const f32, acc: *mut f32) {
                unsafe {
                    let mut s = 0;
                    while s < shape.s {
                        let (x, a) = (scalar.add(s * shape.scalar_s), acc.add(s * shape.acc_s));
                        let left = shape.s - s;
                        if shape.scalar_streams && shape.scalar_k == 1 {
                            fetch_rows(&shape, x, $block, left);
                        }
                        let first = s == 0;
                        s += if left >= $block && left != $block + 1 {
                            $rows::<$block>(&shape, first, vector, x, a);
                            $block
                        } else if left >= 4 {
                            $rows::<4>(&shape, first, vector, x, a);
                            4
                        } else if left == 3 {
                            $rows::<3>(&shape, first, vector, x, a);
                            3
                        } else if left == 2 {
                            $rows::<2>(&shape, first, vector, x, a);
                            2
                        } else {
                            $rows::<1>(&shape, first, vector, x, a);
                            1
                        };
                    }
                }
            }
        };
    }

    kernel!(
        panel_avx2,
        rows_avx2,
        dot_avx2,
        "avx2,fma",
        8,
        2,
        6,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_set1_ps,
        _mm256_fmadd_ps,
        _mm256_setzero_ps
    );
    kernel!(
        panel_avx512,
        rows_avx512,
        dot_avx512,
        "avx512f",
        16,
        2,
        12,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_set1_ps,
        _mm512_fmadd_ps,
        _mm512_setzero_ps
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_equal_one_lane_loops() {
        for (k, v, s) in [(32, 64, 64), (5, 16, 7), (3, 24, 13), (1, 8, 1), (4, 5, 3), (16, 32, 12), (7, 96, 29)] {
            let value = |i: usize| ((i * 7919 + 13) % 1000) as f32 * 0.001 - 0.4;
            let vector: Vec<f32> = (0..k * v).map(value).collect();
            for (scalar_k, scalar_s) in [(1, k), (s, 1)] {
                let scalar: Vec<f32> = (0..k * s).map(|i| value(i + 5)).collect();
                let start: Vec<f32> = (0..s * v).map(|i| value(i + 9)).collect();
                let streams = scalar_k == 1;
                let (vector_streams, scalar_streams) = (streams, streams);
                let shape = Shape { k, v, s, vector_k: v, scalar_k, scalar_s, acc_s: v, vector_streams, scalar_streams };
                let (mut fast, mut slow) = (start.clone(), start);
                dot(shape, &vector, &scalar, &mut fast);
                dot_plain(shape, &vector, &scalar, &mut slow);
                assert_eq!(fast, slow, "{shape:?}");
            }
        }
    }
}
