//! Every operator printed as torch beside the numbers that the reference gives: the blessed file
//! `tests/emit/torch_cases.py` is a script that compares the two wherever torch is installed.

use std::collections::BTreeMap;

use expect_test::expect_file;
use smallvec::{SmallVec, smallvec};

use super::python::{self, Names, statement, tuple};
use super::torch_ops;
use crate::dtype::DType;
use crate::expr::index::Index;
use crate::expr::{Binary, Compare, Constant, Expr, ExprBuilder, ExprId, Node, Unary};
use crate::graph::infer::infer;
use crate::graph::op::{
    Access, ArgKind, ArgReduce, Conv, ConvTranspose, Lrn, Map, Norm, OutOfBounds, Pool, PoolKind, Reduce, ReduceKind, Scan,
    ScanKind, View,
};
use crate::graph::{Graph, Op, Role, TensorType};
use crate::reference::{Math, apply};
use crate::tensor::{Storage, Tensor};

fn body(build: impl FnOnce(&mut ExprBuilder) -> ExprId) -> Expr {
    let mut b = ExprBuilder::new();
    let root = build(&mut b);
    b.finish(root)
}

/// Small distinct numbers, negative ones among them.
fn floats(shape: &[usize]) -> Tensor {
    let len = shape.iter().product::<usize>();
    Tensor::from_f32(SmallVec::from_slice(shape), (0..len).map(|i| ((i * 7) % 11) as f32 * 0.5 - 2.25).collect())
}

fn integers(shape: &[usize], low: i64) -> Tensor {
    let len = shape.iter().product::<usize>();
    Tensor::from_i64(SmallVec::from_slice(shape), (0..len as i64).map(|i| (i * 5) % 9 + low).collect())
}

fn dim(d: usize) -> Index {
    Index::Dim(d)
}

fn plus(a: Index, c: i64) -> Index {
    Index::Add(Box::new(a), Box::new(Index::Constant(c)))
}

fn read(input: usize, index: Vec<Index>, fill: Option<f64>) -> Access {
    Access { input, index, oob: fill.map_or(OutOfBounds::InBounds, OutOfBounds::Fill) }
}

fn map(label: &str, dims: &[usize], reads: Vec<Access>, body: Expr) -> Op {
    Op::Map(Map { label: label.to_owned(), dims: SmallVec::from_slice(dims), reads, body })
}

fn pointwise(label: &str, dims: &[usize], operands: &[&[usize]], body: Expr) -> Op {
    Op::Map(Map::pointwise(label, dims, operands, body))
}

const F32: DType = DType::F32;
const I64: DType = DType::I64;

fn cases() -> Vec<(&'static str, Op, Vec<Tensor>)> {
    let one = || Expr::read(0, F32);
    let mut cases = vec![
        (
            "pad",
            map("pad", &[4, 5], vec![read(0, vec![plus(dim(0), -1), plus(dim(1), -2)], Some(0.5))], one()),
            vec![floats(&[2, 3])],
        ),
        (
            "slice, flipped",
            map(
                "slice",
                &[2, 3],
                vec![read(0, vec![plus(Index::Mul(Box::new(dim(0)), 2), 1), plus(Index::Mul(Box::new(dim(1)), -1), 2)], None)],
                one(),
            ),
            vec![floats(&[4, 3])],
        ),
        (
            "concat",
            map(
                "concat",
                &[5, 2],
                vec![read(0, vec![dim(0), dim(1)], Some(0.0)), read(1, vec![plus(dim(0), -2), dim(1)], Some(0.0))],
                body(|b| {
                    let (x, y) = (b.read(0, F32), b.read(1, F32));
                    let row = b.node(Node::Coordinate(0), I64);
                    let two = b.node(Node::Constant(Constant::Int(2)), I64);
                    let first = b.compare(Compare::Lt, row, two);
                    b.select(first, x, y)
                }),
            ),
            vec![floats(&[2, 2]), floats(&[3, 2])],
        ),
        (
            "expand",
            map("expand", &[3, 2, 2], vec![read(0, vec![Index::Constant(0), dim(2)], None)], one()),
            vec![floats(&[1, 2])],
        ),
        (
            "gather",
            map(
                "gather",
                &[3, 2],
                vec![read(0, vec![dim(0)], None), read(1, vec![Index::Read(0), dim(1)], None)],
                Expr::read(1, F32),
            ),
            vec![integers(&[3], 0), floats(&[11, 2])],
        ),
        (
            "space to depth",
            map(
                "reshape",
                &[2, 2, 3],
                vec![read(
                    0,
                    vec![
                        Index::FloorDiv(Box::new(dim(2)), 2),
                        Index::Mod(Box::new(Index::Add(Box::new(dim(2)), Box::new(Index::Mul(Box::new(dim(1)), 3)))), 4),
                        dim(0),
                    ],
                    None,
                )],
                one(),
            ),
            vec![floats(&[2, 4, 2])],
        ),
        (
            "transposed and broadcast",
            map(
                "add",
                &[2, 3],
                vec![read(0, vec![dim(1), dim(0)], None), read(1, vec![dim(0)], None)],
                body(|b| {
                    let (x, y) = (b.read(0, F32), b.read(1, F32));
                    let sum = b.binary(Binary::Add, x, y);
                    b.binary(Binary::Mul, sum, sum)
                }),
            ),
            vec![floats(&[3, 2]), floats(&[2])],
        ),
        (
            "iota",
            map(
                "range",
                &[4],
                vec![],
                body(|b| {
                    let i = b.node(Node::Coordinate(0), I64);
                    let x = b.cast(i, F32);
                    let half = b.float(-0.5, F32);
                    b.binary(Binary::Mul, x, half)
                }),
            ),
            vec![],
        ),
        ("constant", map("fill", &[2, 2], vec![], body(|b| b.float(3.0, F32))), vec![]),
        (
            "relu",
            pointwise(
                "relu",
                &[2, 3],
                &[&[2, 3]],
                body(|b| {
                    let (x, zero) = (b.read(0, F32), b.float(0.0, F32));
                    b.binary(Binary::MaxNan, x, zero)
                }),
            ),
            vec![floats(&[2, 3])],
        ),
        (
            "hard swish",
            pointwise(
                "hardswish",
                &[2, 6],
                &[&[2, 6]],
                body(|b| {
                    let (x, three, six, zero) = (b.read(0, F32), b.float(3.0, F32), b.float(6.0, F32), b.float(0.0, F32));
                    let sum = b.binary(Binary::Add, x, three);
                    let low = b.binary(Binary::MaxNan, zero, sum);
                    let both = b.binary(Binary::MinNan, low, six);
                    let product = b.binary(Binary::Mul, x, both);
                    b.binary(Binary::Div, product, six)
                }),
            ),
            vec![floats(&[2, 6])],
        ),
        (
            "extremes",
            pointwise(
                "extremes",
                &[5],
                &[&[5], &[5]],
                body(|b| {
                    let (x, y) = (b.read(0, F32), b.read(1, F32));
                    let nan = b.binary(Binary::Sub, x, y);
                    let low = b.binary(Binary::MinNum, x, y);
                    let high = b.binary(Binary::MaxNum, x, nan);
                    let least = b.binary(Binary::MinNan, low, y);
                    let most = b.binary(Binary::MaxNan, high, x);
                    let negative = b.unary(Unary::Neg, least);
                    b.binary(Binary::Sub, most, negative)
                }),
            ),
            vec![floats(&[5]), Tensor::from_f32(SmallVec::from_slice(&[5]), vec![1.0, -3.0, 0.0, 2.0, -1.0])],
        ),
        (
            "integers",
            pointwise(
                "integers",
                &[7],
                &[&[7], &[1]],
                body(|b| {
                    let (x, y) = (b.read(0, I64), b.read(1, I64));
                    let toward_zero = b.binary(Binary::DivTrunc, x, y);
                    let down = b.binary(Binary::DivFloor, x, y);
                    let ten = b.node(Node::Constant(Constant::Int(10)), I64);
                    let tens = b.binary(Binary::Mul, toward_zero, ten);
                    let mixed = b.binary(Binary::Xor, tens, down);
                    let kept = b.binary(Binary::And, mixed, ten);
                    b.binary(Binary::Or, kept, y)
                }),
            ),
            vec![integers(&[7], -4), integers(&[1], 3)],
        ),
        (
            "logic",
            pointwise(
                "logic",
                &[6],
                &[&[6], &[6]],
                body(|b| {
                    let (x, y, zero) = (b.read(0, F32), b.read(1, F32), b.float(0.0, F32));
                    let less = b.compare(Compare::Le, x, y);
                    let positive = b.compare(Compare::Gt, x, zero);
                    let same = b.compare(Compare::Eq, less, positive);
                    let other = b.unary(Unary::Not, same);
                    let both = b.binary(Binary::And, other, less);
                    b.cast(both, F32)
                }),
            ),
            vec![floats(&[6]), Tensor::from_f32(SmallVec::from_slice(&[6]), vec![0.25; 6])],
        ),
    ];
    for (name, op) in [
        ("abs", Unary::Abs),
        ("exp", Unary::Exp),
        ("sin", Unary::Sin),
        ("cos", Unary::Cos),
        ("tanh", Unary::Tanh),
        ("erf", Unary::Erf),
        ("sigmoid", Unary::Sigmoid),
        ("floor", Unary::Floor),
        ("ceil", Unary::Ceil),
        ("round", Unary::RoundEven),
    ] {
        let text = body(|b| {
            let x = b.read(0, F32);
            b.unary(op, x)
        });
        cases.push((name, pointwise(name, &[7], &[&[7]], text), vec![floats(&[7])]));
    }
    for (name, op) in [("log", Unary::Log), ("sqrt", Unary::Sqrt), ("rsqrt", Unary::Rsqrt)] {
        let text = body(|b| {
            let (x, y) = (b.read(0, F32), b.float(2.0, F32));
            let p = b.binary(Binary::Pow, x, y);
            b.unary(op, p)
        });
        cases.push((name, pointwise(name, &[7], &[&[7]], text), vec![floats(&[7])]));
    }

    let conv = |pads_end: usize, groups: usize| {
        Op::Conv(Conv {
            strides: smallvec![2, 1],
            dilations: smallvec![1, 2],
            pads_begin: smallvec![1, 1],
            pads_end: smallvec![pads_end, 1],
            groups,
        })
    };
    cases.push(("conv", conv(1, 1), vec![floats(&[1, 2, 5, 6]), floats(&[3, 2, 3, 2]), floats(&[3])]));
    cases.push(("conv, grouped and padded to one side", conv(0, 2), vec![floats(&[2, 4, 5, 6]), floats(&[4, 2, 3, 2])]));
    let pool = |kind, begin: usize, end: usize| {
        Op::Pool(Pool {
            kind,
            kernel: smallvec![3, 2],
            strides: smallvec![2, 2],
            dilations: smallvec![1, 1],
            pads_begin: smallvec![begin, begin],
            pads_end: smallvec![end, begin],
        })
    };
    let x = || vec![floats(&[1, 2, 6, 5])];
    cases.push(("max pool", pool(PoolKind::Max, 1, 1), x()));
    cases.push(("max pool, padded to one side", pool(PoolKind::Max, 0, 1), x()));
    for count_pad in [false, true] {
        let name = if count_pad { "average pool, counting" } else { "average pool" };
        cases.push((name, pool(PoolKind::Average { count_pad }, 1, 1), x()));
        let name = if count_pad { "average pool, counting, padded to one side" } else { "average pool, padded to one side" };
        cases.push((name, pool(PoolKind::Average { count_pad }, 1, 2), x()));
    }
    let adaptive = Pool {
        kind: PoolKind::AdaptiveAverage,
        kernel: smallvec![4, 2],
        strides: smallvec![1, 1],
        dilations: smallvec![1, 1],
        pads_begin: smallvec![0, 0],
        pads_end: smallvec![0, 0],
    };
    cases.push(("adaptive pool", Op::Pool(adaptive), x()));
    let positive = Tensor::from_f32(SmallVec::from_slice(&[2]), vec![0.5, 2.0]);
    let norm = vec![floats(&[1, 2, 3]), floats(&[2]), floats(&[2]), floats(&[2]), positive];
    cases.push(("batch norm", Op::BatchNorm { epsilon: 1e-3 }, norm));
    cases.push(("matmul", Op::MatMul, vec![floats(&[2, 2, 3]), floats(&[3, 2])]));
    cases.push(("softmax", Op::Softmax { axis: 0, log: false }, vec![floats(&[3, 2])]));
    let lrn = |size| Op::Lrn(Lrn { size, alpha: 0.5, beta: 0.75, bias: 2.0 });
    cases.push(("lrn", lrn(3), vec![floats(&[1, 4, 3])]));
    cases.push(("lrn over an even window", lrn(2), vec![floats(&[2, 3])]));
    lines_cases(&mut cases);
    cases.push(("reshape", Op::View(View::Reshape(smallvec![3, 2])), vec![floats(&[2, 3])]));
    cases.push(("transpose", Op::View(View::Transpose(smallvec![2, 0, 1])), vec![floats(&[2, 3, 2])]));
    cases.push(("broadcast", Op::View(View::Broadcast(smallvec![2, 3, 2])), vec![floats(&[3, 1])]));
    cases
}

/// Operators over whole lines, and transposed convolutions.
fn lines_cases(cases: &mut Vec<(&'static str, Op, Vec<Tensor>)>) {
    let x = || vec![floats(&[2, 3, 4])];
    cases.push(("log softmax", Op::Softmax { axis: 1, log: true }, x()));
    for (name, kind) in [
        ("sum", ReduceKind::Sum),
        ("mean", ReduceKind::Mean),
        ("maximum", ReduceKind::Max),
        ("minimum", ReduceKind::Min),
        ("product", ReduceKind::Prod),
        ("log sum exp", ReduceKind::LogSumExp),
    ] {
        cases.push((name, Op::Reduce(Reduce { kind, axes: smallvec![0, 2], keep: false }), x()));
    }
    let keep = |kind| Op::Reduce(Reduce { kind, axes: smallvec![0, 1], keep: true });
    cases.push(("product, kept axes", keep(ReduceKind::Prod), x()));
    cases.push(("sum of integers", keep(ReduceKind::Sum), vec![integers(&[2, 3], -4)]));
    let arg = |kind, last| Op::ArgReduce(ArgReduce { kind, axis: 1, keep: true, last });
    cases.push(("argmax", arg(ArgKind::Max, false), x()));
    cases.push(("last argmin", arg(ArgKind::Min, true), vec![integers(&[2, 20], 0)]));
    for (name, kind, reverse, exclusive) in [
        ("cumsum", ScanKind::Sum, false, false),
        ("cumsum, reversed, exclusive", ScanKind::Sum, true, true),
        ("cumprod, exclusive", ScanKind::Prod, false, true),
    ] {
        cases.push((name, Op::Scan(Scan { kind, axis: 1, reverse, exclusive }), x()));
    }
    let norm = |axes: &[usize], centred| Op::Norm(Norm { axes: axes.into(), epsilon: 1e-3, centred });
    cases.push(("layer norm", norm(&[1, 2], true), vec![floats(&[2, 3, 4]), floats(&[1, 3, 4]), floats(&[1, 1, 4])]));
    cases.push(("norm over batch and space", norm(&[0, 2], true), vec![floats(&[2, 3, 4]), floats(&[1, 3, 1])]));
    cases.push(("rms norm", norm(&[1], false), vec![floats(&[2, 3, 4]), floats(&[1, 3, 1])]));
    let conv = |pads_end: usize| {
        Op::ConvTranspose(ConvTranspose {
            strides: smallvec![2, 1],
            dilations: smallvec![1, 2],
            pads_begin: smallvec![1, 0],
            pads_end: smallvec![pads_end, 0],
            output_padding: smallvec![1, 0],
            groups: 2,
        })
    };
    let operands = || vec![floats(&[1, 4, 3, 4]), floats(&[4, 2, 3, 2]), floats(&[4])];
    cases.push(("transposed conv", conv(1), operands()));
    cases.push(("transposed conv, cropped at one side", conv(2), operands()));
}

fn literal(tensor: &Tensor) -> String {
    let dtype = if tensor.dtype().is_float() { DType::F64 } else { tensor.dtype() };
    let lanes: Vec<String> = match tensor.storage() {
        Storage::I64(lanes) => lanes.iter().map(i64::to_string).collect(),
        // Nine digits: the last ones of a function depend on the machine.
        floats => (0..floats.len()).map(|i| python::float(format!("{:.9e}", floats.get_f64(i)).parse().unwrap())).collect(),
    };
    format!("torch.tensor([{}], dtype={}).reshape{}", lanes.join(", "), python::dtype(dtype), tuple(tensor.shape()))
}

#[test]
fn operators_as_torch() {
    let mut text = "\"\"\"Operators as torch, compared with the reference: `python tests/emit/torch_cases.py`.\"\"\"\n\n\
                    import torch\nimport torch.nn.functional as F\n\n\n\
                    def check(name, actual, expected):\n    \
                    torch.testing.assert_close(actual.to(expected.dtype), expected, msg=lambda m: f\"{name}: {m}\")\n\n\n"
        .to_owned();
    for (name, op, inputs) in cases() {
        let mut graph = Graph::new("cases");
        let mut names = Names::new(&["torch", "F", "check"]);
        let mut values = BTreeMap::new();
        let types: Vec<TensorType> =
            inputs.iter().map(|t| TensorType { dtype: t.dtype(), shape: SmallVec::from_slice(t.shape()) }).collect();
        text += &format!("# {name}\n");
        for (i, (ty, tensor)) in types.iter().zip(&inputs).enumerate() {
            let value = graph.add_input(format!("x{i}"), ty.clone(), Role::Activation).unwrap();
            let local = names.fresh(&format!("x{i}"));
            text += &statement(0, &format!("{local} = {}", literal(tensor)));
            values.insert(value, local);
        }
        let output = infer(&op, &types.iter().map(Some).collect::<Vec<_>>()).unwrap().remove(0);
        let operands: Vec<_> = graph.inputs().iter().copied().map(Some).collect();
        let operands: Vec<_> = if let Op::Conv(_) = op { operands.into_iter().chain([None]).take(3).collect() } else { operands };
        let dtype = output.dtype;
        let node = graph.add_node(op.clone(), &operands, vec![("y".to_owned(), output)], vec![]);
        for line in torch_ops::statements(&graph, &[node], &mut names, &mut values).unwrap() {
            text += &statement(0, &line);
        }
        let tensors: Vec<Option<&Tensor>> = (0..operands.len()).map(|i| inputs.get(i)).collect();
        let expected = apply(&op, &tensors, dtype, Math::F64).unwrap();
        text += &statement(0, &format!("check(\"{name}\", y, {})\n", literal(&expected)));
        text.truncate(text.trim_end().len());
        text += "\n\n";
    }
    text += "print(\"ok\")\n";
    expect_file!["../../tests/emit/torch_cases.py"].assert_eq(&text);
}
