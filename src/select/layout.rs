//! Views as strides: the layout of a view, given the layout of what it views.
//!
//! Transpose permutes, broadcast sets strides to 0. A reshape keeps strides where every group of
//! axes that it merges or splits lies densely (the rule of numpy and torch for views): both shapes
//! are cut into the smallest groups of equal size, and inside a group each old axis must step over
//! exactly the axes after it. Where that fails the elements must be copied, and this says `None`.

use crate::expr::index::Index;
use crate::graph::op::View;
use crate::shape::{Strides, contiguous_strides, numel};
use crate::template::Layout;

/// The layout of `view` applied to a tensor that lies as `base`; `None` when no strides give it.
pub fn of_view(base: &Layout, view: &View) -> Option<Layout> {
    let (shape, strides) = match view {
        View::Transpose(order) => {
            (order.iter().map(|&axis| base.shape[axis]).collect(), order.iter().map(|&axis| base.strides[axis]).collect())
        }
        View::Broadcast(shape) => (shape.clone(), broadcast(base, shape)),
        View::Reshape(shape) => (shape.clone(), reshape(&base.shape, &base.strides, shape)?),
    };
    Some(Layout { shape, strides, offset: base.offset, storage: base.storage })
}

/// Axes are aligned at the right; new ones and grown ones stand still.
fn broadcast(base: &Layout, shape: &[usize]) -> Strides {
    let skip = shape.len() - base.shape.len();
    let stride = |axis: usize| match axis.checked_sub(skip) {
        Some(old) if base.shape[old] == shape[axis] => base.strides[old],
        _ => 0,
    };
    (0..shape.len()).map(stride).collect()
}

fn reshape(shape: &[usize], strides: &[i64], to: &[usize]) -> Option<Strides> {
    if numel(shape) == Some(0) {
        return Some(contiguous_strides(to));
    }
    // Axes of size 1 carry no stride.
    let old: Vec<(usize, i64)> = shape.iter().copied().zip(strides.iter().copied()).filter(|(size, _)| *size != 1).collect();
    let mut result: Strides = Strides::from_elem(1, to.len());
    let (mut i, mut j) = (old.len(), to.len());
    // From the innermost axes outwards, group by group.
    while j > 0 {
        if to[j - 1] == 1 {
            j -= 1;
            // Any stride is right; the one a dense tensor has reads best.
            result[j] = if j + 1 < to.len() { result[j + 1] * to[j + 1] as i64 } else { 1 };
            continue;
        }
        i = i.checked_sub(1)?;
        let (mut size, inner) = old[i];
        let mut made = 1;
        let mut stride = inner;
        while made < size {
            j -= 1;
            made *= to[j];
            result[j] = stride;
            stride *= to[j] as i64;
            while made > size {
                i = i.checked_sub(1)?;
                let (more, outer) = old[i];
                if outer != old[i + 1].1 * old[i + 1].0 as i64 {
                    return None;
                }
                size *= more;
            }
        }
    }
    Some(result)
}

/// The index of a Map that reads the elements of `from` in row-major order under the shape `to`.
pub fn row_major_index(from: &[usize], to: &[usize]) -> Vec<Index> {
    let scaled = |index: Index, by: i64| if by == 1 { index } else { Index::Mul(Box::new(index), by) };
    let terms = contiguous_strides(to).into_iter().enumerate().map(|(d, stride)| scaled(Index::Dim(d), stride));
    let flat = terms.reduce(|a, b| Index::Add(Box::new(a), Box::new(b))).unwrap_or(Index::Constant(0));
    let axis = |(&size, stride): (&usize, i64)| {
        let quotient = Index::FloorDiv(Box::new(flat.clone()), stride);
        Index::Mod(Box::new(quotient), size as i64).simplify(to)
    };
    from.iter().zip(contiguous_strides(from)).map(axis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;
    use proptest::prelude::*;
    use smallvec::SmallVec;

    /// Storage positions of all elements in row-major order.
    fn positions(layout: &Layout) -> Vec<i64> {
        let dense = contiguous_strides(&layout.shape);
        (0..numel(&layout.shape).unwrap())
            .map(|i| {
                let at = dense.iter().zip(&layout.shape).map(|(&stride, &size)| i as i64 / stride % size as i64);
                layout.offset + at.zip(&layout.strides).map(|(at, stride)| at * stride).sum::<i64>()
            })
            .collect()
    }

    /// What a view must give, element by element.
    fn expected(base: &Layout, view: &View) -> Vec<i64> {
        let old = positions(base);
        let shape = match view {
            View::Reshape(_) => return old,
            View::Broadcast(shape) => shape.to_vec(),
            View::Transpose(order) => order.iter().map(|&a| base.shape[a]).collect(),
        };
        let dense = contiguous_strides(&base.shape);
        (0..numel(&shape).unwrap())
            .map(|i| {
                let at: Vec<i64> =
                    contiguous_strides(&shape).iter().zip(&shape).map(|(&s, &size)| i as i64 / s % size as i64).collect();
                let mut flat = 0;
                for (axis, &size) in base.shape.iter().enumerate() {
                    let coordinate = match view {
                        View::Transpose(order) => at[order.iter().position(|&o| o == axis).unwrap()],
                        _ => at[axis + shape.len() - base.shape.len()] % size as i64,
                    };
                    flat += coordinate * dense[axis];
                }
                old[flat as usize]
            })
            .collect()
    }

    fn factors(mut n: usize, cuts: &[usize]) -> Shape {
        let mut shape = Shape::new();
        for &cut in cuts {
            let divisors: Vec<usize> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
            let d = divisors[cut % divisors.len()];
            shape.push(d);
            n /= d;
        }
        shape.push(n);
        shape
    }

    proptest! {
        #[test]
        fn views_equal_brute_force(
            shape in proptest::collection::vec(1usize..5, 1..4),
            steps in proptest::collection::vec((0u8..3, proptest::collection::vec(0usize..12, 3)), 1..6),
        ) {
            let mut layout = Layout::contiguous(&shape);
            for (kind, numbers) in steps {
                let view = match kind {
                    0 => View::Reshape(factors(numel(&layout.shape).unwrap(), &numbers)),
                    1 => {
                        let mut order: SmallVec<[usize; 6]> = (0..layout.shape.len()).collect();
                        for (i, n) in numbers.iter().enumerate().take(order.len()) {
                            let j = n % order.len();
                            order.swap(i, j);
                        }
                        View::Transpose(order)
                    }
                    _ => {
                        let mut grown = layout.shape.clone();
                        for (size, n) in grown.iter_mut().zip(&numbers) {
                            if *size == 1 { *size = 1 + n % 3; }
                        }
                        if grown.len() < 4 { grown.insert(0, 1 + numbers[0] % 2); }
                        View::Broadcast(grown)
                    }
                };
                let want = expected(&layout, &view);
                if want.len() > 4000 { break }
                match of_view(&layout, &view) {
                    Some(next) => {
                        prop_assert_eq!(positions(&next), want, "{:?} of {:?}", view, layout);
                        layout = next;
                    }
                    None => prop_assert!(matches!(view, View::Reshape(_))),
                }
            }
        }

        #[test]
        fn row_major_indices_equal_brute_force(shape in proptest::collection::vec(1usize..5, 1..4), cuts in proptest::collection::vec(0usize..12, 2)) {
            let to = factors(numel(&shape).unwrap(), &cuts);
            let index = row_major_index(&shape, &to);
            for flat in 0..numel(&shape).unwrap() {
                let at = |s: &[usize]| contiguous_strides(s).iter().zip(s).map(|(&c, &n)| flat / c as usize % n).collect::<Vec<_>>();
                let found: Vec<usize> = index.iter().map(|i| i.evaluate(&at(&to), &mut |_| 0) as usize).collect();
                prop_assert_eq!(found, at(&shape));
            }
        }
    }

    #[test]
    fn only_what_must_be_copied_is_refused() {
        let base = Layout::contiguous(&[2, 3, 4]);
        let turned = of_view(&base, &View::Transpose(SmallVec::from_slice(&[1, 0, 2]))).unwrap();
        assert_eq!(turned.strides.as_slice(), [4, 12, 1]);
        assert_eq!(of_view(&turned, &View::Reshape(Shape::from_slice(&[6, 4]))), None);
        let split = of_view(&turned, &View::Reshape(Shape::from_slice(&[3, 2, 2, 2]))).unwrap();
        assert_eq!(split.strides.as_slice(), [4, 12, 2, 1]);
        let flat = of_view(&base, &View::Reshape(Shape::from_slice(&[1, 24]))).unwrap();
        assert!(flat.is_contiguous());
        let scalar = of_view(&Layout::contiguous(&[1, 1]), &View::Reshape(Shape::new())).unwrap();
        assert_eq!(scalar.shape.len(), 0);
    }
}
