//! An emulated output against the reference, element by element, under derived bounds.
//!
//! The reference is rounded to the output's dtype where it overflows; NaN and infinities must stand
//! at the same places with the same sign, whatever the bound: only where a finite reference comes
//! within a finite bound of the largest number may one side overflow and the other not. Not caught:
//! errors below the bound, which is everything finite where the bound is infinite; such elements are
//! marked as unsettled by `bound`, and few of them may be.

use rayon::prelude::*;

use super::bound::Derived;
use crate::diag::number;
use crate::dtype::DType;
use crate::reference::floats;
use crate::shape::Shape;
use crate::tensor::{Storage, Tensor};

/// How two tensors of one shape compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub elements: usize,
    /// Elements outside their bound, non-finite ones at wrong places included.
    pub failures: usize,
    /// The largest |got − expected| over elements that are finite in both.
    pub max_abs_err: f64,
    /// The largest |got − expected| / |expected|; elements below a millionth of the largest one do
    /// not count.
    pub max_rel_err: f64,
    /// The largest |got − expected| / bound: at most 1 when nothing fails.
    pub error_over_bound: f64,
    /// The element with the largest error over its bound, when any differs.
    pub worst: Option<Worst>,
    /// Whether NaN and infinities stand at the same places.
    pub non_finite_equal: bool,
    /// Elements that were allowed either side of a breakpoint (a rounding, a comparison).
    pub unsettled: usize,
}

/// One element that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Worst {
    pub index: Shape,
    pub expected: f64,
    pub got: f64,
    /// Allowed |got − expected|.
    pub bound: f64,
}

impl Comparison {
    /// Nothing fails, and at most 1 % of the elements were allowed either side.
    pub fn passed(&self) -> bool {
        self.failures == 0 && self.unsettled * 100 <= self.elements
    }
}

/// What a range of elements gives.
#[derive(Clone, Copy)]
struct Part {
    failures: usize,
    unsettled: usize,
    max_abs: f64,
    max_rel: f64,
    /// (error over bound, error, flat element)
    worst: (f64, f64, usize),
    non_finite_equal: bool,
}

impl Part {
    const NONE: Part =
        Part { failures: 0, unsettled: 0, max_abs: 0.0, max_rel: 0.0, worst: (0.0, 0.0, usize::MAX), non_finite_equal: true };

    fn and(mut self, other: Part) -> Part {
        self.keep_worst(other.worst);
        Part {
            failures: self.failures + other.failures,
            unsettled: self.unsettled + other.unsettled,
            max_abs: self.max_abs.max(other.max_abs),
            max_rel: self.max_rel.max(other.max_rel),
            worst: self.worst,
            non_finite_equal: self.non_finite_equal && other.non_finite_equal,
        }
    }

    /// Of equals the first element stays.
    fn keep_worst(&mut self, candidate: (f64, f64, usize)) {
        let (ratio, error, at) = self.worst;
        let larger = (candidate.0, candidate.1) > (ratio, error);
        if larger || ((candidate.0, candidate.1) == (ratio, error) && candidate.2 < at) {
            self.worst = candidate;
        }
    }
}

/// Compares under bounds.
///
/// # Panics
/// When the shapes differ: callers read the output under the expected shape.
pub fn compare(got: &Tensor, expected: &Tensor, derived: &Derived) -> Comparison {
    assert_eq!(got.shape(), expected.shape(), "invariant: shapes are compared before values");
    const CHUNK: usize = 1 << 14;
    let (lanes, truth) = (floats(got.storage()), floats(expected.storage()));
    let maximum = truth.par_iter().filter(|v| v.is_finite()).map(|v| v.abs()).reduce(|| 0.0, f64::max);
    let element = Element { derived, dtype: got.dtype(), maximum };
    let parts = lanes.par_chunks(CHUNK).zip(truth.par_chunks(CHUNK)).enumerate().map(|(chunk, (lanes, truth))| {
        let mut part = Part::NONE;
        for (i, (&y, &r)) in lanes.iter().zip(truth).enumerate() {
            element.compare(&mut part, chunk * CHUNK + i, y, r);
        }
        part
    });
    let mut part = parts.reduce(|| Part::NONE, Part::and);
    if let (Storage::I64(a), Storage::I64(b)) = (got.storage(), expected.storage()) {
        // Integers beyond 2⁵³ can differ and be equal as f64.
        for (at, (a, b)) in a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b && **a as f64 == **b as f64) {
            part.failures += 1;
            part.keep_worst((f64::INFINITY, a.abs_diff(*b) as f64, at));
        }
    }
    let (ratio, _, at) = part.worst;
    Comparison {
        elements: got.len(),
        failures: part.failures,
        max_abs_err: part.max_abs,
        max_rel_err: part.max_rel,
        error_over_bound: ratio,
        worst: (at != usize::MAX).then(|| Worst {
            index: unflatten(at, got.shape()),
            expected: truth[at],
            got: lanes[at],
            bound: derived.bound_at(at),
        }),
        non_finite_equal: part.non_finite_equal,
        unsettled: part.unsettled,
    }
}

/// The elements outside their bound, in order.
pub fn failing(got: &Tensor, expected: &Tensor, derived: &Derived) -> Vec<usize> {
    let (lanes, truth) = (floats(got.storage()), floats(expected.storage()));
    let element = Element { derived, dtype: got.dtype(), maximum: 0.0 };
    let fails = |&at: &usize| {
        let mut part = Part::NONE;
        element.compare(&mut part, at, lanes[at], truth[at]);
        part.failures > 0
    };
    (0..got.len()).into_par_iter().filter(fails).collect()
}

/// How one element is judged.
struct Element<'d> {
    derived: &'d Derived,
    /// Of the output.
    dtype: DType,
    /// The largest finite |expected|.
    maximum: f64,
}

impl Element<'_> {
    #[inline]
    fn compare(&self, part: &mut Part, at: usize, y: f64, r: f64) {
        let bound = self.derived.bound_at(at);
        part.unsettled += self.derived.is_unsettled(at) as usize;
        let rounded = self.dtype.round(r);
        if y == rounded || (y.is_nan() && rounded.is_nan()) {
            // The nearest element there is; its distance counts only where a bound allows one.
            if bound > 0.0 && y.is_finite() && y != r {
                self.measure(part, at, (y - r).abs(), r, bound);
            }
            return;
        }
        if y.is_finite() && rounded.is_finite() {
            let error = (y - r).abs();
            self.measure(part, at, error, r, bound);
            // A bound that is NaN allows nothing.
            part.failures += (error > bound || bound.is_nan()) as usize;
            return;
        }
        // Near the largest finite number either may overflow.
        let limit = self.dtype.format().map_or(f64::INFINITY, |format| format.max);
        let near = bound > 0.0 && bound.is_finite() && r.is_finite();
        let overflow = near && r.abs() + bound > limit && y.abs() + bound > limit && y.signum() == r.signum();
        if !overflow {
            part.non_finite_equal = false;
            part.failures += 1;
            part.keep_worst((f64::INFINITY, f64::INFINITY, at));
        }
    }

    #[inline]
    fn measure(&self, part: &mut Part, at: usize, error: f64, r: f64, bound: f64) {
        part.max_abs = part.max_abs.max(error);
        if r.abs() > 1e-6 * self.maximum {
            part.max_rel = part.max_rel.max(error / r.abs());
        }
        part.keep_worst((if bound > 0.0 { error / bound } else { f64::INFINITY }, error, at));
    }
}

/// Coordinates of a flat element.
pub fn unflatten(mut flat: usize, sizes: &[usize]) -> Shape {
    let mut index: Shape = Shape::from_elem(0, sizes.len());
    for (coordinate, &size) in index.iter_mut().zip(sizes).rev() {
        *coordinate = flat % size;
        flat /= size;
    }
    index
}

/// `[0, 3, 17]`.
pub fn display_index(index: &[usize]) -> String {
    format!("[{}]", index.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
}

/// One line for people: where and by how much the worst element differs.
impl std::fmt::Display for Worst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = display_index(&self.index);
        write!(f, "at {at}: got {}, expected {}", number(self.got), number(self.expected))?;
        if self.expected.is_finite() { write!(f, " ± {:.2e}", self.bound) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tolerance::Tolerance;

    fn f32s(lanes: &[f32]) -> Tensor {
        Tensor::from_f32(Shape::from_slice(&[lanes.len()]), lanes.to_vec())
    }

    fn f64s(lanes: &[f64]) -> Tensor {
        Tensor::new(DType::F64, Shape::from_slice(&[lanes.len()]), Storage::F64(lanes.to_vec()))
    }

    fn within(bound: f64, len: usize) -> Derived {
        let tolerance = Tolerance::Derived { contraction: None, operators: vec![], cap: None };
        Derived { tolerance, bound: Some(vec![bound; len]), unsettled: None }
    }

    #[test]
    fn the_worst_element_is_the_one_furthest_over_its_bound() {
        let mut derived = within(0.5, 3);
        derived.bound.as_mut().unwrap()[0] = 10.0;
        let c = compare(&f32s(&[5.0, 1.25, 2.0]), &f64s(&[1.0, 1.0, 2.75]), &derived);
        assert_eq!((c.failures, c.max_abs_err, c.max_rel_err, c.error_over_bound), (1, 4.0, 4.0, 1.5));
        let worst = c.worst.unwrap();
        assert_eq!(worst.index.as_slice(), [2]);
        assert_eq!(worst.to_string(), "at [2]: got 2, expected 2.75 ± 5.00e-1");
    }

    #[test]
    fn exact_means_the_rounded_reference() {
        let c = compare(&f32s(&[0.1, -0.0]), &f64s(&[0.1, 0.0]), &Derived::exact());
        assert!(c.passed() && c.worst.is_none(), "{c:?}");
        let c = compare(&f32s(&[0.1 + 1e-8]), &f64s(&[0.1]), &Derived::exact());
        assert_eq!((c.failures, c.error_over_bound), (1, f64::INFINITY));
    }

    #[test]
    fn what_is_not_finite_stands_at_the_same_places() {
        let nan = f32::NAN;
        assert!(compare(&f32s(&[nan, f32::INFINITY]), &f64s(&[f64::NAN, f64::INFINITY]), &within(1.0, 2)).passed());
        for (got, expected) in [(nan, 1.0), (1.0, f64::NAN), (f32::INFINITY, f64::NEG_INFINITY), (f32::INFINITY, 1.0)] {
            let c = compare(&f32s(&[got]), &f64s(&[expected]), &within(1.0, 1));
            assert!(!c.passed() && !c.non_finite_equal, "{got} {expected}");
        }
        // A sum that overflows fp32 in the kernel and rounds to its largest number here, or the
        // other way round.
        let edge = f32::MAX as f64;
        assert!(compare(&f32s(&[f32::INFINITY]), &f64s(&[edge]), &within(1e33, 1)).passed());
        assert!(compare(&f32s(&[f32::MAX]), &f64s(&[edge * 1.0001]), &within(1e35, 1)).passed());
    }

    #[test]
    fn no_bound_makes_an_infinity_finite() {
        for bound in [1.0, f64::INFINITY, f64::NAN] {
            for (got, expected) in [
                (3.0, f64::INFINITY),
                (-3.0, f64::NEG_INFINITY),
                (f32::MAX, f64::INFINITY),
                (f32::INFINITY, 3.0),
                (f32::NEG_INFINITY, -3.0),
                (f32::NAN, 3.0),
            ] {
                let c = compare(&f32s(&[got]), &f64s(&[expected]), &within(bound, 1));
                assert!(!c.passed() && !c.non_finite_equal, "{got} {expected} ± {bound}");
            }
            assert!(compare(&f32s(&[f32::INFINITY]), &f64s(&[f64::INFINITY]), &within(bound, 1)).passed());
        }
        assert!(!compare(&f32s(&[3.0]), &f64s(&[3.5]), &within(f64::NAN, 1)).passed());
    }

    #[test]
    fn large_integers_are_compared_as_integers() {
        let ints = |v: i64| Tensor::from_i64(Shape::from_slice(&[1]), vec![v]);
        assert_eq!(compare(&ints(i64::MAX), &ints(i64::MAX - 1), &Derived::exact()).failures, 1);
        assert_eq!(compare(&ints(i64::MAX), &ints(i64::MAX), &Derived::exact()).failures, 0);
    }

    #[test]
    fn few_elements_may_take_either_side() {
        let mut derived = within(1.0, 100);
        derived.unsettled = Some((0..100).map(|i| i == 0).collect());
        let (zeros, truth) = (f32s(&[0.0; 100]), f64s(&[0.0; 100]));
        assert!(compare(&zeros, &truth, &derived).passed());
        derived.unsettled = Some((0..100).map(|i| i < 2).collect());
        let c = compare(&zeros, &truth, &derived);
        assert_eq!((c.failures, c.unsettled, c.passed()), (0, 2, false));
    }
}
