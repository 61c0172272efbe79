//! Loops over lanes that lie at strides: line by line, where axes that follow one another everywhere count as one.
//! Negative strides are not taken.

use smallvec::SmallVec;

use super::Storage;

type Extents = SmallVec<[usize; 6]>;

/// Axes and strides with those joined that every operand walks as one; the last is the line.
fn joined<const N: usize>(shape: &[usize], strides: [&[i64]; N]) -> (Extents, [SmallVec<[i64; 6]>; N]) {
    let mut extents = Extents::new();
    let mut steps: [SmallVec<[i64; 6]>; N] = std::array::from_fn(|_| SmallVec::new());
    for axis in (0..shape.len()).filter(|&axis| shape[axis] != 1) {
        let n = shape[axis];
        let follows = |(steps, strides): (&SmallVec<[i64; 6]>, &&[i64])| {
            steps.last().is_some_and(|&outer| outer == strides[axis] * n as i64)
        };
        let one = steps.iter().zip(&strides).all(follows);
        if one && !extents.is_empty() {
            let last = extents.len() - 1;
            extents[last] *= n;
            steps.iter_mut().zip(&strides).for_each(|(steps, strides)| steps[last] = strides[axis]);
        } else {
            extents.push(n);
            steps.iter_mut().zip(&strides).for_each(|(steps, strides)| steps.push(strides[axis]));
        }
    }
    if extents.is_empty() {
        extents.push(1);
        steps.iter_mut().for_each(|steps| steps.push(0));
    }
    (extents, steps)
}

/// Calls `line(starts, steps, n)` for every line of `shape`, in row-major order: lane `i` of operand `k` lies at
/// `starts[k] + i·steps[k]`. Strides are in lanes and not negative.
fn lines<const N: usize>(shape: &[usize], strides: [&[i64]; N], mut line: impl FnMut([usize; N], [usize; N], usize)) {
    if shape.contains(&0) {
        return;
    }
    let (extents, strides) = joined(shape, strides);
    let (&n, outer) = extents.split_last().expect("invariant: a joined shape has an axis");
    let steps = std::array::from_fn(|k| strides[k][outer.len()] as usize);
    let mut at: SmallVec<[usize; 6]> = SmallVec::from_elem(0, outer.len());
    let mut starts = [0i64; N];
    loop {
        line(starts.map(|start| start as usize), steps, n);
        let next = (0..outer.len()).rev().find(|&axis| {
            at[axis] += 1;
            let ends = at[axis] == outer[axis];
            for (start, strides) in starts.iter_mut().zip(&strides) {
                *start += if ends { -strides[axis] * (outer[axis] as i64 - 1) } else { strides[axis] };
            }
            if ends {
                at[axis] = 0;
            }
            !ends
        });
        if next.is_none() {
            return;
        }
    }
}

/// `f(a, b)` at every coordinate of `shape`, in row-major order. Strides are in lanes, not negative, and stay inside the
/// slices.
pub fn zip<T: Copy>(
    shape: &[usize],
    (a, a_strides): (&[T], &[i64]),
    (b, b_strides): (&[T], &[i64]),
    f: impl Fn(T, T) -> T,
) -> Vec<T> {
    let mut out = Vec::with_capacity(shape.iter().product());
    lines(shape, [a_strides, b_strides], |[x, y], steps, n| match steps {
        [1, 1] => out.extend(a[x..x + n].iter().zip(&b[y..y + n]).map(|(&a, &b)| f(a, b))),
        [1, 0] => {
            let b = b[y];
            out.extend(a[x..x + n].iter().map(|&a| f(a, b)));
        }
        [dx, dy] => out.extend((0..n).map(|i| f(a[x + i * dx], b[y + i * dy]))),
    });
    out
}

/// Copies `from` to the lanes `to_start + …` of `to`, coordinate by coordinate of `shape`. Strides are in lanes, not
/// negative, and stay inside the storages, which have one carrier.
pub fn copy(
    shape: &[usize],
    (to, to_start, to_strides): (&mut Storage, usize, &[i64]),
    (from, from_strides): (&Storage, &[i64]),
) {
    fn lanes<T: Copy>(shape: &[usize], to: (&mut [T], &[i64]), from: (&[T], &[i64])) {
        lines(shape, [to.1, from.1], |[x, y], steps, n| match steps {
            [1, 1] => to.0[x..x + n].copy_from_slice(&from.0[y..y + n]),
            [dx, dy] => (0..n).for_each(|i| to.0[x + i * dx] = from.0[y + i * dy]),
        });
    }
    // The first of no lanes may lie behind the storage's end.
    if shape.contains(&0) {
        return;
    }
    match (to, from) {
        (Storage::F64(to), Storage::F64(from)) => lanes(shape, (&mut to[to_start..], to_strides), (from, from_strides)),
        (Storage::F32(to), Storage::F32(from)) => lanes(shape, (&mut to[to_start..], to_strides), (from, from_strides)),
        (Storage::I64(to), Storage::I64(from)) => lanes(shape, (&mut to[to_start..], to_strides), (from, from_strides)),
        (Storage::Bool(to), Storage::Bool(from)) => lanes(shape, (&mut to[to_start..], to_strides), (from, from_strides)),
        (_, _) => unreachable!("invariant: both storages have one carrier"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line as its lanes' places.
    fn places<const N: usize>(shape: &[usize], strides: [&[i64]; N]) -> (usize, Vec<[usize; N]>) {
        let (mut count, mut all) = (0, Vec::new());
        lines(shape, strides, |starts, steps, n| {
            count += 1;
            all.extend((0..n).map(|i| std::array::from_fn::<_, N, _>(|k| starts[k] + i * steps[k])));
        });
        (count, all)
    }

    #[test]
    fn axes_that_follow_one_another_are_one_line() {
        let (lines, all) = places(&[2, 3, 1, 4], [&[12, 4, 4, 1], &[0, 0, 0, 0]]);
        assert_eq!((lines, all), (1, (0..24).map(|i| [i, 0]).collect()));
        let (lines, all) = places(&[2, 3, 4], [&[12, 4, 1], &[1, 0, 0]]);
        assert_eq!((lines, all), (2, (0..24).map(|i| [i, i / 12]).collect()));
        let (lines, all) = places(&[2, 3], [&[1, 2]]);
        assert_eq!((lines, all), (2, [0, 2, 4, 1, 3, 5].map(|i| [i]).to_vec()));
    }

    #[test]
    fn scalars_have_one_lane_and_empty_shapes_none() {
        assert_eq!(places(&[], [&[], &[]]), (1, vec![[0, 0]]));
        assert_eq!(places(&[1, 1], [&[7, 7]]), (1, vec![[0]]));
        assert_eq!(places(&[3, 0, 2], [&[0, 2, 1]]), (0, vec![]));
    }

    #[test]
    fn operands_are_combined_at_their_strides() {
        let (a, b) = ([1, 2, 3, 4, 5, 6], [10, 20, 30]);
        assert_eq!(zip(&[2, 3], (&a, &[3, 1]), (&b, &[0, 1]), |a, b| a - b), [-9, -18, -27, -6, -15, -24]);
        assert_eq!(zip(&[2, 3], (&a, &[3, 1]), (&b, &[1, 0]), |a, b| a - b), [-9, -8, -7, -16, -15, -14]);
        assert_eq!(zip(&[3, 2], (&a, &[1, 3]), (&b, &[0, 0]), |a, b| a - b), [-9, -6, -8, -5, -7, -4]);
    }

    #[test]
    fn a_block_is_copied_into_a_larger_one() {
        let mut to = Storage::I64(vec![0; 12]);
        copy(&[2, 2], (&mut to, 5, &[4, 1]), (&Storage::I64(vec![1, 2, 3, 4]), &[1, 2]));
        assert_eq!(to, Storage::I64(vec![0, 0, 0, 0, 0, 1, 3, 0, 0, 2, 4, 0]));
        // Without elements there is no place to copy to.
        let mut none = Storage::I64(vec![]);
        copy(&[2, 0], (&mut none, 2, &[1, 1]), (&Storage::I64(vec![]), &[1, 1]));
    }
}
