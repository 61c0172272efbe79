//! The same memory under another shape or order, and parts of it.

use crate::import::build::Failure;
use crate::import::build::movement::Part;
use crate::import::torch_export::alias::Step;
use crate::import::torch_export::arguments::Arg;
use crate::import::torch_export::call::{Call, Out, Outs};
use crate::shape::{Shape, display};

/// A shape in which one −1 stands for what is left of `count` elements.
pub fn inferred(sizes: &[i64], count: usize) -> Result<Shape, Failure> {
    let mismatch = || Failure::shapes(format!("{count} elements cannot have the shape {sizes:?}"));
    let known = sizes.iter().filter(|&&size| size != -1).map(|&size| usize::try_from(size).ok());
    let known = known.collect::<Option<Vec<_>>>().ok_or_else(mismatch)?;
    let product = crate::shape::numel(&known).ok_or_else(mismatch)?;
    let open = sizes.len() - known.len();
    let rest = match open {
        0 if product == count => 1,
        1 if product != 0 && count.is_multiple_of(product) => count / product,
        _ => return Err(mismatch()),
    };
    Ok(sizes.iter().map(|&size| if size == -1 { rest } else { size as usize }).collect())
}

/// view, reshape: `size` or `shape`.
pub fn view(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let sizes = call.ints(if call.has("size") { "size" } else { "shape" })?;
    let shape = inferred(&sizes, call.product(&call.shape(&x))?)?;
    call.viewed(Step::Reshape(shape))
}

pub fn view_as(call: &mut Call) -> Result<Outs, Failure> {
    let other = call.tensor("other")?;
    let shape = call.shape(&other);
    call.viewed(Step::Reshape(shape))
}

/// Axes `start_dim` to `end_dim` become one.
pub fn flatten(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let (start, end) = (call.dim("start_dim", shape.len())?, call.dim("end_dim", shape.len())?);
    if shape.is_empty() {
        return call.viewed(Step::Reshape(Shape::from_slice(&[1])));
    }
    if start > end {
        return Err(Failure::shapes(format!("start_dim {start} lies behind end_dim {end}")));
    }
    let joined = call.product(&shape[start..=end])?;
    call.viewed(Step::Reshape(shape[..start].iter().copied().chain([joined]).chain(shape[end + 1..].iter().copied()).collect()))
}

/// One axis becomes several.
pub fn unflatten(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let dim = call.dim("dim", shape.len())?;
    let sizes = inferred(&call.ints("sizes")?, shape[dim])?;
    call.viewed(Step::Reshape(shape[..dim].iter().chain(&sizes).chain(&shape[dim + 1..]).copied().collect()))
}

/// Axes of size 1 go; an axis of another size stays.
pub fn squeeze(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let gone = if call.has("dim") { call.dims("dim", shape.len())? } else { (0..shape.len()).collect() };
    let left = (0..shape.len()).filter(|axis| shape[*axis] != 1 || !gone.contains(axis)).map(|axis| shape[axis]);
    call.viewed(Step::Reshape(left.collect()))
}

pub fn unsqueeze(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let mut shape = call.shape(&x);
    let dim = call.axis(call.int("dim")?, shape.len() + 1, false)?;
    shape.insert(dim, 1);
    call.viewed(Step::Reshape(shape))
}

pub fn permute(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let rank = call.shape(&x).len();
    let given = call.ints("dims")?;
    let order: Vec<usize> = given.iter().map(|&axis| call.axis(axis, rank, false)).collect::<Result<_, _>>()?;
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..rank).collect::<Vec<_>>() {
        return Err(Failure::shapes(format!("{given:?} is no order of {rank} axes")));
    }
    call.viewed(Step::Permute(order))
}

pub fn transpose(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let rank = call.shape(&x).len();
    let (a, b) = (call.dim("dim0", rank)?, call.dim("dim1", rank)?);
    swapped(call, rank, a, b)
}

fn swapped(call: &mut Call, rank: usize, a: usize, b: usize) -> Result<Outs, Failure> {
    let mut order: Vec<usize> = (0..rank).collect();
    if rank > 0 {
        order.swap(a, b);
    }
    call.viewed(Step::Permute(order))
}

/// t: of a matrix; a vector stays.
pub fn t(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let rank = call.shape(&x).len();
    if rank > 2 {
        return Err(Failure::shapes(format!("`t` of a tensor of rank {rank}")));
    }
    swapped(call, rank, 0, rank.saturating_sub(1))
}

/// The axes reversed.
pub fn reversed(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let rank = call.shape(&x).len();
    call.viewed(Step::Permute((0..rank).rev().collect()))
}

pub fn movedim(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let rank = call.shape(&x).len();
    let (from, to) = (call.dim("source", rank)?, call.dim("destination", rank)?);
    let mut order: Vec<usize> = (0..rank).collect();
    let axis = order.remove(from);
    order.insert(to, axis);
    call.viewed(Step::Permute(order))
}

/// Axes of size 1, and missing leading ones, grow; −1 keeps a size.
pub fn expand(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let given = call.ints("size")?;
    let new = given.len().checked_sub(shape.len());
    let new = new.ok_or_else(|| Failure::shapes(format!("{} cannot be expanded to {given:?}", display(&shape))))?;
    let size = |(axis, &size): (usize, &i64)| match size {
        -1 if axis >= new => Some(shape[axis - new]),
        size => usize::try_from(size).ok(),
    };
    let target = given.iter().enumerate().map(size).collect::<Option<Shape>>();
    grown(call, &shape, target.ok_or_else(|| Failure::shapes(format!("{given:?} is no shape")))?)
}

pub fn expand_as(call: &mut Call) -> Result<Outs, Failure> {
    let (x, other) = (call.tensor("self")?, call.tensor("other")?);
    let (shape, target) = (call.shape(&x), call.shape(&other));
    grown(call, &shape, target)
}

fn grown(call: &mut Call, shape: &[usize], target: Shape) -> Result<Outs, Failure> {
    if crate::shape::broadcast(shape, &target).as_ref() != Some(&target) {
        return Err(Failure::shapes(format!("{} does not broadcast to {}", display(shape), display(&target))));
    }
    call.viewed(Step::Broadcast(target))
}

/// Each operand grown to the shape of all.
pub fn broadcast_tensors(call: &mut Call) -> Result<Outs, Failure> {
    let all = call.tensors("tensors")?;
    let shape = call.broadcast(&all)?;
    let grown = all.into_iter().map(|x| call.grown(x, &shape).map(Out::Value)).collect::<Result<Vec<_>, _>>()?;
    Ok(grown.into())
}

fn whole(shape: &[usize]) -> Vec<Part> {
    shape.iter().map(|&size| Part::whole(size)).collect()
}

/// start:end:step along an axis.
pub fn slice(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let dim = call.dim("dim", shape.len())?;
    let (start, end) = (call.optional_int("start").unwrap_or(0), call.optional_int("end").unwrap_or(i64::MAX));
    let mut parts = whole(&shape);
    parts[dim] = Part::clamped(shape[dim], start, end, call.int("step")?)?;
    call.viewed(Step::Slice(parts))
}

/// `self` with a slice of it replaced by `src`.
pub fn slice_scatter(call: &mut Call) -> Result<Outs, Failure> {
    let (x, source) = (call.tensor("self")?, call.tensor("src")?);
    let shape = call.shape(&x);
    let dim = call.dim("dim", shape.len())?;
    let (start, end) = (call.optional_int("start").unwrap_or(0), call.optional_int("end").unwrap_or(i64::MAX));
    let mut parts = whole(&shape);
    parts[dim] = Part::clamped(shape[dim], start, end, call.int("step")?)?;
    Ok(Step::Slice(parts).put(call, x, source)?.into())
}

/// `self` with one index of an axis replaced by `src`.
pub fn select_scatter(call: &mut Call) -> Result<Outs, Failure> {
    let (x, source) = (call.tensor("self")?, call.tensor("src")?);
    let shape = call.shape(&x);
    let dim = call.dim("dim", shape.len())?;
    let mut parts = whole(&shape);
    parts[dim] = Part { start: index_within(call, &shape, dim)?, step: 1, count: 1 };
    let mut grown = call.shape(&source);
    grown.insert(dim, 1);
    let source = call.reshape(source, &grown)?;
    Ok(Step::Slice(parts).put(call, x, source)?.into())
}

/// Argument `index` of an axis, counted from the beginning.
fn index_within(call: &Call, shape: &[usize], dim: usize) -> Result<i64, Failure> {
    let (index, size) = (call.int("index")?, shape.get(dim).copied().unwrap_or(0) as i64);
    if index < -size || index >= size {
        return Err(Failure::shapes(format!("index {index} is outside axis {dim} of {}", display(shape))));
    }
    Ok(index.rem_euclid(size))
}

/// `length` elements from `start` on.
pub fn narrow(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let dim = call.dim("dim", shape.len())?;
    let start = call.int("start")?;
    let start = if start < 0 { start.saturating_add(shape[dim] as i64) } else { start };
    let length = call.int("length")?;
    let end = start.checked_add(length).filter(|&end| start >= 0 && length >= 0 && end <= shape[dim] as i64);
    if end.is_none() {
        return Err(Failure::shapes(format!(
            "{length} elements from {start} on do not lie in axis {dim} of {}",
            display(&shape)
        )));
    }
    let mut parts = whole(&shape);
    parts[dim] = Part { start, step: 1, count: length as usize };
    call.viewed(Step::Slice(parts))
}

/// One index of an axis, which goes.
pub fn select(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let dim = call.dim("dim", shape.len())?;
    let index = index_within(call, &shape, dim)?;
    let pieces = pieces(call, dim, &[(index, 1)], true)?;
    Ok(pieces.into())
}

/// Stretches `(start, length)` of an axis, each a view; the axis goes where `gone`.
fn pieces(call: &mut Call, dim: usize, stretches: &[(i64, usize)], gone: bool) -> Result<Vec<Out>, Failure> {
    let x = call.tensor_arg("self")?;
    let shape = call.shape(&x.operand);
    let mut outs = Vec::new();
    for (i, &(start, count)) in stretches.iter().enumerate() {
        if !call.used.get(i).copied().unwrap_or(false) {
            outs.push(Out::Absent("a piece that nothing reads"));
            continue;
        }
        let mut parts = whole(&shape);
        parts[dim] = Part { start, step: 1, count };
        let step = Step::Slice(parts);
        let piece = step.take(call, x.operand.clone())?;
        if gone {
            let mut left = shape.clone();
            left.remove(dim);
            let operand = call.reshape(piece, &left)?;
            outs.push(Out::View { operand, of: x.name.clone(), step: Step::Chain(vec![step, Step::Reshape(left)]) });
        } else {
            outs.push(Out::View { operand: piece, of: x.name.clone(), step });
        }
    }
    Ok(outs)
}

/// Stretches of the given lengths, one after the other.
fn stretches(lengths: &[usize]) -> Vec<(i64, usize)> {
    let mut start = 0;
    lengths
        .iter()
        .map(|&length| {
            let stretch = (start, length);
            start += length as i64;
            stretch
        })
        .collect()
}

/// Pieces of one size, the last one smaller.
fn even(call: &mut Call, dim: usize, size: usize, piece: usize) -> Result<Outs, Failure> {
    if piece == 0 {
        return Err(Failure::invalid("pieces of size 0"));
    }
    let count = size.div_ceil(piece).max(1);
    let lengths: Vec<usize> = (0..count).map(|i| piece.min(size - i * piece)).collect();
    Ok(pieces(call, dim, &stretches(&lengths), false)?.into())
}

pub fn split(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let dim = call.dim("dim", shape.len())?;
    let piece = usize::try_from(call.int("split_size")?).map_err(|_| Failure::invalid("pieces of negative size"))?;
    even(call, dim, shape[dim], piece)
}

pub fn chunk(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let dim = call.dim("dim", shape.len())?;
    let chunks = usize::try_from(call.int("chunks")?).ok().filter(|&n| n > 0);
    let chunks = chunks.ok_or_else(|| Failure::invalid("argument `chunks` must be positive"))?;
    even(call, dim, shape[dim], shape[dim].div_ceil(chunks).max(1))
}

pub fn split_with_sizes(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let dim = call.dim("dim", shape.len())?;
    let lengths = call.sizes(if call.has("split_sizes") { "split_sizes" } else { "split_size" })?;
    if lengths.iter().try_fold(0usize, |sum, &n| sum.checked_add(n)) != Some(shape[dim]) {
        return Err(Failure::shapes(format!("pieces {lengths:?} do not make up axis {dim} of {}", display(&shape))));
    }
    Ok(pieces(call, dim, &stretches(&lengths), false)?.into())
}

/// Every index of an axis apart.
pub fn unbind(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let dim = call.dim("dim", shape.len())?;
    let size = shape.get(dim).copied().unwrap_or(0);
    Ok(pieces(call, dim, &stretches(&vec![1; size]), true)?.into())
}

/// A size as a number.
pub fn size(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let dim = call.dim("dim", shape.len())?;
    let size = shape.get(dim).copied().unwrap_or(1);
    Ok(vec![Out::Number(Arg::Int(size as i64))].into())
}
