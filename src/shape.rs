//! Shapes and strides, in elements, row-major (the last dimension is the fastest).

use smallvec::SmallVec;

/// Sizes of the dimensions, outermost first. Zero-sized dimensions are legal here.
pub type Shape = SmallVec<[usize; 6]>;

/// Strides in elements, one a dimension; negative for reversed views.
pub type Strides = SmallVec<[i64; 6]>;

/// The number of elements, or `None` when it overflows `isize`.
pub fn numel(shape: &[usize]) -> Option<usize> {
    let mut total: usize = 1;
    if shape.contains(&0) {
        return Some(0);
    }
    for &size in shape {
        total = total.checked_mul(size).filter(|&n| isize::try_from(n).is_ok())?;
    }
    Some(total)
}

/// Strides of a dense row-major tensor. Those of a tensor without elements may be beyond `i64`, and
/// saturate: they address nothing.
pub fn contiguous_strides(shape: &[usize]) -> Strides {
    let mut strides: Strides = SmallVec::from_elem(1, shape.len());
    for i in (0..shape.len().saturating_sub(1)).rev() {
        strides[i] = strides[i + 1].saturating_mul(shape[i + 1].max(1) as i64);
    }
    strides
}

/// Whether strides address a dense row-major tensor (strides of dimensions of size 1 do not matter).
pub fn is_contiguous(shape: &[usize], strides: &[i64]) -> bool {
    let dense = contiguous_strides(shape);
    shape.contains(&0) || shape.iter().zip(strides).zip(&dense).all(|((&size, stride), want)| size == 1 || stride == want)
}

/// The multidirectional broadcast of ONNX and numpy, or `None` when two sizes disagree.
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Shape> {
    let rank = a.len().max(b.len());
    let at = |s: &[usize], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |j| s[j]);
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// A row-major tensor as lines along a set of axes: element `t` of line `l` lies at `starts[l] + steps[t]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// One a coordinate of the other axes, in row-major order.
    pub starts: Vec<usize>,
    /// One a coordinate of these axes, in row-major order; the first is 0.
    pub steps: Vec<usize>,
}

/// The lines of a tensor along some axes.
pub fn lines(shape: &[usize], axes: &[usize]) -> Lines {
    let strides = contiguous_strides(shape);
    let mut lines = Lines { starts: vec![0], steps: vec![0] };
    for (axis, (&size, &stride)) in shape.iter().zip(&strides).enumerate() {
        let offsets = if axes.contains(&axis) { &mut lines.steps } else { &mut lines.starts };
        *offsets = offsets.iter().flat_map(|&start| (0..size).map(move |i| start + i * stride as usize)).collect();
    }
    lines
}

/// `1×3×224×224`; a scalar prints as `scalar`.
pub fn display(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "scalar".to_owned();
    }
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join("×")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_strides_and_broadcasts() {
        assert_eq!(numel(&[2, 0, usize::MAX]), Some(0));
        assert_eq!(numel(&[usize::MAX, 2]), None);
        assert_eq!(contiguous_strides(&[2, 3, 4]).as_slice(), [12, 4, 1]);
        assert!(is_contiguous(&[2, 1, 4], &[4, 99, 1]));
        assert!(!is_contiguous(&[2, 4], &[1, 2]));
        assert_eq!(broadcast(&[3, 1], &[4]).unwrap().as_slice(), [3, 4]);
        assert_eq!(broadcast(&[3], &[4]), None);
        assert_eq!(display(&[1, 3]), "1×3");
    }

    #[test]
    fn lines_cover_every_element_once() {
        let Lines { starts, steps } = lines(&[2, 3, 4], &[0, 2]);
        assert_eq!((starts.as_slice(), steps.as_slice()), ([0, 4, 8].as_slice(), [0, 1, 2, 3, 12, 13, 14, 15].as_slice()));
        assert_eq!(lines(&[], &[]), Lines { starts: vec![0], steps: vec![0] });
        assert!(lines(&[2, 0], &[0]).starts.is_empty());
    }
}
