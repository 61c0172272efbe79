//! Seeds that generated inputs are derived from: which trials a run makes, and which a verdict holds for.
//!
//! A range is written `[first, count]`; verdicts keep lists of them, sorted and joined where they meet.
//!
//! Not caught: a range of which a list holds a part runs again as a whole; two seeds may give inputs that try
//! the same.

use std::fmt;

use serde::{Deserialize, Serialize};

/// `count` seeds from `first` on; the last is at most [`u64::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "[u64; 2]", into = "[u64; 2]")]
pub struct Seeds {
    first: u64,
    count: u64,
}

impl Seeds {
    /// At least one seed, and no more than there are.
    pub fn new(first: u64, count: u64) -> Seeds {
        Seeds { first, count: count.clamp(1, (u64::MAX - first).saturating_add(1).max(1)) }
    }

    pub fn first(self) -> u64 {
        self.first
    }

    pub fn count(self) -> u64 {
        self.count
    }

    pub fn last(self) -> u64 {
        self.first + (self.count - 1)
    }

    pub fn iter(self) -> impl Iterator<Item = u64> {
        self.first..=self.last()
    }

    /// Whether one of the ranges holds all of these.
    pub fn within(self, ranges: &[Seeds]) -> bool {
        ranges.iter().any(|range| range.first <= self.first && self.last() <= range.last())
    }

    /// The ranges and these.
    pub fn joined(self, ranges: &[Seeds]) -> Vec<Seeds> {
        let mut all: Vec<Seeds> = ranges.iter().copied().chain([self]).collect();
        all.sort_unstable();
        let mut joined: Vec<Seeds> = Vec::new();
        for next in all {
            match joined.last_mut() {
                Some(last) if next.first <= last.last().saturating_add(1) => {
                    *last = Seeds::new(last.first, (last.last().max(next.last()) - last.first).saturating_add(1));
                }
                Some(_) | None => joined.push(next),
            }
        }
        joined
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "seed {}", self.first),
            _ => write!(f, "seeds {} to {}", self.first, self.last()),
        }
    }
}

impl From<[u64; 2]> for Seeds {
    fn from([first, count]: [u64; 2]) -> Seeds {
        Seeds::new(first, count)
    }
}

impl From<Seeds> for [u64; 2] {
    fn from(seeds: Seeds) -> [u64; 2] {
        [seeds.first, seeds.count]
    }
}

impl Default for Seeds {
    fn default() -> Seeds {
        Seeds::new(0, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_where_they_meet() {
        let of = |ranges: &[(u64, u64)]| ranges.iter().map(|&(first, count)| Seeds::new(first, count)).collect::<Vec<_>>();
        assert_eq!(Seeds::new(3, 2).joined(&of(&[(0, 3)])), of(&[(0, 5)]));
        assert_eq!(Seeds::new(9, 1).joined(&of(&[(0, 3)])), of(&[(0, 3), (9, 1)]));
        assert_eq!(Seeds::new(1, 20).joined(&of(&[(0, 3), (9, 1)])), of(&[(0, 21)]));
        assert_eq!(Seeds::new(1, 1).joined(&of(&[(0, 3)])), of(&[(0, 3)]));
        assert!(Seeds::new(1, 2).within(&of(&[(0, 3)])) && !Seeds::new(1, 3).within(&of(&[(0, 3), (3, 9)])));
    }

    #[test]
    fn the_last_seed_is_the_largest_number() {
        let last = Seeds::new(u64::MAX, 5);
        assert_eq!((last.count(), last.iter().collect::<Vec<_>>()), (1, vec![u64::MAX]));
        assert_eq!(Seeds::new(4, 0).count(), 1);
        assert_eq!(Seeds::new(0, u64::MAX).joined(&[last]).len(), 1);
    }
}
