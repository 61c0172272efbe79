//! Slice and Split: parts of a tensor along its axes, as Maps.
//!
//! <https://onnx.ai/onnx/operators/onnx__Slice.html>. Opset 1: `starts`, `ends`, `axes` are attributes; 10:
//! inputs (they must be known while importing), with `steps`, which may be negative. Starts and
//! ends count from the end when negative and are clamped to the axis.
//! <https://onnx.ai/onnx/operators/onnx__Split.html>. Opset 2: `split` is an attribute; 13: an input; 18:
//! `num_outputs` pieces, the last one smaller. All types.

use crate::import::build::movement::Part;
use crate::import::onnx::node::{Context, Failure};

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
    let mut parts: Vec<Part> = shape.iter().map(|&size| Part::whole(size)).collect();
    for (i, &axis) in axes.iter().enumerate() {
        let axis = cx.axis(axis, shape.len(), false)?;
        parts[axis] = Part::clamped(shape[axis], starts[i], ends[i], steps[i])?;
    }
    let result = cx.slice(x, &parts)?;
    cx.pass(result)
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
            let mut parts: Vec<Part> = shape.iter().map(|&size| Part::whole(size)).collect();
            parts[axis] = Part { start, step: 1, count: size as usize };
            let piece = cx.slice(x.clone(), &parts)?;
            cx.bind(i, piece)?;
        }
        start += size;
    }
    Ok(())
}
