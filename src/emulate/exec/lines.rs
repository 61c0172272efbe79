//! Lines: the lanes of a block one behind the other, each in its own place. Cut, joined, picked by place.

use std::sync::Arc;

use super::int::wrapped;
use super::shape::materialise;
use crate::emulate::value::{
    Cell, FloatBlock, Floats, IntBlock, Layout, MaskBlock, Pointer, Pool, PtrBlock, Scalar, Taints, misfit, taint,
};
use crate::kernel::ir::Elem;

/// A block in row-major order as a line.
pub fn line(cell: &Cell, elem: Elem, shape: &[usize], pool: &mut Pool) -> Cell {
    let full = materialise(&wrapped(cell, elem), elem, shape, pool);
    full.with_layout(Layout::line(shape.iter().product()), pool)
}

/// The lanes at some places of a line, in a layout of as many.
pub fn pick(cell: &Cell, places: &[usize], layout: Layout) -> Cell {
    fn of<T: Copy>(lanes: &[T], places: &[usize]) -> Vec<T> {
        places.iter().map(|&place| lanes[place]).collect()
    }
    let taints = cell.taints().as_ref().and_then(|t| taint::seal(of(t, places)));
    match cell {
        Cell::Ints(b) => Cell::Ints(IntBlock::dense(layout, of(&b.values(), places), taints)),
        Cell::Mask(b) => Cell::Mask(MaskBlock::dense(layout, of(&b.values(), places), taints)),
        Cell::Floats(b) => {
            let lanes = match &b.lanes {
                Floats::F32(v) => Floats::F32(Arc::new(of(v, places))),
                Floats::F64(v) => Floats::F64(Arc::new(of(v, places))),
            };
            Cell::Floats(FloatBlock { layout, lanes, taints })
        }
        Cell::Ptrs(b) => {
            let offsets = IntBlock::dense(layout, of(&b.offsets.values(), places), taints);
            Cell::Ptrs(PtrBlock { arg: b.arg, offsets })
        }
        Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => misfit(cell, "a block"),
    }
}

/// Lanes `from..from + n` of a line.
pub fn slice(cell: &Cell, from: usize, n: usize) -> Cell {
    let layout = Layout::line(n);
    let taints = |t: &Taints| t.as_ref().and_then(|t| taint::seal(t[from..from + n].to_vec()));
    match cell {
        Cell::Ints(b) => Cell::Ints(IntBlock::dense(layout, b.values()[from..from + n].to_vec(), taints(&b.taints))),
        Cell::Mask(b) => Cell::Mask(MaskBlock::dense(layout, b.values()[from..from + n].to_vec(), taints(&b.taints))),
        Cell::Floats(b) => {
            let lanes = match &b.lanes {
                Floats::F32(v) => Floats::F32(Arc::new(v[from..from + n].to_vec())),
                Floats::F64(v) => Floats::F64(Arc::new(v[from..from + n].to_vec())),
            };
            Cell::Floats(FloatBlock { layout, lanes, taints: taints(&b.taints) })
        }
        Cell::Ptrs(b) => {
            let lanes = b.offsets.values()[from..from + n].to_vec();
            Cell::Ptrs(PtrBlock { arg: b.arg, offsets: IntBlock::dense(layout, lanes, taints(&b.offsets.taints)) })
        }
        Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => misfit(cell, "a block"),
    }
}

/// Two lines as one.
pub fn join(a: &Cell, b: &Cell) -> Cell {
    concat(&[a.clone(), b.clone()])
}

/// Lines as one. All are of one type, pointers of one provenance.
pub fn concat(lines: &[Cell]) -> Cell {
    let numel = |c: &Cell| c.layout().unwrap_or_else(|| misfit(c, "a block")).numel();
    let n = lines.iter().map(numel).sum();
    let layout = Layout::line(n);
    let taints = if lines.iter().all(|line| line.taints().is_none()) {
        None
    } else {
        let of = |c: &Cell| c.taints().as_deref().cloned().unwrap_or_else(|| vec![0; numel(c)]);
        taint::seal(lines.iter().flat_map(of).collect())
    };
    let ints = |c: &Cell| match c {
        Cell::Ints(b) => b.values().into_owned(),
        Cell::Ptrs(b) => b.offsets.values().into_owned(),
        other => misfit(other, "lines of one type"),
    };
    match &lines[0] {
        Cell::Ints(_) => Cell::Ints(IntBlock::dense(layout, lines.iter().flat_map(ints).collect(), taints)),
        Cell::Ptrs(b) => {
            let offsets = IntBlock::dense(layout, lines.iter().flat_map(ints).collect(), taints);
            Cell::Ptrs(PtrBlock { arg: b.arg, offsets })
        }
        Cell::Mask(_) => {
            let bytes = |c: &Cell| match c {
                Cell::Mask(b) => b.values().into_owned(),
                other => misfit(other, "lines of one type"),
            };
            Cell::Mask(MaskBlock::dense(layout, lines.iter().flat_map(bytes).collect(), taints))
        }
        Cell::Floats(FloatBlock { lanes: Floats::F32(_), .. }) => {
            let mut out = Vec::with_capacity(n);
            for line in lines {
                match line {
                    Cell::Floats(FloatBlock { lanes: Floats::F32(v), .. }) => out.extend_from_slice(v),
                    other => misfit(other, "lines of one type"),
                }
            }
            Cell::Floats(FloatBlock { layout, lanes: Floats::F32(Arc::new(out)), taints })
        }
        Cell::Floats(FloatBlock { lanes: Floats::F64(_), .. }) => {
            let mut out = Vec::with_capacity(n);
            for line in lines {
                match line {
                    Cell::Floats(FloatBlock { lanes: Floats::F64(v), .. }) => out.extend_from_slice(v),
                    other => misfit(other, "lines of one type"),
                }
            }
            Cell::Floats(FloatBlock { layout, lanes: Floats::F64(Arc::new(out)), taints })
        }
        other @ (Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_)) => misfit(other, "a block"),
    }
}

/// The first lane as a scalar.
pub fn first_lane(cell: &Cell) -> Cell {
    let flag = cell.taints().as_ref().map_or(0, |t| t[0]);
    match cell {
        Cell::Ints(b) => Cell::Int(Scalar { value: b.at(0), taint: flag }),
        Cell::Mask(b) => Cell::Int(Scalar { value: b.values()[0].into(), taint: flag }),
        Cell::Floats(b) => {
            let value = match &b.lanes {
                Floats::F32(v) => f64::from(v[0]),
                Floats::F64(v) => v[0],
            };
            Cell::Float(Scalar { value, taint: flag })
        }
        Cell::Ptrs(b) => Cell::Ptr(Pointer { arg: b.arg, offset: b.offsets.at(0), taint: flag }),
        Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => misfit(cell, "a block"),
    }
}

/// The cell with a flag added to some lanes, in the places of its layout.
pub fn flagged(cell: Cell, flags: Vec<u8>) -> Cell {
    if flags.iter().all(|&flag| flag == 0) {
        return cell;
    }
    let unite = |old: &Taints| {
        let mut all = flags.clone();
        if let Some(old) = old {
            all.iter_mut().zip(old.iter()).for_each(|(t, o)| *t |= o);
        }
        taint::seal(all)
    };
    match cell {
        Cell::Ints(b) => Cell::Ints(IntBlock { taints: unite(&b.taints), ..b }),
        Cell::Mask(b) => Cell::Mask(MaskBlock { taints: unite(&b.taints), ..b }),
        Cell::Floats(b) => Cell::Floats(FloatBlock { taints: unite(&b.taints), ..b }),
        Cell::Ptrs(b) => {
            let offsets = IntBlock { taints: unite(&b.offsets.taints), ..b.offsets };
            Cell::Ptrs(PtrBlock { arg: b.arg, offsets })
        }
        other @ (Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_)) => misfit(&other, "a block"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_move_with_their_lanes() {
        let cell = Cell::f32_block(Layout::line(3), vec![1.0, 2.0, 3.0], Some(Arc::new(vec![0, 0, taint::MASKED])));
        let picked = pick(&cell, &[2, 0, 2, 1], Layout::row_major(&[2, 2]));
        let Cell::Floats(FloatBlock { lanes: Floats::F32(lanes), taints, .. }) = &picked else { panic!("no floats") };
        assert_eq!(lanes.as_slice(), [3.0, 1.0, 3.0, 2.0]);
        assert_eq!(taints.as_deref().unwrap().as_slice(), [taint::MASKED, 0, taint::MASKED, 0]);
        assert!(pick(&cell, &[0, 1], Layout::line(2)).taints().is_none());
        let both = concat(&[slice(&cell, 2, 1), slice(&cell, 0, 1)]);
        assert_eq!(both.taints().as_deref().unwrap().as_slice(), [taint::MASKED, 0]);
    }
}
