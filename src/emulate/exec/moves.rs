//! Lanes that change places: join, split, cat, gather; and the histogram, which counts them.
//!
//! A lane takes its taint along. An index outside its block leaves the lane of a gather without a value,
//! and every bin of a histogram: compiled Triton counts such an element in some bin or other.

use super::lines::{concat, flagged, line, pick, slice};
use super::shape::ordered;
use crate::emulate::tape::whole::Whole;
use crate::emulate::value::{Cell, IntBlock, Layout, Pool, misfit, taint};
use crate::kernel::ir::Elem;

fn operand(whole: &Whole, cells: &[&Cell], i: usize, pool: &mut Pool) -> Cell {
    line(cells[i], whole.elems[i], &whole.shapes[i], pool)
}

/// `Err` names what is not supported.
fn both(whole: &Whole, cells: &[&Cell], pool: &mut Pool) -> Result<Cell, &'static str> {
    let (a, b) = (operand(whole, cells, 0, pool), operand(whole, cells, 1, pool));
    if let (Cell::Ptrs(x), Cell::Ptrs(y)) = (&a, &b)
        && x.arg != y.arg
    {
        return Err("a block of pointers into two tensors");
    }
    Ok(concat(&[a, b]))
}

/// The operands as a new last axis.
pub fn join(whole: &Whole, cells: &[&Cell], pool: &mut Pool) -> Result<Cell, &'static str> {
    let shape = &whole.shapes[0];
    let mut stacked = vec![2];
    stacked.extend(shape.iter());
    let mut order: Vec<u8> = (1..stacked.len() as u8).collect();
    order.push(0);
    let layout = Layout::row_major(&stacked).permuted(&order);
    Ok(both(whole, cells, pool)?.with_layout(layout, pool))
}

/// One operand behind the other along the first axis.
pub fn cat(whole: &Whole, cells: &[&Cell], pool: &mut Pool) -> Result<Cell, &'static str> {
    Ok(both(whole, cells, pool)?.with_layout(Layout::row_major(&whole.result_shape), pool))
}

/// The lanes whose last index is `half`.
pub fn half(whole: &Whole, cells: &[&Cell], half: usize, pool: &mut Pool) -> Cell {
    let shape = &whole.shapes[0];
    let full = super::shape::materialise(&super::int::wrapped(cells[0], whole.elems[0]), whole.elems[0], shape, pool);
    let last = shape.len() - 1;
    // The last axis slowest: halves are runs.
    let slowest = Layout::ordered(shape, |i| match shape.len() - 1 - i {
        0 => last,
        p => p - 1,
    });
    let n = whole.result_shape.iter().product::<usize>();
    let all = ordered(&full, &slowest).with_layout(Layout::line(2 * n), pool);
    let cut = slice(&all, half * n, n);
    if whole.result_shape.is_empty() {
        return super::lines::first_lane(&cut);
    }
    cut.with_layout(Layout::row_major(&whole.result_shape), pool)
}

/// `source[…, index, …]` along an axis.
pub fn gather(whole: &Whole, cells: &[&Cell], axis: usize, pool: &mut Pool) -> Cell {
    let (source, index) = (operand(whole, cells, 0, pool), operand(whole, cells, 1, pool));
    let shape = &whole.result_shape;
    let inner: usize = shape[axis + 1..].iter().product();
    let (of, to) = (whole.shapes[0][axis], shape[axis]);
    let indices = match &index {
        Cell::Ints(b) => b.values().into_owned(),
        Cell::Mask(b) => b.values().iter().map(|&v| v.into()).collect(),
        other => misfit(other, "indices"),
    };
    let mut flags: Vec<u8> = index.taints().as_deref().cloned().unwrap_or_else(|| vec![0; indices.len()]);
    let mut places = Vec::with_capacity(indices.len());
    for (position, (&at, flag)) in indices.iter().zip(&mut flags).enumerate() {
        *flag &= taint::POISON;
        let (outer, i) = (position / (to * inner), position % inner);
        let at = usize::try_from(at).ok().filter(|&at| at < of).unwrap_or_else(|| {
            *flag |= taint::INDEX;
            0
        });
        places.push((outer * of + at) * inner + i);
    }
    flagged(pick(&source, &places, Layout::row_major(shape)), flags)
}

/// How often each of 0, 1, … occurs among the active lanes.
pub fn histogram(whole: &Whole, cells: &[&Cell], bins: usize, pool: &mut Pool) -> Cell {
    let values = operand(whole, cells, 0, pool);
    let mask = (cells.len() > 1).then(|| operand(whole, cells, 1, pool));
    let Cell::Ints(block) = &values else { misfit(&values, "integers") };
    let mut counts = vec![0i64; bins];
    let mut flags = 0;
    let flag = |cell: &Cell, i: usize| cell.taints().as_ref().map_or(0, |t| t[i]) & taint::POISON;
    for (i, &value) in block.values().iter().enumerate() {
        if let Some(mask) = &mask {
            flags |= flag(mask, i);
            let Cell::Mask(active) = mask else { misfit(mask, "a mask") };
            if active.values()[i] == 0 {
                continue;
            }
        }
        flags |= flag(&values, i);
        match usize::try_from(value).ok().filter(|&v| v < bins) {
            Some(bin) => counts[bin] += 1,
            None => flags |= taint::INDEX,
        }
    }
    flagged(Cell::Ints(IntBlock::dense(Layout::line(bins), counts, None)), vec![flags; bins])
}

/// The lanes at given places.
pub fn picked(whole: &Whole, cells: &[&Cell], places: &[u32], pool: &mut Pool) -> Cell {
    let places: Vec<usize> = places.iter().map(|&place| place as usize).collect();
    pick(&operand(whole, cells, 0, pool), &places, Layout::row_major(&whole.result_shape))
}

/// One plane along the first axis.
pub fn plane(whole: &Whole, cells: &[&Cell], i: usize, pool: &mut Pool) -> Cell {
    let n: usize = whole.result_shape.iter().product();
    slice(&operand(whole, cells, 0, pool), i * n, n).with_layout(Layout::row_major(&whole.result_shape), pool)
}

/// Planes one behind the other along a new first axis.
pub fn stack(whole: &Whole, cells: &[&Cell], pool: &mut Pool) -> Cell {
    let planes: Vec<Cell> = (0..cells.len()).map(|i| operand(whole, cells, i, pool)).collect();
    concat(&planes).with_layout(Layout::row_major(&whole.result_shape), pool)
}

/// The only lane of a block.
pub fn only(whole: &Whole, cells: &[&Cell], pool: &mut Pool) -> Cell {
    match cells[0] {
        block @ (Cell::Ints(_) | Cell::Mask(_) | Cell::Floats(_) | Cell::Ptrs(_)) => {
            super::lines::first_lane(&line(block, whole.elems[0], &whole.shapes[0], pool))
        }
        scalar @ (Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_)) => scalar.clone(),
    }
}

/// `|x|` of integers; the least one wraps to itself.
pub fn abs(elem: Elem, x: &Cell, pool: &mut Pool) -> Cell {
    use crate::kernel::ir::IntBinary;
    let x = super::int::wrapped(x, elem);
    let negative = super::int::binary(IntBinary::Sub, elem, &Cell::int(0), &x, pool);
    super::int::binary(IntBinary::MaxS, elem, &x, &negative, pool)
}
