//! The lines of a resolved tile: where each begins, which of its lanes are active, and which of those
//! are runs of consecutive addresses.
//!
//! A band narrows a line's range when its term is affine along the line, and makes a byte a lane
//! otherwise; the bytes are remembered while the program runs.

use smallvec::SmallVec;

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

/// The mask of the current line, and masks of bands seen before in this program: a convolution asks
/// for the same few (one a window row and column) again for every channel.
#[derive(Default)]
pub struct Masks {
    pub lanes: Vec<u8>,
    remembered: Vec<Remembered>,
    generation: u64,
}

struct Remembered {
    generation: u64,
    tile: usize,
    band: usize,
    limits: (i64, i64),
    lanes: Vec<u8>,
}

/// Masks remembered at a time.
const REMEMBERED: usize = 64;

impl Masks {
    /// Forgets the masks of the program before.
    pub fn new_program(&mut self) {
        self.generation += 1;
    }

    fn slot(tile: usize, band: usize, base: i64) -> usize {
        (base as usize).wrapping_mul(3).wrapping_add(band).wrapping_add(tile >> 4) % REMEMBERED
    }
}

impl Resolved<'_> {
    /// Address of lane 0 of the line at `index` (the inner coordinate does not matter).
    #[inline]
    pub fn line_base(&self, index: &[usize; MAX_RANK], inner: usize) -> i64 {
        self.along_outer(index, inner).fold(self.base, |base, (axis, i)| base.wrapping_add(self.terms[axis].at(i)))
    }

    /// Axes other than the line's, with their coordinate.
    #[inline(always)]
    fn along_outer<'i>(&self, index: &'i [usize; MAX_RANK], inner: usize) -> impl Iterator<Item = (usize, usize)> + 'i {
        index.iter().copied().enumerate().take(self.rank).filter(move |&(axis, _)| axis != inner)
    }

    /// Place of a line's first lane in a block of some layout.
    #[inline(always)]
    pub fn line_place(&self, index: &[usize; MAX_RANK], inner: usize, layout: &Layout) -> usize {
        self.along_outer(index, inner).map(|(axis, i)| i * layout.stride(axis)).sum()
    }

    /// The mask of a line.
    #[inline]
    pub fn line_mask(&self, index: &[usize; MAX_RANK], inner: usize, masks: &mut Masks) -> LineMask {
        if self.is_plain() && self.rank == 1 {
            return LineMask::Range(self.active[0].0, self.active[0].1);
        }
        let (mut from, mut to) = self.active[inner];
        for (axis, i) in self.along_outer(index, inner) {
            let (f, t) = self.active[axis];
            if i < f || i >= t || self.bytes[axis].iter().any(|b| b[i] == 0) {
                return LineMask::Range(0, 0);
            }
        }
        // Bands that narrow the range come first, the others make bytes.
        let mut by_lane: SmallVec<[(usize, i64); 2]> = SmallVec::new();
        for (number, band) in self.bands.iter().enumerate() {
            let base = self.along_outer(index, inner).fold(band.base, |b, (axis, i)| b.wrapping_add(band.terms[axis].at(i)));
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
                Term::Dense { .. } => by_lane.push((number, base)),
            }
        }
        if by_lane.is_empty() && self.bytes[inner].is_empty() && self.blocks.is_empty() {
            return LineMask::Range(from, to);
        }
        let n = self.shape[inner];
        let mut lanes = std::mem::take(&mut masks.lanes);
        lanes.clear();
        lanes.resize(n, 1);
        for (number, base) in by_lane {
            self.and_band(number, base, inner, masks, &mut lanes);
        }
        lanes[..from].fill(0);
        lanes[to..].fill(0);
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
        masks.lanes = lanes;
        LineMask::Lanes(from, to)
    }

    /// Takes lanes outside a band, whose term is dense along the line, out of the mask.
    fn and_band(&self, number: usize, base: i64, inner: usize, masks: &mut Masks, lanes: &mut [u8]) {
        let band = &self.bands[number];
        let Term::Dense { lanes: term, .. } = band.terms[inner] else {
            unreachable!("invariant: a band whose term is affine along the line narrows its range")
        };
        let (lo, hi) = (band.lo.saturating_sub(base), band.hi.saturating_sub(base));
        if !self.stable[inner] {
            for (lane, &v) in lanes.iter_mut().zip(term) {
                *lane &= u8::from((v >= lo) & (v < hi));
            }
            return;
        }
        if masks.remembered.is_empty() {
            let empty = || Remembered { generation: 0, tile: 0, band: 0, limits: (0, 0), lanes: Vec::new() };
            masks.remembered.resize_with(REMEMBERED, empty);
        }
        let conjunct = band.conjunct;
        let old = &mut masks.remembered[Masks::slot(self.id, conjunct, base)];
        let current = old.generation == masks.generation && old.tile == self.id && old.band == conjunct && old.limits == (lo, hi);
        if !current || old.lanes.len() != lanes.len() {
            (old.generation, old.tile, old.band, old.limits) = (masks.generation, self.id, conjunct, (lo, hi));
            old.lanes.clear();
            old.lanes.extend(term.iter().map(|&v| u8::from((v >= lo) & (v < hi))));
        }
        lanes.iter_mut().zip(&old.lanes).for_each(|(lane, &inside)| *lane &= inside);
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
