//! Integer blocks: affine lanes along one axis, or dense `i64` lanes; always with their range.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Layout, Pool, Taints, taint};
use crate::kernel::ir::Elem;

#[derive(Clone, Debug)]
pub enum IntLanes {
    /// `base + step·i` along the only axis.
    Affine {
        base: i64,
        step: i64,
    },
    Dense(Arc<Vec<i64>>),
}

#[derive(Clone, Debug)]
pub struct IntBlock {
    pub layout: Layout,
    pub lanes: IntLanes,
    /// Every lane lies in `lo..=hi`.
    pub lo: i64,
    pub hi: i64,
    pub taints: Taints,
}

impl IntBlock {
    pub fn affine(n: usize, base: i64, step: i64) -> IntBlock {
        // The last lane fits, though the way to it may not.
        let last = base.wrapping_add(step.wrapping_mul((n as i64 - 1).max(0)));
        IntBlock {
            layout: Layout::line(n),
            lanes: IntLanes::Affine { base, step },
            lo: base.min(last),
            hi: base.max(last),
            taints: None,
        }
    }

    /// Dense lanes with their exact range.
    pub fn dense(layout: Layout, lanes: Vec<i64>, taints: Taints) -> IntBlock {
        let (lo, hi) = range(&lanes);
        IntBlock { layout, lanes: IntLanes::Dense(Arc::new(lanes)), lo, hi, taints }
    }

    /// Lanes along one axis, affine again when their steps are equal.
    pub fn renormalised(layout: Layout, lanes: Vec<i64>, taints: Taints) -> IntBlock {
        if layout.rank() == 1 && lanes.len() == layout.size(0) && lanes.len() > 1 {
            let step = lanes[1].wrapping_sub(lanes[0]);
            let last = i128::from(lanes[0]) + i128::from(step) * (lanes.len() as i128 - 1);
            // Equal steps that wrap around i64 are no line of integers.
            if last == i128::from(lanes[lanes.len() - 1]) && lanes.windows(2).all(|w| w[1].wrapping_sub(w[0]) == step) {
                let mut block = IntBlock::affine(lanes.len(), lanes[0], step);
                block.taints = taints;
                return block;
            }
        }
        IntBlock::dense(layout, lanes, taints)
    }

    /// The stored lanes.
    pub fn values(&self) -> Cow<'_, [i64]> {
        match &self.lanes {
            IntLanes::Dense(lanes) => Cow::Borrowed(lanes),
            IntLanes::Affine { base, step } => {
                Cow::Owned((0..self.layout.size(0) as i64).map(|i| base.wrapping_add(step.wrapping_mul(i))).collect())
            }
        }
    }

    /// The lane stored at a place.
    pub fn at(&self, place: usize) -> i64 {
        match &self.lanes {
            IntLanes::Dense(lanes) => lanes[place],
            IntLanes::Affine { base, step } => base.wrapping_add(step.wrapping_mul(place as i64)),
        }
    }

    /// The range of lanes `from..to` along the only axis.
    pub fn range_of(&self, from: usize, to: usize) -> (i64, i64) {
        match &self.lanes {
            IntLanes::Affine { base, step } => {
                let at = |i: usize| base.wrapping_add(step.wrapping_mul(i as i64));
                let (a, b) = (at(from), at(to - 1));
                (a.min(b), a.max(b))
            }
            IntLanes::Dense(lanes) if from == 0 && to == lanes.len() => (self.lo, self.hi),
            IntLanes::Dense(lanes) => range(&lanes[from..to]),
        }
    }

    pub fn with_layout(&self, layout: Layout, _pool: &mut Pool) -> IntBlock {
        let lanes = match &self.lanes {
            IntLanes::Affine { .. } if layout.rank() == 1 && layout.is_full() => self.lanes.clone(),
            IntLanes::Affine { .. } => IntLanes::Dense(Arc::new(self.values().into_owned())),
            IntLanes::Dense(lanes) => IntLanes::Dense(lanes.clone()),
        };
        IntBlock { layout, lanes, lo: self.lo, hi: self.hi, taints: self.taints.clone() }
    }

    /// Lanes inside the type's range: others wrap as the hardware wraps them, and are tainted.
    pub fn wrapped(&self, elem: Elem) -> Cow<'_, IntBlock> {
        let (min, max) = bounds(elem);
        if self.lo >= min && self.hi <= max {
            return Cow::Borrowed(self);
        }
        let exact = self.values();
        let lanes: Vec<i64> = exact.iter().map(|&v| wrap(v, elem)).collect();
        let mut taints = self.taints.as_deref().cloned().unwrap_or_else(|| vec![0; lanes.len()]);
        for ((t, wrapped), exact) in taints.iter_mut().zip(&lanes).zip(exact.iter()) {
            if wrapped != exact {
                *t |= taint::WRAPPED;
            }
        }
        Cow::Owned(IntBlock::dense(self.layout, lanes, taint::seal(taints)))
    }
}

/// Smallest and largest lane; `(0, 0)` of nothing.
pub fn range(lanes: &[i64]) -> (i64, i64) {
    let Some(&first) = lanes.first() else { return (0, 0) };
    lanes.iter().fold((first, first), |(lo, hi), &v| (lo.min(v), hi.max(v)))
}

/// What a signed integer of this type can hold.
pub fn bounds(elem: Elem) -> (i64, i64) {
    match elem.bits() {
        64 => (i64::MIN, i64::MAX),
        1 => (0, 1),
        bits => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    }
}

/// The low bits of a value, read as a signed integer of the type (an i1 as 0 or 1).
pub fn wrap(value: i64, elem: Elem) -> i64 {
    match elem.bits() {
        64 => value,
        1 => value & 1,
        bits => value << (64 - bits) >> (64 - bits),
    }
}

/// The bits of a value read as an unsigned integer of the type.
pub fn unsigned(value: i64, elem: Elem) -> u64 {
    match elem.bits() {
        64 => value as u64,
        bits => value as u64 & ((1 << bits) - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_and_taints_only_what_leaves_the_type() {
        let block = IntBlock::affine(3, i64::from(i32::MAX) - 1, 1);
        let wrapped = block.wrapped(Elem::I32);
        assert_eq!(wrapped.values().as_ref(), [i64::from(i32::MAX) - 1, i64::from(i32::MAX), i64::from(i32::MIN)]);
        assert_eq!(wrapped.taints.as_deref().unwrap().as_slice(), [0, 0, taint::WRAPPED]);
        assert!(matches!(block.wrapped(Elem::I64), Cow::Borrowed(_)));
    }

    #[test]
    fn equal_steps_are_affine_again() {
        let block = IntBlock::renormalised(Layout::line(4), vec![7, 5, 3, 1], None);
        assert!(matches!(block.lanes, IntLanes::Affine { base: 7, step: -2 }));
        assert_eq!((block.lo, block.hi), (1, 7));
    }
}
