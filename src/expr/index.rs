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
        assert_eq!(Index::Mod(Box::new(shifted), 4).range(&[4]), Some((1, 3)));
        assert_eq!(Index::Mod(d(0), 8).range(&[4]), Some((0, 3)));
        assert_eq!(Index::Read(0).range(&[]), None);
    }
}
