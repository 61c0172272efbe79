//! The lines of a resolved tile: where each begins, which of its lanes are active, and which of those
//! are runs of consecutive addresses.
//!
//! A band narrows a line's range when its term is affine along the line, and makes a byte a lane
//! otherwise; the bytes are remembered while the program runs (`masks`).

use smallvec::SmallVec;

use super::masks::{Key, Masks, Narrow, active};
use super::term::Term;
use super::tile::Resolved;
use crate::emulate::value::Layout;
use crate::emulate::value::layout::MAX_RANK;

/// What a line's mask came to.
pub enum LineMask {
    /// Lanes `from..to` are active; maybe none.
    Range(usize, usize),
    /// Bytes in the scratch say which of `from..to` are active; no other lane is.
    Lanes(usize, usize),
}

impl Resolved<'_> {
    /// Address of lane 0 of the line at `index` (the inner coordinate does not matter).
    #[inline(always)]
    pub fn line_base(&self, index: &[usize; MAX_RANK], inner: usize) -> i64 {
        self.along_outer(self.base, index, inner, |base, axis, i| base.wrapping_add(self.terms[axis].at(i)))
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
    fn is_line_active(&self, index: &[usize; MAX_RANK], inner: usize) -> bool {
        self.along_outer(true, index, inner, |active, axis, i| {
            let (from, to) = self.active[axis];
            active && i >= from && i < to && self.bytes[axis].iter().all(|b| b[i] != 0)
        })
    }

    /// The mask of a line.
    #[inline]
    pub fn line_mask(&self, index: &[usize; MAX_RANK], inner: usize, masks: &mut Masks) -> LineMask {
        if !self.is_line_active(index, inner) {
            return LineMask::Range(0, 0);
        }
        let (from, to) = self.active[inner];
        if self.bands.is_empty() && self.bytes[inner].is_empty() && self.blocks.is_empty() {
            return LineMask::Range(from, to);
        }
        self.narrowed(index, inner, masks)
    }

    /// The mask of a line that bands, bytes or blocks narrow.
    fn narrowed(&self, index: &[usize; MAX_RANK], inner: usize, masks: &mut Masks) -> LineMask {
        let (mut from, mut to) = self.active[inner];
        // Bands that narrow the range come first, the others make bytes.
        let mut by_lane: SmallVec<[Narrow; 2]> = SmallVec::new();
        for (number, band) in self.bands.iter().enumerate() {
            let base = self.along_outer(band.base, index, inner, |base, axis, i| base.wrapping_add(band.terms[axis].at(i)));
            let (l, h) = if (from, to) == self.active[inner] { band.hulls[inner] } else { band.terms[inner].hull(from, to) };
            let (least, most) = (base.saturating_add(l), base.saturating_add(h));
            if least >= band.lo && most < band.hi {
                continue;
            }
            if most < band.lo || least >= band.hi {
                return LineMask::Range(0, 0);
            }
            match band.terms[inner] {
                Term::Affine { base: start, step } => {
                    let start = base.wrapping_add(start);
                    // Lanes with lo <= start + step·i < hi.
                    let below = |v: i64| (v as i128 - start as i128, step as i128);
                    let ceil = |(d, s): (i128, i128)| if s > 0 { (d + s - 1).div_euclid(s) } else { 0 };
                    let (f, t) = if step > 0 {
                        (ceil(below(band.lo)), ceil(below(band.hi)))
                    } else {
                        // start + step·i < hi  ⇔  i > (start − hi)/|step|; mirrored for lo.
                        let s = -(step as i128);
                        let first = (start as i128 - band.hi as i128).div_euclid(s) + 1;
                        let last = (start as i128 - band.lo as i128).div_euclid(s) + 1;
                        (first, last)
                    };
                    from = from.max(f.clamp(0, to as i128) as usize);
                    to = to.min(t.clamp(0, to as i128) as usize);
                    if from >= to {
                        return LineMask::Range(0, 0);
                    }
                }
                Term::Dense { .. } => by_lane.push((number, band.lo.saturating_sub(base), band.hi.saturating_sub(base))),
            }
        }
        if by_lane.is_empty() && self.bytes[inner].is_empty() && self.blocks.is_empty() {
            return LineMask::Range(from, to);
        }
        let n = self.shape[inner];
        if self.stable[inner] && self.bytes[inner].is_empty() && self.blocks.is_empty() {
            let bands = by_lane.iter().map(|&(number, lo, hi)| (self.bands[number].conjunct, lo, hi)).collect();
            let key = Key { tile: self.id, range: (from, to), bands };
            let active = masks.remember(key, |lanes| {
                lanes.clear();
                lanes.resize(n, 1);
                self.and_bands(&by_lane, inner, (from, to), lanes);
            });
            return lanes_or_none(active);
        }
        let lanes = masks.fresh(n);
        self.and_bands(&by_lane, inner, (from, to), lanes);
        for bytes in &self.bytes[inner] {
            lanes.iter_mut().zip(*bytes).for_each(|(lane, &b)| *lane &= b);
        }
        for (bytes, layout) in &self.blocks {
            let place = self.line_place(index, inner, layout);
            let step = layout.stride(inner);
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane &= bytes[place + i * step];
            }
        }
        lanes_or_none(active(lanes))
    }

    /// Takes lanes beside the range, and outside bands whose terms are dense along the line, out of the mask.
    fn and_bands(&self, bands: &[Narrow], inner: usize, (from, to): (usize, usize), lanes: &mut [u8]) {
        lanes[..from].fill(0);
        lanes[to..].fill(0);
        for &(number, lo, hi) in bands {
            let Term::Dense { lanes: term, .. } = self.bands[number].terms[inner] else {
                unreachable!("invariant: a band whose term is affine along the line narrows its range")
            };
            for (lane, &v) in lanes.iter_mut().zip(term) {
                *lane &= u8::from((v >= lo) & (v < hi));
            }
        }
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

/// Bytes say which lanes of this range are active.
fn lanes_or_none((from, to): (usize, usize)) -> LineMask {
    if from < to { LineMask::Lanes(from, to) } else { LineMask::Range(0, 0) }
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
