//! One number over some axes: ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceLogSumExp, and
//! those that compose a Map with a sum: ReduceL1 (Σ |x|), ReduceL2 (√Σ x²), ReduceSumSquare (Σ x²),
//! ReduceLogSum (ln Σ x).
//!
//! <https://onnx.ai/onnx/operators/onnx__ReduceSum.html> and its family. Opset 1: `axes` is an attribute; 11:
//! negative axes; 13 (ReduceSum), 18 (the others): an input, and `noop_with_empty_axes`: without axes
//! nothing is reduced, but the Maps are applied. Without axes all are reduced. X T: numbers; bool in
//! maxima and minima from opset 20 on.

use crate::expr::{Binary, ExprBuilder, ExprId, Unary};
use crate::graph::op::{Op, Reduce, ReduceKind};
use crate::graph::reduction::Axes;
use crate::import::onnx::node::{Context, Failure, Operand};
use crate::import::onnx::ops::pointwise;

/// What is applied to an element, or to a result.
type Step = fn(&mut ExprBuilder, ExprId) -> ExprId;

pub fn sum(cx: &mut Context) -> Result<(), Failure> {
    plain(cx, ReduceKind::Sum)
}

pub fn mean(cx: &mut Context) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let dtype = cx.ty(&x).dtype;
    if !dtype.is_float() {
        return Err(Failure::unsupported(format!("a mean of {dtype}")));
    }
    plain(cx, ReduceKind::Mean)
}

pub fn max(cx: &mut Context) -> Result<(), Failure> {
    plain(cx, ReduceKind::Max)
}

pub fn min(cx: &mut Context) -> Result<(), Failure> {
    plain(cx, ReduceKind::Min)
}

pub fn prod(cx: &mut Context) -> Result<(), Failure> {
    plain(cx, ReduceKind::Prod)
}

pub fn log_sum_exp(cx: &mut Context) -> Result<(), Failure> {
    floats(cx)?;
    plain(cx, ReduceKind::LogSumExp)
}

pub fn l1(cx: &mut Context) -> Result<(), Failure> {
    let abs: Step = |b, x| b.unary(Unary::Abs, x);
    composed(cx, Some(("abs", abs)), None)
}

pub fn l2(cx: &mut Context) -> Result<(), Failure> {
    floats(cx)?;
    let sqrt: Step = |b, x| b.unary(Unary::Sqrt, x);
    composed(cx, Some(("square", square)), Some(("sqrt", sqrt)))
}

pub fn sum_square(cx: &mut Context) -> Result<(), Failure> {
    composed(cx, Some(("square", square)), None)
}

pub fn log_sum(cx: &mut Context) -> Result<(), Failure> {
    floats(cx)?;
    let log: Step = |b, x| b.unary(Unary::Log, x);
    composed(cx, None, Some(("log", log)))
}

fn square(b: &mut ExprBuilder, x: ExprId) -> ExprId {
    b.binary(Binary::Mul, x, x)
}

/// Functions of integers are computed in floats, which no runtime does alike.
fn floats(cx: &Context) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let dtype = cx.ty(&x).dtype;
    if dtype.is_float() { Ok(()) } else { Err(Failure::unsupported(format!("a function of {dtype}"))) }
}

fn plain(cx: &mut Context, kind: ReduceKind) -> Result<(), Failure> {
    let x = cx.input(0, "data")?;
    let since = if kind == ReduceKind::Sum { 13 } else { 18 };
    let keep = kept(cx)?;
    match axes(cx, since)? {
        Some(axes) => cx.finish(Op::Reduce(Reduce { kind, axes, keep }), &[x]),
        None => cx.pass(x),
    }
}

fn composed(cx: &mut Context, before: Option<(&str, Step)>, behind: Option<(&str, Step)>) -> Result<(), Failure> {
    let keep = kept(cx)?;
    let axes = axes(cx, 18)?;
    let mut x = cx.input(0, "data")?;
    let mut open = before.into_iter().chain(behind).count();
    if let Some((label, step)) = before {
        open -= 1;
        if axes.is_none() && open == 0 {
            return pointwise::map(cx, label, &[x], |b, args| step(b, args[0]));
        }
        x = pointwise::between(cx, label, &[x], |b, args| step(b, args[0]))?;
    }
    if let Some(axes) = axes {
        let sum = Op::Reduce(Reduce { kind: ReduceKind::Sum, axes, keep });
        if behind.is_none() {
            return cx.finish(sum, &[x]);
        }
        x = cx.emit(sum, &[x])?;
    }
    match behind {
        Some((label, step)) => pointwise::map(cx, label, &[x], |b, args| step(b, args[0])),
        None => cx.pass(x),
    }
}

fn kept(cx: &Context) -> Result<bool, Failure> {
    Ok(cx.attributes.int("keepdims")?.unwrap_or(1) != 0)
}

/// The axes that are reduced, in order; `None`: nothing is. `since`: the opset from which they are an input.
fn axes(cx: &Context, since: i64) -> Result<Option<Axes>, Failure> {
    let x = cx.input(0, "data")?;
    let rank = cx.shape(&x).len();
    let given = match cx.opset() >= since {
        true => cx.ints(1, "axes")?,
        false => cx.attributes.ints("axes")?.map(<[i64]>::to_vec),
    };
    let noop = cx.opset() >= since && cx.attributes.flag("noop_with_empty_axes")?;
    let given = given.unwrap_or_default();
    let mut axes: Axes = given.iter().map(|&axis| cx.axis(axis, rank, false)).collect::<Result<_, _>>()?;
    axes.sort_unstable();
    if axes.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Failure::shapes(format!("axes {given:?} name one axis twice")));
    }
    if axes.is_empty() && !noop {
        axes = (0..rank).collect();
    }
    // A scalar has nothing to reduce.
    Ok((!axes.is_empty()).then_some(axes))
}

/// The mean over some axes, as a value between nodes.
pub(super) fn mean_of(cx: &mut Context, x: &Operand, axes: &[usize], keep: bool) -> Result<Operand, Failure> {
    cx.emit(Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: Axes::from_slice(axes), keep }), std::slice::from_ref(x))
}
