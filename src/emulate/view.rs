//! Which elements of a buffer a pointer argument may touch.
//!
//! A view is reduced to nested dimensions of positive stride around one contiguous chunk, so that
//! "does every element of `lo..=hi` belong to the view" is a few divisions, and for a contiguous
//! view two compares. Not caught: views whose dimensions overlap (a stride smaller than what lies
//! inside it) are taken as the interval from their first to their last element.

use smallvec::SmallVec;

use super::launch::{BufferId, View};
use crate::shape::{Shape, Strides};

#[derive(Clone, Debug)]
pub struct Extent {
    pub buffer: BufferId,
    pub pointer: i64,
    /// First and last element; `lo > hi` when the view is empty.
    pub lo: i64,
    pub hi: i64,
    /// Stride and size of the dimensions outside the chunk, largest stride first.
    outer: SmallVec<[(i64, i64); 4]>,
    /// Elements without a gap from any multiple of the outer strides.
    chunk: i64,
    shape: Shape,
    strides: Strides,
    origin: i64,
}

impl Extent {
    pub fn new(view: &View) -> Extent {
        let mut lo = view.origin as i64;
        let mut hi = lo;
        let mut dims: SmallVec<[(i64, i64); 6]> = SmallVec::new();
        // Without elements there is nothing to reach, however long the other axes are.
        let empty = view.shape.contains(&0);
        for (&size, &stride) in view.shape.iter().zip(&view.strides).filter(|_| !empty) {
            // What does not fit reaches beyond any buffer, and is refused for that.
            let reach = stride.saturating_mul(i64::try_from(size - 1).unwrap_or(i64::MAX));
            lo = lo.saturating_add(reach.min(0));
            hi = hi.saturating_add(reach.max(0));
            if size > 1 && stride != 0 {
                dims.push((stride.saturating_abs(), i64::try_from(size).unwrap_or(i64::MAX)));
            }
        }
        if empty {
            hi = lo - 1;
        }
        dims.sort_unstable();
        let mut chunk = 1;
        let mut outer: SmallVec<[(i64, i64); 4]> = SmallVec::new();
        let mut reach = 0; // furthest element of the dimensions seen so far
        let mut overlaps = false;
        for (stride, size) in dims {
            overlaps |= stride <= reach;
            if outer.is_empty() && stride == chunk {
                chunk = chunk.saturating_mul(size);
            } else {
                outer.push((stride, size));
            }
            reach = stride.saturating_mul(size - 1).saturating_add(reach);
        }
        outer.reverse();
        if overlaps {
            outer.clear();
            chunk = reach.saturating_add(1);
        }
        Extent {
            buffer: view.buffer,
            pointer: view.pointer as i64,
            lo,
            hi,
            outer,
            chunk,
            shape: view.shape.clone(),
            strides: view.strides.clone(),
            origin: view.origin as i64,
        }
    }

    /// Every element of `lo..=hi` belongs to the view.
    #[inline]
    pub fn contains_range(&self, lo: i64, hi: i64) -> bool {
        lo >= self.lo && hi <= self.hi && (self.outer.is_empty() || self.inside_one_chunk(lo, hi))
    }

    #[inline]
    pub fn contains(&self, element: i64) -> bool {
        self.contains_range(element, element)
    }

    fn inside_one_chunk(&self, lo: i64, hi: i64) -> bool {
        let mut rest = lo - self.lo;
        for &(stride, size) in &self.outer {
            let index = rest / stride;
            if index >= size {
                return false;
            }
            rest -= index * stride;
        }
        rest + (hi - lo) < self.chunk
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The index of an element of the view, or `None`. Searches dimension by dimension, largest
    /// stride first.
    pub fn index_of(&self, element: i64) -> Option<SmallVec<[i64; 6]>> {
        let mut axes: SmallVec<[usize; 6]> = (0..self.shape.len()).collect();
        axes.sort_by_key(|&a| std::cmp::Reverse(self.strides[a].unsigned_abs()));
        let mut index: SmallVec<[i64; 6]> = SmallVec::from_elem(0, self.shape.len());
        let mut rest = element - self.origin;
        for axis in axes {
            let stride = self.strides[axis];
            if stride != 0 && self.shape[axis] > 1 {
                index[axis] = (rest / stride).clamp(0, self.shape[axis] as i64 - 1);
                rest -= index[axis] * stride;
            }
        }
        (rest == 0).then_some(index)
    }

    /// `4×8` or `4×8 with strides (16, 1)`.
    pub fn describe(&self) -> String {
        let shape = crate::shape::display(&self.shape);
        if crate::shape::is_contiguous(&self.shape, &self.strides) {
            return shape;
        }
        let strides: Vec<String> = self.strides.iter().map(i64::to_string).collect();
        format!("{shape} with strides ({})", strides.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_that_no_memory_has_reach_too_far() {
        let far = extent(&[usize::MAX, 2], &[i64::MAX, -3], 0);
        assert_eq!((far.lo, far.hi), (-3, i64::MAX));
        let empty = extent(&[2, 0, usize::MAX], &[1, 1, i64::MAX], 5);
        assert_eq!((empty.lo, empty.hi, empty.contains(5)), (5, 4, false));
    }

    fn extent(shape: &[usize], strides: &[i64], origin: usize) -> Extent {
        Extent::new(&View {
            buffer: BufferId(0),
            pointer: origin,
            shape: Shape::from_slice(shape),
            strides: Strides::from_slice(strides),
            origin,
        })
    }

    fn members(shape: &[usize], strides: &[i64], origin: i64) -> Vec<i64> {
        let mut all = vec![origin];
        for (&size, &stride) in shape.iter().zip(strides) {
            all = all.iter().flat_map(|&e| (0..size as i64).map(move |i| e + i * stride)).collect();
        }
        all
    }

    #[test]
    fn membership_equals_enumeration() {
        let cases: [(&[usize], &[i64], usize); 6] = [
            (&[3, 4], &[4, 1], 0),
            (&[3, 4], &[7, 1], 2),
            (&[2, 3, 4], &[20, 4, 1], 1),
            (&[3, 4], &[1, 5], 0),
            (&[4], &[-2], 9),
            (&[2, 0], &[1, 1], 5),
        ];
        for (shape, strides, origin) in cases {
            let view = extent(shape, strides, origin);
            let inside = members(shape, strides, origin as i64);
            for lo in -2..45 {
                for hi in lo..lo + 6 {
                    let want = (lo..=hi).all(|e| inside.contains(&e));
                    let got = view.contains_range(lo, hi);
                    assert!(!got || want, "{shape:?} {strides:?}: {lo}..={hi} is not inside");
                    assert!(lo != hi || got == want, "{shape:?} {strides:?}: {lo}");
                }
            }
        }
        assert_eq!(extent(&[3, 4], &[7, 1], 2).index_of(2 + 7 + 3).unwrap().as_slice(), [1, 3]);
        assert_eq!(extent(&[3, 4], &[7, 1], 2).index_of(2 + 5), None);
    }
}
