//! Operators whose elements depend on whole lines of their operand: reductions, positions of extremes,
//! running sums, normalisation by own statistics.
//!
//! Axes are sorted and distinct; there is at least one. [`runs`] writes any set of them as stretches of
//! neighbouring axes, which is how templates see them.

use std::ops::Range;

use smallvec::SmallVec;

use crate::shape::Shape;

/// Axes of an operand.
pub type Axes = SmallVec<[usize; 6]>;

/// One number for every line along some axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reduce {
    pub kind: ReduceKind,
    pub axes: Axes,
    /// The reduced axes stay, with size 1.
    pub keep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceKind {
    Sum,
    /// The sum divided by how many there are.
    Mean,
    /// NaN is kept.
    Max,
    /// NaN is kept.
    Min,
    Prod,
    /// max + ln Σ e^(x − max); the maximum itself where that is infinite.
    LogSumExp,
}

impl ReduceKind {
    pub const ALL: [ReduceKind; 6] =
        [ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod, ReduceKind::LogSumExp];

    /// The operator's name in graph text.
    pub fn name(self) -> &'static str {
        match self {
            ReduceKind::Sum => "reduce_sum",
            ReduceKind::Mean => "reduce_mean",
            ReduceKind::Max => "reduce_max",
            ReduceKind::Min => "reduce_min",
            ReduceKind::Prod => "reduce_prod",
            ReduceKind::LogSumExp => "logsumexp",
        }
    }
}

impl Reduce {
    /// The result's shape.
    pub fn shape(&self, of: &[usize]) -> Shape {
        reduced(of, &self.axes, self.keep)
    }

    /// How many elements one result is made of.
    pub fn terms(&self, of: &[usize]) -> usize {
        self.axes.iter().map(|&axis| of[axis]).product()
    }
}

/// The position of an extreme along one axis. NaN is more extreme than any number, as in torch and numpy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArgReduce {
    pub kind: ArgKind,
    pub axis: usize,
    /// The axis stays, with size 1.
    pub keep: bool,
    /// Of equal extremes the last one counts, not the first.
    pub last: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgKind {
    Max,
    Min,
}

impl ArgKind {
    pub fn name(self) -> &'static str {
        match self {
            ArgKind::Max => "argmax",
            ArgKind::Min => "argmin",
        }
    }
}

impl ArgReduce {
    /// The result's shape.
    pub fn shape(&self, of: &[usize]) -> Shape {
        reduced(of, &[self.axis], self.keep)
    }

    /// Whether an element takes the place of the best one before it.
    pub fn takes(&self, v: f64, best: f64) -> bool {
        let more = match self.kind {
            ArgKind::Max => v > best || (v.is_nan() && !best.is_nan()),
            ArgKind::Min => v < best || (v.is_nan() && !best.is_nan()),
        };
        more || (self.last && (v == best || (v.is_nan() && best.is_nan())))
    }
}

/// y = (x − mean) / √(var + ε) · γ + β over the lines along some axes, var = mean of (x − mean)²; not
/// `centred`: y = x / √(mean of x² + ε) · γ + β.
#[derive(Clone, Debug, PartialEq)]
pub struct Norm {
    pub axes: Axes,
    pub epsilon: f64,
    pub centred: bool,
}

impl Norm {
    pub fn name(&self) -> &'static str {
        if self.centred { "norm" } else { "rms_norm" }
    }
}

/// Running sums or products along one axis: y[i] over x[0] … x[i].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scan {
    pub kind: ScanKind,
    pub axis: usize,
    /// From the end: y[i] over x[i] … x[n − 1].
    pub reverse: bool,
    /// Without x[i] itself; the first result is 0 or 1.
    pub exclusive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanKind {
    Sum,
    Prod,
}

impl ScanKind {
    pub fn name(self) -> &'static str {
        match self {
            ScanKind::Sum => "cumsum",
            ScanKind::Prod => "cumprod",
        }
    }
}

fn reduced(of: &[usize], axes: &[usize], keep: bool) -> Shape {
    let left = |(axis, &size): (usize, &usize)| match axes.contains(&axis) {
        true => keep.then_some(1),
        false => Some(size),
    };
    of.iter().enumerate().filter_map(left).collect()
}

/// Stretches of neighbouring axes, in order.
pub fn runs(axes: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for &axis in axes {
        match runs.last_mut() {
            Some(run) if run.end == axis => run.end += 1,
            _ => runs.push(axis..axis + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_runs() {
        let reduce = |axes: &[usize], keep| Reduce { kind: ReduceKind::Sum, axes: Axes::from_slice(axes), keep };
        assert_eq!(reduce(&[0, 2], false).shape(&[2, 3, 4]).as_slice(), [3]);
        assert_eq!(reduce(&[0, 2], true).shape(&[2, 3, 4]).as_slice(), [1, 3, 1]);
        assert_eq!(reduce(&[0, 2], true).terms(&[2, 3, 4]), 8);
        assert_eq!(runs(&[0, 2, 3, 5]), [0..1, 2..4, 5..6]);
        assert!(runs(&[]).is_empty());
    }

    #[test]
    fn nan_and_ties_decide_positions() {
        let position = |kind, last, lanes: &[f64]| {
            let arg = ArgReduce { kind, axis: 0, keep: false, last };
            (1..lanes.len()).fold(0, |best, i| if arg.takes(lanes[i], lanes[best]) { i } else { best })
        };
        let lanes = [1.0, 3.0, -2.0, 3.0, -2.0];
        assert_eq!([false, true].map(|last| position(ArgKind::Max, last, &lanes)), [1, 3]);
        assert_eq!([false, true].map(|last| position(ArgKind::Min, last, &lanes)), [2, 4]);
        let holes = [1.0, f64::NAN, 5.0, f64::NAN];
        assert_eq!([false, true].map(|last| position(ArgKind::Min, last, &holes)), [1, 3]);
    }
}
