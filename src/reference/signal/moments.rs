//! Mean and mean square of elements taken for normal, and what functions make of them.

use std::f64::consts::{PI, SQRT_2};

use crate::rng::Law;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    pub mean: f64,
    pub square: f64,
}

impl Moments {
    pub fn of(mean: f64, variance: f64) -> Moments {
        Moments { mean, square: mean * mean + variance }
    }

    pub fn exactly(number: f64) -> Moments {
        Moments::of(number, 0.0)
    }

    /// ln Σ e^x over so many elements: nearly one number, as if x were normal.
    pub fn log_sum_exp(self, terms: f64) -> Moments {
        Moments::of(terms.ln() + self.mean + self.variance() / 2.0, self.variance() / terms)
    }

    pub fn of_law(law: Law) -> Moments {
        match law {
            Law::Uniform { scale, offset } => Moments::of(f64::from(offset), f64::from(scale).powi(2) / 3.0),
            Law::Integers { low, count, step, keep } => {
                let share = f64::from(keep) / 256.0;
                let values = (0..count).map(|k| (low + i64::from(k)) as f64 * step as f64);
                let (mean, square) = values.fold((0.0, 0.0), |(mean, square), v| (mean + v, square + v * v));
                Moments { mean, square }.scaled_both(share / f64::from(count.max(1)))
            }
            Law::Powers { low, count } => {
                let values = (0..count).map(|k| f64::from(low + k as i32).exp2());
                let (mean, square) = values.fold((0.0, 0.0), |(mean, square), v| (mean + v, square + v * v));
                Moments { mean, square }.scaled_both(1.0 / f64::from(count.max(1)))
            }
            Law::Constant(value) => Moments::exactly(f64::from(value)),
        }
    }

    /// Of the finite lanes.
    pub fn of_lanes(lanes: &[f64]) -> Moments {
        let finite = || lanes.iter().copied().filter(|v| v.is_finite());
        let share = 1.0 / finite().count().max(1) as f64;
        Moments { mean: finite().sum::<f64>(), square: finite().map(|v| v * v).sum() }.scaled_both(share)
    }

    /// Of elements of which equally many have each of these moments.
    pub fn average(all: impl ExactSizeIterator<Item = Moments>) -> Moments {
        let share = 1.0 / all.len().max(1) as f64;
        let sum = all.fold((0.0, 0.0), |(mean, square), m| (mean + m.mean, square + m.square));
        Moments { mean: sum.0, square: sum.1 }.scaled_both(share)
    }

    fn scaled_both(self, share: f64) -> Moments {
        Moments { mean: self.mean * share, square: self.square * share }
    }

    pub fn variance(self) -> f64 {
        (self.square - self.mean * self.mean).max(0.0)
    }

    fn deviation(self) -> f64 {
        self.variance().sqrt()
    }

    /// The sum of two independent values.
    pub fn plus(self, other: Moments) -> Moments {
        Moments::of(self.mean + other.mean, self.variance() + other.variance())
    }

    /// The product of two independent values.
    pub fn times(self, other: Moments) -> Moments {
        Moments { mean: self.mean * other.mean, square: self.square * other.square }
    }

    pub fn scaled(self, factor: f64) -> Moments {
        Moments { mean: self.mean * factor, square: self.square * factor * factor }
    }

    /// A share `p` of one and the rest of another.
    pub fn mixed(self, p: f64, other: Moments) -> Moments {
        let mix = |a: f64, b: f64| p * a + (1.0 - p) * b;
        Moments { mean: mix(self.mean, other.mean), square: mix(self.square, other.square) }
    }

    /// The larger of a few neighbours: a deviation above the mean.
    pub fn maximum(self) -> Moments {
        Moments::of(self.mean + self.deviation(), self.variance())
    }

    /// P(x < c), and mean and mean square of x where x ≥ c and 0 elsewhere.
    pub fn above(self, c: f64) -> (f64, Moments) {
        let (m, s) = (self.mean, self.deviation());
        if s == 0.0 {
            return if m < c { (1.0, Moments::exactly(0.0)) } else { (0.0, self) };
        }
        let z = (c - m) / s;
        let below = 0.5 * (1.0 + libm::erf(z / SQRT_2));
        let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
        let mean = m * (1.0 - below) + s * density;
        let square = (m * m + s * s) * (1.0 - below) + s * density * (m + c);
        (below, Moments { mean, square })
    }

    /// The magnitude.
    pub fn absolute(self) -> Moments {
        let (_, above) = self.above(0.0);
        Moments { mean: 2.0 * above.mean - self.mean, square: self.square }
    }

    /// The larger of two independent values (Clark 1961).
    pub fn larger(self, other: Moments) -> Moments {
        let apart = self.plus(other.scaled(-1.0));
        let s = apart.deviation();
        if s == 0.0 {
            return if self.mean < other.mean { other } else { self };
        }
        let z = apart.mean / s;
        let share = 0.5 * (1.0 + libm::erf(z / SQRT_2));
        let rise = s * (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
        let mixed = self.mixed(share, other);
        Moments { mean: mixed.mean + rise, square: mixed.square + (self.mean + other.mean) * rise }
    }
}
