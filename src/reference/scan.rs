//! Running sums and products along one axis: sums in f64, rounded as they are stored; products in fp32 rounded
//! after every factor, large ones and small ones apart; integers wrap as their type does.

use super::Math;
use super::bridge::{floats, hold};
use super::reduce::{factor, single_product};
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
    let lanes = floats(x.storage());
    let y = match scan.kind {
        ScanKind::Sum => running(scan, x.shape(), &lanes, 0.0, |total, v| total + v),
        ScanKind::Prod if math.is_single(dtype) => {
            let pairs: Vec<(f64, f64)> = lanes.iter().map(|&v| (v, 1.0)).collect();
            let products = running(scan, x.shape(), &pairs, (1.0, 1.0), |total, (v, _)| factor(total, v));
            products.into_iter().map(|(large, small)| single_product(large, small)).collect()
        }
        ScanKind::Prod => running(scan, x.shape(), &lanes, 1.0, |total, v| total * v),
    };
    hold(y, dtype, x.shape(), math)
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
