//! The lines of a resolved tile: where each begins, which of its lanes are active, and which of those
//! are runs of consecutive addresses.
//!
//! A band narrows a line's range when its term is affine along the line, and makes a byte a lane
//! otherwise; what came of it is remembered while the program runs (`masks`).

use smallvec::SmallVec;

use super::masks::{Masks, left};
use super::term::Term;
use super::tile::Resolved;
use crate::emulate::value::Layout;
use crate::emulate::value::layout::MAX_RANK;

/// What a line's mask came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineMask {
    /// Lanes `from..to` are active; maybe none.
    Range(usize, usize),
    /// Bytes in the scratch say which of `from..to` are active; no other lane is.
    Lanes(usize, usize),
}

impl<'c> Resolved<'c> {
    /// Address of lane 0 of the line at `index` (the inner coordinate does not matter).
    #[inline(always)]
    pub fn line_base(&self, index: &[usize; MAX_RANK], inner: usize) -> i64 {
        self.along_outer(self.base, index, inner, |base, axis, i| base.wrapping_add(self.term(axis).at(i)))
    }

    /// Folds over the axes other than the line's, with their coordinate. Blocks of two axes are by far the most common.
    #[inline(always)]
    fn along_outer<A>(&self, start: A, index: &[usize; MAX_RANK], inner: usize, fold: impl Fn(A, usize, usize) -> A) -> A {
        match self.rank {
            1 => start,
            2 => fold(start, 1 - inner, index[1 - inner]),
            rank => (0..rank).filter(|&axis| axis != inner).fold(start, |all, axis| fold(all, axis, index[axis])),
        }
    }

    /// Place of a line's first lane in a block of some layout.
    #[inline(always)]
    pub fn line_place(&self, index: &[usize; MAX_RANK], inner: usize, layout: &Layout) -> usize {
        self.along_outer(0, index, inner, |place, axis, i| place + i * layout.stride(axis))
    }

    /// Whether the line at `index` has active lanes as far as the masks of the other axes say.
    #[inline(always)]
    pub(super) fn is_line_active(&self, index: &[usize; MAX_RANK], inner: usize) -> bool {
        self.along_outer(true, index, inner, |active, axis, i| {
            let (from, to) = self.active(axis);
            active && i >= from && i < to && self.axes[axis].bytes.iter().all(|b| b[i] != 0)
        })
    }

    /// The mask of a line.
    #[inline]
    pub fn line_mask(&self, index: &[usize; MAX_RANK], inner: usize, masks: &mut Masks) -> LineMask {
        if !self.is_line_active(index, inner) {
            return LineMask::Range(0, 0);
        }
        if !self.is_narrowed(inner) {
            let (from, to) = self.active(inner);
            return LineMask::Range(from, to);
        }
        self.narrowed(index, inner, masks)
    }

    /// The classes of the lines, where their masks may be remembered by them.
    #[inline(always)]
    pub(super) fn classes(&self, inner: usize) -> Option<&'c [u32]> {
        if self.rank != 2 || !self.is_stable(inner) || !self.axes[inner].bytes.is_empty() || !self.blocks.is_empty() {
            return None;
        }
        let classes = self.axes[1 - inner].classes.as_slice();
        (!classes.is_empty()).then_some(classes)
    }

    /// Before the first mask of a tile is asked for.
    #[inline]
    pub(super) fn begin(&self, masks: &mut Masks) {
        if !self.bands.is_empty() {
            masks.begin(self.tile.number, &self.bands);
        }
    }

    /// The mask of a line that bands, bytes or blocks narrow.
    pub(super) fn narrowed(&self, index: &[usize; MAX_RANK], inner: usize, masks: &mut Masks) -> LineMask {
        if let Some(classes) = self.classes(inner) {
            let class = classes[index[1 - inner]] as usize;
            return masks.of_class(self.tile.number, class, |lanes| self.under_bands(index, inner, lanes));
        }
        let lanes = masks.fresh(self.shape[inner]);
        let mask = self.under_bands(index, inner, lanes);
        let bytes = &self.axes[inner].bytes;
        if bytes.is_empty() && self.blocks.is_empty() {
            return mask;
        }
        if let LineMask::Range(from, to) = mask {
            lanes.fill(1);
            lanes[..from].fill(0);
            lanes[to..].fill(0);
        }
        for bytes in bytes {
            lanes.iter_mut().zip(bytes.iter()).for_each(|(lane, &b)| *lane &= b);
        }
        for (bytes, layout) in &self.blocks {
            let place = self.line_place(index, inner, layout);
            let step = layout.stride(inner);
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane &= bytes[place + i * step];
            }
        }
        left(lanes)
    }

    /// What bands leave of a line: those whose term along it is affine narrow its range, the others make `lanes`.
    fn under_bands(&self, index: &[usize; MAX_RANK], inner: usize, lanes: &mut Vec<u8>) -> LineMask {
        let (mut from, mut to) = self.active(inner);
        let mut by_lane: SmallVec<[(&[i64], i64, i64); 2]> = SmallVec::new();
        for (number, band) in self.bands.iter().enumerate() {
            let base = self.along_outer(band.base, index, inner, |base, axis, i| {
                base.wrapping_add(self.axes[axis].bands[number].term().at(i))
            });
            let (lo, hi) = (band.lo.saturating_sub(base), band.hi.saturating_sub(base));
            let along = &self.axes[inner].bands[number];
            let (least, most) = if (from, to) == self.active(inner) { along.hull } else { along.term().hull(from, to) };
            if least >= lo && most < hi {
                continue;
            }
            if most < lo || least >= hi {
                return LineMask::Range(0, 0);
            }
            match along.term() {
                Term::Affine { base, step } => {
                    let (first, end) = affine_range((base, step), lo, hi, to);
                    (from, to) = (from.max(first), to.min(end));
                    if from >= to {
                        return LineMask::Range(0, 0);
                    }
                }
                Term::Dense { lanes, lo: _, hi: _ } => by_lane.push((lanes, lo, hi)),
            }
        }
        if by_lane.is_empty() {
            return LineMask::Range(from, to);
        }
        lanes.clear();
        lanes.resize(self.shape[inner], 1);
        lanes[..from].fill(0);
        lanes[to..].fill(0);
        for (term, lo, hi) in by_lane {
            for (lane, &v) in lanes.iter_mut().zip(term) {
                *lane &= u8::from((v >= lo) & (v < hi));
            }
        }
        left(lanes)
    }

    /// Calls `visit(index)` for every line along `inner`, outer axes in row-major order.
    pub fn for_each_line<E>(&self, inner: usize, mut visit: impl FnMut(&[usize; MAX_RANK]) -> Result<(), E>) -> Result<(), E> {
        let mut index = [0usize; MAX_RANK];
        loop {
            visit(&index)?;
            let mut axis = self.rank;
            loop {
                if axis == 0 {
                    return Ok(());
                }
                axis -= 1;
                if axis == inner {
                    continue;
                }
                index[axis] += 1;
                if index[axis] < self.shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
    }
}

/// From the first to behind the last of the lanes below `end` with lo <= base + step·i < hi. With step 0 none: the caller
/// has dealt with bands that hold for all lanes.
fn affine_range((base, step): (i64, i64), lo: i64, hi: i64, end: usize) -> (usize, usize) {
    let (base, step) = (i128::from(base), i128::from(step));
    let (lo, hi) = (i128::from(lo), i128::from(hi));
    let (first, last) = match step {
        0 => (0, 0),
        1.. => ((lo - base + step - 1).div_euclid(step), (hi - base + step - 1).div_euclid(step)),
        // base + step·i < hi  ⇔  i > (base − hi)/|step|; mirrored for lo.
        _ => ((base - hi).div_euclid(-step) + 1, (base - lo).div_euclid(-step) + 1),
    };
    let lanes = |n: i128| n.clamp(0, end as i128) as usize;
    (lanes(first), lanes(last))
}

/// Calls `visit(start, len, from)` for runs of consecutive addresses among the active lanes of a
/// line: `start` is the address of lane `from`. `lanes`: which are active, or all of the range.
pub fn for_each_run<E>(
    base: i64,
    term: &Term<'_>,
    (from, to): (usize, usize),
    lanes: Option<&[u8]>,
    mut visit: impl FnMut(i64, usize, usize) -> Result<(), E>,
) -> Result<(), E> {
    if let (Term::Affine { base: start, step: 1 }, None) = (term, lanes) {
        return if from < to { visit(base.wrapping_add(start + from as i64), to - from, from) } else { Ok(()) };
    }
    let mut i = from;
    while i < to {
        if lanes.is_some_and(|l| l[i] == 0) {
            i += 1;
            continue;
        }
        let start = term.at(i);
        let mut n = 1;
        while i + n < to && lanes.is_none_or(|l| l[i + n] != 0) && term.at(i + n) == start.wrapping_add(n as i64) {
            n += 1;
        }
        visit(base.wrapping_add(start), n, i)?;
        i += n;
    }
    Ok(())
}
