//! The loops under every lane-by-lane operation: operands are brought to one layout, then mapped.
//!
//! A scalar operand stands for a uniform block. When two blocks disagree in layout, the result
//! takes the layout of the first operand whose lanes all have a place of their own, and the other
//! one is re-read in that order. Loops are compiled three times, for the baseline, AVX2
//! and AVX-512, and chosen at run time; all give the same bits.

use std::borrow::Cow;

use crate::emulate::value::layout::{for_each_line, for_each_line3};
use crate::emulate::value::{Cell, Layout};

/// One operand of a map.
pub enum Side<'a, T: Copy> {
    One(T),
    Many(Cow<'a, [T]>),
    /// Lanes in another layout than the result's, read line by line (a row added to a block).
    Strided {
        values: &'a [T],
        from: Layout,
        to: Layout,
    },
}

impl<'a, T: Copy> Side<'a, T> {
    /// A block as an operand of a result in `to`, without moving lanes.
    pub fn strided(values: &'a [T], from: &Layout, to: &Layout) -> Side<'a, T> {
        if from.same_order(to) {
            return Side::Many(Cow::Borrowed(values));
        }
        Side::Strided { values, from: *from, to: *to }
    }

    /// Lanes of the line whose first lane is at these places, `n` long.
    #[inline(always)]
    fn line(&self, own: usize, common: usize, inner: usize, n: usize) -> Side<'_, T> {
        match self {
            Side::One(v) => Side::One(*v),
            Side::Many(v) => Side::Many(Cow::Borrowed(&v[common..common + n])),
            Side::Strided { values, from, to: _ } => match from.stride(inner) {
                0 => Side::One(values[own]),
                1 => Side::Many(Cow::Borrowed(&values[own..own + n])),
                step => Side::Many(Cow::Owned((0..n).map(|i| values[own + i * step]).collect())),
            },
        }
    }
}

/// The layout of a result: `None` when every operand is a scalar.
pub fn common_layout(operands: &[&Cell]) -> Option<Layout> {
    let mut first: Option<&Layout> = None;
    let mut equal = true;
    let mut full: Option<&Layout> = None;
    for layout in operands.iter().filter_map(|c| c.layout()) {
        match first {
            None => first = Some(layout),
            Some(f) => equal &= f.same_order(layout),
        }
        if full.is_none() && layout.is_full() {
            full = Some(layout);
        }
    }
    let first = first?;
    if equal {
        return Some(*first);
    }
    Some(full.copied().unwrap_or_else(|| first.filled()))
}

/// The stored lanes of a block, read in the order of another layout of the same shape.
pub fn reorder<'a, T: Copy>(values: Cow<'a, [T]>, from: &Layout, to: &Layout) -> Cow<'a, [T]> {
    if from.same_order(to) {
        return values;
    }
    let mut out = vec![values[0]; to.stored()];
    let inner = to.inner_axis();
    let n = to.size(inner);
    let step = from.stride(inner);
    let out_step = to.stride(inner);
    for_each_line(from, to, inner, |at_from, at_to| {
        if out_step != 1 {
            for i in 0..n {
                out[at_to + i * out_step] = values[at_from + i * step];
            }
            return;
        }
        let line = &mut out[at_to..at_to + n];
        match step {
            0 => line.fill(values[at_from]),
            1 => line.copy_from_slice(&values[at_from..at_from + n]),
            step => {
                for (lane, value) in line.iter_mut().zip(values[at_from..].iter().step_by(step)) {
                    *lane = *value;
                }
            }
        }
    });
    Cow::Owned(out)
}

/// United taints of operands in the places of `layout`; `None` when all are clean.
pub fn united_taints(operands: &[&Cell], layout: &Layout) -> Option<Vec<u8>> {
    if operands.iter().all(|c| c.scalar_taint() == 0 && c.taints().is_none()) {
        return None;
    }
    let mut united = vec![0u8; layout.stored()];
    for cell in operands {
        let scalar = cell.scalar_taint();
        if scalar != 0 {
            united.iter_mut().for_each(|t| *t |= scalar);
        }
        if let (Some(taints), Some(from)) = (cell.taints(), cell.layout()) {
            let taints = reorder(Cow::Borrowed(taints.as_slice()), from, layout);
            united.iter_mut().zip(taints.iter()).for_each(|(t, &o)| *t |= o);
        }
    }
    Some(united)
}

#[inline(always)]
fn map1_body<T: Copy, U>(a: &[T], out: &mut [U], f: impl Fn(T) -> U) {
    for (o, &x) in out.iter_mut().zip(a) {
        *o = f(x);
    }
}

#[inline(always)]
fn map2_body<T: Copy, U>(a: &Side<'_, T>, b: &Side<'_, T>, out: &mut [U], f: impl Fn(T, T) -> U) {
    match (a, b) {
        (Side::Strided { from, to, .. }, other) | (other, Side::Strided { from, to, .. }) => {
            // Where both are strided, the other one's places are found line by line as well.
            let second = match other {
                Side::Strided { from, .. } => from,
                Side::One(_) | Side::Many(_) => to,
            };
            let flipped = !matches!(a, Side::Strided { .. });
            let inner = to.inner_axis();
            let n = to.size(inner);
            for_each_line3(from, second, to, inner, |own, its, common| {
                let (x, y) = if flipped { (its, own) } else { (own, its) };
                let (x, y) = (a.line(x, common, inner, n), b.line(y, common, inner, n));
                map2_line(&x, &y, &mut out[common..common + n], &f);
            });
        }
        (Side::One(_) | Side::Many(_), Side::One(_) | Side::Many(_)) => map2_line(a, b, out, &f),
    }
}

/// Both operands in the order of the result.
#[inline(always)]
fn map2_line<T: Copy, U>(a: &Side<'_, T>, b: &Side<'_, T>, out: &mut [U], f: &impl Fn(T, T) -> U) {
    match (a, b) {
        (Side::Strided { .. }, _) | (_, Side::Strided { .. }) => {
            unreachable!("invariant: lines of strided operands are not strided")
        }
        (Side::Many(a), Side::Many(b)) => {
            for ((o, &x), &y) in out.iter_mut().zip(a.iter()).zip(b.iter()) {
                *o = f(x, y);
            }
        }
        (Side::Many(a), Side::One(y)) => {
            let y = *y;
            for (o, &x) in out.iter_mut().zip(a.iter()) {
                *o = f(x, y);
            }
        }
        (Side::One(x), Side::Many(b)) => {
            let x = *x;
            for (o, &y) in out.iter_mut().zip(b.iter()) {
                *o = f(x, y);
            }
        }
        (Side::One(x), Side::One(y)) => out.iter_mut().for_each(|o| *o = f(*x, *y)),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
fn map1_avx512<T: Copy, U>(a: &[T], out: &mut [U], f: impl Fn(T) -> U) {
    map1_body(a, out, f);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn map1_avx2<T: Copy, U>(a: &[T], out: &mut [U], f: impl Fn(T) -> U) {
    map1_body(a, out, f);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
fn map2_avx512<T: Copy, U>(a: &Side<'_, T>, b: &Side<'_, T>, out: &mut [U], f: impl Fn(T, T) -> U) {
    map2_body(a, b, out, f);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn map2_avx2<T: Copy, U>(a: &Side<'_, T>, b: &Side<'_, T>, out: &mut [U], f: impl Fn(T, T) -> U) {
    map2_body(a, b, out, f);
}

/// `out[i] = f(a[i])`.
pub fn map1<T: Copy, U>(a: &[T], out: &mut [U], f: impl Fn(T) -> U) {
    #[cfg(target_arch = "x86_64")]
    {
        if crate::emulate::simd::has_avx512() {
            // SAFETY: the processor has these parts of AVX-512.
            return unsafe { map1_avx512(a, out, f) };
        }
        if crate::emulate::simd::has_avx2() {
            // SAFETY: the processor has AVX2 and FMA.
            return unsafe { map1_avx2(a, out, f) };
        }
    }
    map1_body(a, out, f);
}

/// `out[i] = f(a[i], b[i])`.
pub fn map2<T: Copy, U>(a: &Side<'_, T>, b: &Side<'_, T>, out: &mut [U], f: impl Fn(T, T) -> U) {
    #[cfg(target_arch = "x86_64")]
    {
        if crate::emulate::simd::has_avx512() {
            // SAFETY: the processor has these parts of AVX-512.
            return unsafe { map2_avx512(a, b, out, f) };
        }
        if crate::emulate::simd::has_avx2() {
            // SAFETY: the processor has AVX2 and FMA.
            return unsafe { map2_avx2(a, b, out, f) };
        }
    }
    map2_body(a, b, out, f);
}
