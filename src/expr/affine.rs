//! Index expressions in normal form: sums of atoms with coefficients, simplified by ranges.
//!
//! An atom is a coordinate, an index read, or a floor division or remainder of a normal sum that
//! could not be resolved. With the sizes of the coordinates known, division and remainder go where
//! a range proves them trivial, common factors divide out, nested divisions merge, and
//! x // n · n + x % n becomes x again. The algorithm is complete for what reshapes and slices of
//! one another make; it does not know relations between different coordinates, nor the range of an
//! index read. Coefficients are saturating i128 inside; an index that leaves i64 is returned as it
//! was.

use std::collections::BTreeMap;

use super::index::Index;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Atom {
    Dim(usize),
    Read(usize),
    FloorDiv(Box<Sum>, i128),
    Mod(Box<Sum>, i128),
}

/// Σ coefficient · atom + constant; no coefficient is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Sum {
    terms: BTreeMap<Atom, i128>,
    constant: i128,
}

impl Sum {
    fn constant(constant: i128) -> Sum {
        Sum { terms: BTreeMap::new(), constant }
    }

    fn atom(atom: Atom) -> Sum {
        Sum { terms: BTreeMap::from([(atom, 1)]), constant: 0 }
    }

    fn plus(mut self, other: &Sum, times: i128) -> Sum {
        for (atom, coefficient) in &other.terms {
            let total = self.terms.entry(atom.clone()).or_insert(0);
            *total = total.saturating_add(coefficient.saturating_mul(times));
            if *total == 0 {
                self.terms.remove(atom);
            }
        }
        self.constant = self.constant.saturating_add(other.constant.saturating_mul(times));
        self
    }

    /// Least and greatest value over all coordinates; `None` when an index read is in it.
    fn range(&self, dims: &[usize]) -> Option<(i128, i128)> {
        let (mut low, mut high) = (self.constant, self.constant);
        for (atom, &coefficient) in &self.terms {
            let (l, h) = match atom {
                Atom::Dim(i) => (0, (dims[*i] as i128 - 1).max(0)),
                Atom::Read(_) => return None,
                Atom::FloorDiv(x, n) => x.range(dims).map(|(l, h)| (l.div_euclid(*n), h.div_euclid(*n)))?,
                Atom::Mod(_, n) => (0, n - 1),
            };
            let (l, h) = (l.saturating_mul(coefficient), h.saturating_mul(coefficient));
            low = low.saturating_add(l.min(h));
            high = high.saturating_add(l.max(h));
        }
        Some((low, high))
    }

    /// The quotient by `n` where it is the same for all coordinates.
    fn one_quotient(&self, n: i128, dims: &[usize]) -> Option<i128> {
        let (low, high) = self.range(dims)?;
        (low.div_euclid(n) == high.div_euclid(n)).then(|| low.div_euclid(n))
    }

    /// (quotient, rest) with self = quotient · n + rest: whole multiples of n are split off.
    fn split(&self, n: i128) -> (Sum, Sum) {
        let mut quotient = Sum::constant(self.constant.div_euclid(n));
        let mut rest = Sum::constant(self.constant.rem_euclid(n));
        for (atom, &coefficient) in &self.terms {
            if coefficient % n == 0 {
                quotient.terms.insert(atom.clone(), coefficient / n);
            } else {
                rest.terms.insert(atom.clone(), coefficient);
            }
        }
        (quotient, rest)
    }

    /// The greatest common divisor of `n` and all coefficients.
    fn common(&self, n: i128) -> i128 {
        self.terms.values().fold(n, |g, &c| gcd(g, c))
    }

    /// Coefficients divided by a common factor, the constant floored.
    fn divided(&self, by: i128) -> Sum {
        let terms = self.terms.iter().map(|(atom, c)| (atom.clone(), c / by)).collect();
        Sum { terms, constant: self.constant.div_euclid(by) }
    }

    fn floor_div(&self, n: i128, dims: &[usize]) -> Sum {
        let (quotient, rest) = self.split(n);
        if let Some(q) = rest.one_quotient(n, dims) {
            return quotient.plus(&Sum::constant(q), 1);
        }
        let common = rest.common(n);
        if common > 1 {
            return quotient.plus(&rest.divided(common).floor_div(n / common, dims), 1);
        }
        // ⌊(⌊x / m⌋ + c) / n⌋ = ⌊(x + c·m) / (m·n)⌋
        if let Some((Atom::FloorDiv(x, m), 1)) = rest.only_term() {
            let inner = (**x).clone().plus(&Sum::constant(rest.constant), *m);
            return quotient.plus(&inner.floor_div(m.saturating_mul(n), dims), 1);
        }
        quotient.plus(&Sum::atom(Atom::FloorDiv(Box::new(rest), n)), 1)
    }

    fn modulo(&self, n: i128, dims: &[usize]) -> Sum {
        let (_, mut rest) = self.split(n);
        // k · (x mod m) ≡ k · x (mod n) where n divides k · m
        let inner = rest.terms.iter().find_map(|(atom, &k)| match atom {
            Atom::Mod(x, m) if k.saturating_mul(*m) % n == 0 => Some((atom.clone(), x.clone(), k)),
            Atom::Mod(..) | Atom::Dim(_) | Atom::Read(_) | Atom::FloorDiv(..) => None,
        });
        if let Some((atom, x, k)) = inner {
            rest.terms.remove(&atom);
            return rest.plus(&x, k).modulo(n, dims);
        }
        if let Some(q) = rest.one_quotient(n, dims) {
            return rest.plus(&Sum::constant(n), -q);
        }
        // (g·x + c) mod n = g · ((x + ⌊c/g⌋) mod n/g) + c mod g
        let common = rest.common(n);
        if common > 1 {
            let low = Sum::constant(rest.constant.rem_euclid(common));
            return low.plus(&rest.divided(common).modulo(n / common, dims), common);
        }
        Sum::atom(Atom::Mod(Box::new(rest), n))
    }

    fn only_term(&self) -> Option<(&Atom, i128)> {
        let mut terms = self.terms.iter();
        match (terms.next(), terms.next()) {
            (Some((atom, &coefficient)), None) => Some((atom, coefficient)),
            _ => None,
        }
    }

    /// x // n · (k·n) + x % n · k becomes x · k.
    fn rejoin(mut self, dims: &[usize]) -> Sum {
        loop {
            let pair = self.terms.iter().find_map(|(remainder, &k)| {
                let Atom::Mod(x, n) = remainder else { return None };
                let quotient = x.floor_div(*n, dims);
                let (atom, 1) = quotient.only_term()? else { return None };
                let fits = quotient.constant == 0 && self.terms.get(atom) == Some(&k.saturating_mul(*n));
                fits.then(|| (remainder.clone(), atom.clone(), x.clone(), k))
            });
            let Some((remainder, quotient, x, k)) = pair else { return self };
            self.terms.remove(&remainder);
            self.terms.remove(&quotient);
            self = self.plus(&x, k);
        }
    }

    fn of(index: &Index, dims: &[usize]) -> Sum {
        match index {
            Index::Dim(i) if dims[*i] == 1 => Sum::constant(0),
            Index::Dim(i) => Sum::atom(Atom::Dim(*i)),
            Index::Read(k) => Sum::atom(Atom::Read(*k)),
            Index::Constant(c) => Sum::constant(*c as i128),
            Index::Add(a, b) => Sum::of(a, dims).plus(&Sum::of(b, dims), 1).rejoin(dims),
            Index::Mul(a, c) => Sum::default().plus(&Sum::of(a, dims), *c as i128),
            Index::FloorDiv(a, n) => Sum::of(a, dims).floor_div(*n as i128, dims).rejoin(dims),
            Index::Mod(a, n) => Sum::of(a, dims).modulo(*n as i128, dims).rejoin(dims),
        }
    }

    fn index(&self) -> Option<Index> {
        let mut sum: Option<Index> = None;
        let mut add = |item: Index| {
            sum = Some(match sum.take() {
                Some(sum) => Index::Add(Box::new(sum), Box::new(item)),
                None => item,
            })
        };
        for (atom, &coefficient) in &self.terms {
            let atom = match atom {
                Atom::Dim(i) => Index::Dim(*i),
                Atom::Read(k) => Index::Read(*k),
                Atom::FloorDiv(x, n) => Index::FloorDiv(Box::new(x.index()?), i64::try_from(*n).ok()?),
                Atom::Mod(x, n) => Index::Mod(Box::new(x.index()?), i64::try_from(*n).ok()?),
            };
            add(match i64::try_from(coefficient).ok()? {
                1 => atom,
                c => Index::Mul(Box::new(atom), c),
            });
        }
        if self.constant != 0 || self.terms.is_empty() {
            add(Index::Constant(i64::try_from(self.constant).ok()?));
        }
        sum
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

impl Index {
    /// The same function in normal form, given the sizes of the coordinates. A bare coordinate stays,
    /// though its size be 1, so that an operand read at its own coordinates is seen to be.
    pub fn simplify(&self, dims: &[usize]) -> Index {
        if let Index::Dim(_) = self {
            return self.clone();
        }
        Sum::of(self, dims).index().unwrap_or_else(|| self.clone())
    }

    /// An interval that holds every value (inclusive), for 0 ≤ coordinate < its size, all sizes at
    /// least 1; it may be too wide, never too narrow. `None` when an index read decides it.
    pub fn range(&self, dims: &[usize]) -> Option<(i128, i128)> {
        Sum::of(self, dims).range(dims)
    }

    /// (coefficient of each coordinate, constant) when the index is affine in the coordinates.
    pub fn affine(&self, dims: &[usize]) -> Option<(Vec<i64>, i64)> {
        let sum = Sum::of(self, dims);
        let mut coefficients = vec![0; dims.len()];
        for (atom, &c) in &sum.terms {
            let Atom::Dim(i) = atom else { return None };
            coefficients[*i] = i64::try_from(c).ok()?;
        }
        Some((coefficients, i64::try_from(sum.constant).ok()?))
    }

    /// The index with every coordinate and index read replaced.
    pub fn substitute(&self, dim: &impl Fn(usize) -> Index, read: &impl Fn(usize) -> Index) -> Index {
        let of = |a: &Index| Box::new(a.substitute(dim, read));
        match self {
            Index::Dim(i) => dim(*i),
            Index::Read(k) => read(*k),
            Index::Constant(_) => self.clone(),
            Index::Add(a, b) => Index::Add(of(a), of(b)),
            Index::Mul(a, c) => Index::Mul(of(a), *c),
            Index::FloorDiv(a, n) => Index::FloorDiv(of(a), *n),
            Index::Mod(a, n) => Index::Mod(of(a), *n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse_index;
    use super::*;
    use proptest::prelude::*;

    fn simple(text: &str, dims: &[usize]) -> String {
        parse_index(text).unwrap().simplify(dims).to_string()
    }

    #[test]
    fn division_and_remainder_go_where_ranges_prove_it() {
        assert_eq!(simple("d0//7", &[7]), "0");
        assert_eq!(simple("d0%7", &[7]), "d0");
        assert_eq!(simple("d0%7", &[8]), "d0%7");
        assert_eq!(simple("(d0*7 + d1)//7", &[4, 7]), "d0");
        assert_eq!(simple("(d0*7 + d1)%7", &[4, 7]), "d1");
        assert_eq!(simple("(d0*14 + d1*2)//14", &[4, 7]), "d0");
        assert_eq!(simple("(d0*2 + 3)//2", &[9]), "d0 + 1");
        assert_eq!(simple("d0 + d1", &[1, 5]), "d1");
        assert_eq!(simple("(d0 - 3)//4", &[3]), "-1");
        assert_eq!(simple("d0//4//3", &[60]), "d0//12");
        assert_eq!(simple("d0%12%4", &[60]), "d0%4");
        assert_eq!(simple("(d0%12)//4", &[60]), "d0%12//4");
    }

    #[test]
    fn reshapes_of_reshapes_come_back() {
        assert_eq!(simple("d0//7*7 + d0%7", &[60]), "d0");
        assert_eq!(simple("d0//12*12 + d0//4%3*4 + d0%4", &[60]), "d0");
        assert_eq!(simple("(d0//12*12 + d0//4%3*4 + d0%4)%5", &[60]), "d0%5");
        assert_eq!(simple("(r0*4 + d0)//4", &[4]), "r0");
    }

    #[test]
    fn ranges_and_affine_forms() {
        let index = parse_index("d0*-2 + d1 + 3").unwrap();
        assert_eq!(index.range(&[4, 5]), Some((-3, 7)));
        assert_eq!(index.affine(&[4, 5]), Some((vec![-2, 1], 3)));
        assert_eq!(parse_index("d0//2").unwrap().affine(&[4, 5]), None);
        assert_eq!(parse_index("r0").unwrap().range(&[4]), None);
        assert_eq!(parse_index("r0%3").unwrap().range(&[4]), Some((0, 2)));
    }

    fn index() -> impl Strategy<Value = Index> {
        let leaf = prop_oneof![(0usize..3).prop_map(Index::Dim), (-9i64..10).prop_map(Index::Constant), Just(Index::Read(0))];
        leaf.prop_recursive(6, 30, 2, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| Index::Add(Box::new(a), Box::new(b))),
                (inner.clone(), -4i64..13).prop_map(|(a, c)| Index::Mul(Box::new(a), c)),
                (inner.clone(), 1i64..13).prop_map(|(a, c)| Index::FloorDiv(Box::new(a), c)),
                (inner, 1i64..13).prop_map(|(a, c)| Index::Mod(Box::new(a), c)),
            ]
        })
    }

    proptest! {
        #[test]
        fn simplifying_keeps_values_and_ranges_hold(
            index in index(),
            dims in proptest::collection::vec(1usize..6, 3),
            read in -20i64..20,
        ) {
            let small = index.simplify(&dims);
            let range = index.range(&dims);
            let affine = index.affine(&dims);
            for at in (0..dims[0]).flat_map(|a| (0..dims[1]).map(move |b| (a, b))) {
                for c in 0..dims[2] {
                    let at = [at.0, at.1, c];
                    let value = index.evaluate(&at, &mut |_| read);
                    prop_assert_eq!(value, small.evaluate(&at, &mut |_| read), "{} became {}", index, small);
                    if let Some((low, high)) = range {
                        prop_assert!((low..=high).contains(&i128::from(value)), "{} in {}..={}", index, low, high);
                    }
                    if let Some((coefficients, constant)) = &affine {
                        let sum: i64 = coefficients.iter().zip(at).map(|(c, i)| c * i as i64).sum();
                        prop_assert_eq!(value, sum + constant);
                    }
                }
            }
        }

        #[test]
        fn printing_reads_back(index in index()) {
            let small = index.simplify(&[3, 4, 5]);
            prop_assert_eq!(parse_index(&small.to_string()), Ok(small));
        }
    }
}
