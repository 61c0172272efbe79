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
    fn hull(&self, from: usize, to: usize) -> (i64, i64) {
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
    base: i64,
    terms: [Term<'c>; MAX_RANK],
    lo: i64,
    hi: i64,
}

/// A resolved tile.
pub struct Resolved<'c> {
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
    /// No lane is active.
    pub empty: bool,
    /// Every lane of the active ranges has its address inside the view.
    pub inside: bool,
}

/// What a line's mask came to.
pub enum LineMask {
    /// Lanes `from..to` are active; maybe none.
    Range(usize, usize),
    /// The bytes in the scratch say which.
    Lanes,
}

/// Buffers of the tile loops.
#[derive(Default)]
pub struct Scratch {
    pub lanes: Vec<u8>,
    pub touched: Vec<(usize, usize)>,
    pub values: super::store::Values,
}

impl Scratch {
    pub fn new_program(&mut self) {
        self.touched.clear();
    }
}

/// `None`: suspect.
pub fn resolve<'c>(tile: &Tile, cells: &'c Cells, launch: &'c Launch<'_>) -> Option<Resolved<'c>> {
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
        rank,
        shape,
        arg: base.arg as usize,
        base: base.offset,
        terms: terms(&tile.address, cells)?,
        active,
        bytes: Default::default(),
        bands: SmallVec::new(),
        blocks: SmallVec::new(),
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
    for conjunct in &tile.mask {
        if let Conjunct::Band { sum, lo, hi } = conjunct {
            resolved.band(sum, *lo, *hi, cells)?;
        }
    }
    if resolved.empty {
        return Some(resolved);
    }
    let (lo, hi) = resolved.hull(resolved.base, &resolved.terms);
    let extent = launch.extents[resolved.arg].as_ref()?;
    resolved.inside = extent.contains_range(lo, hi);
    Some(resolved)
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

    fn hull(&self, base: i64, terms: &[Term<'_>; MAX_RANK]) -> (i64, i64) {
        let (mut lo, mut hi) = (base, base);
        for axis in 0..self.rank {
            let (l, h) = terms[axis].hull(self.active[axis].0, self.active[axis].1);
            lo += l;
            hi += h;
        }
        (lo, hi)
    }

    fn band(&mut self, sum: &Sum, lo: Option<Slot>, hi: Option<Slot>, cells: &'c Cells) -> Option<()> {
        let base = integer(cells, sum.base)?;
        let terms = terms(sum, cells)?;
        let lo = lo.map_or(Some(i64::MIN), |s| integer(cells, s))?;
        let hi = hi.map_or(Some(i64::MAX), |s| integer(cells, s))?;
        let (least, most) = self.hull(base, &terms);
        if least >= lo && most < hi {
            return Some(());
        }
        if most < lo || least >= hi {
            self.empty = true;
            return Some(());
        }
        self.bands.push(Band { base, terms, lo, hi });
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

    /// The axis along which addresses run without gaps, or nearly so; `preferred` wins a tie.
    pub fn best_axis(&self, preferred: usize) -> usize {
        let score = |axis: usize| -> i64 {
            let n = self.shape[axis] as i64;
            if n == 1 {
                return 0;
            }
            match self.terms[axis] {
                Term::Affine { step: 1, .. } => 8 * n.min(64),
                Term::Affine { step: 0 | -1 | 2, .. } => 4,
                Term::Affine { .. } => 2,
                Term::Dense { lanes, .. } => {
                    let runs = lanes.windows(2).filter(|w| w[1] == w[0] + 1).count() as i64;
                    8 * n.min(64) * runs / n
                }
            }
        };
        (0..self.rank).max_by_key(|&a| (score(a), a == preferred, a)).unwrap_or(0)
    }

    /// Address of lane 0 of the line at `index` (the inner coordinate does not matter).
    #[inline]
    pub fn line_base(&self, index: &[usize; MAX_RANK], inner: usize) -> i64 {
        let mut base = self.base;
        for axis in 0..self.rank {
            if axis != inner {
                base += self.terms[axis].at(index[axis]);
            }
        }
        base
    }

    /// The mask of a line.
    pub fn line_mask(&self, index: &[usize; MAX_RANK], inner: usize, lanes: &mut Vec<u8>) -> LineMask {
        let (mut from, mut to) = self.active[inner];
        for axis in 0..self.rank {
            if axis == inner {
                continue;
            }
            let i = index[axis];
            let (f, t) = self.active[axis];
            if i < f || i >= t || self.bytes[axis].iter().any(|b| b[i] == 0) {
                return LineMask::Range(0, 0);
            }
        }
        // Bands that narrow the range come first, the others make bytes.
        let mut by_lane: SmallVec<[(usize, i64); 2]> = SmallVec::new();
        for (number, band) in self.bands.iter().enumerate() {
            let mut base = band.base;
            for axis in 0..self.rank {
                if axis != inner {
                    base += band.terms[axis].at(index[axis]);
                }
            }
            let (l, h) = band.terms[inner].hull(from, to);
            let (least, most) = (base + l, base + h);
            if least >= band.lo && most < band.hi {
                continue;
            }
            if most < band.lo || least >= band.hi {
                return LineMask::Range(0, 0);
            }
            match band.terms[inner] {
                Term::Affine { base: start, step } => {
                    let start = base + start;
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
        lanes.clear();
        lanes.resize(n, 0);
        lanes[from..to].fill(1);
        for (number, base) in by_lane {
            let band = &self.bands[number];
            if let Term::Dense { lanes: term, .. } = band.terms[inner] {
                let (lo, hi) = (band.lo.saturating_sub(base), band.hi.saturating_sub(base));
                for (lane, &v) in lanes[from..to].iter_mut().zip(&term[from..to]) {
                    *lane &= u8::from((v >= lo) & (v < hi));
                }
            }
        }
        for bytes in &self.bytes[inner] {
            lanes.iter_mut().zip(*bytes).for_each(|(lane, &b)| *lane &= b);
        }
        for (bytes, layout) in &self.blocks {
            let mut place = 0;
            for axis in 0..self.rank {
                if axis != inner {
                    place += index[axis] * layout.stride(axis);
                }
            }
            let step = layout.stride(inner);
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane &= bytes[place + i * step];
            }
        }
        LineMask::Lanes
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
        return if from < to { visit(base + start + from as i64, to - from, from) } else { Ok(()) };
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
        visit(base + start, n, i)?;
        i += n;
    }
    Ok(())
}

/// The view that a resolved tile addresses.
pub fn extent<'l>(launch: &'l Launch<'_>, arg: usize) -> &'l Extent {
    launch.extents[arg].as_ref().expect("invariant: a pointer's provenance is a pointer argument")
}
