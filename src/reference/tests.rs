//! Values by hand, and brute-force loops over random attributes; candle's own operators where they
//! apply.

use candle_core::{Device, Tensor as Candle};
use proptest::prelude::*;
use smallvec::{SmallVec, smallvec};

use super::*;
use crate::dtype::DType;
use crate::expr::index::Index;
use crate::expr::{Binary, Compare, ExprBuilder, Unary};
use crate::graph::op::{Access, Conv, Map, OutOfBounds, Pool, PoolKind, View};
use crate::graph::{Role, TensorType};
use crate::rng::{self, Law, Seed};
use crate::shape::Shape;
use crate::tensor::Storage;

/// One node over the given operands.
fn run(op: Op, operands: &[Option<Tensor>], output: &[usize], dtype: DType, math: Math) -> Result<Tensor> {
    let mut graph = Graph::new("test");
    let mut env = Env::new();
    let mut inputs = Vec::new();
    for (i, operand) in operands.iter().enumerate() {
        inputs.push(operand.as_ref().map(|tensor| {
            let ty = TensorType { dtype: tensor.dtype(), shape: Shape::from_slice(tensor.shape()) };
            let value = graph.add_input(format!("x{i}"), ty, Role::Activation).unwrap();
            env.set(value, tensor.clone());
            value
        }));
    }
    let ty = TensorType { dtype, shape: Shape::from_slice(output) };
    let node = graph.add_node(op, &inputs, vec![("y".into(), ty)], vec![]);
    evaluate(&graph, &[node], &mut env, math)?;
    let result = env.get(graph.find("y").unwrap()).unwrap();
    assert_eq!(result.shape(), output);
    assert_eq!(result.dtype(), math.holds(dtype));
    Ok(result.as_ref().clone())
}

fn lanes(tensor: &Tensor) -> Vec<f64> {
    (0..tensor.len()).map(|i| tensor.storage().get_f64(i)).collect()
}

fn f32s(shape: &[usize], lanes: &[f32]) -> Option<Tensor> {
    Some(Tensor::from_f32(Shape::from_slice(shape), lanes.to_vec()))
}

fn random(name: &str, shape: &[usize]) -> Tensor {
    let law = Law::Uniform { scale: 1.0, offset: 0.0 };
    rng::fill(law, Seed::derive(1, name), DType::F32, Shape::from_slice(shape))
}

/// A random window problem over one to three spatial axes.
#[derive(Clone, Debug)]
struct Window {
    input: Vec<usize>,
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    begin: Vec<usize>,
    end: Vec<usize>,
}

impl Window {
    fn output(&self) -> Vec<usize> {
        let axis = |i: usize| {
            (self.input[i] + self.begin[i] + self.end[i] - self.dilations[i] * (self.kernel[i] - 1) - 1) / self.strides[i] + 1
        };
        (0..self.input.len()).map(axis).collect()
    }

    /// Flat input positions under each kernel position of output `at`; `None` in the padding.
    fn under(&self, at: &[usize]) -> Vec<Option<usize>> {
        let count: usize = self.kernel.iter().product();
        let position = |flat: usize| {
            let mut index = 0usize;
            for (i, r) in unflatten(flat, &self.kernel).into_iter().enumerate() {
                let p = (at[i] * self.strides[i] + r * self.dilations[i]) as i64 - self.begin[i] as i64;
                if p < 0 || p >= self.input[i] as i64 {
                    return None;
                }
                index = index * self.input[i] + p as usize;
            }
            Some(index)
        };
        (0..count).map(position).collect()
    }
}

fn unflatten(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut at = vec![0; shape.len()];
    for i in (0..shape.len()).rev() {
        at[i] = flat % shape[i];
        flat /= shape[i];
    }
    at
}

fn window() -> impl Strategy<Value = Window> {
    (1usize..4)
        .prop_flat_map(|rank| {
            let axes = |low: usize, high: usize| proptest::collection::vec(low..high, rank);
            (axes(1, 7), axes(1, 4), axes(1, 4), axes(1, 3), axes(0, 3), axes(0, 3))
        })
        .prop_map(|(input, kernel, strides, dilations, begin, end)| Window { input, kernel, strides, dilations, begin, end })
        .prop_filter("the window fits", |w| {
            (0..w.input.len()).all(|i| w.input[i] + w.begin[i] + w.end[i] > w.dilations[i] * (w.kernel[i] - 1))
        })
}

fn full_shape(first: [usize; 2], spatial: &[usize]) -> Vec<usize> {
    first.into_iter().chain(spatial.iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn convolution_is_the_sum_it_says(w in window(), batch in 1usize..3, groups in 1usize..4, cg in 1usize..3, kg in 1usize..3) {
        let (channels, filters) = (groups * cg, groups * kg);
        let x = random("x", &full_shape([batch, channels], &w.input));
        let weight = random("w", &full_shape([filters, cg], &w.kernel));
        let bias = random("b", &[filters]);
        let op = Op::Conv(Conv {
            strides: SmallVec::from_slice(&w.strides),
            dilations: SmallVec::from_slice(&w.dilations),
            pads_begin: SmallVec::from_slice(&w.begin),
            pads_end: SmallVec::from_slice(&w.end),
            groups,
        });
        let output = full_shape([batch, filters], &w.output());
        let operands = [Some(x.clone()), Some(weight.clone()), Some(bias.clone())];
        let y = run(op.clone(), &operands, &output, DType::F32, Math::F64).unwrap();
        let single = run(op, &operands, &output, DType::F32, Math::F32).unwrap();
        let (plane, size): (usize, usize) = (w.input.iter().product(), w.kernel.iter().product());
        for (flat, (&y, &single)) in lanes(&y).iter().zip(&lanes(&single)).enumerate() {
            let at = unflatten(flat, &output);
            let (n, k) = (at[0], at[1]);
            let mut sum = bias.storage().get_f64(k);
            for c in 0..cg {
                for (r, position) in w.under(&at[2..]).into_iter().enumerate() {
                    if let Some(p) = position {
                        let channel = k / kg * cg + c;
                        sum += x.storage().get_f64((n * channels + channel) * plane + p)
                            * weight.storage().get_f64((k * cg + c) * size + r);
                    }
                }
            }
            prop_assert!((y - sum).abs() <= 1e-13, "{at:?}: {y} {sum}");
            prop_assert!((single - sum).abs() <= 1e-5, "{at:?}: {single} {sum}");
        }
    }

    #[test]
    fn pools_are_what_they_say(w in window(), count_pad: bool) {
        let x = random("x", &full_shape([2, 3], &w.input));
        let pool = |kind| Op::Pool(Pool {
            kind,
            kernel: SmallVec::from_slice(&w.kernel),
            strides: SmallVec::from_slice(&w.strides),
            dilations: SmallVec::from_slice(&w.dilations),
            pads_begin: SmallVec::from_slice(&w.begin),
            pads_end: SmallVec::from_slice(&w.end),
        });
        let output = full_shape([2, 3], &w.output());
        let average = pool(PoolKind::Average { count_pad });
        let maxima = run(pool(PoolKind::Max), &[Some(x.clone())], &output, DType::F32, Math::F64).unwrap();
        let means = run(average, &[Some(x.clone())], &output, DType::F32, Math::F64).unwrap();
        let plane: usize = w.input.iter().product();
        for flat in 0..maxima.len() {
            let at = unflatten(flat, &output);
            let start = (at[0] * 3 + at[1]) * plane;
            let under = w.under(&at[2..]);
            let values: Vec<f64> = under.iter().flatten().map(|&p| x.storage().get_f64(start + p)).collect();
            let maximum = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(maxima.storage().get_f64(flat), maximum);
            let count = if count_pad { under.len() } else { values.len() };
            let mean = values.iter().sum::<f64>() / count as f64;
            let got = means.storage().get_f64(flat);
            prop_assert!((got - mean).abs() < 1e-14 || (got.is_nan() && mean.is_nan()), "{} {}", got, mean);
        }
    }

    #[test]
    fn strided_reads_and_single_reads_agree(begin in 0i64..3, size in 1usize..5, flip: bool) {
        // A slice with a stride of ±1, once as an affine access and once through a remainder, which
        // is not affine and goes element by element.
        let x = random("x", &[3, 8]);
        let column = |index: Index| Index::Add(Box::new(index), Box::new(Index::Constant(if flip { begin + 4 } else { begin })));
        let affine = column(Index::Mul(Box::new(Index::Dim(1)), if flip { -1 } else { 1 }));
        let single = Index::Mod(Box::new(affine.clone()), 1 << 40);
        let with = |index: Index| {
            let mut b = ExprBuilder::new();
            let read = b.read(0, DType::F32);
            let access = Access { input: 0, index: vec![Index::Dim(0), index], oob: OutOfBounds::InBounds };
            Op::Map(Map { label: "slice".into(), dims: smallvec![3, size], reads: vec![access], body: b.finish(read) })
        };
        let a = run(with(affine), &[Some(x.clone())], &[3, size], DType::F32, Math::F32).unwrap();
        let b = run(with(single), &[Some(x.clone())], &[3, size], DType::F32, Math::F32).unwrap();
        prop_assert_eq!(a, b);
    }
}

#[test]
fn convolution_agrees_with_candles_own() {
    for (stride, pad, dilation, groups) in [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (2, 3, 1, 4)] {
        let (x, w) = (random("x", &[2, 4, 11, 9]), random("w", &[8, 4 / groups, 3, 3]));
        let candle = |t: &Tensor| Candle::from_vec(t.as_f32().unwrap().to_vec(), t.shape(), &Device::Cpu).unwrap();
        let candle_y = candle(&x).conv2d(&candle(&w), pad, stride, dilation, groups).unwrap();
        let op = Op::Conv(Conv {
            strides: smallvec![stride; 2],
            dilations: smallvec![dilation; 2],
            pads_begin: smallvec![pad; 2],
            pads_end: smallvec![pad; 2],
            groups,
        });
        let y = run(op, &[Some(x), Some(w), None], candle_y.dims(), DType::F32, Math::F32).unwrap();
        let candle_y = candle_y.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        for (a, b) in y.as_f32().unwrap().iter().zip(&candle_y) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
}

#[test]
fn products_broadcast_their_batches() {
    let a = f32s(&[2, 1, 1, 2], &[1.0, 2.0, 3.0, 4.0]);
    let b = f32s(&[2, 2, 1], &[1.0, 10.0, 5.0, 7.0]);
    let y = run(Op::MatMul, &[a, b], &[2, 2, 1, 1], DType::F32, Math::F32).unwrap();
    assert_eq!(lanes(&y), [21.0, 19.0, 43.0, 43.0]);

    let a = Tensor::new(DType::I8, Shape::from_slice(&[1, 2]), Storage::I64(vec![100, 3]));
    let b = Tensor::new(DType::I8, Shape::from_slice(&[2, 2]), Storage::I64(vec![2, 1, 0, 5]));
    let y = run(Op::MatMul, &[Some(a), Some(b)], &[1, 2], DType::I8, Math::F64).unwrap();
    assert_eq!(y.as_i64().unwrap(), [-56, 115]);

    let mismatched = [f32s(&[1, 2], &[0.0; 2]), f32s(&[3, 1], &[0.0; 3])];
    assert_eq!(run(Op::MatMul, &mismatched, &[1, 1], DType::F32, Math::F64).unwrap_err().code.id, "M004");
}

#[test]
fn maxima_keep_nan_and_infinities_and_integers() {
    let pool = Op::Pool(Pool {
        kind: PoolKind::Max,
        kernel: smallvec![2],
        strides: smallvec![1],
        dilations: smallvec![1],
        pads_begin: smallvec![1],
        pads_end: smallvec![1],
    });
    let x = f32s(&[1, 1, 4], &[f32::NAN, 1.0, f32::NEG_INFINITY, f32::NEG_INFINITY]);
    for math in [Math::F32, Math::F64] {
        let y = lanes(&run(pool.clone(), std::slice::from_ref(&x), &[1, 1, 5], DType::F32, math).unwrap());
        assert!(y[0].is_nan() && y[1].is_nan());
        assert_eq!(y[2..], [1.0, f64::NEG_INFINITY, f64::NEG_INFINITY]);
    }
    let large = i64::MAX - 1;
    let x = Tensor::from_i64(Shape::from_slice(&[1, 1, 2]), vec![large, large + 1]);
    let y = run(pool, &[Some(x)], &[1, 1, 3], DType::I64, Math::F64).unwrap();
    assert_eq!(y.as_i64().unwrap(), [large, large + 1, large + 1]);
}

#[test]
fn adaptive_bins_overlap_as_in_torch() {
    let pool = |size: usize| {
        Op::Pool(Pool {
            kind: PoolKind::AdaptiveAverage,
            kernel: smallvec![size],
            strides: smallvec![1],
            dilations: smallvec![1],
            pads_begin: smallvec![0],
            pads_end: smallvec![0],
        })
    };
    let x = f32s(&[1, 1, 5], &[1.0, 2.0, 3.0, 4.0, 5.0]);
    let y = run(pool(3), std::slice::from_ref(&x), &[1, 1, 3], DType::F32, Math::F64).unwrap();
    assert_eq!(lanes(&y), [1.5, 3.0, 4.5]);
    assert_eq!(lanes(&run(pool(1), &[x], &[1, 1, 1], DType::F32, Math::F32).unwrap()), [3.0]);
}

#[test]
fn batch_normalisation_by_hand() {
    let op = Op::BatchNorm { epsilon: 1.0 };
    let operands = [
        f32s(&[1, 2, 2], &[1.0, 2.0, 3.0, 5.0]),
        f32s(&[2], &[2.0, 1.0]),
        f32s(&[2], &[0.5, -1.0]),
        f32s(&[2], &[1.0, 3.0]),
        f32s(&[2], &[3.0, 0.0]),
    ];
    for math in [Math::F32, Math::F64] {
        let y = run(op.clone(), &operands, &[1, 2, 2], DType::F32, math).unwrap();
        assert_eq!(lanes(&y), [0.5, 1.5, -1.0, 1.0]);
    }
}

#[test]
fn softmax_sums_to_one_on_any_axis() {
    let x = random("x", &[2, 3, 4]);
    for axis in 0..3 {
        let y = run(Op::Softmax { axis, log: false }, &[Some(x.clone())], &[2, 3, 4], DType::F32, Math::F64).unwrap();
        let candle = Candle::from_vec(x.as_f32().unwrap().to_vec(), (2, 3, 4), &Device::Cpu).unwrap();
        let exps = candle.to_dtype(candle_core::DType::F64).unwrap().exp().unwrap();
        let expected = exps.broadcast_div(&exps.sum_keepdim(axis).unwrap()).unwrap();
        let expected = expected.flatten_all().unwrap().to_vec1::<f64>().unwrap();
        for (a, b) in lanes(&y).iter().zip(&expected) {
            assert!((a - b).abs() < 1e-15);
        }
    }
    let huge = f32s(&[1, 2], &[1e30, 1e30]);
    assert_eq!(lanes(&run(Op::Softmax { axis: 1, log: false }, &[huge], &[1, 2], DType::F32, Math::F32).unwrap()), [0.5, 0.5]);
}

#[test]
fn views_move_lanes() {
    let x = f32s(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let view =
        |v: View, shape: &[usize]| lanes(&run(Op::View(v), std::slice::from_ref(&x), shape, DType::F32, Math::F32).unwrap());
    assert_eq!(view(View::Reshape(smallvec![3, 2]), &[3, 2]), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(view(View::Transpose(smallvec![1, 0]), &[3, 2]), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(
        view(View::Broadcast(smallvec![2, 2, 3]), &[2, 2, 3]),
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    );
}

/// `label(x0, x1)` where the second operand is broadcast along the first axis.
fn pointwise(label: &str, dims: &[usize], build: impl FnOnce(&mut ExprBuilder) -> crate::expr::ExprId) -> Op {
    let mut b = ExprBuilder::new();
    let root = build(&mut b);
    let whole = Access { input: 0, index: (0..dims.len()).map(Index::Dim).collect(), oob: OutOfBounds::InBounds };
    let row = Access { input: 1, index: vec![Index::Dim(dims.len() - 1)], oob: OutOfBounds::InBounds };
    Op::Map(Map { label: label.into(), dims: Shape::from_slice(dims), reads: vec![whole, row], body: b.finish(root) })
}

#[test]
fn maps_broadcast_round_and_keep_nan() {
    let dims = [2, 2];
    let add = pointwise("add", &dims, |b| {
        let (x, y) = (b.read(0, DType::F32), b.read(1, DType::F32));
        b.binary(Binary::Add, x, y)
    });
    let x = f32s(&dims, &[1.0, 2.0, 1e8, 4.0]);
    let row = f32s(&[2], &[1.0, 0.1]);
    let operands = [x, row];
    assert_eq!(
        lanes(&run(add.clone(), &operands, &dims, DType::F32, Math::F32).unwrap()),
        [2.0, 2.1f32 as f64, 1e8, 4.1f32 as f64]
    );
    let exact = 1e8 + 1.0;
    assert_eq!(lanes(&run(add, &operands, &dims, DType::F32, Math::F64).unwrap())[2], exact);

    let relu = |b: &mut ExprBuilder| {
        let (x, _) = (b.read(0, DType::F32), b.read(1, DType::F32));
        let zero = b.float(0.0, DType::F32);
        b.binary(Binary::MaxNan, x, zero)
    };
    let y = run(
        pointwise("relu", &dims, relu),
        &[f32s(&dims, &[-1.0, f32::NAN, 3.0, f32::INFINITY]), f32s(&[2], &[0.0; 2])],
        &dims,
        DType::F32,
        Math::F64,
    );
    let y = lanes(&y.unwrap());
    assert!(y[1].is_nan());
    assert_eq!([y[0], y[2], y[3]], [0.0, 3.0, f64::INFINITY]);
}

#[test]
fn maps_fill_gather_and_count() {
    // y[i] = table[indices[i]] + i, zero-padded on the left by one.
    let mut b = ExprBuilder::new();
    let (read, at) = (b.read(0, DType::I64), b.node(crate::expr::Node::Coordinate(0), DType::I64));
    let sum = b.binary(Binary::Add, read, at);
    let table = Access { input: 0, index: vec![Index::Read(1)], oob: OutOfBounds::InBounds };
    let shifted = Index::Add(Box::new(Index::Dim(0)), Box::new(Index::Constant(-1)));
    let indices = Access { input: 1, index: vec![shifted], oob: OutOfBounds::Fill(0.0) };
    let op = Op::Map(Map { label: "gather".into(), dims: smallvec![4], reads: vec![table, indices], body: b.finish(sum) });
    let table = Tensor::from_i64(Shape::from_slice(&[3]), vec![10, 20, 30]);
    let with = |indices: Vec<i64>| {
        let indices = Tensor::from_i64(Shape::from_slice(&[3]), indices);
        run(op.clone(), &[Some(table.clone()), Some(indices)], &[4], DType::I64, Math::F64)
    };
    assert_eq!(with(vec![2, 0, 1]).unwrap().as_i64().unwrap(), [10, 31, 12, 23]);
    let wrong = with(vec![2, 3, 1]).unwrap_err();
    assert_eq!(wrong.code.id, "M001");
    assert_eq!(wrong.message, "gather reads index 3 of an axis of size 3 at output element [2]");
}

#[test]
fn casts_round_where_they_narrow() {
    let dims = [1, 2];
    let narrow = pointwise("cast", &dims, |b| {
        let (x, _) = (b.read(0, DType::F32), b.read(1, DType::F32));
        let half = b.cast(x, DType::F16);
        b.cast(half, DType::F32)
    });
    let operands = [f32s(&dims, &[1.0 + 1.0 / 4096.0, 70000.0]), f32s(&[2], &[0.0; 2])];
    for math in [Math::F32, Math::F64] {
        let y = run(narrow.clone(), &operands, &dims, DType::F32, math).unwrap();
        assert_eq!(lanes(&y), [1.0, f64::INFINITY]);
    }
    let integer = |guarded: bool| {
        pointwise("cast", &dims, move |b| {
            let x = b.read(0, DType::F32);
            let as_int = b.cast(x, DType::I8);
            let limit = b.float(100.0, DType::F32);
            let most = b.node(crate::expr::Node::Constant(crate::expr::Constant::Int(100)), DType::I8);
            let above = b.compare(Compare::Gt, x, limit);
            if guarded { b.select(above, most, as_int) } else { as_int }
        })
    };
    let operands = [f32s(&dims, &[-1.9, 130.0]), f32s(&[2], &[0.0; 2])];
    let guarded = run(integer(true), &operands, &dims, DType::I8, Math::F64).unwrap();
    assert_eq!(guarded.as_i64().unwrap(), [-1, 100], "the lane without a value is not chosen");
    let refused = run(integer(false), &operands, &dims, DType::I8, Math::F64).unwrap_err();
    assert_eq!((refused.code.id, refused.message.as_str()), ("M009", "cast: element 1 of the output has no value"));
}

#[test]
fn integer_operators_wrap_and_refuse() {
    let op = |op: Binary| {
        pointwise("op", &[1, 2], move |b| {
            let (x, y) = (b.read(0, DType::I32), b.read(1, DType::I32));
            b.binary(op, x, y)
        })
    };
    let ints =
        |shape: &[usize], lanes: &[i64]| Some(Tensor::new(DType::I32, Shape::from_slice(shape), Storage::I64(lanes.to_vec())));
    let with = |o: Binary, a: [i64; 2], b: [i64; 2]| {
        run(op(o), &[ints(&[1, 2], &a), ints(&[2], &b)], &[1, 2], DType::I32, Math::F64).map(|t| t.as_i64().unwrap().to_vec())
    };
    assert_eq!(with(Binary::DivTrunc, [-7, 7], [2, -2]).unwrap(), [-3, -3]);
    assert_eq!(with(Binary::DivFloor, [-7, 7], [2, -2]).unwrap(), [-4, -4]);
    assert_eq!(with(Binary::Mul, [1 << 30, 3], [4, 5]).unwrap(), [0, 15]);
    assert_eq!(with(Binary::Pow, [-2, 3], [3, -1]).unwrap(), [-8, 0]);
    let by_zero = with(Binary::DivTrunc, [1, 1], [1, 0]).unwrap_err();
    assert_eq!((by_zero.code.id, by_zero.message.as_str()), ("M009", "op: element 1 of the output has no value"));
    let exp = pointwise("exp", &[1, 2], |b| {
        let x = b.read(0, DType::I32);
        b.unary(Unary::Exp, x)
    });
    let refused = run(exp, &[ints(&[1, 2], &[1, 2]), ints(&[2], &[0, 0])], &[1, 2], DType::I32, Math::F64).unwrap_err();
    assert_eq!(refused.message, "exp: Exp is not defined on these i32 elements");
}
