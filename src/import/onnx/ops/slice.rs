//! Slice and Split: parts of a tensor along its axes, as Maps.
//!
//! <https://onnx.ai/onnx/operators/onnx__Slice.html>. Opset 1: `starts`, `ends`, `axes` are attributes; 10:
//! inputs (they must be known while importing), with `steps`, which may be negative. Starts and
//! ends count from the end when negative and are clamped to the axis.
//! <https://onnx.ai/onnx/operators/onnx__Split.html>. Opset 2: `split` is an attribute; 13: an input; 18:
//! `num_outputs` pieces, the last one smaller. All types.

use crate::expr::Expr;
use crate::expr::index::Index;
use crate::graph::op::{Access, Map, Op, OutOfBounds};
use crate::import::onnx::node::{Context, Failure, Operand};
use crate::shape::Shape;

pub fn slice(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let shape = cx.shape(&x);
    let missing = |name: &str| Failure::invalid(format!("`{name}` is missing"));
    let attribute = |name| Ok::<_, Failure>(cx.attributes.ints(name)?.map(<[i64]>::to_vec));
    let (starts, ends, axes, steps) = if cx.opset() < 10 {
        (attribute("starts")?, attribute("ends")?, attribute("axes")?, None)
    } else {
        (cx.ints(1, "starts")?, cx.ints(2, "ends")?, cx.ints(3, "axes")?, cx.ints(4, "steps")?)
    };
    let (starts, ends) = (starts.ok_or_else(|| missing("starts"))?, ends.ok_or_else(|| missing("ends"))?);
    let axes = axes.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()].iter().any(|&n| n != starts.len()) {
        return Err(Failure::shapes("starts, ends, axes and steps differ in length"));
    }
    let mut dims = shape.clone();
    let mut parts: Vec<(i64, i64)> = vec![(0, 1); shape.len()];
    for (i, &axis) in axes.iter().enumerate() {
        let axis = cx.axis(axis, shape.len(), false)?;
        let (start, count) = part(shape[axis], starts[i], ends[i], steps[i])?;
        dims[axis] = count;
        parts[axis] = (start, steps[i]);
    }
    if parts.iter().all(|&part| part == (0, 1)) && dims == shape {
        return cx.pass(x);
    }
    let op = taken(cx, &x, dims, &parts);
    cx.finish(op, &[x])
}

/// First element and number of elements of `start:end:step`, clamped as numpy does.
fn part(size: usize, start: i64, end: i64, step: i64) -> Result<(i64, usize), Failure> {
    let size = i128::try_from(size).unwrap_or(i128::MAX);
    let step = i128::from(step);
    if step == 0 {
        return Err(Failure::invalid("a step is 0"));
    }
    let resolve = |at: i64, low: i128, high: i128| {
        let at = i128::from(at);
        (if at < 0 { at + size } else { at }).clamp(low, high)
    };
    let (start, end) = if step > 0 {
        (resolve(start, 0, size), resolve(end, 0, size))
    } else {
        (resolve(start, -1, size - 1), resolve(end, -1, size - 1))
    };
    let distance = if step > 0 { end - start } else { start - end };
    let count = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
    Ok((start.max(0) as i64, count as usize))
}

/// The Map that reads each axis from a start by a step.
fn taken(cx: &Context, x: &Operand, dims: Shape, parts: &[(i64, i64)]) -> Op {
    let index = |(axis, &(start, step)): (usize, &(i64, i64))| {
        let dim = Index::Dim(axis);
        let dim = if step == 1 { dim } else { Index::Mul(Box::new(dim), step) };
        if start == 0 { dim } else { Index::Add(Box::new(dim), Box::new(Index::Constant(start))) }
    };
    let access = Access { input: 0, index: parts.iter().enumerate().map(index).collect(), oob: OutOfBounds::InBounds };
    Op::Map(Map { label: "slice".to_owned(), dims, reads: vec![access], body: Expr::read(0, cx.ty(x).dtype) })
}

pub fn split(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "input")?;
    let shape = cx.shape(&x);
    let axis = cx.axis(cx.attributes.int("axis")?.unwrap_or(0), shape.len(), false)?;
    let stated = if cx.opset() < 13 { cx.attributes.ints("split")?.map(<[i64]>::to_vec) } else { cx.ints(1, "split")? };
    let count = cx.node.output.len();
    if cx.opset() >= 18 && cx.attributes.int("num_outputs")?.is_some_and(|n| n != count as i64) {
        return Err(Failure::invalid(format!("attribute `num_outputs` is not the number of outputs, {count}")));
    }
    let even = shape[axis].div_ceil(count.max(1)) as i64;
    let last = shape[axis] as i64 - even * (count as i64 - 1);
    let sizes = stated.unwrap_or_else(|| (0..count).map(|i| if i + 1 == count { last } else { even }).collect());
    let total: i128 = sizes.iter().map(|&size| i128::from(size)).sum();
    if sizes.len() != count || sizes.iter().any(|&size| size < 0) || total != shape[axis] as i128 {
        return Err(Failure::shapes(format!(
            "pieces {sizes:?} for {count} outputs do not make up axis {axis} of size {}",
            shape[axis]
        )));
    }
    let mut start = 0;
    for (i, &size) in sizes.iter().enumerate() {
        if cx.is_used(i) {
            let mut dims = shape.clone();
            dims[axis] = size as usize;
            let mut parts = vec![(0, 1); shape.len()];
            parts[axis].0 = start;
            let op = taken(cx, &x, dims, &parts);
            cx.finish_output(i, op, std::slice::from_ref(&x))?;
        }
        start += size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numpys() {
        let of = |size, start, end, step| part(size, start, end, step).ok();
        assert_eq!(of(5, 1, 3, 1), Some((1, 2)));
        assert_eq!(of(5, -2, i64::MAX, 1), Some((3, 2)));
        assert_eq!(of(5, 0, -1, 2), Some((0, 2)));
        assert_eq!(of(5, -1, i64::MIN, -1), Some((4, 5)));
        assert_eq!(of(5, 3, 0, -2), Some((3, 2)));
        assert_eq!(of(5, 4, 2, 1), Some((4, 0)));
        assert_eq!(of(5, 9, 99, 1), Some((5, 0)));
        assert_eq!(of(5, 0, 5, 0), None);
    }
}
