//! A template's axes on one problem: which logical dimensions each stands for, and where an
//! operand's elements lie along them.
//!
//! An axis of several dimensions (a *group*) is one flattened number in the kernel. Its members are
//! ordered by the output's strides, largest first, so that operands which share a permuted layout
//! (channels-last) are walked in memory order. An operand whose strides make the flattened number a
//! plain multiple is *affine* in the group; for the others the group is cut into *parts*, as few as
//! all of them allow, and a part's coordinate comes by `//` and `%`.

use std::ops::Range;

use crate::expr::index::Index;

/// One axis with its sizes.
#[derive(Clone, Debug)]
pub struct Axis {
    pub name: String,
    /// Whether the manifest says `many`: such an axis is flattened even when it has one member.
    pub many: bool,
    /// Sizes of the members, in the group's order.
    pub sizes: Vec<usize>,
    /// For each member, its position among the axis's logical dimensions.
    pub order: Vec<usize>,
    /// Members of each part.
    pub parts: Vec<Range<usize>>,
}

impl Axis {
    pub fn new(name: &str, many: bool, sizes: Vec<usize>) -> Axis {
        let n = sizes.len();
        Axis { name: name.to_owned(), many, sizes, order: (0..n).collect(), parts: std::iter::once(0..n).collect() }
    }

    /// The product of the sizes.
    pub fn size(&self) -> i64 {
        self.sizes.iter().map(|&s| s as i64).product()
    }

    pub fn part_size(&self, part: usize) -> i64 {
        self.sizes[self.parts[part].clone()].iter().map(|&s| s as i64).product()
    }

    /// Orders the members by these strides (one a logical position), largest first.
    pub fn sort_by(&mut self, strides: &[i64]) {
        let logical = self.sizes.clone();
        self.order.sort_by_key(|&i| if logical[i] == 1 { i64::MIN } else { -strides[i].abs() });
        self.sizes = self.order.iter().map(|&i| logical[i]).collect();
    }

    /// Cuts the group so that each of these coefficient lists (one a member) is affine in every
    /// part, and each isolated member is a part of its own.
    pub fn cut(&mut self, uses: &[Vec<i64>], isolated: &[usize]) {
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut last: Option<usize> = None;
        for (i, &size) in self.sizes.iter().enumerate() {
            let joined = match last {
                _ if size == 1 => true,
                None => true,
                Some(before) => {
                    !isolated.contains(&i)
                        && !isolated.contains(&before)
                        && uses.iter().all(|coefs| coefs[before] == coefs[i] * size as i64)
                }
            };
            match parts.last_mut() {
                Some(part) if joined => part.end = i + 1,
                _ => parts.push(i..i + 1),
            }
            if size > 1 {
                last = Some(i);
            }
        }
        self.parts = if parts.is_empty() { std::iter::once(0..0).collect() } else { parts };
    }

    /// The member of a logical position.
    pub fn member(&self, logical: usize) -> Option<usize> {
        self.order.iter().position(|&o| o == logical)
    }
}

/// The one stride of a flattened run of members, when there is one: 0 where all sizes are 1.
pub fn affine_stride(coefs: &[i64], sizes: &[usize]) -> Option<i64> {
    let mut run: Option<(i64, i64)> = None;
    for (&coef, &size) in coefs.iter().zip(sizes).rev().filter(|&(_, &size)| size > 1) {
        match run {
            None => run = Some((coef, coef * size as i64)),
            Some((_, next)) if coef != next => return None,
            Some((stride, next)) => run = Some((stride, next * size as i64)),
        }
    }
    Some(run.map_or(0, |r| r.0))
}

/// An index expression as constant + Σ factor · dimension, when it is that.
pub fn affine(index: &Index) -> Option<(i64, Vec<(usize, i64)>)> {
    match index {
        Index::Dim(d) => Some((0, vec![(*d, 1)])),
        Index::Constant(c) => Some((*c, Vec::new())),
        Index::Add(a, b) => {
            let ((base, mut terms), (more, others)) = (affine(a)?, affine(b)?);
            for (d, factor) in others {
                match terms.iter_mut().find(|t| t.0 == d) {
                    Some(term) => term.1 += factor,
                    None => terms.push((d, factor)),
                }
            }
            Some((base + more, terms))
        }
        Index::Mul(a, c) => {
            let (base, terms) = affine(a)?;
            Some((base * c, terms.into_iter().map(|(d, factor)| (d, factor * c)).collect()))
        }
        Index::FloorDiv(..) | Index::Mod(..) | Index::Read(_) => None,
    }
}

/// Smallest and largest value over all coordinates; `None` when it depends on an index input.
pub fn bounds(index: &Index, dims: &[usize]) -> Option<(i64, i64)> {
    Some(match index {
        Index::Dim(d) => (0, dims[*d] as i64 - 1),
        Index::Constant(c) => (*c, *c),
        Index::Add(a, b) => {
            let ((a0, a1), (b0, b1)) = (bounds(a, dims)?, bounds(b, dims)?);
            (a0 + b0, a1 + b1)
        }
        Index::Mul(a, c) => {
            let (a0, a1) = bounds(a, dims)?;
            ((a0 * c).min(a1 * c), (a0 * c).max(a1 * c))
        }
        Index::FloorDiv(a, c) => {
            let (a0, a1) = bounds(a, dims)?;
            (a0.div_euclid(*c), a1.div_euclid(*c))
        }
        Index::Mod(a, c) => {
            let Some((a0, a1)) = bounds(a, dims) else { return Some((0, c - 1)) };
            if a0.div_euclid(*c) == a1.div_euclid(*c) { (a0.rem_euclid(*c), a1.rem_euclid(*c)) } else { (0, c - 1) }
        }
        Index::Read(_) => return None,
    })
}

/// The dimensions that an index expression reads other than affinely.
pub fn bent_dims(index: &Index) -> Vec<usize> {
    fn all(index: &Index, out: &mut Vec<usize>) {
        match index {
            Index::Dim(d) => out.push(*d),
            Index::Constant(_) | Index::Read(_) => {}
            Index::Add(a, b) => {
                all(a, out);
                all(b, out);
            }
            Index::Mul(a, _) | Index::FloorDiv(a, _) | Index::Mod(a, _) => all(a, out),
        }
    }
    let mut dims = Vec::new();
    if affine(index).is_none() {
        all(index, &mut dims);
    }
    dims
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::parse::parse_index;

    #[test]
    fn groups_are_cut_only_where_an_operand_bends() {
        let mut e = Axis::new("e", true, vec![2, 64, 7, 7]);
        e.cut(&[vec![0, 1, 0, 0]], &[]);
        assert_eq!(e.parts, [0..1, 1..2, 2..4]);
        assert_eq!(e.part_size(2), 49);
        let mut batch_one = Axis::new("e", true, vec![1, 64, 7, 7]);
        batch_one.cut(&[vec![0, 1, 0, 0]], &[]);
        assert_eq!(batch_one.parts, [0..2, 2..4]);
        batch_one.cut(&[vec![3136, 49, 7, 1]], &[]);
        assert_eq!(batch_one.parts.len(), 1);
        batch_one.cut(&[], &[2]);
        assert_eq!(batch_one.parts, [0..2, 2..3, 3..4]);
    }

    #[test]
    fn members_follow_the_output_in_memory() {
        let mut e = Axis::new("e", true, vec![1, 64, 7, 7]);
        e.sort_by(&[3136, 1, 448, 64]);
        assert_eq!(e.sizes, [1, 7, 7, 64]);
        assert_eq!(affine_stride(&[3136, 448, 64, 1], &e.sizes), Some(1));
        assert_eq!(affine_stride(&[3136, 7, 1, 49], &e.sizes), None);
    }

    #[test]
    fn index_expressions_are_understood() {
        let i = |text: &str| parse_index(text).unwrap();
        assert_eq!(affine(&i("d0 * 2 + d1 - 3 + d0")), Some((-3, vec![(0, 3), (1, 1)])));
        assert_eq!(bounds(&i("d0 * 2 + d1 - 3"), &[4, 5]), Some((-3, 7)));
        assert_eq!(bounds(&i("(d0 - 1) // 2"), &[4]), Some((-1, 1)));
        assert_eq!(bent_dims(&i("d0 // 2 + d1")), [0, 1]);
        assert!(bent_dims(&i("d0 * 2 + d1")).is_empty());
    }
}
