//! One number over some axes, in exact loops: sums in f64, rounded once; products in fp32 rounded after every
//! factor, large ones and small ones apart; maxima keep NaN; integers wrap as their type does.

use rayon::prelude::*;

use super::Math;
use super::bridge::{floats, floats_only, hold};
use crate::diag::Result;
use crate::dtype::DType;
use crate::graph::op::{ArgReduce, Reduce, ReduceKind};
use crate::shape::{Lines, lines};
use crate::tensor::{Storage, Tensor};

pub(super) fn evaluate(reduce: &Reduce, x: &Tensor, dtype: DType, math: Math) -> Result<Tensor> {
    let shape = reduce.shape(x.shape());
    let all = lines(x.shape(), &reduce.axes);
    match x.storage() {
        Storage::I64(lanes) => {
            let unsigned = if dtype == DType::U64 { i64::MIN } else { 0 };
            let fold = |line: &mut dyn Iterator<Item = i64>| match reduce.kind {
                ReduceKind::Sum => Some(dtype.wrap(line.fold(0, i64::wrapping_add))),
                ReduceKind::Prod => Some(line.fold(1, |product, v| dtype.wrap(i64::wrapping_mul(product, v)))),
                ReduceKind::Max => line.map(|v| v ^ unsigned).max().map(|v| v ^ unsigned),
                ReduceKind::Min => line.map(|v| v ^ unsigned).min().map(|v| v ^ unsigned),
                ReduceKind::Mean | ReduceKind::LogSumExp => None,
            };
            let y: Option<Vec<i64>> = over(&all, |line| fold(&mut line.map(|at| lanes[at]))).into_iter().collect();
            let y = y.ok_or_else(|| floats_only(reduce.kind.name(), dtype))?;
            Ok(Tensor::new(dtype, shape, Storage::I64(y)))
        }
        Storage::Bool(lanes) => {
            let fold = |line: &mut dyn Iterator<Item = u8>| match reduce.kind {
                ReduceKind::Max => line.max(),
                ReduceKind::Min => line.min(),
                ReduceKind::Sum | ReduceKind::Mean | ReduceKind::Prod | ReduceKind::LogSumExp => None,
            };
            let y: Option<Vec<u8>> = over(&all, |line| fold(&mut line.map(|at| lanes[at]))).into_iter().collect();
            let y = y.ok_or_else(|| floats_only(reduce.kind.name(), dtype))?;
            Ok(Tensor::new(dtype, shape, Storage::Bool(y)))
        }
        storage @ (Storage::F32(_) | Storage::F64(_)) => {
            let lanes = floats(storage);
            let single = math.is_single(dtype);
            let y = over(&all, |line| line_of_floats(reduce.kind, line.map(|at| lanes[at]), single));
            Ok(hold(y, dtype, &shape, math))
        }
    }
}

/// A value for every line, given the places of its elements.
fn over<T: Send>(all: &Lines, fold: impl Fn(&mut dyn Iterator<Item = usize>) -> T + Sync) -> Vec<T> {
    all.starts.par_iter().map(|&start| fold(&mut all.steps.iter().map(|step| start + step))).collect()
}

/// `single`: products are rounded to fp32 after every factor.
fn line_of_floats(kind: ReduceKind, line: impl Iterator<Item = f64>, single: bool) -> f64 {
    match kind {
        ReduceKind::Sum => line.sum(),
        ReduceKind::Mean => {
            let (sum, count) = line.fold((0.0, 0usize), |(sum, count), v| (sum + v, count + 1));
            sum / count as f64
        }
        ReduceKind::Max => line.fold(f64::NEG_INFINITY, |m, v| if v > m || v.is_nan() { v } else { m }),
        ReduceKind::Min => line.fold(f64::INFINITY, |m, v| if v < m || v.is_nan() { v } else { m }),
        ReduceKind::Prod if single => {
            let (large, small) = line.fold((1.0, 1.0), factor);
            single_product(large, small)
        }
        ReduceKind::Prod => line.product(),
        ReduceKind::LogSumExp => {
            let line: Vec<f64> = line.collect();
            let maximum = line.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let shift = if maximum.is_finite() { maximum } else { 0.0 };
            shift + line.iter().map(|v| (v - shift).exp()).sum::<f64>().ln()
        }
    }
}

/// Takes one more factor into the product of the large ones, or of the small ones, in fp32: a kernel may take
/// factors in any order, and some orders leave the range of fp32 on the way.
pub(super) fn factor((large, small): (f64, f64), v: f64) -> (f64, f64) {
    if v.abs() < 1.0 { (large, (small * v) as f32 as f64) } else { ((large * v) as f32 as f64, small) }
}

pub(super) fn single_product(large: f64, small: f64) -> f64 {
    (large * small) as f32 as f64
}

/// The position of the extreme of every line; NaN is more extreme than any number.
pub(super) fn positions(arg: &ArgReduce, x: &Tensor) -> Tensor {
    let all = lines(x.shape(), &[arg.axis]);
    let position = |start: &usize, at: &dyn Fn(usize) -> f64| {
        let value = |i: usize| at(start + all.steps[i]);
        (1..all.steps.len()).fold(0, |best, i| if arg.takes(value(i), value(best)) { i } else { best }) as i64
    };
    let y = match x.storage() {
        // Beyond 2⁵³ a float could not tell two integers apart.
        Storage::I64(lanes) => {
            let unsigned = if x.dtype() == DType::U64 { i64::MIN } else { 0 };
            let better = |v: i64, best: i64| {
                let order = (v ^ unsigned).cmp(&(best ^ unsigned));
                let order = if arg.takes(1.0, 0.0) { order } else { order.reverse() };
                order.is_gt() || (arg.last && order.is_eq())
            };
            let line = |&start: &usize| {
                let value = |i: usize| lanes[start + all.steps[i]];
                (1..all.steps.len()).fold(0, |best, i| if better(value(i), value(best)) { i } else { best }) as i64
            };
            all.starts.par_iter().map(line).collect()
        }
        storage => {
            let lanes = floats(storage);
            all.starts.par_iter().map(|start| position(start, &|at| lanes[at])).collect()
        }
    };
    Tensor::new(DType::I64, arg.shape(x.shape()), Storage::I64(y))
}
