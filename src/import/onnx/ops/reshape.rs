//! The same elements under another shape: Reshape, Flatten, Squeeze, Unsqueeze.
//!
//! <https://onnx.ai/onnx/operators/onnx__Reshape.html>. Opset 5: the shape is an input (it must be known
//! while importing); 0 keeps the operand's size, −1 is inferred; 14: with `allowzero` 0 means 0.
//! <https://onnx.ai/onnx/operators/onnx__Flatten.html>. Opset 1; 11: negative axis.
//! <https://onnx.ai/onnx/operators/onnx__Squeeze.html>, Unsqueeze. Opset 1: `axes` is an attribute; 11:
//! negative axes; 13: an input. All types.

use smallvec::smallvec;

use crate::graph::op::{Op, View};
use crate::import::onnx::node::{Context, Failure};
use crate::shape::{Shape, display, numel};

pub fn reshape(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let target = cx.ints(1, "shape")?.ok_or_else(|| Failure::invalid("input 1 (shape) is missing"))?;
    let keep_zero = cx.attributes.flag("allowzero")?;
    let shape = resolve(&cx.shape(&x), &target, keep_zero).map_err(Failure::shapes)?;
    cx.finish(Op::View(View::Reshape(shape)), &[x])
}

/// The shape that a target with 0 and −1 means.
fn resolve(from: &[usize], target: &[i64], keep_zero: bool) -> Result<Shape, String> {
    let mut shape = Shape::new();
    let mut inferred = None;
    for (axis, &size) in target.iter().enumerate() {
        shape.push(match size {
            -1 if inferred.is_none() => {
                inferred = Some(axis);
                1
            }
            0 if !keep_zero => *from
                .get(axis)
                .ok_or_else(|| format!("shape {target:?} keeps axis {axis}, which {} does not have", display(from)))?,
            _ => usize::try_from(size).map_err(|_| format!("shape {target:?} has a size that cannot be"))?,
        });
    }
    let mismatch = || format!("{} cannot be reshaped to {target:?}", display(from));
    let (have, stated) = (numel(from).ok_or_else(mismatch)?, numel(&shape).ok_or_else(mismatch)?);
    if let Some(axis) = inferred {
        if stated == 0 || have % stated != 0 {
            return Err(mismatch());
        }
        shape[axis] = have / stated;
    } else if have != stated {
        return Err(mismatch());
    }
    Ok(shape)
}

pub fn flatten(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "input")?;
    let shape = cx.shape(&x);
    let axis = cx.axis(cx.attributes.int("axis")?.unwrap_or(1), shape.len(), true)?;
    let (rows, columns) = (cx.product(&shape[..axis])?, cx.product(&shape[axis..])?);
    cx.finish(Op::View(View::Reshape(smallvec![rows, columns])), &[x])
}

/// `axes` of Squeeze and Unsqueeze, in a tensor of this rank.
fn axes(cx: &Context, rank: usize) -> Result<Option<Vec<usize>>, Failure> {
    let given = if cx.opset() < 13 { cx.attributes.ints("axes")?.map(<[i64]>::to_vec) } else { cx.ints(1, "axes")? };
    let Some(given) = given else { return Ok(None) };
    let mut axes = given.iter().map(|&axis| cx.axis(axis, rank, false)).collect::<Result<Vec<_>, _>>()?;
    axes.sort_unstable();
    if axes.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Failure::shapes(format!("axes {given:?} name one axis twice")));
    }
    Ok(Some(axes))
}

pub fn squeeze(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let shape = cx.shape(&x);
    let gone = axes(cx, shape.len())?.unwrap_or_else(|| (0..shape.len()).filter(|&i| shape[i] == 1).collect());
    if let Some(&axis) = gone.iter().find(|&&axis| shape[axis] != 1) {
        return Err(Failure::shapes(format!("axis {axis} of {} does not have size 1", display(&shape))));
    }
    let left = (0..shape.len()).filter(|axis| !gone.contains(axis)).map(|axis| shape[axis]).collect();
    cx.finish(Op::View(View::Reshape(left)), &[x])
}

pub fn unsqueeze(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let shape = cx.shape(&x);
    let given =
        if cx.opset() < 13 { cx.attributes.ints("axes")?.map(<[i64]>::len) } else { cx.ints(1, "axes")?.map(|a| a.len()) };
    let rank = shape.len() + given.ok_or_else(|| Failure::invalid("`axes` is missing"))?;
    let new = axes(cx, rank)?.unwrap_or_default();
    let mut old = shape.iter().copied();
    let grown = (0..rank).map(|axis| if new.contains(&axis) { 1 } else { old.next().unwrap_or(1) }).collect();
    cx.finish(Op::View(View::Reshape(grown)), &[x])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_resolve() {
        let resolved = |from: &[usize], target: &[i64], zero| resolve(from, target, zero).map(|s| s.to_vec());
        assert_eq!(resolved(&[2, 3, 4], &[0, -1], false), Ok(vec![2, 12]));
        assert_eq!(resolved(&[2, 3, 4], &[-1], false), Ok(vec![24]));
        assert_eq!(resolved(&[1], &[], false), Ok(vec![]));
        assert_eq!(resolved(&[0, 3], &[3, 0], true), Ok(vec![3, 0]));
        assert!(resolved(&[2, 3], &[-1, -1], false).is_err());
        assert!(resolved(&[2, 3], &[-1, 4], false).is_err());
        assert!(resolved(&[2, 3], &[2, 3, 0], false).is_err());
        assert!(resolved(&[2, 3], &[-2, 3], false).is_err());
        assert!(resolved(&[2, 3], &[i64::MAX, i64::MAX], false).is_err());
    }
}
