//! Resolving a tile: from its address sum and mask to lines that can be copied.
//!
//! A tile is walked line by line along one axis. Everything that can be decided for the whole tile
//! is decided here once: one-axis masks narrow the active range of their axis, a band whose interval
//! over the active ranges lies inside its limits is dropped, and one interval test may prove that
//! every address lies inside the view. What is left is asked line by line (`line`).

use smallvec::SmallVec;

use super::axis::{Axes, AxisTerms};
use super::masks::Masks;
use super::term::{Term, integer};
use super::{Cells, Launch};
use crate::emulate::check::overlap;
use crate::emulate::tape::{Conjunct, Lasting, Tile};
use crate::emulate::value::layout::MAX_RANK;
use crate::emulate::value::{Cell, Layout, MaskBlock, MaskLanes, Origin};
use crate::emulate::view::Extent;

/// `lo <= base + Σ terms < hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Band {
    pub(super) base: i64,
    pub(super) lo: i64,
    pub(super) hi: i64,
}

/// A resolved tile.
pub struct Resolved<'c> {
    pub(super) tile: &'c Tile,
    pub rank: usize,
    pub shape: &'c [usize],
    pub arg: usize,
    pub base: i64,
    /// The last ones repeat the first.
    pub(super) axes: [&'c AxisTerms; MAX_RANK],
    /// All of the mask's.
    pub(super) bands: SmallVec<[Band; 2]>,
    /// A band does not hold for the whole tile.
    banded: bool,
    pub(super) blocks: SmallVec<[(&'c [u8], Layout); 1]>,
    /// Range of the addresses of the active lanes.
    hull: (i64, i64),
    /// No lane is active.
    pub empty: bool,
    /// Every lane of the active ranges has its address inside the view.
    pub inside: bool,
}

/// Buffers of the tile loops.
#[derive(Default)]
pub struct Scratch {
    pub axes: Axes,
    pub masks: Masks,
    pub touched: Vec<super::load::Run>,
    pub marks: overlap::Marks,
    pub values: super::store::Values,
    /// By joined guards: for how many rows of their table they hold in this program.
    proven: Vec<Option<usize>>,
}

impl Scratch {
    pub fn new_program(&mut self) {
        self.axes.new_program();
        self.masks.new_program();
        self.proven.fill(None);
    }

    pub fn proven(&mut self, guards: usize) -> &mut Option<usize> {
        if self.proven.len() <= guards {
            self.proven.resize(guards + 1, None);
        }
        &mut self.proven[guards]
    }
}

/// `None`: suspect.
pub fn resolve<'c>(tile: &'c Tile, cells: &'c Cells, launch: &'c Launch<'_>, axes: &'c mut Axes) -> Option<Resolved<'c>> {
    let Cell::Ptr(base) = cells.get(tile.address.base) else { return None };
    // Casts of pointers go lane by lane.
    if base.taint != 0 || !matches!(Origin::of(base.arg), Origin::Argument(_)) {
        return None;
    }
    let mut resolved = Resolved {
        tile,
        rank: tile.shape.len(),
        shape: &tile.shape,
        arg: base.arg as usize,
        base: base.offset,
        axes: axes.of(tile, cells)?,
        bands: SmallVec::new(),
        banded: false,
        blocks: SmallVec::new(),
        hull: (0, 0),
        empty: false,
        inside: false,
    };
    resolved.empty = resolved.axes().iter().any(|axis| axis.active.0 >= axis.active.1);
    for conjunct in &tile.mask {
        match conjunct {
            Conjunct::Scalar(slot) => resolved.scalar(cells.get(*slot))?,
            Conjunct::Axis(..) => {}
            Conjunct::Block(slot) => match cells.get(*slot) {
                Cell::Mask(MaskBlock { layout, lanes: MaskLanes::Dense(lanes), taints: None }) => {
                    resolved.blocks.push((lanes, *layout));
                }
                Cell::Mask(_) => return None,
                other => resolved.scalar(other)?,
            },
            Conjunct::Band { sum, lo, hi } => {
                let base = integer(cells, sum.base)?;
                let lo = lo.map_or(Some(i64::MIN), |s| integer(cells, s))?;
                let hi = hi.map_or(Some(i64::MAX), |s| integer(cells, s))?;
                resolved.band(Band { base, lo, hi });
            }
        }
    }
    if resolved.empty {
        return Some(resolved);
    }
    let (lo, hi) = around(resolved.base, resolved.axes().iter().map(|axis| axis.address.hull));
    resolved.hull = (lo, hi);
    resolved.inside = launch.extents[resolved.arg].as_ref()?.contains_range(lo, hi);
    Some(resolved)
}

/// The range of a base plus terms of these ranges.
#[inline]
fn around(base: i64, hulls: impl Iterator<Item = (i64, i64)>) -> (i64, i64) {
    hulls.fold((base, base), |(lo, hi), (l, h)| (lo.saturating_add(l), hi.saturating_add(h)))
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

    #[inline]
    pub(super) fn axes(&self) -> &[&'c AxisTerms] {
        &self.axes[..self.rank]
    }

    /// The addresses' term along an axis.
    #[inline]
    pub fn term(&self, axis: usize) -> Term<'c> {
        self.axes[axis].address.term()
    }

    /// Active lanes of an axis lie in this range.
    #[inline]
    pub fn active(&self, axis: usize) -> (usize, usize) {
        self.axes[axis].active
    }

    /// Whether what the tile is along an axis, and its masks with it, stays until the program ends.
    pub(super) fn is_stable(&self, axis: usize) -> bool {
        self.tile.lasting[axis] == Lasting::Program
    }

    /// Range of the address term over lanes `from..to` of the line axis.
    #[inline]
    pub fn line_hull(&self, inner: usize, from: usize, to: usize) -> (i64, i64) {
        if (from, to) == self.active(inner) { self.axes[inner].address.hull } else { self.term(inner).hull(from, to) }
    }

    /// Takes the next band of the mask.
    fn band(&mut self, band: Band) {
        let number = self.bands.len();
        self.bands.push(band);
        if self.empty {
            return;
        }
        let (least, most) = around(band.base, self.axes().iter().map(|axis| axis.bands[number].hull));
        self.empty = most < band.lo || least >= band.hi;
        self.banded |= least < band.lo || most >= band.hi;
    }

    /// Whether some lines of the tile are more than the active range of their axis and those of the others.
    #[inline]
    pub(super) fn is_narrowed(&self, inner: usize) -> bool {
        self.banded || !self.blocks.is_empty() || !self.axes[inner].bytes.is_empty()
    }

    /// Whether every line of the tile is the whole active range.
    pub fn is_plain(&self) -> bool {
        !self.banded && self.blocks.is_empty() && self.axes().iter().all(|axis| axis.bytes.is_empty())
    }

    /// Every lane of the tile is active.
    pub fn is_full(&self) -> bool {
        !self.empty && self.is_plain() && (0..self.rank).all(|a| self.active(a) == (0, self.shape[a]))
    }

    /// The axis along which addresses lie closest together; `preferred` wins a tie.
    pub fn best_axis(&self, preferred: usize) -> usize {
        let spread = |axis: usize| -> i64 {
            let (lo, hi) = self.axes[axis].address.hull;
            let (from, to) = self.active(axis);
            let n = to.saturating_sub(from) as i64;
            if n <= 1 || hi == lo { i64::MAX } else { (hi - lo) / (n - 1) }
        };
        (0..self.rank).min_by_key(|&a| (spread(a), a != preferred, self.rank - a)).expect("invariant: a tile has an axis")
    }

    /// Whether the terms alone show that no two active lanes have one address.
    pub fn lanes_apart(&self) -> bool {
        let mut axes: SmallVec<[(i64, i64); MAX_RANK]> = SmallVec::new();
        for axis in 0..self.rank {
            let (from, to) = self.active(axis);
            if to - from > 1 {
                let (lo, hi) = self.axes[axis].address.hull;
                axes.push((self.term(axis).gap(from, to), hi.saturating_sub(lo)));
            }
        }
        overlap::apart(&mut axes)
    }

    /// The range of the addresses of the active lanes.
    pub fn hull(&self) -> (i64, i64) {
        self.hull
    }

    /// Strides of the two axes of a full, affine tile of ascending addresses inside its view: it may
    /// be read where it lies.
    pub fn strides(&self) -> Option<[usize; 2]> {
        if !self.inside || !self.is_full() || self.rank != 2 {
            return None;
        }
        let step = |axis: usize| match self.term(axis) {
            Term::Affine { step, .. } => usize::try_from(step).ok(),
            Term::Dense { .. } => None,
        };
        Some([step(0)?, step(1)?])
    }

    /// Address of lane (0, 0, …).
    pub fn first(&self) -> i64 {
        self.base + (0..self.rank).map(|axis| self.term(axis).at(0)).sum::<i64>()
    }
}

/// The view that a resolved tile addresses.
pub fn extent<'l>(launch: &'l Launch<'_>, arg: usize) -> &'l Extent {
    launch.extents[arg].as_ref().expect("invariant: a pointer's provenance is a pointer argument")
}
