//! What a tile is along one axis: its terms, and what masks of that axis alone leave active.
//!
//! Much of it outlasts the instruction: what the launch and the program decide stays until the program ends, and
//! what an iteration decides alone is the same in every program (the rows of `tape`'s tables). It is made once and
//! kept; the tile itself is then no more than a few sums of ends (`tile`).

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Cells;
use super::term::{Lanes, Term};
use crate::emulate::tape::{Conjunct, Lasting, Tile};
use crate::emulate::value::layout::MAX_RANK;
use crate::emulate::value::{Cell, MaskBlock, MaskLanes};

/// A term with its range over the active lanes.
#[derive(Debug)]
pub struct Along {
    lanes: Lanes,
    pub hull: (i64, i64),
}

impl Along {
    #[inline]
    pub fn term(&self) -> Term<'_> {
        self.lanes.term()
    }
}

/// A tile along one axis.
#[derive(Debug)]
pub struct AxisTerms {
    /// Of the addresses.
    pub address: Along,
    /// Of the mask's bands, in their order.
    pub bands: SmallVec<[Along; 2]>,
    /// Active lanes lie in `from..to`; none are where it is empty.
    pub active: (usize, usize),
    /// Masks that are no ranges, a byte a lane.
    pub bytes: SmallVec<[Arc<Vec<u8>>; 1]>,
    /// Lanes of one class have equal terms in all bands, throughout the launch; empty where that is not known.
    pub classes: Vec<u32>,
}

/// Classes of an axis so far, by the terms of the bands.
type Classes = HashMap<SmallVec<[i64; 2]>, u32>;

/// More classes than this are not told apart: masks would hardly come twice.
const MOST_CLASSES: usize = 1024;

impl AxisTerms {
    /// `None`: suspect.
    fn of(tile: &Tile, axis: usize, cells: &Cells) -> Option<AxisTerms> {
        let mut active = (0, tile.shape[axis]);
        let mut bytes = SmallVec::new();
        for conjunct in &tile.mask {
            if let Conjunct::Axis(along, slot) = conjunct
                && *along == axis
            {
                let ((from, to), lanes) = narrowed(cells.get(*slot), active)?;
                active = (from, to);
                bytes.extend(lanes);
            }
        }
        let along = |slot| {
            let lanes = Lanes::of(slot, cells)?;
            let hull = if active.0 < active.1 { lanes.term().hull(active.0, active.1) } else { (0, 0) };
            Some(Along { lanes, hull })
        };
        let mut bands = SmallVec::new();
        for conjunct in &tile.mask {
            if let Conjunct::Band { sum, lo: _, hi: _ } = conjunct {
                bands.push(along(sum.terms[axis])?);
            }
        }
        Some(AxisTerms { address: along(tile.address.terms[axis])?, bands, active, bytes, classes: Vec::new() })
    }

    /// Tells the lanes' classes.
    fn classify(&mut self, lanes: usize, known: &mut Classes) {
        if self.bands.is_empty() || known.len() > MOST_CLASSES {
            return;
        }
        for lane in 0..lanes {
            let next = known.len() as u32;
            let terms = self.bands.iter().map(|band| band.term().at(lane)).collect();
            self.classes.push(*known.entry(terms).or_insert(next));
        }
        if known.len() > MOST_CLASSES {
            self.classes.clear();
        }
    }
}

/// What is left of a range of lanes under a mask, and its bytes where it is no range itself.
#[expect(clippy::type_complexity, reason = "a range and bytes")]
fn narrowed(mask: &Cell, (from, to): (usize, usize)) -> Option<((usize, usize), Option<Arc<Vec<u8>>>)> {
    match mask {
        Cell::Int(all) if all.taint == 0 => Some(((from, if all.value == 0 { from } else { to }), None)),
        Cell::Mask(MaskBlock { lanes: MaskLanes::Range { from: first, to: end }, taints: None, layout: _ }) => {
            Some(((from.max(*first), to.min(*end)), None))
        }
        Cell::Mask(MaskBlock { lanes: MaskLanes::Dense(lanes), taints: None, layout }) if layout.is_full() => {
            let Some(first) = lanes.iter().position(|&b| b != 0) else { return Some(((from, from), None)) };
            let end = lanes.iter().rposition(|&b| b != 0).expect("invariant: a lane is active") + 1;
            let gaps = lanes[first..end].contains(&0);
            Some(((from.max(first), to.min(end)), gaps.then(|| lanes.clone())))
        }
        _ => None,
    }
}

/// The axes of a tape's tiles, as far as they are known.
#[derive(Default)]
pub struct Axes {
    /// By tile and axis: what lasts until the program ends, or was made for the last instruction.
    own: Vec<Option<AxisTerms>>,
    /// Which of them to forget with the program.
    filled: Vec<usize>,
    /// By tile and axis, then by row of the axis' table.
    rows: Vec<Vec<Option<AxisTerms>>>,
    /// By tile and axis.
    classes: Vec<Classes>,
}

impl Axes {
    /// Forgets what the program before decided.
    pub fn new_program(&mut self) {
        for at in self.filled.drain(..) {
            self.own[at] = None;
        }
    }

    /// The axes of a tile; places beyond its rank repeat the first. `None`: suspect.
    #[inline]
    pub fn of<'a>(&'a mut self, tile: &Tile, cells: &Cells) -> Option<[&'a AxisTerms; MAX_RANK]> {
        let rank = tile.shape.len();
        let mut rows = [None; MAX_RANK];
        for (axis, row) in rows.iter_mut().enumerate().take(rank) {
            *row = self.know(tile, axis, cells)?;
        }
        let axes: &'a Axes = self;
        let known = |axis: usize| {
            let at = place(tile, axis);
            let found = match rows[axis] {
                Some(row) => axes.rows[at][row].as_ref(),
                None => axes.own[at].as_ref(),
            };
            found.expect("invariant: it was made above")
        };
        // By far the most common, and asked for by every access.
        if rank == 2 {
            let (rows, columns) = (known(0), known(1));
            return Some([rows, columns, rows, rows, rows, rows]);
        }
        Some(std::array::from_fn(|axis| known(if axis < rank { axis } else { 0 })))
    }

    /// Makes an axis known: the row that it is kept under, where it is one's.
    #[inline]
    fn know(&mut self, tile: &Tile, axis: usize, cells: &Cells) -> Option<Option<usize>> {
        let at = place(tile, axis);
        if let Lasting::Row(table) = tile.lasting[axis]
            && let Some(row) = cells.kept_row(table)
        {
            if self.rows.get(at).and_then(|rows| rows.get(row)).is_none_or(Option::is_none) {
                let mut made = AxisTerms::of(tile, axis, cells)?;
                made.classify(tile.shape[axis], grown(&mut self.classes, at));
                grown(&mut self.rows, at);
                *grown(&mut self.rows[at], row) = Some(made);
            }
            return Some(Some(row));
        }
        let lasts = tile.lasting[axis] == Lasting::Program;
        if !lasts || self.own.get(at).is_none_or(Option::is_none) {
            let made = AxisTerms::of(tile, axis, cells)?;
            *grown(&mut self.own, at) = Some(made);
            if lasts {
                self.filled.push(at);
            }
        }
        Some(None)
    }
}

fn place(tile: &Tile, axis: usize) -> usize {
    tile.number * MAX_RANK + axis
}

/// The element at a place, with new ones up to it.
fn grown<T: Default>(all: &mut Vec<T>, at: usize) -> &mut T {
    if all.len() <= at {
        all.resize_with(at + 1, T::default);
    }
    &mut all[at]
}
