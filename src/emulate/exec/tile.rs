//! Resolving a tile: from its address sum and mask to lines that can be copied.
//!
//! A tile is walked line by line along one axis. Everything that can be decided for the whole tile
//! is decided here once: one-axis masks narrow the active range of their axis, a band whose interval
//! over the active ranges lies inside its limits is dropped, and one interval test may prove that
//! every address lies inside the view. What is left is asked a line: a band narrows the range when
//! its term is affine along the line, and makes a byte a lane otherwise.

use smallvec::SmallVec;

use super::{Cells, Launch};
use crate::emulate::check::poison;
use crate::emulate::tape::{Conjunct, Slot, Sum, Tile};
use crate::emulate::value::layout::MAX_RANK;
use crate::emulate::value::{Cell, IntLanes, Layout, MaskBlock, MaskLanes};
use crate::emulate::view::Extent;

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

const ZERO: Term<'static> = Term::Affine { base: 0, step: 0 };

struct Band<'c> {
    /// Which of the mask's conjuncts it is: bands that hold for the whole tile are not listed, so
    /// that a band's place in the list does not name it.
    conjunct: usize,
    base: i64,
    terms: [Term<'c>; MAX_RANK],
    /// Range of each term over the active lanes of its axis.
    hulls: [(i64, i64); MAX_RANK],
    lo: i64,
    hi: i64,
}

/// A resolved tile.
pub struct Resolved<'c> {
    /// Names the tile among those of its tape.
    id: usize,
    /// By axis: bands' masks along it may be remembered.
    stable: &'c [bool],
    pub rank: usize,
    pub shape: [usize; MAX_RANK],
    pub arg: usize,
    pub base: i64,
    pub terms: [Term<'c>; MAX_RANK],
    /// Active lanes of each axis lie in `from..to`.
    pub active: [(usize, usize); MAX_RANK],
    /// Bytes of a one-axis mask that is no range.
    bytes: [SmallVec<[&'c [u8]; 1]>; MAX_RANK],
    bands: SmallVec<[Band<'c>; 2]>,
    blocks: SmallVec<[(&'c [u8], Layout); 1]>,
    /// Range of the address term over the active lanes of each axis.
    hulls: [(i64, i64); MAX_RANK],
    /// No lane is active.
    pub empty: bool,
    /// Every lane of the active ranges has its address inside the view.
    pub inside: bool,
}

/// What a line's mask came to.
pub enum LineMask {
    /// Lanes `from..to` are active; maybe none.
    Range(usize, usize),
    /// Bytes in the scratch say which of `from..to` are active; no other lane is.
    Lanes(usize, usize),
}

/// Buffers of the tile loops.
#[derive(Default)]
pub struct Scratch {
    pub masks: Masks,
    pub touched: Vec<(usize, usize)>,
    pub values: super::store::Values,
}

impl Scratch {
    pub fn new_program(&mut self) {
        self.masks.generation += 1;
    }
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
    fn slot(tile: usize, band: usize, base: i64) -> usize {
        (base as usize).wrapping_mul(3).wrapping_add(band).wrapping_add(tile >> 4) % REMEMBERED
    }
}

/// `None`: suspect.
pub fn resolve<'c>(tile: &'c Tile, cells: &'c Cells, launch: &'c Launch<'_>) -> Option<Resolved<'c>> {
    let rank = tile.shape.len();
    let watched = poison::watched(launch.checks);
    let mut shape = [1; MAX_RANK];
    shape[..rank].copy_from_slice(&tile.shape);
    let Cell::Ptr(base) = cells.get(tile.address.base) else { return None };
    if base.taint != 0 {
        return None;
    }
    let mut active = [(0, 1); MAX_RANK];
    for axis in 0..rank {
        active[axis] = (0, shape[axis]);
    }
    let mut resolved = Resolved {
        id: std::ptr::from_ref(tile) as usize,
        stable: &tile.stable,
        rank,
        shape,
        arg: base.arg as usize,
        base: base.offset,
        terms: terms(&tile.address, cells)?,
        active,
        bytes: Default::default(),
        bands: SmallVec::new(),
        blocks: SmallVec::new(),
        hulls: [(0, 0); MAX_RANK],
        empty: false,
        inside: false,
    };
    for conjunct in &tile.mask {
        match conjunct {
            Conjunct::Scalar(slot) => resolved.scalar(cells.get(*slot), watched)?,
            Conjunct::Axis(axis, slot) => match cells.get(*slot) {
                Cell::Mask(mask) => resolved.axis(*axis, mask)?,
                other => resolved.scalar(other, watched)?,
            },
            Conjunct::Block(slot) => match cells.get(*slot) {
                Cell::Mask(MaskBlock { layout, lanes: MaskLanes::Dense(lanes), taints: None }) => {
                    resolved.blocks.push((lanes, *layout));
                }
                Cell::Mask(_) => return None,
                other => resolved.scalar(other, watched)?,
            },
            Conjunct::Band { .. } => {}
        }
    }
    resolved.empty |= resolved.active[..rank].iter().any(|(from, to)| from >= to);
    if resolved.empty {
        return Some(resolved);
    }
    for (number, conjunct) in tile.mask.iter().enumerate() {
        if let Conjunct::Band { sum, lo, hi } = conjunct {
            resolved.band(number, sum, *lo, *hi, cells)?;
        }
    }
    if resolved.empty {
        return Some(resolved);
    }
    resolved.hulls = resolved.hulls_of(&resolved.terms);
    let (lo, hi) = around(resolved.base, &resolved.hulls[..rank]);
    let extent = launch.extents[resolved.arg].as_ref()?;
    resolved.inside = extent.contains_range(lo, hi);
    Some(resolved)
}

/// The range of a base plus terms of these ranges.
fn around(base: i64, hulls: &[(i64, i64)]) -> (i64, i64) {
    hulls.iter().fold((base, base), |(lo, hi), (l, h)| (lo.saturating_add(*l), hi.saturating_add(*h)))
}

fn terms<'c>(sum: &Sum, cells: &'c Cells) -> Option<[Term<'c>; MAX_RANK]> {
    let mut out = [ZERO; MAX_RANK];
    for (axis, slot) in sum.terms.iter().enumerate() {
        if let Some(slot) = slot {
            out[axis] = term(cells.get(*slot))?;
        }
    }
    Some(out)
}

fn term(cell: &Cell) -> Option<Term<'_>> {
    match cell {
        Cell::Int(s) if s.taint == 0 => Some(Term::Affine { base: s.value, step: 0 }),
        Cell::Ints(block) if block.taints.is_none() => Some(match &block.lanes {
            IntLanes::Affine { base, step } => Term::Affine { base: *base, step: *step },
            IntLanes::Dense(lanes) if block.layout.is_full() => Term::Dense { lanes, lo: block.lo, hi: block.hi },
            IntLanes::Dense(_) => return None,
        }),
        _ => None,
    }
}

fn integer(cells: &Cells, slot: Slot) -> Option<i64> {
    match cells.get(slot) {
        Cell::Int(s) if s.taint == 0 => Some(s.value),
        _ => None,
    }
}

impl<'c> Resolved<'c> {
    fn scalar(&mut self, cell: &Cell, _watched: u8) -> Option<()> {
        match cell {
            Cell::Int(s) if s.taint == 0 => {
                self.empty |= s.value == 0;
                Some(())
            }
            _ => None,
        }
    }

    fn axis(&mut self, axis: usize, mask: &'c MaskBlock) -> Option<()> {
        if mask.taints.is_some() {
            return None;
        }
        match &mask.lanes {
            MaskLanes::Range { from, to } => {
                let active = &mut self.active[axis];
                *active = (active.0.max(*from), active.1.min(*to));
            }
            MaskLanes::Dense(lanes) if mask.layout.is_full() => {
                let Some(first) = lanes.iter().position(|&b| b != 0) else {
                    self.empty = true;
                    return Some(());
                };
                let last = lanes.iter().rposition(|&b| b != 0).unwrap_or(first) + 1;
                let active = &mut self.active[axis];
                *active = (active.0.max(first), active.1.min(last));
                if lanes[first..last].contains(&0) {
                    self.bytes[axis].push(lanes);
                }
            }
            MaskLanes::Dense(_) => return None,
        }
        Some(())
    }

    /// Range of each term over the active lanes of its axis.
    fn hulls_of(&self, terms: &[Term<'_>; MAX_RANK]) -> [(i64, i64); MAX_RANK] {
        let mut hulls = [(0, 0); MAX_RANK];
        for axis in 0..self.rank {
            hulls[axis] = terms[axis].hull(self.active[axis].0, self.active[axis].1);
        }
        hulls
    }

    /// Range of the address term over lanes `from..to` of the line axis.
    #[inline]
    pub fn line_hull(&self, inner: usize, from: usize, to: usize) -> (i64, i64) {
        if (from, to) == self.active[inner] { self.hulls[inner] } else { self.terms[inner].hull(from, to) }
    }

    fn band(&mut self, conjunct: usize, sum: &Sum, lo: Option<Slot>, hi: Option<Slot>, cells: &'c Cells) -> Option<()> {
        let base = integer(cells, sum.base)?;
        let terms = terms(sum, cells)?;
        let lo = lo.map_or(Some(i64::MIN), |s| integer(cells, s))?;
        let hi = hi.map_or(Some(i64::MAX), |s| integer(cells, s))?;
        let hulls = self.hulls_of(&terms);
        let (least, most) = around(base, &hulls[..self.rank]);
        if least >= lo && most < hi {
            return Some(());
        }
        if most < lo || least >= hi {
            self.empty = true;
            return Some(());
        }
        self.bands.push(Band { conjunct, base, terms, hulls, lo, hi });
        Some(())
    }

    /// Whether every line of the tile is the whole active range.
    pub fn is_plain(&self) -> bool {
        self.bands.is_empty() && self.blocks.is_empty() && self.bytes[..self.rank].iter().all(SmallVec::is_empty)
    }

    /// Every lane of the tile is active.
    pub fn is_full(&self) -> bool {
        !self.empty && self.is_plain() && (0..self.rank).all(|a| self.active[a] == (0, self.shape[a]))
    }

    /// The axis along which addresses lie closest together; `preferred` wins a tie.
    pub fn best_axis(&self, preferred: usize) -> usize {
        let spread = |axis: usize| -> i64 {
            let (lo, hi) = self.hulls[axis];
            let n = self.active[axis].1.saturating_sub(self.active[axis].0) as i64;
            if n <= 1 || hi == lo { i64::MAX } else { (hi - lo) / (n - 1) }
        };
        (0..self.rank).min_by_key(|&a| (spread(a), a != preferred, self.rank - a)).unwrap_or(0)
    }

    /// Strides of the two axes of a full, affine tile of ascending addresses inside its view: it may
    /// be read where it lies.
    pub fn strides(&self) -> Option<[usize; 2]> {
        if !self.inside || !self.is_full() || self.rank != 2 {
            return None;
        }
        let step = |axis: usize| match self.terms[axis] {
            Term::Affine { step, .. } => usize::try_from(step).ok(),
            Term::Dense { .. } => None,
        };
        Some([step(0)?, step(1)?])
    }

    /// Address of lane (0, 0, …).
    pub fn first(&self) -> i64 {
        self.base + self.terms[..self.rank].iter().map(|t| t.at(0)).sum::<i64>()
    }

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
        let Term::Dense { lanes: term, .. } = band.terms[inner] else { return };
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
        while i + n < to && lanes.is_none_or(|l| l[i + n] != 0) && term.at(i + n) == start + n as i64 {
            n += 1;
        }
        visit(base.wrapping_add(start), n, i)?;
        i += n;
    }
    Ok(())
}

/// The view that a resolved tile addresses.
pub fn extent<'l>(launch: &'l Launch<'_>, arg: usize) -> &'l Extent {
    launch.extents[arg].as_ref().expect("invariant: a pointer's provenance is a pointer argument")
}
