//! How the lanes of a block lie in its buffer: a size and a stride an axis.
//!
//! A stride of zero repeats lanes along its axis (a broadcast that nobody has paid for yet). Every
//! other layout the emulator makes is a permutation of row-major order without gaps.

/// Blocks of more axes are refused by name when a kernel is compiled.
pub const MAX_RANK: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    rank: u8,
    shape: [u32; MAX_RANK],
    strides: [u32; MAX_RANK],
}

impl Layout {
    /// The last axis fastest.
    pub fn row_major(shape: &[usize]) -> Layout {
        Layout::ordered(shape, |i| shape.len() - 1 - i)
    }

    /// `fastest(0)` is the axis of stride 1, `fastest(1)` the next, and so on.
    pub fn ordered(shape: &[usize], fastest: impl Fn(usize) -> usize) -> Layout {
        let mut layout = Layout { rank: shape.len() as u8, shape: [1; MAX_RANK], strides: [0; MAX_RANK] };
        let mut stride = 1u32;
        for position in 0..shape.len() {
            let axis = fastest(position);
            layout.shape[axis] = shape[axis] as u32;
            layout.strides[axis] = stride;
            stride *= shape[axis] as u32;
        }
        layout
    }

    /// Row-major but for `inner`, which is fastest.
    pub fn with_inner(shape: &[usize], inner: usize) -> Layout {
        let rank = shape.len();
        Layout::ordered(shape, |i| match i {
            0 => inner,
            i => {
                let axis = rank - i;
                if axis > inner { axis } else { axis - 1 }
            }
        })
    }

    /// One axis of `n` lanes.
    pub fn line(n: usize) -> Layout {
        Layout::row_major(&[n])
    }

    pub fn from_parts(shape: &[usize], strides: &[usize]) -> Layout {
        let mut layout = Layout { rank: shape.len() as u8, shape: [1; MAX_RANK], strides: [0; MAX_RANK] };
        for axis in 0..shape.len() {
            layout.shape[axis] = shape[axis] as u32;
            layout.strides[axis] = strides[axis] as u32;
        }
        layout
    }

    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    pub fn size(&self, axis: usize) -> usize {
        self.shape[axis] as usize
    }

    pub fn stride(&self, axis: usize) -> usize {
        self.strides[axis] as usize
    }

    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.shape[..self.rank()].iter().map(|&s| s as usize)
    }

    pub fn shape_vec(&self) -> smallvec::SmallVec<[usize; 4]> {
        self.sizes().collect()
    }

    pub fn numel(&self) -> usize {
        self.sizes().product()
    }

    /// Lanes in the buffer: fewer than `numel` when an axis repeats.
    pub fn stored(&self) -> usize {
        (0..self.rank()).filter(|&a| self.strides[a] != 0).map(|a| self.size(a)).product()
    }

    /// No axis repeats: every lane has its own place.
    pub fn is_full(&self) -> bool {
        self.stored() == self.numel()
    }

    /// Lanes lie in row-major order, each in its own place.
    pub fn is_row_major(&self) -> bool {
        let mut want = 1;
        for axis in (0..self.rank()).rev() {
            if self.size(axis) != 1 && self.stride(axis) != want {
                return false;
            }
            want *= self.size(axis);
        }
        true
    }

    /// Equal but for the strides of axes of size 1.
    pub fn same_order(&self, other: &Layout) -> bool {
        self.rank == other.rank
            && (0..self.rank())
                .all(|a| self.shape[a] == other.shape[a] && (self.shape[a] == 1 || self.strides[a] == other.strides[a]))
    }

    /// The axis of stride 1 among axes longer than 1; the last axis when there is none.
    pub fn inner_axis(&self) -> usize {
        (0..self.rank()).rev().find(|&a| self.size(a) > 1 && self.stride(a) == 1).unwrap_or(self.rank().saturating_sub(1))
    }

    /// Axis order of a full layout with every repeated axis given lanes of its own: the same order
    /// where this one has an order, repeated axes slowest.
    pub fn filled(&self) -> Layout {
        let shape = self.shape_vec();
        let mut axes: smallvec::SmallVec<[usize; 6]> = (0..self.rank()).collect();
        let key = |a: usize| if self.strides[a] == 0 { u32::MAX } else { self.strides[a] };
        axes.sort_by(|&x, &y| key(x).cmp(&key(y)).then(y.cmp(&x)));
        Layout::ordered(&shape, |i| axes[i])
    }

    /// The place of a lane given by its index.
    pub fn place(&self, index: &[usize]) -> usize {
        index.iter().enumerate().map(|(a, i)| i * self.stride(a)).sum()
    }

    /// The index of the lane at a row-major position.
    pub fn unravel(&self, mut position: usize) -> smallvec::SmallVec<[usize; 6]> {
        let mut index = smallvec::SmallVec::from_elem(0, self.rank());
        for axis in (0..self.rank()).rev() {
            index[axis] = position % self.size(axis).max(1);
            position /= self.size(axis).max(1);
        }
        index
    }

    /// A new axis of size 1 before `axis`.
    pub fn expanded(&self, axis: usize) -> Layout {
        let mut out = Layout { rank: self.rank + 1, shape: [1; MAX_RANK], strides: [0; MAX_RANK] };
        for a in 0..self.rank() {
            let to = if a < axis { a } else { a + 1 };
            out.shape[to] = self.shape[a];
            out.strides[to] = self.strides[a];
        }
        out
    }

    /// Axes of size 1 grow to `shape` by repetition.
    pub fn broadcast(&self, shape: &[usize]) -> Layout {
        let mut out = *self;
        for (axis, &size) in shape.iter().enumerate() {
            if self.size(axis) != size {
                out.shape[axis] = size as u32;
                out.strides[axis] = 0;
            }
        }
        out
    }

    /// Result axis `i` is axis `order[i]`.
    pub fn permuted(&self, order: &[u8]) -> Layout {
        let mut out = *self;
        for (to, &from) in order.iter().enumerate() {
            out.shape[to] = self.shape[from as usize];
            out.strides[to] = self.strides[from as usize];
        }
        out
    }
}

/// Calls `visit(place in a, place in b)` for the first lane of every line along `inner`, the other
/// axes in row-major order. Both layouts have one shape.
pub fn for_each_line(a: &Layout, b: &Layout, inner: usize, mut visit: impl FnMut(usize, usize)) {
    for_each_line3(a, b, b, inner, |a, b, _| visit(a, b));
}

/// As [`for_each_line`], in three layouts.
#[inline(always)]
pub fn for_each_line3(a: &Layout, b: &Layout, c: &Layout, inner: usize, mut visit: impl FnMut(usize, usize, usize)) {
    let rank = a.rank();
    let mut index = [0usize; MAX_RANK];
    let (mut at_a, mut at_b, mut at_c) = (0, 0, 0);
    loop {
        visit(at_a, at_b, at_c);
        let mut axis = rank;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            if axis == inner {
                continue;
            }
            index[axis] += 1;
            at_a += a.stride(axis);
            at_b += b.stride(axis);
            at_c += c.stride(axis);
            if index[axis] < a.size(axis) {
                break;
            }
            at_a -= a.stride(axis) * a.size(axis);
            at_b -= b.stride(axis) * b.size(axis);
            at_c -= c.stride(axis) * c.size(axis);
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_views() {
        let row = Layout::row_major(&[2, 3, 4]);
        assert!(row.is_row_major() && row.is_full());
        let inner0 = Layout::with_inner(&[2, 3, 4], 0);
        assert_eq!((inner0.stride(0), inner0.stride(1), inner0.stride(2)), (1, 8, 2));
        let wide = Layout::line(3).expanded(0).broadcast(&[5, 3]);
        assert_eq!((wide.numel(), wide.stored(), wide.inner_axis()), (15, 3, 1));
        assert!(wide.filled().is_row_major());
        assert_eq!(row.place(&row.unravel(17)), 17);
        let mut seen = Vec::new();
        for_each_line(&Layout::row_major(&[2, 3]), &Layout::with_inner(&[2, 3], 0), 1, |a, b| seen.push((a, b)));
        assert_eq!(seen, [(0, 0), (3, 1)]);
    }
}
