//! Dots of f32 operands that tensor cores compute as several dots of narrower ones: tf32x3, bf16x3,
//! bf16x6.
//!
//! The order is that of Triton 3.9's compiled code (passes F32DotTC and its bf16 emulation): each
//! operand becomes a sum of parts, most significant first; the products of small parts are summed
//! from zero, smallest first; a NaN among these sums becomes 0 (an infinite operand's rest is ∞ − ∞,
//! and its first part alone carries it); the product of the first parts comes last; and the sum is
//! added to the accumulator in one fp32 addition an element, not product by product.
//!
//! * tf32x3: h = x rounded to 10 fraction bits, ties away from zero (`cvt.rna.tf32.f32`); l = x − h,
//!   of which the product takes the upper 10 fraction bits.
//! * bf16x3, bf16x6: each part is what is left, rounded to bf16, ties to even.
//!
//! Not modelled: bits that tensor cores lose while they add (facts of one chip, not of a class), and
//! other orders of other compiler versions.

use crate::emulate::simd::dot::Shape;
use crate::kernel::ir::{DotPrecision, Elem};

/// A class of split products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    Tf32x3,
    Bf16x3,
    Bf16x6,
}

/// One loop of `simd::dot`.
pub(super) type DotFn = fn(Shape, &[f32], &[f32], &mut [f32]);

impl Split {
    /// How a dot is split; `None` where it is one product. Only f32 operands have a class.
    pub fn of(precision: DotPrecision, elem: Elem) -> Option<Split> {
        match precision {
            _ if elem != Elem::F32 => None,
            DotPrecision::Ieee | DotPrecision::Tf32 => None,
            DotPrecision::Tf32x3 => Some(Split::Tf32x3),
            DotPrecision::Bf16x3 => Some(Split::Bf16x3),
            DotPrecision::Bf16x6 => Some(Split::Bf16x6),
        }
    }

    /// Parts of A and B that are multiplied, in order; the last pair is that of the first parts.
    fn products(self) -> &'static [(usize, usize)] {
        match self {
            Split::Tf32x3 => &[(1, 0), (0, 1), (0, 0)],
            Split::Bf16x3 => &[(1, 0), (0, 1), (0, 0)],
            Split::Bf16x6 => &[(1, 1), (2, 0), (0, 2), (1, 0), (0, 1), (0, 0)],
        }
    }

    /// The parts of every lane, in the layout of the lanes.
    fn parts(self, lanes: &[f32]) -> [Vec<f32>; 3] {
        let of = |part: fn([f32; 3]) -> f32, split: fn(f32) -> [f32; 3]| lanes.iter().map(|&x| part(split(x))).collect();
        let split = match self {
            Split::Tf32x3 => tf32_parts,
            Split::Bf16x3 | Split::Bf16x6 => bf16_parts,
        };
        let third = if self == Split::Bf16x6 { of(|p| p[2], split) } else { Vec::new() };
        [of(|p| p[0], split), of(|p| p[1], split), third]
    }

    /// `acc += vector · scalar`; `vector_is_a` says which of the operands is A.
    pub fn add(self, dot: DotFn, shape: Shape, vector: &[f32], scalar: &[f32], vector_is_a: bool, acc: &mut [f32]) {
        let (vector, scalar) = (self.parts(vector), self.parts(scalar));
        let mut sums = vec![0.0f32; acc.len()];
        let products = self.products();
        for (i, &(a, b)) in products.iter().enumerate() {
            if i + 1 == products.len() {
                sums.iter_mut().filter(|sum| sum.is_nan()).for_each(|sum| *sum = 0.0);
            }
            let (v, s) = if vector_is_a { (a, b) } else { (b, a) };
            dot(shape, &vector[v], &scalar[s], &mut sums);
        }
        acc.iter_mut().zip(&sums).for_each(|(acc, sum)| *acc += sum);
    }
}

/// tf32: the upper 10 fraction bits.
pub(super) fn truncate(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0xffff_e000)
}

/// Rounded to 10 fraction bits, ties away from zero.
fn round_away(x: f32) -> f32 {
    if x.is_nan() { x } else { truncate(f32::from_bits(x.to_bits() + 0x1000)) }
}

fn tf32_parts(x: f32) -> [f32; 3] {
    let high = round_away(x);
    [high, truncate(x - high), 0.0]
}

fn bf16_parts(x: f32) -> [f32; 3] {
    let round = |x: f32| half::bf16::from_f32(x).to_f32();
    let high = round(x);
    let middle = round(x - high);
    [high, middle, round(x - high - middle)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::simd::dot::{dot, dot_plain};

    #[test]
    fn parts_add_up() {
        let one_and_a_tie = 1.0 + 1.0 / 2048.0;
        assert_eq!(tf32_parts(one_and_a_tie), [1.0 + 1.0 / 1024.0, -1.0 / 2048.0, 0.0]);
        assert_eq!(tf32_parts(-one_and_a_tie), [-1.0 - 1.0 / 1024.0, 1.0 / 2048.0, 0.0]);
        for i in 1..2000u32 {
            let x = f32::from_bits(0x3f80_0000 + i * 4099) * if i % 2 == 0 { 1.0 } else { -1.0 };
            let [h, l, _] = tf32_parts(x);
            assert!((x - h).abs() <= x.abs() / 2048.0 && (x - h - l).abs() < x.abs() / 4_194_304.0, "{x}");
            let [h, m, l] = bf16_parts(x);
            assert!(m.abs() <= x.abs() / 256.0 && l.abs() <= x.abs() / 131_072.0 && h + m + l == x, "{x}");
        }
        assert!(tf32_parts(f32::INFINITY)[1].is_nan() && bf16_parts(f32::NEG_INFINITY)[1].is_nan());
        assert!(tf32_parts(f32::from_bits(0x7fff_ffff))[0].is_nan());
    }

    /// Operands A [m, k] and B [k, n], row-major.
    fn operands(m: usize, n: usize, k: usize) -> (Vec<f32>, Vec<f32>) {
        let value = |i: usize| ((i * 7919 + 13) % 1009) as f32 * 0.00317 - 1.6;
        ((0..m * k).map(value).collect(), (0..k * n).map(|i| value(i + 5)).collect())
    }

    /// The class as its header says it, an element at a time.
    fn by_element(split: Split, a: &[f32], b: &[f32], at: [usize; 2], n: usize, k: usize) -> f32 {
        let fused = crate::emulate::simd::has_avx2();
        let product = |from: f32, pick: fn(f32) -> f32, other: fn(f32) -> f32| {
            (0..k).fold(from, |sum, p| {
                let (x, y) = (pick(a[at[0] * k + p]), other(b[p * n + at[1]]));
                if fused { x.mul_add(y, sum) } else { sum + x * y }
            })
        };
        let quiet = |sum: f32| if sum.is_nan() { 0.0 } else { sum };
        let [h, m, l]: [fn(f32) -> f32; 3] = match split {
            Split::Tf32x3 => [round_away, |x| truncate(x - round_away(x)), |_| 0.0],
            Split::Bf16x3 | Split::Bf16x6 => [|x| bf16_parts(x)[0], |x| bf16_parts(x)[1], |x| bf16_parts(x)[2]],
        };
        let small = match split {
            Split::Tf32x3 | Split::Bf16x3 => product(product(0.0, m, h), h, m),
            Split::Bf16x6 => product(product(product(product(product(0.0, m, m), l, h), h, l), m, h), h, m),
        };
        product(quiet(small), h, h)
    }

    #[test]
    fn blocks_equal_single_elements() {
        let (m, n, k) = (16, 24, 32);
        let (mut a, mut b) = operands(m, n, k);
        (a[3 * k], b[5], a[7 * k + 1]) = (f32::INFINITY, f32::NAN, f32::MIN_POSITIVE / 8.0);
        for split in [Split::Tf32x3, Split::Bf16x3, Split::Bf16x6] {
            let shape = Shape { k, v: n, s: m, vector_k: n, scalar_k: 1, scalar_s: k, acc_s: n, ..Shape::default() };
            let (mut fast, mut slow) = (vec![0.25; m * n], vec![0.25; m * n]);
            split.add(dot, shape, &b, &a, false, &mut fast);
            split.add(dot_plain, shape, &b, &a, false, &mut slow);
            for i in 0..m * n {
                let want = 0.25 + by_element(split, &a, &b, [i / n, i % n], n, k);
                let same = |got: f32| got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
                assert!(same(fast[i]) && same(slow[i]), "{split:?} {i}: {} {} {want}", fast[i], slow[i]);
            }
            assert!(fast[3 * n].is_infinite() && fast[5].is_nan());
        }
    }
}
