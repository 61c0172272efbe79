//! Integer expressions over the output coordinates of a `Map`: which element an access reads.

/// An integer expression. `Dim(i)` is the i-th output coordinate, 0 ≤ coordinate < size.
/// Division and remainder floor (coordinates may go negative before they are bounded).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    Dim(usize),
    Constant(i64),
    Add(Box<Index>, Box<Index>),
    /// By a constant.
    Mul(Box<Index>, i64),
    /// By a positive constant.
    FloorDiv(Box<Index>, i64),
    /// By a positive constant.
    Mod(Box<Index>, i64),
    /// The element of an index input (the Map's k-th access), as an integer.
    Read(usize),
}

impl Index {
    /// The value at the given output coordinates; `read` supplies index inputs.
    pub fn evaluate(&self, at: &[usize], read: &mut dyn FnMut(usize) -> i64) -> i64 {
        match self {
            Index::Dim(i) => at[*i] as i64,
            Index::Constant(c) => *c,
            Index::Add(a, b) => a.evaluate(at, read) + b.evaluate(at, read),
            Index::Mul(a, c) => a.evaluate(at, read) * c,
            Index::FloorDiv(a, c) => a.evaluate(at, read).div_euclid(*c),
            Index::Mod(a, c) => a.evaluate(at, read).rem_euclid(*c),
            Index::Read(k) => read(*k),
        }
    }
}

impl Index {
    /// Calls `each` with every output coordinate (`Dim`) in it.
    pub fn dims(&self, each: &mut dyn FnMut(usize)) {
        match self {
            Index::Dim(i) => each(*i),
            Index::Constant(_) | Index::Read(_) => {}
            Index::Add(a, b) => {
                a.dims(each);
                b.dims(each);
            }
            Index::Mul(a, _) | Index::FloorDiv(a, _) | Index::Mod(a, _) => a.dims(each),
        }
    }

    /// The smallest interval that interval arithmetic proves to hold every value (inclusive), for
    /// 0 ≤ Dim(i) < dims[i], all sizes at least 1. `None` where an index input decides. Occurrences
    /// of one coordinate count as independent, so the interval may be too wide, never too narrow.
    pub fn range(&self, dims: &[usize]) -> Option<(i128, i128)> {
        Some(match self {
            Index::Dim(i) => (0, dims[*i] as i128 - 1),
            Index::Constant(c) => (i128::from(*c), i128::from(*c)),
            Index::Add(a, b) => {
                let (a, b) = (a.range(dims)?, b.range(dims)?);
                (a.0 + b.0, a.1 + b.1)
            }
            Index::Mul(a, c) => {
                let (low, high) = a.range(dims)?;
                let (x, y) = (low * i128::from(*c), high * i128::from(*c));
                (x.min(y), x.max(y))
            }
            Index::FloorDiv(a, c) => {
                let (low, high) = a.range(dims)?;
                (low.div_euclid(i128::from(*c)), high.div_euclid(i128::from(*c)))
            }
            Index::Mod(a, c) => {
                let c = i128::from(*c);
                match a.range(dims)? {
                    (low, high) if low.div_euclid(c) == high.div_euclid(c) => (low.rem_euclid(c), high.rem_euclid(c)),
                    _ => (0, c - 1),
                }
            }
            Index::Read(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_every_value() {
        let d = |i| Box::new(Index::Dim(i));
        let shifted = Index::Add(Box::new(Index::Mul(d(0), -2)), Box::new(Index::Constant(3)));
        assert_eq!(shifted.range(&[4]), Some((-3, 3)));
        assert_eq!(Index::FloorDiv(Box::new(shifted.clone()), 2).range(&[4]), Some((-2, 1)));
        assert_eq!(Index::Mod(Box::new(shifted), 4).range(&[4]), Some((0, 3)));
        assert_eq!(Index::Mod(d(0), 8).range(&[4]), Some((0, 3)));
        assert_eq!(Index::Read(0).range(&[]), None);
    }
}
