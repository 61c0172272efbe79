//! Sampled verification: every program of a launch for its accesses, some programs for their values.
//!
//! First the launch runs as its accesses alone (`kernel::passes::addresses`): bounds, coverage, races and
//! reads of unwritten memory are complete, and faults of values are not looked for. Then, in each pass, the
//! values of [`PROGRAMS`] programs are computed and compared where they write: the first, the last, and one at
//! random out of each stretch between, others with another seed.
//!
//! A launch with no more programs than that runs whole, and so do one that reads what it writes and a wrapper with
//! several launches: there a program's values need all others. Their verdict is then *verified*.
//!
//! Not caught: wrong values of the programs that were not chosen. The reference is evaluated in full.

use std::sync::Arc;

use super::bound::Derived;
use super::execute::Executor;
use crate::diag::Result;
use crate::host::{Event, Trace};
use crate::reference::floats;
use crate::rng::{self, Seed};
use crate::tensor::{Storage, Tensor};

/// How many programs' values stand for a launch's.
pub const PROGRAMS: u32 = 64;

/// The programs whose values stand for those of a wrapper's launch, in ascending order; `None` where all run.
pub fn programs(executor: &Executor, trace: &Trace, seed: Seed) -> Result<Option<Arc<[u32]>>> {
    let [Event::Launch(launch)] = trace.events.as_slice() else { return Ok(None) };
    let all = launch.grid.iter().try_fold(1u32, |product, &axis| product.checked_mul(axis));
    let Some(all) = all.filter(|&all| all > PROGRAMS && executor.samples()) else { return Ok(None) };
    if executor.is_in_place(launch)? {
        return Ok(None);
    }
    Ok(Some(chosen(all, seed)))
}

/// One program out of each of [`PROGRAMS`] stretches.
fn chosen(all: u32, seed: Seed) -> Arc<[u32]> {
    let start = |stretch: u32| (u64::from(all) * u64::from(stretch) / u64::from(PROGRAMS)) as u32;
    let one = |stretch: u32| {
        let (from, to) = (start(stretch), start(stretch + 1));
        match stretch {
            0 => 0,
            _ if to == all => all - 1,
            _ => from + rng::hash(seed, u64::from(stretch)) % (to - from),
        }
    };
    (0..PROGRAMS).map(one).collect()
}

/// What was computed, the reference's elements where nothing was; those are then held to equality, so that they
/// say nothing.
pub fn restricted(got: Tensor, truth: &Tensor, derived: &mut Derived, written: &[bool]) -> Tensor {
    let (dtype, mut got) = (got.dtype(), got);
    let rest = || (0..written.len()).filter(|&i| !written[i]);
    let lanes = floats(truth.storage());
    match got.storage_mut() {
        Storage::F64(own) => rest().for_each(|i| own[i] = lanes[i]),
        Storage::F32(own) => rest().for_each(|i| own[i] = dtype.round(lanes[i]) as f32),
        Storage::I64(own) => match truth.storage() {
            Storage::I64(truth) => rest().for_each(|i| own[i] = truth[i]),
            Storage::F64(_) | Storage::F32(_) | Storage::Bool(_) => rest().for_each(|i| own[i] = lanes[i] as i64),
        },
        Storage::Bool(own) => rest().for_each(|i| own[i] = (lanes[i] != 0.0) as u8),
    }
    if let Some(bound) = &mut derived.bound {
        rest().for_each(|i| bound[i] = 0.0);
    }
    if let Some(unsettled) = &mut derived.unsettled {
        rest().for_each(|i| unsettled[i] = false);
    }
    got
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;
    use crate::tolerance::Tolerance;

    #[test]
    fn the_sample_holds_both_ends_and_changes_with_the_seed() {
        for all in [PROGRAMS + 1, 1000, u32::MAX] {
            let one = chosen(all, Seed { a: 1, b: 2 });
            assert!(one.windows(2).all(|pair| pair[0] < pair[1]), "{all}: {one:?}");
            assert_eq!((one.len(), one[0], one[63]), (PROGRAMS as usize, 0, all - 1));
        }
        assert_ne!(chosen(1000, Seed { a: 1, b: 2 }), chosen(1000, Seed { a: 3, b: 2 }));
    }

    #[test]
    fn what_did_not_run_says_nothing() {
        let tensor = |lanes: [f32; 3]| Tensor::from_f32(Shape::from_slice(&[3]), lanes.to_vec());
        let truth = Tensor::new(crate::dtype::DType::F64, Shape::from_slice(&[3]), Storage::F64(vec![1.0, 0.1, 3.0]));
        let tolerance = Tolerance::Derived { contraction: None, operators: Vec::new(), cap: None };
        let mut derived = Derived { tolerance, bound: Some(vec![0.5; 3]), unsettled: Some(vec![true; 3]) };
        let got = restricted(tensor([1.25, 0.0, 9.0]), &truth, &mut derived, &[true, false, true]);
        let comparison = super::super::compare::compare(&got, &truth, &derived);
        assert_eq!((comparison.failures, comparison.max_abs_err, comparison.unsettled), (1, 6.0, 2));
        assert_eq!(comparison.worst.unwrap().index.as_slice(), [2]);
    }
}
