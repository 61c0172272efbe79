//! Resolving a tile: from its address sum and mask to lines that can be copied.
//!
//! A tile is walked line by line along one axis. Everything that can be decided for the whole tile
//! is decided here once: one-axis masks narrow the active range of their axis, a band whose interval
//! over the active ranges lies inside its limits is dropped, and one interval test may prove that
//! every address lies inside the view. What is left is asked line by line (`line`).

use smallvec::SmallVec;

use super::masks::Masks;
use super::term::{Term, integer, terms};
use super::{Cells, Launch};
use crate::emulate::check::overlap;
use crate::emulate::tape::{Conjunct, Slot, Sum, Tile};
use crate::emulate::value::layout::MAX_RANK;
use crate::emulate::value::{Cell, Layout, MaskBlock, MaskLanes, Origin};
use crate::emulate::view::Extent;

/// `lo <= base + Σ terms < hi`, where it does not hold for the whole tile.
pub(super) struct Band<'c> {
    /// Which of the mask's conjuncts it is: bands that hold for the whole tile are not listed, so
    /// that a band's place in the list does not name it.
    pub(super) conjunct: usize,
    pub(super) base: i64,
    pub(super) terms: [Term<'c>; MAX_RANK],
    /// Range of each term over the active lanes of its axis.
    pub(super) hulls: [(i64, i64); MAX_RANK],
    pub(super) lo: i64,
    pub(super) hi: i64,
}

/// A resolved tile.
pub struct Resolved<'c> {
    /// Names the tile among those of its tape.
    pub(super) id: usize,
    /// By axis: bands' masks along it may be remembered.
    pub(super) stable: &'c [bool],
    pub rank: usize,
    pub shape: [usize; MAX_RANK],
    pub arg: usize,
    pub base: i64,
    pub terms: [Term<'c>; MAX_RANK],
    /// Active lanes of each axis lie in `from..to`.
    pub active: [(usize, usize); MAX_RANK],
    /// Bytes of a one-axis mask that is no range.
    pub(super) bytes: [SmallVec<[&'c [u8]; 1]>; MAX_RANK],
    pub(super) bands: SmallVec<[Band<'c>; 2]>,
    pub(super) blocks: SmallVec<[(&'c [u8], Layout); 1]>,
    /// Range of the address term over the active lanes of each axis.
    hulls: [(i64, i64); MAX_RANK],
    /// No lane is active.
    pub empty: bool,
    /// Every lane of the active ranges has its address inside the view.
    pub inside: bool,
}

/// Buffers of the tile loops.
#[derive(Default)]
pub struct Scratch {
    pub masks: Masks,
    pub touched: Vec<super::load::Run>,
    pub marks: overlap::Marks,
    pub values: super::store::Values,
}

impl Scratch {
    pub fn new_program(&mut self) {
        self.masks.new_program();
    }
}

/// `None`: suspect.
pub fn resolve<'c>(tile: &'c Tile, cells: &'c Cells, launch: &'c Launch<'_>) -> Option<Resolved<'c>> {
    let rank = tile.shape.len();
    let mut shape = [1; MAX_RANK];
    shape[..rank].copy_from_slice(&tile.shape);
    let Cell::Ptr(base) = cells.get(tile.address.base) else { return None };
    // Casts of pointers go lane by lane.
    if base.taint != 0 || !matches!(Origin::of(base.arg), Origin::Argument(_)) {
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
            Conjunct::Scalar(slot) => resolved.scalar(cells.get(*slot))?,
            Conjunct::Axis(axis, slot) => match cells.get(*slot) {
                Cell::Mask(mask) => resolved.axis(*axis, mask)?,
                other => resolved.scalar(other)?,
            },
            Conjunct::Block(slot) => match cells.get(*slot) {
                Cell::Mask(MaskBlock { layout, lanes: MaskLanes::Dense(lanes), taints: None }) => {
                    resolved.blocks.push((lanes, *layout));
                }
                Cell::Mask(_) => return None,
                other => resolved.scalar(other)?,
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
    let (lo, hi) = resolved.hull();
    let extent = launch.extents[resolved.arg].as_ref()?;
    resolved.inside = extent.contains_range(lo, hi);
    Some(resolved)
}

/// The range of a base plus terms of these ranges.
fn around(base: i64, hulls: &[(i64, i64)]) -> (i64, i64) {
    hulls.iter().fold((base, base), |(lo, hi), (l, h)| (lo.saturating_add(*l), hi.saturating_add(*h)))
}

impl<'c> Resolved<'c> {
    fn scalar(&mut self, cell: &Cell) -> Option<()> {
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
                let last = lanes.iter().rposition(|&b| b != 0).expect("invariant: a lane is active") + 1;
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
        (0..self.rank).min_by_key(|&a| (spread(a), a != preferred, self.rank - a)).expect("invariant: a tile has an axis")
    }

    /// Whether the terms alone show that no two active lanes have one address.
    pub fn lanes_apart(&self) -> bool {
        let mut axes: SmallVec<[(i64, i64); MAX_RANK]> = SmallVec::new();
        for axis in 0..self.rank {
            let (from, to) = self.active[axis];
            if to - from > 1 {
                let (lo, hi) = self.hulls[axis];
                axes.push((self.terms[axis].gap(from, to), hi.saturating_sub(lo)));
            }
        }
        overlap::apart(&mut axes)
    }

    /// The range of the addresses of the active lanes.
    pub fn hull(&self) -> (i64, i64) {
        around(self.base, &self.hulls[..self.rank])
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
}

/// The view that a resolved tile addresses.
pub fn extent<'l>(launch: &'l Launch<'_>, arg: usize) -> &'l Extent {
    launch.extents[arg].as_ref().expect("invariant: a pointer's provenance is a pointer argument")
}
