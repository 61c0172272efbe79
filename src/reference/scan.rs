//! Running sums and products along one axis: sums in f64, rounded as they are stored; products rounded
//! after every factor in fp32; integers wrap as their type does.

use super::Math;
use super::bridge::{floats, hold};
use crate::dtype::DType;
use crate::graph::op::{Scan, ScanKind};
use crate::shape::lines;
use crate::tensor::{Storage, Tensor};

pub(super) fn evaluate(scan: &Scan, x: &Tensor, dtype: DType, math: Math) -> Tensor {
    if let Storage::I64(lanes) = x.storage() {
        let step = |total: i64, v: i64| match scan.kind {
            ScanKind::Sum => dtype.wrap(total.wrapping_add(v)),
            ScanKind::Prod => dtype.wrap(total.wrapping_mul(v)),
        };
        let first = i64::from(scan.kind == ScanKind::Prod);
        return Tensor::new(dtype, x.shape(), Storage::I64(running(scan, x.shape(), lanes, first, step)));
    }
    let single = math.is_single(dtype);
    let step = |total: f64, v: f64| match scan.kind {
        ScanKind::Sum => total + v,
        ScanKind::Prod if single => (total * v) as f32 as f64,
        ScanKind::Prod => total * v,
    };
    let first = if scan.kind == ScanKind::Prod { 1.0 } else { 0.0 };
    hold(running(scan, x.shape(), &floats(x.storage()), first, step), dtype, x.shape(), math)
}

fn running<T: Copy>(scan: &Scan, shape: &[usize], lanes: &[T], first: T, step: impl Fn(T, T) -> T) -> Vec<T> {
    let mut y = vec![first; lanes.len()];
    let all = lines(shape, &[scan.axis]);
    for &start in &all.starts {
        let mut total = first;
        for i in 0..all.steps.len() {
            let i = if scan.reverse { all.steps.len() - 1 - i } else { i };
            let at = start + all.steps[i];
            let next = step(total, lanes[at]);
            y[at] = if scan.exclusive { total } else { next };
            total = next;
        }
    }
    y
}
