//! Which elements the accesses of a `Map` read, a range of output elements at a time.
//!
//! An access whose index expressions are affine and provably inside the operand is a strided walk,
//! with mergeable axes merged so that rows are long; any other access is evaluated element by
//! element. Both give the same elements.

use std::ops::Range;

use smallvec::SmallVec;

use crate::diag::{Diagnostic, Result, codes};
use crate::expr::index::Index;
use crate::graph::op::{Access, Map, OutOfBounds};
use crate::shape::{self, Strides};
use crate::tensor::{Storage, Tensor};

/// Element offsets of a strided walk in row-major order of its axes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Walk {
    base: i64,
    /// (size, stride) outermost first; adjacent axes that one stride covers are one.
    axes: SmallVec<[(usize, i64); 4]>,
}

impl Walk {
    pub fn strided(dims: &[usize], strides: &[i64], base: i64) -> Walk {
        let mut axes: SmallVec<[(usize, i64); 4]> = SmallVec::new();
        for (&size, &stride) in dims.iter().zip(strides).filter(|&(&size, _)| size != 1) {
            match axes.last_mut() {
                Some((outer, step)) if *step == stride * size as i64 => {
                    *outer *= size;
                    *step = stride;
                }
                _ => axes.push((size, stride)),
            }
        }
        Walk { base, axes }
    }

    /// Calls `row(offset of the first element, stride, count)` for the rows that cover a range.
    fn rows(&self, range: Range<usize>, mut row: impl FnMut(i64, i64, usize)) {
        let (width, stride) = self.axes.last().copied().unwrap_or((1, 0));
        let mut at = range.start;
        while at < range.end {
            let (mut outer, column) = (at / width, at % width);
            let mut offset = self.base + column as i64 * stride;
            for &(size, stride) in self.axes.iter().rev().skip(1) {
                offset += (outer % size) as i64 * stride;
                outer /= size;
            }
            let count = (width - column).min(range.end - at);
            row(offset, stride, count);
            at += count;
        }
    }
}

/// The lanes of a walk, converted.
pub(super) fn contiguous<T: Copy, U>(walk: &Walk, lanes: &[T], range: Range<usize>, convert: impl Fn(T) -> U) -> Vec<U> {
    let mut out = Vec::with_capacity(range.len());
    walk.rows(range, |offset, stride, count| match stride {
        1 => out.extend(lanes[offset as usize..][..count].iter().map(|&v| convert(v))),
        stride => out.extend((0..count as i64).map(|i| convert(lanes[(offset + i * stride) as usize]))),
    });
    out
}

/// How the elements of one access are found.
#[derive(Clone, Debug)]
enum Plan {
    Walk(Walk),
    EachElement,
}

/// The accesses of a Map over given operands, ready to fetch.
pub struct Reader<'m> {
    map: &'m Map,
    operands: Vec<Option<&'m Tensor>>,
    plans: Vec<Plan>,
}

impl<'m> Reader<'m> {
    /// Fails when an access names an absent operand or has another rank than it.
    pub fn new(map: &'m Map, operands: &[Option<&'m Tensor>]) -> Result<Reader<'m>> {
        let mut plans = Vec::with_capacity(map.reads.len());
        for (k, access) in map.reads.iter().enumerate() {
            let operand = operands.get(access.input).copied().flatten();
            match operand {
                Some(tensor) if tensor.shape().len() == access.index.len() => {
                    plans.push(walk(access, &map.dims, tensor.shape()).map_or(Plan::EachElement, Plan::Walk));
                }
                Some(_) | None => {
                    let message = format!("access {k} of {} does not fit operand {}", map.label, access.input);
                    return Err(Box::new(Diagnostic::new(&codes::GRAPH_INVALID, message)));
                }
            }
        }
        Ok(Reader { map, operands: operands.to_vec(), plans })
    }

    /// The values that access `k` reads for a range of output elements: floats as f64. `other`
    /// replaces the operand by a tensor of the same shape (its error bounds), with zeros for fills.
    pub fn fetch(&self, k: usize, range: Range<usize>, other: Option<&[f64]>) -> Result<Storage> {
        let operand = self.operand(k);
        match (&self.plans[k], other, operand.storage()) {
            (Plan::Walk(walk), Some(lanes), _) => Ok(Storage::F64(contiguous(walk, lanes, range, |v| v))),
            (Plan::Walk(walk), None, Storage::F64(lanes)) => Ok(Storage::F64(contiguous(walk, lanes, range, |v| v))),
            (Plan::Walk(walk), None, Storage::F32(lanes)) => Ok(Storage::F64(contiguous(walk, lanes, range, f64::from))),
            (Plan::Walk(walk), None, Storage::I64(lanes)) => Ok(Storage::I64(contiguous(walk, lanes, range, |v| v))),
            (Plan::Walk(walk), None, Storage::Bool(lanes)) => Ok(Storage::Bool(contiguous(walk, lanes, range, |v| v))),
            (Plan::EachElement, Some(lanes), _) => self.each(k, range, |at| at.map_or(0.0, |i| lanes[i])).map(Storage::F64),
            (Plan::EachElement, None, storage) => {
                let fill = match self.map.reads[k].oob {
                    OutOfBounds::Fill(fill) => fill,
                    OutOfBounds::InBounds => 0.0,
                };
                match storage {
                    Storage::F64(lanes) => self.each(k, range, |at| at.map_or(fill, |i| lanes[i])).map(Storage::F64),
                    Storage::F32(lanes) => self.each(k, range, |at| at.map_or(fill, |i| lanes[i] as f64)).map(Storage::F64),
                    Storage::I64(lanes) => self.each(k, range, |at| at.map_or(fill as i64, |i| lanes[i])).map(Storage::I64),
                    Storage::Bool(lanes) => {
                        self.each(k, range, |at| at.map_or((fill != 0.0) as u8, |i| lanes[i])).map(Storage::Bool)
                    }
                }
            }
        }
    }

    fn operand(&self, k: usize) -> &'m Tensor {
        self.operands[self.map.reads[k].input].expect("invariant: Reader::new has seen the operand")
    }

    /// One lane an output element, from the flat element of the operand (`None`: out of bounds, filled).
    fn each<T>(&self, k: usize, range: Range<usize>, lane: impl Fn(Option<usize>) -> T) -> Result<Vec<T>> {
        let dims = &self.map.dims;
        let mut at: SmallVec<[usize; 6]> = SmallVec::from_elem(0, dims.len());
        let mut rest = range.start;
        for (coordinate, &size) in at.iter_mut().zip(dims).rev() {
            *coordinate = rest % size;
            rest /= size;
        }
        let mut lanes = Vec::with_capacity(range.len());
        for _ in range {
            lanes.push(lane(self.element(k, &at)?));
            for (coordinate, &size) in at.iter_mut().zip(dims).rev() {
                *coordinate += 1;
                if *coordinate < size {
                    break;
                }
                *coordinate = 0;
            }
        }
        Ok(lanes)
    }

    /// The flat element that access `k` reads at output coordinates; `None` where it is filled.
    fn element(&self, k: usize, at: &[usize]) -> Result<Option<usize>> {
        let access = &self.map.reads[k];
        let sizes = self.operand(k).shape();
        let mut failure = None;
        let mut flat = 0usize;
        for (index, &size) in access.index.iter().zip(sizes) {
            let mut read = |other: usize| match self.element(other, at) {
                Ok(Some(i)) => self.operand(other).storage().get_f64(i) as i64,
                Ok(None) => 0,
                Err(error) => {
                    failure = Some(error);
                    0
                }
            };
            let position = index.evaluate(at, &mut read);
            if let Some(error) = failure {
                return Err(error);
            }
            match usize::try_from(position) {
                Ok(inside) if inside < size => flat = flat * size + inside,
                _ if matches!(access.oob, OutOfBounds::Fill(_)) => return Ok(None),
                _ => {
                    let message =
                        format!("{} reads index {position} of an axis of size {size} at output element {at:?}", self.map.label);
                    let help = "give an index input values below the axis size";
                    return Err(Box::new(Diagnostic::new(&codes::MODEL_INVALID, message).help(help)));
                }
            }
        }
        Ok(Some(flat))
    }
}

/// The strided walk of an access, when it is affine and never out of bounds.
fn walk(access: &Access, dims: &[usize], sizes: &[usize]) -> Option<Walk> {
    let dense = shape::contiguous_strides(sizes);
    let mut strides: Strides = SmallVec::from_elem(0, dims.len());
    let mut base = 0i64;
    for ((index, &size), &step) in access.index.iter().zip(sizes).zip(&dense) {
        let mut terms: Strides = SmallVec::from_elem(0, dims.len());
        let constant = affine(index, 1, &mut terms)?;
        let reach = |pick: fn(i64, i64) -> i64| -> i64 {
            terms.iter().zip(dims).map(|(&t, &d)| pick(0, t * (d as i64 - 1))).sum::<i64>() + constant
        };
        if reach(i64::min) < 0 || reach(i64::max) >= size as i64 {
            return None;
        }
        strides.iter_mut().zip(&terms).for_each(|(stride, term)| *stride += term * step);
        base += constant * step;
    }
    Some(Walk::strided(dims, &strides, base))
}

/// Adds `factor` times the coordinate terms of an index expression; gives its constant. `None` when
/// it is not affine.
fn affine(index: &Index, factor: i64, terms: &mut [i64]) -> Option<i64> {
    match index {
        Index::Dim(i) => {
            terms[*i] += factor;
            Some(0)
        }
        Index::Constant(c) => Some(c * factor),
        Index::Add(a, b) => Some(affine(a, factor, terms)? + affine(b, factor, terms)?),
        Index::Mul(a, c) => affine(a, factor * c, terms),
        Index::FloorDiv(a, 1) => affine(a, factor, terms),
        Index::FloorDiv(..) | Index::Mod(..) | Index::Read(_) => None,
    }
}
