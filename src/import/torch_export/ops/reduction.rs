//! One number over some axes: sums, means, extremes, norms, variances; positions of extremes; running sums.

use smallvec::SmallVec;

use crate::dtype::DType;
use crate::expr::{Binary, ExprBuilder, ExprId, Unary};
use crate::graph::Op;
use crate::graph::op::{ArgKind, ArgReduce, Pool, Reduce, ReduceKind, Scan, ScanKind};
use crate::import::build::activation::converted;
use crate::import::build::{Failure, Operand};
use crate::import::torch_export::call::{Call, Out, Outs};
use crate::import::torch_export::promote::Value;

/// The reduced axes, and whether they stay.
fn axes(call: &Call, rank: usize) -> Result<(Vec<usize>, bool), Failure> {
    let axes = if call.has("dim") { call.dims("dim", rank)? } else { (0..rank).collect() };
    Ok((axes, call.has("keepdim") && call.flag("keepdim")?))
}

/// A reduction; a tensor without axes to reduce is its own.
pub fn reduced(call: &mut Call, kind: ReduceKind, x: Operand, axes: &[usize], keep: bool) -> Result<Operand, Failure> {
    if axes.is_empty() {
        return Ok(x);
    }
    call.emit(Op::Reduce(Reduce { kind, axes: axes.iter().copied().collect(), keep }), &[x])
}

/// The operand in the type in which it is reduced: the one that is asked for, or i64 for integers.
fn widened(call: &mut Call, x: Operand) -> Result<Operand, Failure> {
    let own = call.ty(&x).dtype;
    let asked = if call.has("dtype") { call.dtype("dtype")? } else { None };
    let dtype = asked.unwrap_or(if own.is_float() { own } else { DType::I64 });
    match own == dtype {
        true => Ok(x),
        false => call.joined("cast", &[Value::Tensor(x)], dtype, |_, args| args[0]),
    }
}

fn accumulated(call: &mut Call, kind: ReduceKind) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let (axes, keep) = axes(call, call.shape(&x).len())?;
    let x = widened(call, x)?;
    Ok(reduced(call, kind, x, &axes, keep)?.into())
}

pub fn sum(call: &mut Call) -> Result<Outs, Failure> {
    accumulated(call, ReduceKind::Sum)
}

/// A mean over all spatial axes that keeps them is adaptive pooling to one bin, which decomposes into it.
pub fn mean(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let ty = call.ty(&x);
    let rank = ty.shape.len();
    let (axes, keep) = axes(call, rank)?;
    let spatial = (3..=5).contains(&rank) && axes.iter().copied().eq(2..rank);
    if spatial && keep && ty.dtype.is_float() && call.dtype("dtype")?.is_none_or(|dtype| dtype == ty.dtype) {
        let ones = SmallVec::from_elem(1, rank - 2);
        return Ok(call.emit(Op::Pool(Pool::adaptive_average(ones)), &[x])?.into());
    }
    accumulated(call, ReduceKind::Mean)
}

pub fn prod(call: &mut Call) -> Result<Outs, Failure> {
    accumulated(call, ReduceKind::Prod)
}

pub fn logsumexp(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let (axes, keep) = axes(call, call.shape(&x).len())?;
    Ok(reduced(call, ReduceKind::LogSumExp, x, &axes, keep)?.into())
}

fn extreme(call: &mut Call, kind: ReduceKind) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let (axes, keep) = axes(call, call.shape(&x).len())?;
    Ok(reduced(call, kind, x, &axes, keep)?.into())
}

/// amax, max over everything.
pub fn max(call: &mut Call) -> Result<Outs, Failure> {
    extreme(call, ReduceKind::Max)
}

/// amin, min over everything.
pub fn min(call: &mut Call) -> Result<Outs, Failure> {
    extreme(call, ReduceKind::Min)
}

/// Values and positions along one axis.
fn located(call: &mut Call, kind: ReduceKind, position: ArgKind) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let rank = call.shape(&x).len();
    let axis = call.dim("dim", rank)?;
    let keep = call.flag("keepdim")?;
    let used = |call: &Call, i: usize| call.used.get(i).copied().unwrap_or(false);
    let values = match used(call, 0) {
        true => Out::Value(reduced(call, kind, x.clone(), &[axis], keep)?),
        false => Out::Absent("values that nothing reads"),
    };
    let positions = match used(call, 1) {
        true => Out::Value(call.emit(Op::ArgReduce(ArgReduce { kind: position, axis, keep, last: false }), &[x])?),
        false => Out::Absent("positions that nothing reads"),
    };
    Ok(vec![values, positions].into())
}

pub fn max_along(call: &mut Call) -> Result<Outs, Failure> {
    located(call, ReduceKind::Max, ArgKind::Max)
}

pub fn min_along(call: &mut Call) -> Result<Outs, Failure> {
    located(call, ReduceKind::Min, ArgKind::Min)
}

/// The position along an axis, or in all elements in a row.
fn position(call: &mut Call, kind: ArgKind) -> Result<Outs, Failure> {
    let mut x = call.tensor("self")?;
    let shape = call.shape(&x);
    let keep = call.flag("keepdim")?;
    let axis = if call.is_none("dim") {
        let count = call.product(&shape)?;
        x = call.reshape(x, &[count])?;
        0
    } else {
        call.dim("dim", shape.len())?
    };
    let whole = call.is_none("dim");
    let y = call.emit(Op::ArgReduce(ArgReduce { kind, axis, keep: keep && !whole, last: false }), &[x])?;
    match keep && whole {
        true => Ok(call.reshape(y, &vec![1; shape.len()])?.into()),
        false => Ok(y.into()),
    }
}

pub fn argmax(call: &mut Call) -> Result<Outs, Failure> {
    position(call, ArgKind::Max)
}

pub fn argmin(call: &mut Call) -> Result<Outs, Failure> {
    position(call, ArgKind::Min)
}

/// Whether some (any) or each (all) element is not 0.
fn judged(call: &mut Call, kind: ReduceKind) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let (axes, keep) = axes(call, call.shape(&x).len())?;
    let x = match call.ty(&x).dtype {
        DType::Bool => x,
        _ => call.unary("is_true", &x, |b, x| converted(b, x, DType::Bool))?,
    };
    Ok(reduced(call, kind, x, &axes, keep)?.into())
}

pub fn any(call: &mut Call) -> Result<Outs, Failure> {
    judged(call, ReduceKind::Max)
}

pub fn all(call: &mut Call) -> Result<Outs, Failure> {
    judged(call, ReduceKind::Min)
}

/// Mean of the squared distances from the mean, divided by count − correction.
fn spread(call: &mut Call, finish: impl Fn(&mut ExprBuilder, ExprId) -> ExprId, with_mean: bool) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let shape = call.shape(&x);
    let (axes, keep) = axes(call, shape.len())?;
    let correction = if call.has("correction") {
        call.optional_number("correction").unwrap_or(1.0)
    } else {
        f64::from(u8::from(!call.has("unbiased") || call.flag("unbiased")?))
    };
    let count: usize = axes.iter().map(|&axis| shape[axis]).product();
    let mean = reduced(call, ReduceKind::Mean, x.clone(), &axes, true)?;
    let squares = call.map("squared_difference", &[x, mean.clone()], |b, args| {
        let difference = b.binary(Binary::Sub, args[0], args[1]);
        b.binary(Binary::Mul, difference, difference)
    })?;
    let total = reduced(call, ReduceKind::Sum, squares, &axes, keep)?;
    let divisor = (count as f64 - correction).max(0.0);
    let variance = call.unary("variance", &total, |b, total| {
        let divisor = b.number(divisor, b.dtype(total));
        let variance = b.binary(Binary::Div, total, divisor);
        finish(b, variance)
    })?;
    let mut outs = vec![Out::Value(variance.clone())];
    if with_mean {
        let shape = call.shape(&variance);
        outs.push(Out::Value(call.reshape(mean, &shape)?));
    }
    Ok(outs.into())
}

pub fn var(call: &mut Call) -> Result<Outs, Failure> {
    spread(call, |_, v| v, false)
}

pub fn std(call: &mut Call) -> Result<Outs, Failure> {
    spread(call, |b, v| b.unary(Unary::Sqrt, v), false)
}

pub fn var_mean(call: &mut Call) -> Result<Outs, Failure> {
    spread(call, |_, v| v, true)
}

/// (Σ |x|ᵖ)^(1/p); p = ∞ is the largest, −∞ the smallest size.
pub fn norm(call: &mut Call) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let (axes, keep) = axes(call, call.shape(&x).len())?;
    let name = if call.has("ord") { "ord" } else { "p" };
    let p = if call.is_none(name) { 2.0 } else { call.number(name)? };
    let absolute = |call: &mut Call, x: &Operand| call.unary("abs", x, |b, x| b.unary(Unary::Abs, x));
    let result = match p {
        f64::INFINITY | f64::NEG_INFINITY => {
            let sizes = absolute(call, &x)?;
            let kind = if p > 0.0 { ReduceKind::Max } else { ReduceKind::Min };
            reduced(call, kind, sizes, &axes, keep)?
        }
        1.0 => {
            let sizes = absolute(call, &x)?;
            reduced(call, ReduceKind::Sum, sizes, &axes, keep)?
        }
        2.0 => {
            let squares = call.unary("square", &x, |b, x| b.binary(Binary::Mul, x, x))?;
            let sum = reduced(call, ReduceKind::Sum, squares, &axes, keep)?;
            call.unary("sqrt", &sum, |b, x| b.unary(Unary::Sqrt, x))?
        }
        _ => return Err(Failure::unsupported(format!("the norm of order {p}"))),
    };
    Ok(result.into())
}

fn running(call: &mut Call, kind: ScanKind) -> Result<Outs, Failure> {
    let x = call.tensor("self")?;
    let rank = call.shape(&x).len();
    let axis = call.dim("dim", rank)?;
    let x = widened(call, x)?;
    if rank == 0 {
        return Ok(x.into());
    }
    Ok(call.emit(Op::Scan(Scan { kind, axis, reverse: false, exclusive: false }), &[x])?.into())
}

pub fn cumsum(call: &mut Call) -> Result<Outs, Failure> {
    running(call, ScanKind::Sum)
}

pub fn cumprod(call: &mut Call) -> Result<Outs, Failure> {
    running(call, ScanKind::Prod)
}

/// What losses end with: nothing (0), the mean (1) or the sum (2).
pub fn finished(call: &mut Call, losses: Operand) -> Result<Operand, Failure> {
    let axes: Vec<usize> = (0..call.shape(&losses).len()).collect();
    match call.int("reduction")? {
        0 => Ok(losses),
        1 => reduced(call, ReduceKind::Mean, losses, &axes, false),
        2 => reduced(call, ReduceKind::Sum, losses, &axes, false),
        other => Err(Failure::invalid(format!("argument `reduction` is {other}"))),
    }
}
