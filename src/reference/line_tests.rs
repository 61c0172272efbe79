//! Operators over whole lines and transposed convolutions: values by hand, and brute force over random attributes.

use proptest::prelude::*;
use smallvec::{SmallVec, smallvec};

use super::*;
use crate::graph::op::{ArgKind, ArgReduce, ConvTranspose, Norm, Reduce, ReduceKind, Scan, ScanKind};
use crate::graph::reduction::Axes;
use crate::rng::{self, Law, Seed};
use crate::shape::{Shape, contiguous_strides};
use crate::tensor::Storage;

fn lanes(tensor: &Tensor) -> Vec<f64> {
    (0..tensor.len()).map(|i| tensor.storage().get_f64(i)).collect()
}

fn f32s(shape: &[usize], lanes: &[f32]) -> Tensor {
    Tensor::from_f32(Shape::from_slice(shape), lanes.to_vec())
}

fn random(name: &str, shape: &[usize]) -> Tensor {
    let law = Law::Uniform { scale: 1.0, offset: 0.25 };
    rng::fill(law, Seed::derive(1, name), DType::F32, Shape::from_slice(shape))
}

fn reduced(kind: ReduceKind, axes: &[usize], x: &Tensor, math: Math) -> Vec<f64> {
    let op = Op::Reduce(Reduce { kind, axes: Axes::from_slice(axes), keep: false });
    lanes(&apply(&op, &[Some(x)], x.dtype(), math).unwrap())
}

#[test]
fn reductions_over_any_axes() {
    let x = f32s(&[2, 3, 2], &[1.0, -2.0, 3.0, 4.0, -5.0, 6.0, 0.5, 2.0, -1.0, 3.0, 2.0, -4.0]);
    let of = |kind, axes: &[usize]| reduced(kind, axes, &x, Math::F64);
    assert_eq!(of(ReduceKind::Sum, &[1]), [-1.0, 8.0, 1.5, 1.0]);
    assert_eq!(of(ReduceKind::Sum, &[0, 2]), [1.5, 9.0, -1.0]);
    assert_eq!(of(ReduceKind::Mean, &[0, 2]), [0.375, 2.25, -0.25]);
    assert_eq!(of(ReduceKind::Max, &[0, 1, 2]), [6.0]);
    assert_eq!(of(ReduceKind::Min, &[2]), [-2.0, 3.0, -5.0, 0.5, -1.0, -4.0]);
    assert_eq!(of(ReduceKind::Prod, &[0, 1]), [15.0, 1152.0]);
    let expected = [(1f64.exp() + 3f64.exp() + (-5f64).exp()).ln(), ((-2f64).exp() + 4f64.exp() + 6f64.exp()).ln()];
    assert!(of(ReduceKind::LogSumExp, &[1])[..2].iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14));
}

#[test]
fn infinities_and_nan_come_out_as_they_went_in() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = f32s(&[4, 2], &[-inf, -inf, inf, 1.0, nan, 9.0, 1e30, 1e30]);
    let of = |kind| reduced(kind, &[1], &x, Math::F64);
    let logs = of(ReduceKind::LogSumExp);
    assert_eq!(logs[..2], [f64::NEG_INFINITY, f64::INFINITY]);
    assert!(logs[2].is_nan() && (logs[3] / 1e30 - 1.0).abs() < 1e-6);
    assert!(of(ReduceKind::Max)[2].is_nan() && of(ReduceKind::Min)[2].is_nan());
    // In fp32 a product that leaves its range stays outside.
    let x = f32s(&[3], &[1e30, 1e30, 1e-30]);
    assert_eq!(reduced(ReduceKind::Prod, &[0], &x, Math::F32), [f64::INFINITY]);
    assert!(reduced(ReduceKind::Prod, &[0], &x, Math::F64)[0].is_finite());
}

#[test]
fn integers_wrap_and_stay_whole() {
    let x = Tensor::new(DType::I8, Shape::from_slice(&[2, 2]), Storage::I64(vec![100, 100, -3, 50]));
    let of = |kind| reduced(kind, &[1], &x, Math::F64);
    assert_eq!((of(ReduceKind::Sum), of(ReduceKind::Prod)), (vec![-56.0, 47.0], vec![16.0, 106.0]));
    assert_eq!((of(ReduceKind::Max), of(ReduceKind::Min)), (vec![100.0, 50.0], vec![100.0, -3.0]));
    let large = Tensor::new(DType::U64, Shape::from_slice(&[2]), Storage::I64(vec![-1, 5]));
    let Storage::I64(top) = apply(
        &Op::Reduce(Reduce { kind: ReduceKind::Max, axes: smallvec![0], keep: false }),
        &[Some(&large)],
        DType::U64,
        Math::F64,
    )
    .unwrap()
    .storage()
    .clone() else {
        panic!("integers")
    };
    assert_eq!(top, [-1]);
    let bools = Tensor::new(DType::Bool, Shape::from_slice(&[2, 2]), Storage::Bool(vec![1, 0, 1, 1]));
    let of = |kind| reduced(kind, &[1], &bools, Math::F64);
    assert_eq!((of(ReduceKind::Max), of(ReduceKind::Min)), (vec![1.0, 1.0], vec![0.0, 1.0]));
}

#[test]
fn positions_of_extremes() {
    let x = f32s(&[2, 4], &[1.0, 3.0, 3.0, -7.0, 2.0, f32::NAN, -1.0, f32::NAN]);
    let of = |kind, axis, last, x: &Tensor| {
        let op = Op::ArgReduce(ArgReduce { kind, axis, keep: true, last });
        lanes(&apply(&op, &[Some(x)], DType::I64, Math::F64).unwrap())
    };
    assert_eq!(of(ArgKind::Max, 1, false, &x), [1.0, 1.0]);
    assert_eq!(of(ArgKind::Max, 1, true, &x), [2.0, 3.0]);
    assert_eq!(of(ArgKind::Min, 0, false, &x), [0.0, 1.0, 1.0, 1.0]);
    let whole = Tensor::from_i64(Shape::from_slice(&[3]), vec![(1 << 53) + 1, 1 << 53, (1 << 53) + 1]);
    assert_eq!([false, true].map(|last| of(ArgKind::Max, 0, last, &whole)[0]), [0.0, 2.0]);
    assert_eq!([false, true].map(|last| of(ArgKind::Min, 0, last, &whole)[0]), [1.0, 1.0]);
}

#[test]
fn running_sums_in_every_direction() {
    let x = f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, -5.0, 6.0]);
    let of = |kind, axis, reverse, exclusive| {
        let op = Op::Scan(Scan { kind, axis, reverse, exclusive });
        lanes(&apply(&op, &[Some(&x)], DType::F32, Math::F64).unwrap())
    };
    assert_eq!(of(ScanKind::Sum, 1, false, false), [1.0, 3.0, 6.0, 4.0, -1.0, 5.0]);
    assert_eq!(of(ScanKind::Sum, 1, true, false), [6.0, 5.0, 3.0, 5.0, 1.0, 6.0]);
    assert_eq!(of(ScanKind::Sum, 1, false, true), [0.0, 1.0, 3.0, 0.0, 4.0, -1.0]);
    assert_eq!(of(ScanKind::Sum, 0, true, true), [4.0, -5.0, 6.0, 0.0, 0.0, 0.0]);
    assert_eq!(of(ScanKind::Prod, 1, false, false), [1.0, 2.0, 6.0, 4.0, -20.0, -120.0]);
    assert_eq!(of(ScanKind::Prod, 1, true, true), [6.0, 3.0, 1.0, -30.0, 6.0, 1.0]);
}

#[test]
fn normalised_lines_have_mean_0_and_variance_1() {
    let x = random("x", &[2, 3, 4, 5]);
    let norm = |axes: &[usize], centred| Op::Norm(Norm { axes: axes.into(), epsilon: 0.0, centred });
    for axes in [[1].as_slice(), &[3], &[2, 3], &[0, 2, 3], &[0, 1, 2, 3]] {
        let y = apply(&norm(axes, true), &[Some(&x)], DType::F32, Math::F64).unwrap();
        let all = crate::shape::lines(&[2, 3, 4, 5], axes);
        let y = lanes(&y);
        for start in &all.starts {
            let line: Vec<f64> = all.steps.iter().map(|step| y[start + step]).collect();
            let count = line.len() as f64;
            let mean = line.iter().sum::<f64>() / count;
            let square = line.iter().map(|v| v * v).sum::<f64>() / count;
            assert!(mean.abs() < 1e-13 && (square - 1.0).abs() < 1e-12, "{axes:?}");
        }
    }
    let x = f32s(&[1, 2, 2], &[3.0, 4.0, -6.0, 8.0]);
    let (gamma, beta) = (f32s(&[1, 2, 1], &[2.0, -1.0]), f32s(&[1, 1, 2], &[0.5, 10.0]));
    let y = apply(&norm(&[2], false), &[Some(&x), Some(&gamma), Some(&beta)], DType::F32, Math::F64).unwrap();
    let root = |sum: f64| (sum / 2.0).sqrt();
    let expected = [6.0 / root(25.0) + 0.5, 8.0 / root(25.0) + 10.0, 6.0 / root(100.0) + 0.5, -8.0 / root(100.0) + 10.0];
    assert!(lanes(&y).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14));
}

#[test]
fn a_large_mean_does_not_cancel_the_variance() {
    let x = f32s(&[1, 4], &[4096.0, 4097.0, 4098.0, 4099.0]);
    let op = Op::Norm(Norm { axes: smallvec![1], epsilon: 0.0, centred: true });
    let deviation = 1.25f64.sqrt();
    for math in [Math::F32, Math::F64] {
        let y = lanes(&apply(&op, &[Some(&x)], DType::F32, math).unwrap());
        let expected = [-1.5, -0.5, 0.5, 1.5].map(|d| d / deviation);
        assert!(y.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-7), "{y:?}");
    }
}

#[test]
fn logarithms_of_softmax_do_not_underflow() {
    let x = f32s(&[1, 3], &[0.0, -200.0, -1000.0]);
    let log = lanes(&apply(&Op::Softmax { axis: 1, log: true }, &[Some(&x)], DType::F32, Math::F32).unwrap());
    assert_eq!(log, [0.0, -200.0, -1000.0]);
    let x = random("x", &[3, 5]);
    let plain = lanes(&apply(&Op::Softmax { axis: 0, log: false }, &[Some(&x)], DType::F32, Math::F64).unwrap());
    let log = lanes(&apply(&Op::Softmax { axis: 0, log: true }, &[Some(&x)], DType::F32, Math::F64).unwrap());
    assert!(plain.iter().zip(log).all(|(p, l)| (p.ln() - l).abs() < 1e-14));
}

fn transposed(groups: usize, axes: &[[usize; 5]]) -> ConvTranspose {
    let list = |k: usize| axes.iter().map(|axis| axis[k]).collect::<SmallVec<[usize; 3]>>();
    ConvTranspose {
        strides: list(0),
        dilations: list(1),
        pads_begin: list(2),
        pads_end: list(3),
        output_padding: list(4),
        groups,
    }
}

/// By the definition: every element of X adds its kernel where it reaches.
fn scattered(conv: &ConvTranspose, x: &Tensor, w: &Tensor, output: &[usize]) -> Vec<f64> {
    let (channels, filters) = (x.shape()[1] / conv.groups, w.shape()[1]);
    let coordinates = |shape: &[usize]| {
        let (strides, shape) = (contiguous_strides(shape), Shape::from_slice(shape));
        (0..shape.iter().product::<usize>()).map(move |flat| {
            strides.iter().zip(&shape).map(|(&stride, &size)| flat / stride as usize % size).collect::<Vec<usize>>()
        })
    };
    let strides = contiguous_strides(output);
    let mut y = vec![0.0; output.iter().product()];
    let weights: Vec<Vec<usize>> = coordinates(w.shape()).collect();
    for (at, from) in coordinates(x.shape()).enumerate() {
        for (tap, weight) in weights.iter().enumerate().filter(|(_, weight)| weight[0] == from[1]) {
            let place = |i: usize| {
                let reach = from[2 + i] * conv.strides[i] + weight[2 + i] * conv.dilations[i];
                reach.checked_sub(conv.pads_begin[i]).filter(|&p| p < output[2 + i])
            };
            let Some(spatial) = (0..conv.strides.len()).map(place).collect::<Option<Vec<usize>>>() else { continue };
            let filter = from[1] / channels * filters + weight[1];
            let to = [from[0], filter].into_iter().chain(spatial);
            let to: usize = to.zip(&strides).map(|(i, &stride)| i * stride as usize).sum();
            y[to] += x.storage().get_f64(at) * w.storage().get_f64(tap);
        }
    }
    y
}

#[test]
fn every_element_adds_its_kernel() {
    let conv = transposed(1, &[[2, 1, 0, 0, 0]]);
    let (x, w) = (f32s(&[1, 1, 2], &[1.0, 10.0]), f32s(&[1, 1, 3], &[1.0, 2.0, 3.0]));
    let bias = f32s(&[1], &[0.5]);
    for math in [Math::F64, Math::F32, Math::Tf32, Math::Unrounded] {
        let y = apply(&Op::ConvTranspose(conv.clone()), &[Some(&x), Some(&w), Some(&bias)], DType::F32, math).unwrap();
        assert_eq!((y.shape(), lanes(&y)), ([1, 1, 5].as_slice(), vec![1.5, 2.5, 13.5, 20.5, 30.5]));
    }
}

proptest! {
    #[test]
    fn transposed_convolutions_scatter(
        axes in prop::collection::vec((1usize..4, 1usize..4, 1usize..4, 1usize..3, 0usize..2, 0usize..2, 0usize..2), 1..4),
        groups in 1usize..3,
        seed in 0u32..100,
    ) {
        let spec: Vec<[usize; 5]> = axes.iter().map(|a| [a.2, a.3, a.4, a.5, a.6]).collect();
        let conv = transposed(groups, &spec);
        let x: Vec<usize> = [2, 2 * groups].into_iter().chain(axes.iter().map(|a| a.0)).collect();
        let w: Vec<usize> = [2 * groups, 3].into_iter().chain(axes.iter().map(|a| a.1)).collect();
        let (x, w) = (random(&format!("x{seed}"), &x), random(&format!("w{seed}"), &w));
        let ty = |t: &Tensor| crate::graph::TensorType { dtype: DType::F32, shape: Shape::from_slice(t.shape()) };
        let op = Op::ConvTranspose(conv.clone());
        let Ok(inferred) = crate::graph::infer::infer(&op, &[Some(&ty(&x)), Some(&ty(&w))]) else { return Ok(()) };
        let y = apply(&op, &[Some(&x), Some(&w)], DType::F32, Math::F64).unwrap();
        prop_assert_eq!(y.shape(), inferred[0].shape.as_slice());
        let expected = scattered(&conv, &x, &w, y.shape());
        prop_assert!(lanes(&y).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
