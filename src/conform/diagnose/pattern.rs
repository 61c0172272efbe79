//! How failing elements differ from the reference, turned into likely causes.
//!
//! Each detector tests one hypothesis on the values: exchanged axes, a shift, a missing ReLU, a
//! constant factor. It is tested on at most 4,096 failing elements, evenly spaced, and holds when
//! 95 % of them agree to 10⁻³ of the reference's spread. A hypothesis about places needs [`TELLING`]
//! different values among them: a few zeros are found at many wrong places. [`super::places`] looks at where
//! they are.

use super::suspects::Clue;
use crate::diag::number;
use crate::shape::contiguous_strides;

/// Values that differ from each other, without which nothing is said of where they come from.
const TELLING: usize = 8;

/// What was seen, and what usually causes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    pub fact: String,
    pub cause: String,
    pub clue: Clue,
}

pub(super) fn pattern(clue: Clue, fact: impl Into<String>, cause: impl Into<String>) -> Pattern {
    Pattern { fact: fact.into(), cause: cause.into(), clue }
}

/// Every pattern found, the most telling first. `failing` holds flat elements in order.
pub(super) fn all(y: &[f64], r: &[f64], failing: &[usize], shape: &[usize]) -> Vec<Pattern> {
    let view = View::new(y, r, failing, shape);
    let mut found = Vec::new();
    if view.telling() {
        found.extend(view.exchanged());
        found.extend(view.shifted());
    }
    found.extend(view.sign_or_zero());
    if found.is_empty() {
        found.extend(view.factor_or_offset().or_else(|| view.per_index()));
    }
    let telling = y.iter().zip(r).filter(|(y, r)| **y != 0.0 || **r != 0.0).count();
    found.extend(super::places::places(failing, shape, telling));
    found.sort_by_key(|pattern| pattern.clue != Clue::Choice);
    found
}

/// The compared tensors and an even sample of the failing elements.
struct View<'v> {
    y: &'v [f64],
    r: &'v [f64],
    failing: &'v [usize],
    sample: Vec<usize>,
    shape: &'v [usize],
    /// Two numbers are the same when they differ by less.
    near: f64,
}

impl<'v> View<'v> {
    fn new(y: &'v [f64], r: &'v [f64], failing: &'v [usize], shape: &'v [usize]) -> View<'v> {
        let step = failing.len().div_ceil(4096).max(1);
        let mean = r.iter().sum::<f64>() / r.len().max(1) as f64;
        let variance = r.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / r.len().max(1) as f64;
        View { y, r, failing, sample: failing.iter().copied().step_by(step).collect(), shape, near: 1e-3 * variance.sqrt() }
    }

    /// Whether 95 % of the sampled elements satisfy a hypothesis; `None` answers do not count, and
    /// fewer than half of them must.
    fn mostly(&self, holds: impl Fn(usize) -> Option<bool>) -> bool {
        let answers: Vec<bool> = self.sample.iter().filter_map(|&i| holds(i)).collect();
        let yes = answers.iter().filter(|&&yes| yes).count();
        answers.len() * 2 > self.sample.len() && yes * 100 >= answers.len() * 95
    }

    /// Whether the failing elements hold so many different values that finding each elsewhere is no accident.
    fn telling(&self) -> bool {
        let mut values: Vec<f64> = self.sample.iter().map(|&i| self.y[i]).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup_by(|a, b| self.same(*a, *b));
        values.len() >= TELLING
    }

    fn same(&self, a: f64, b: f64) -> bool {
        (a - b).abs() <= self.near
    }

    /// y is the reference with two axes exchanged: in the index, or in the order of the lanes.
    fn exchanged(&self) -> Option<Pattern> {
        let rank = self.shape.len();
        let strides = contiguous_strides(self.shape);
        let coordinate = |at: usize, axis: usize| at / strides[axis] as usize % self.shape[axis];
        for i in 0..rank {
            for j in i + 1..rank {
                if self.shape[i] < 2 || self.shape[j] < 2 {
                    continue;
                }
                let source = |at: usize| {
                    let (a, b) = (coordinate(at, i), coordinate(at, j));
                    (a < self.shape[j] && b < self.shape[i]).then(|| {
                        let (a, b, si, sj) = (a as i64, b as i64, strides[i], strides[j]);
                        (at as i64 + (b - a) * si + (a - b) * sj) as usize
                    })
                };
                let by_index = self.mostly(|at| source(at).filter(|&s| s != at).map(|s| self.same(self.y[at], self.r[s])));
                let lanes = exchanged_lanes(self.shape, i, j);
                let by_lanes = self.shape[i] != self.shape[j] && self.mostly(|at| Some(self.same(self.y[at], self.r[lanes(at)])));
                if by_index || by_lanes {
                    return Some(pattern(
                        Clue::Address,
                        format!("the values are the reference's with axes {i} and {j} exchanged"),
                        format!("check the strides of axes {i} and {j}, and which program id or range each comes from"),
                    ));
                }
            }
        }
        None
    }

    /// y[i] is the reference at i + k, k one or two steps along an axis, or a few elements.
    fn shifted(&self) -> Option<Pattern> {
        let strides = contiguous_strides(self.shape);
        let mut shifts: Vec<(i64, String)> = Vec::new();
        for axis in (0..self.shape.len()).rev().filter(|&axis| self.shape[axis] > 2) {
            for step in [1, -1, 2, -2] {
                shifts.push((strides[axis] * step, format!("by {step} along axis {axis}")));
            }
        }
        for k in 1..=64 {
            shifts.push((k, format!("by {k} elements")));
            shifts.push((-k, format!("by −{k} elements")));
        }
        let whole = self.failing.len() * 2 > self.y.len();
        let (_, how) = shifts.into_iter().filter(|_| whole).find(|&(k, _)| {
            self.mostly(|at| {
                let source = usize::try_from(at as i64 + k).ok().filter(|&s| s < self.r.len())?;
                Some(self.same(self.y[at], self.r[source]))
            })
        })?;
        Some(pattern(
            Clue::Address,
            format!("the values are the reference's shifted {how}"),
            "check offsets for an off-by-one: padding added or left out, a range that starts at the wrong place",
        ))
    }

    fn sign_or_zero(&self) -> Option<Pattern> {
        if self.failing.iter().all(|&i| self.r[i] == 0.0 && self.y[i] < 0.0) {
            return Some(pattern(
                Clue::Choice,
                "every failing element is negative where the reference is 0",
                "the ReLU (or clamp at zero) is not applied",
            ));
        }
        if self.failing.iter().all(|&i| self.y[i] == self.r[i].max(0.0)) {
            return Some(pattern(Clue::Choice, "every failing element is clamped at 0", "a ReLU is applied where there is none"));
        }
        if self.failing.iter().all(|&i| self.y[i] == 0.0) {
            return Some(pattern(
                Clue::Mask,
                "every failing element is 0",
                "check the mask of the load or store there, and whether all of the reduction is accumulated",
            ));
        }
        if self.failing.iter().all(|&i| self.y[i] == -self.r[i]) {
            return Some(pattern(
                Clue::Arithmetic,
                "every failing element has the opposite sign",
                "check the order of a subtraction",
            ));
        }
        None
    }

    /// One factor, or one difference, for all elements.
    fn factor_or_offset(&self) -> Option<Pattern> {
        let ratio = |i: usize| (self.r[i].abs() > 10.0 * self.near).then(|| self.y[i] / self.r[i]);
        if let Some(factor) = self.constant(&self.sample, ratio).filter(|factor| factor.is_away_from(1.0)) {
            return Some(pattern(
                Clue::Scale,
                format!("every failing element is {factor} times the reference"),
                "check a scale: a divisor left out or applied twice, a reduction that runs over a multiple of its axis",
            ));
        }
        let offset = self.constant(&self.sample, |i| Some(self.y[i] - self.r[i])).filter(|offset| offset.is_away_from(0.0))?;
        Some(pattern(
            Clue::Arithmetic,
            format!("every failing element is off by {offset}"),
            "check an added constant or bias: left out, applied twice, or read at one place for all",
        ))
    }

    /// A difference or factor that depends on one axis's index alone.
    fn per_index(&self) -> Option<Pattern> {
        let strides = contiguous_strides(self.shape);
        for axis in (0..self.shape.len()).filter(|&axis| self.shape[axis] > 1) {
            let mut groups: Vec<Vec<usize>> = vec![Vec::new(); self.shape[axis]];
            for &i in &self.sample {
                groups[i / strides[axis] as usize % self.shape[axis]].push(i);
            }
            groups.retain(|group| group.len() > 3);
            let all = |value: &dyn Fn(usize) -> Option<f64>| {
                groups.len() > 1 && groups.iter().all(|group| self.constant(group, value).is_some())
            };
            let offset = all(&|i| Some(self.y[i] - self.r[i]));
            if offset || all(&|i| (self.r[i].abs() > 10.0 * self.near).then(|| self.y[i] / self.r[i])) {
                let how = if offset { "off by a constant" } else { "multiplied by a constant" };
                return Some(pattern(
                    Clue::Address,
                    format!("the elements are {how} for each index of axis {axis}"),
                    format!("check the operand that axis {axis} alone indexes (a bias or scale): its offset or its values"),
                ));
            }
        }
        None
    }

    /// A quantity that 95 % of the elements agree on.
    fn constant(&self, elements: &[usize], value: impl Fn(usize) -> Option<f64>) -> Option<Shared> {
        let mut values: Vec<f64> = elements.iter().filter_map(|&i| value(i)).collect();
        if values.len() < 4 || values.len() * 2 < elements.len() {
            return None;
        }
        values.sort_unstable_by(f64::total_cmp);
        let median = values[values.len() / 2];
        let mut apart: Vec<f64> = values.iter().map(|v| (v - median).abs()).collect();
        apart.sort_unstable_by(f64::total_cmp);
        let spread = apart[(apart.len() * 95).div_ceil(100) - 1];
        (spread <= 1e-3 * median.abs().max(self.near)).then_some(Shared { median, spread })
    }
}

/// What elements share, and how far 95 % of them are from it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shared {
    median: f64,
    spread: f64,
}

impl Shared {
    /// Whether it is another number, and not that one with the elements' own spread.
    fn is_away_from(&self, number: f64) -> bool {
        (self.median - number).abs() > 10.0 * self.spread
    }
}

impl std::fmt::Display for Shared {
    /// With the digits that the elements agree on, six at most.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let agreed = if self.spread > 0.0 { (self.median.abs() / self.spread).log10().floor() } else { 6.0 };
        let digits = agreed.clamp(2.0, 6.0) as usize;
        let rounded: f64 = format!("{:.*e}", digits - 1, self.median).parse().unwrap_or(self.median);
        f.write_str(&number(rounded))
    }
}

/// The lane of the reference that stands at a lane when it was written with two axes in the other
/// order.
fn exchanged_lanes(shape: &[usize], i: usize, j: usize) -> impl Fn(usize) -> usize {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    order.swap(i, j);
    let sizes: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
    let strides = contiguous_strides(shape);
    let steps: Vec<usize> = order.iter().map(|&axis| strides[axis] as usize).collect();
    move |at: usize| {
        let (mut rest, mut lane) = (at, 0);
        for (&size, &step) in sizes.iter().zip(&steps).rev() {
            lane += rest % size * step;
            rest /= size;
        }
        lane
    }
}
