//! A small model's suite: convolution with a folded normalisation, a residual addition that reads its
//! operand transposed, pooling, a product with a transposed weight, and a softmax.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::conform::sample;
use crate::dtype::DType;
use crate::emit::{self, EmitOptions, Files};
use crate::expr::parse::parse;
use crate::fuse::{self, Level};
use crate::graph::infer::infer;
use crate::graph::op::{Conv, Map, Op, Pool, PoolKind, View};
use crate::graph::{Graph, Role, Source, TensorType, ValueId, Weight};
use crate::select::plan::Plan;
use crate::select::{self, Served};
use crate::target::Target;
use crate::template::{BindOptions, Library};
use crate::tensor::Tensor;

const F32: DType = DType::F32;

fn node(graph: &mut Graph, name: &str, op: Op, inputs: &[ValueId]) -> ValueId {
    let types: Vec<TensorType> = inputs.iter().map(|&v| graph.ty(v).clone()).collect();
    let ty = infer(&op, &types.iter().map(Some).collect::<Vec<_>>()).unwrap().remove(0);
    let inputs: Vec<Option<ValueId>> = inputs.iter().copied().map(Some).collect();
    let source = Source { operator: op.name().to_owned(), node: name.to_owned(), module: None };
    let id = graph.add_node(op, &inputs, vec![(format!("{name}.out"), ty)], vec![source]);
    graph.node(id).outputs[0]
}

fn pointwise(label: &str, dims: &[usize], count: usize, body: &str) -> Op {
    Op::Map(Map::pointwise(label, dims, &vec![dims; count], parse(body, &vec![F32; count]).unwrap()))
}

fn graph() -> Graph {
    let mut g = Graph::new("small.onnx");
    let ty = |shape: &[usize]| TensorType { dtype: F32, shape: SmallVec::from_slice(shape) };
    let x = g.add_input("x", ty(&[1, 3, 6, 6]), Role::Activation).unwrap();
    let mut weight = |name: &str, shape: &[usize], role| g.add_weight(name, ty(shape), role, Weight::Missing).unwrap();
    let w = weight("conv.weight", &[4, 3, 3, 3], Role::Weight { fan_in: 27 });
    let parameters = [
        weight("bn.weight", &[4], Role::Scale),
        weight("bn.bias", &[4], Role::Bias),
        weight("bn.mean", &[4], Role::Mean),
        weight("bn.var", &[4], Role::Variance),
    ];
    let fc = weight("fc.weight", &[5, 36], Role::Weight { fan_in: 36 });
    let stored: Vec<f32> = (0..5).map(|i| i as f32 * 0.25 - 0.5).collect();
    let data = Weight::Data(Arc::new(Tensor::from_f32(crate::shape::Shape::from_slice(&[5]), stored)));
    let bias = g.add_weight("fc.bias", ty(&[5]), Role::Bias, data).unwrap();
    let conv = Op::Conv(Conv {
        strides: smallvec![1, 1],
        dilations: smallvec![1, 1],
        pads_begin: smallvec![1, 1],
        pads_end: smallvec![1, 1],
        groups: 1,
    });
    let c = node(&mut g, "conv", conv, &[x, w]);
    let n = node(&mut g, "bn", Op::BatchNorm { epsilon: 1e-5 }, &[[c].as_slice(), &parameters].concat());
    let a = node(&mut g, "relu", pointwise("relu", &[1, 4, 6, 6], 1, "select(lt(r0, 0.0), 0.0, r0)"), &[n]);
    let turned = node(&mut g, "turn", Op::View(View::Transpose(smallvec![0, 1, 3, 2])), &[a]);
    let sum = node(&mut g, "add", pointwise("add", &[1, 4, 6, 6], 2, "add(r0, r1)"), &[a, turned]);
    let pool = Op::Pool(Pool {
        kind: PoolKind::Max,
        kernel: smallvec![2, 2],
        strides: smallvec![2, 2],
        dilations: smallvec![1, 1],
        pads_begin: smallvec![0, 0],
        pads_end: smallvec![0, 0],
    });
    let p = node(&mut g, "pool", pool, &[sum]);
    let flat = node(&mut g, "flat", Op::View(View::Reshape(smallvec![1, 36])), &[p]);
    let t = node(&mut g, "fc.turn", Op::View(View::Transpose(smallvec![1, 0])), &[fc]);
    let product = node(&mut g, "fc", Op::MatMul, &[flat, t]);
    let biased = Op::Map(Map::pointwise("add", &[1, 5], &[&[1, 5], &[5]], parse("add(r0, r1)", &[F32, F32]).unwrap()));
    let y = node(&mut g, "fc.add", biased, &[product, bias]);
    let s = node(&mut g, "softmax", Op::Softmax { axis: 1, log: false }, &[y]);
    g.set_outputs(vec![s]);
    g
}

/// Its plan.
pub fn plan(level: Level) -> Plan {
    let graph = graph();
    let library = Library::embedded().unwrap();
    let target = Target::find(crate::target::DEFAULT).unwrap();
    let rewritten = fuse::rewrite(&graph, level).unwrap();
    let clusters = fuse::cluster(&rewritten, level, &Served { library: &library, target }).unwrap();
    let planned = select::plan("small", Arc::new(graph), &rewritten, clusters, &library, target, BindOptions::default()).unwrap();
    assert!(planned.missing.is_empty());
    planned.plan
}

/// Its files.
pub fn suite(level: Level) -> Files {
    let plan = plan(level);
    let settings = [("fuse", level.name()), ("precision", "ieee"), ("target", crate::target::DEFAULT)];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let options = EmitOptions { seed: 0, always_seeded: false, settings, missing: Vec::new(), refused: Vec::new() };
    let samples = sample::of_plan(&plan, options.seed, options.always_seeded).unwrap();
    emit::suite_with_layers(&plan, &options, &samples).unwrap()
}
