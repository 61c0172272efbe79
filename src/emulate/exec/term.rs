//! The terms of a tile's sums, as the cells hold them: lanes along one axis, with their hull.

use std::sync::Arc;

use super::Cells;
use crate::emulate::tape::Slot;
use crate::emulate::value::{Cell, IntLanes};

/// Lanes along one axis.
#[derive(Clone, Copy, Debug)]
pub enum Term<'c> {
    Affine { base: i64, step: i64 },
    Dense { lanes: &'c [i64], lo: i64, hi: i64 },
}

impl Term<'_> {
    #[inline]
    pub fn at(&self, i: usize) -> i64 {
        match self {
            Term::Affine { base, step } => base + step * i as i64,
            Term::Dense { lanes, .. } => lanes[i],
        }
    }

    /// Smallest and largest lane of a non-empty range.
    #[inline]
    pub fn hull(&self, from: usize, to: usize) -> (i64, i64) {
        match *self {
            Term::Affine { base, step } => {
                let (a, b) = (base + step * from as i64, base + step * (to as i64 - 1));
                (a.min(b), a.max(b))
            }
            Term::Dense { lanes, lo, hi } if from == 0 && to == lanes.len() => (lo, hi),
            Term::Dense { lanes, .. } => crate::emulate::value::int::range(&lanes[from..to]),
        }
    }
}

impl Term<'_> {
    /// The smallest distance between two lanes of a range of several; zero where lanes do not rise or
    /// fall throughout.
    pub fn gap(&self, from: usize, to: usize) -> i64 {
        match self {
            Term::Affine { base: _, step } => step.saturating_abs(),
            Term::Dense { lanes, lo: _, hi: _ } => {
                let steps = || lanes[from..to].windows(2).map(|w| w[1].saturating_sub(w[0]));
                let (least, most) = (steps().min().unwrap_or(0), steps().max().unwrap_or(0));
                least.max(most.saturating_neg()).max(0)
            }
        }
    }
}

/// A term that keeps its lanes.
#[derive(Debug)]
pub enum Lanes {
    Affine { base: i64, step: i64 },
    Dense { lanes: Arc<Vec<i64>>, lo: i64, hi: i64 },
}

impl Lanes {
    /// The term in a cell, zero without one; `None`: suspect.
    pub fn of(slot: Option<Slot>, cells: &Cells) -> Option<Lanes> {
        let Some(slot) = slot else { return Some(Lanes::Affine { base: 0, step: 0 }) };
        match cells.get(slot) {
            Cell::Int(s) if s.taint == 0 => Some(Lanes::Affine { base: s.value, step: 0 }),
            Cell::Ints(block) if block.taints.is_none() => Some(match &block.lanes {
                IntLanes::Affine { base, step } => Lanes::Affine { base: *base, step: *step },
                IntLanes::Dense(lanes) if block.layout.is_full() => {
                    Lanes::Dense { lanes: lanes.clone(), lo: block.lo, hi: block.hi }
                }
                IntLanes::Dense(_) => return None,
            }),
            _ => None,
        }
    }

    #[inline]
    pub fn term(&self) -> Term<'_> {
        match self {
            Lanes::Affine { base, step } => Term::Affine { base: *base, step: *step },
            Lanes::Dense { lanes, lo, hi } => Term::Dense { lanes, lo: *lo, hi: *hi },
        }
    }
}

/// An integer without taint.
pub fn integer(cells: &Cells, slot: Slot) -> Option<i64> {
    match cells.get(slot) {
        Cell::Int(s) if s.taint == 0 => Some(s.value),
        _ => None,
    }
}
