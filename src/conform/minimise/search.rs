//! The search: the smallest sizes at which something fails.
//!
//! First all sizes are cut to one limit, which grows until something fails: small trials come first, and a
//! kernel that fails everywhere is told by its first ones. Then each size in turn, the largest first, is
//! lowered as far as it still fails: along the limits, and by bisection between the last that holds and the first that
//! fails, until no size can be lowered alone.
//!
//! What it does not find: sizes that are smaller together and not one by one, and islands inside a bisection. What
//! it gives does fail.

use std::collections::HashMap;

/// One less, the same and one more than each power of two, where blocks end.
const LIMITS: &[usize] =
    &[1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025];

/// Trials in all.
const TRIALS: usize = 160;

/// The smallest sizes found, none above those of `from`. `fails` is asked at most [`TRIALS`] times; nothing is
/// found where no trial fails, and `from` itself is not tried.
pub fn smallest(from: &[usize], fails: &mut dyn FnMut(&[usize]) -> bool) -> Option<Vec<usize>> {
    let mut known: HashMap<Vec<usize>, bool> = HashMap::new();
    let mut trial = |sizes: &[usize]| {
        if let Some(&outcome) = known.get(sizes) {
            return outcome;
        }
        let outcome = known.len() < TRIALS && fails(sizes);
        known.insert(sizes.to_vec(), outcome);
        outcome
    };
    let cut = |limit: usize| from.iter().map(|&size| size.min(limit)).collect::<Vec<_>>();
    let mut best = LIMITS.iter().map(|&limit| cut(limit)).find(|sizes| sizes != from && trial(sizes))?;
    loop {
        let before = best.clone();
        let mut order: Vec<usize> = (0..best.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(best[i]));
        for i in order {
            let mut at = |size: usize| {
                let mut sizes = best.clone();
                sizes[i] = size;
                trial(&sizes)
            };
            let (mut holds, mut failing) = (0, best[i]);
            for &limit in LIMITS.iter().filter(|&&limit| limit < best[i]) {
                if at(limit) {
                    failing = limit;
                    break;
                }
                holds = limit;
            }
            while failing - holds > 1 {
                let middle = holds + (failing - holds) / 2;
                if at(middle) {
                    failing = middle;
                } else {
                    holds = middle;
                }
            }
            best[i] = failing;
        }
        if best == before {
            return Some(best);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_is_found_one_by_one() {
        // A product of at least 6, and the second above 2: 2·3.
        let mut asked = 0;
        let found = smallest(&[100, 40], &mut |sizes| {
            asked += 1;
            sizes[0] * sizes[1] >= 6 && sizes[1] > 2
        });
        assert_eq!(found, Some(vec![2, 3]));
        assert!(asked < 30, "{asked}");
    }

    #[test]
    fn a_bound_between_two_limits_is_bisected() {
        assert_eq!(smallest(&[2048, 7], &mut |sizes| sizes[0] > 40), Some(vec![41, 1]));
    }

    #[test]
    fn what_fails_only_as_it_is_stays() {
        assert_eq!(smallest(&[64, 64], &mut |_| false), None);
        assert_eq!(smallest(&[1, 1], &mut |_| true), None);
        assert_eq!(smallest(&[5, 1], &mut |_| true), Some(vec![1, 1]));
    }
}
