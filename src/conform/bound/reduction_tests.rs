//! Bounds of operators over whole lines: fp32 evaluations stay inside, single mistakes do not, marks reach
//! what depends on them.

use super::*;
use crate::conform::compare::compare;
use crate::conform::exact::is_exact;
use crate::conform::inputs::{self, Kind};
use crate::graph::op::{ArgKind, ArgReduce, ConvTranspose, Norm, Reduce, ReduceKind, Scan, ScanKind};
use crate::graph::{Role, TensorType};
use crate::reference::evaluate;
use smallvec::smallvec;

/// One operator over generated inputs.
struct One {
    graph: Graph,
    node: NodeId,
    env: Env,
}

impl One {
    fn new(op: Op, operands: &[(&[usize], Role)], kind: Kind) -> One {
        let mut graph = Graph::new("one");
        let ty = |shape: &[usize]| TensorType { dtype: DType::F32, shape: Shape::from_slice(shape) };
        let add = |(i, &(shape, role)): (usize, &(&[usize], Role))| graph.add_input(format!("v{i}"), ty(shape), role).unwrap();
        let inputs: Vec<ValueId> = operands.iter().enumerate().map(add).collect();
        let types: Vec<TensorType> = operands.iter().map(|o| ty(o.0)).collect();
        let types: Vec<Option<&TensorType>> = types.iter().map(Some).collect();
        let output = crate::graph::infer::infer(&op, &types).unwrap().remove(0);
        let given: Vec<Option<ValueId>> = inputs.iter().copied().map(Some).collect();
        let node = graph.add_node(op, &given, vec![("y".into(), output)], vec![]);
        let mut env = Env::new();
        inputs::generate(&graph, &[node], &inputs, kind, 7, &mut env).unwrap();
        let math = if kind == Kind::Structure { Math::Unrounded } else { Math::F64 };
        evaluate(&graph, &[node], &mut env, math).unwrap();
        One { graph, node, env }
    }

    fn input(&self) -> Vec<f32> {
        let x = self.graph.node(self.node).inputs[0].unwrap();
        floats(self.env.get(x).unwrap().storage()).iter().map(|&v| v as f32).collect()
    }

    /// Whether these lanes are inside the bound.
    fn allows(&self, lanes: Vec<f32>) -> bool {
        let output = self.graph.node(self.node).outputs[0];
        let derived = derive(&self.graph, &[self.node], &self.env, Precision::Ieee, Inputs::OwnLaw).unwrap();
        let got = Tensor::from_f32(Shape::from_slice(self.graph.shape(output)), lanes);
        compare(&got, self.env.get(output).unwrap(), &derived).failures == 0
    }

    fn exact(&self) -> bool {
        is_exact(&self.graph, &[self.node], &self.env)
    }
}

fn reduce(kind: ReduceKind, axes: &[usize]) -> Op {
    Op::Reduce(Reduce { kind, axes: axes.into(), keep: false })
}

#[test]
fn sums_in_fp32_stay_inside_and_a_lost_element_does_not() {
    let x: &[usize] = &[3, 2000];
    let sum = One::new(reduce(ReduceKind::Sum, &[1]), &[(x, Role::Activation)], Kind::Numerics);
    let plain = |skip: usize| -> Vec<f32> {
        let add = |row: &[f32]| row.iter().enumerate().filter(|&(i, _)| i != skip).fold(0.0, |total, (_, v)| total + v);
        sum.input().chunks(2000).map(add).collect()
    };
    assert!(sum.allows(plain(usize::MAX)));
    assert!(!sum.allows(plain(1999)));
    let log = One::new(reduce(ReduceKind::LogSumExp, &[1]), &[(x, Role::Activation)], Kind::Numerics);
    let of = |factor: f32| log.input().chunks(2000).map(|row| (row.iter().map(|v| v.exp()).sum::<f32>() * factor).ln()).collect();
    assert!(log.allows(of(1.0)) && !log.allows(of(1.0 + 1.0 / 2000.0)));
    let product = One::new(reduce(ReduceKind::Prod, &[1]), &[(&[5, 40], Role::Activation)], Kind::Numerics);
    let of = |factor: f32| product.input().chunks(40).map(|row| row.iter().product::<f32>() * factor).collect();
    assert!(product.allows(of(1.0)) && !product.allows(of(1.0 + 1e-4)));
}

#[test]
fn structure_is_exact_where_numbers_are_small_enough() {
    let exact = |op: Op, shape: &[usize]| One::new(op, &[(shape, Role::Activation)], Kind::Structure).exact();
    assert!(exact(reduce(ReduceKind::Sum, &[0, 2]), &[9, 5, 7]));
    assert!(exact(reduce(ReduceKind::Mean, &[1]), &[4, 37]));
    assert!(exact(reduce(ReduceKind::Max, &[1]), &[4, 37]) && exact(reduce(ReduceKind::Prod, &[1]), &[4, 37]));
    assert!(!exact(reduce(ReduceKind::Prod, &[1]), &[4, 200]), "beyond 2¹²⁷");
    assert!(!exact(reduce(ReduceKind::LogSumExp, &[1]), &[4, 37]));
    let scan = |kind| Op::Scan(Scan { kind, axis: 1, reverse: false, exclusive: false });
    assert!(exact(scan(ScanKind::Sum), &[4, 37]) && exact(scan(ScanKind::Prod), &[4, 37]));
    assert!(exact(Op::ArgReduce(ArgReduce { kind: ArgKind::Max, axis: 1, keep: false, last: false }), &[4, 37]));
}

#[test]
fn normalisation_in_fp32_stays_inside_and_a_wrong_count_does_not() {
    let n = 777;
    for centred in [true, false] {
        let op = Op::Norm(Norm { axes: smallvec![1], epsilon: 1e-5, centred });
        let one = One::new(op, &[(&[4, n], Role::Activation), (&[1, n], Role::Scale)], Kind::Numerics);
        let gamma = one.graph.node(one.node).inputs[1].unwrap();
        let gamma: Vec<f32> = floats(one.env.get(gamma).unwrap().storage()).iter().map(|&v| v as f32).collect();
        let of = |count: f32| {
            let row = |row: &[f32]| -> Vec<f32> {
                let mean = if centred { row.iter().sum::<f32>() / count } else { 0.0 };
                let variance = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / count;
                let factor = 1.0 / (variance + 1e-5).sqrt();
                row.iter().zip(&gamma).map(|(v, g)| (v - mean) * factor * g).collect()
            };
            one.input().chunks(n).flat_map(row).collect()
        };
        assert!(one.allows(of(n as f32)), "{centred}");
        assert!(!one.allows(of(n as f32 - 1.0)), "{centred}");
    }
}

#[test]
fn running_sums_and_transposed_convolutions_in_fp32_stay_inside() {
    let op = Op::Scan(Scan { kind: ScanKind::Sum, axis: 1, reverse: false, exclusive: false });
    let one = One::new(op, &[(&[2, 3000], Role::Activation)], Kind::Numerics);
    let of = |skip: usize| {
        let row = |row: &[f32]| -> Vec<f32> {
            row.iter()
                .enumerate()
                .scan(0.0, |sum, (i, v)| {
                    Some({
                        *sum += if i == skip { 0.0 } else { *v };
                        *sum
                    })
                })
                .collect()
        };
        one.input().chunks(3000).flat_map(row).collect()
    };
    assert!(one.allows(of(usize::MAX)) && !one.allows(of(17)));
    let conv = ConvTranspose {
        strides: smallvec![2],
        dilations: smallvec![1],
        pads_begin: smallvec![1],
        pads_end: smallvec![0],
        output_padding: smallvec![0],
        groups: 1,
    };
    let operands = [([2, 16, 30].as_slice(), Role::Activation), ([16, 8, 3].as_slice(), Role::Weight { fan_in: 24 })];
    let one = One::new(Op::ConvTranspose(conv.clone()), &operands, Kind::Numerics);
    let given: Vec<Tensor> = one.graph.inputs().iter().map(|v| one.env.get(*v).unwrap().as_ref().clone()).collect();
    let given: Vec<Option<&Tensor>> = given.iter().map(Some).collect();
    let of = |conv: &ConvTranspose| -> Vec<f32> {
        let y = apply(&Op::ConvTranspose(conv.clone()), &given, DType::F32, Math::F32).unwrap();
        floats(y.storage()).iter().map(|&v| v as f32).collect()
    };
    assert!(one.allows(of(&conv)));
    let shifted = ConvTranspose { pads_begin: smallvec![0], pads_end: smallvec![1], ..conv };
    assert!(!one.allows(of(&shifted)));
}

/// A floor at a breakpoint, element 0 of four by four, enters an operator: which results are marked.
fn marked(op: Op) -> Vec<usize> {
    let mut graph = Graph::new("marks");
    let ty = |shape: &[usize], dtype| TensorType { dtype, shape: Shape::from_slice(shape) };
    let x = graph.add_input("x", ty(&[4, 4], DType::F32), Role::Activation).unwrap();
    let mut b = crate::expr::ExprBuilder::new();
    let read = b.read(0, DType::F32);
    let square = b.binary(crate::expr::Binary::Mul, read, read);
    let root = b.unary(crate::expr::Unary::Floor, square);
    let map = Op::Map(crate::graph::op::Map::pointwise("floor", &[4, 4], &[&[4, 4]], b.finish(root)));
    let floor = graph.add_node(map, &[Some(x)], vec![("floor".into(), ty(&[4, 4], DType::F32))], vec![]);
    let value = graph.node(floor).outputs[0];
    let output = crate::graph::infer::infer(&op, &[Some(&ty(&[4, 4], DType::F32))]).unwrap().remove(0);
    let node = graph.add_node(op, &[Some(value)], vec![("y".into(), output)], vec![]);
    let mut env = Env::new();
    let mut lanes = vec![1.5; 16];
    (lanes[0], lanes[6]) = (3.0, 2.25);
    env.set(x, Tensor::from_f32(Shape::from_slice(&[4, 4]), lanes));
    evaluate(&graph, &[floor, node], &mut env, Math::F64).unwrap();
    let derived = derive(&graph, &[floor, node], &env, Precision::Ieee, Inputs::Any).unwrap();
    let len = env.get(graph.node(node).outputs[0]).unwrap().len();
    (0..len).filter(|&at| derived.is_unsettled(at)).collect()
}

#[test]
fn marks_reach_whole_lines() {
    assert_eq!(marked(reduce(ReduceKind::Sum, &[1])), [0]);
    assert_eq!(marked(reduce(ReduceKind::Max, &[0])), [0]);
    assert_eq!(marked(Op::Norm(Norm { axes: smallvec![0], epsilon: 1e-5, centred: true })), [0, 4, 8, 12]);
    assert_eq!(marked(Op::ArgReduce(ArgReduce { kind: ArgKind::Max, axis: 1, keep: false, last: false })), [0]);
    let scan = |reverse| Op::Scan(Scan { kind: ScanKind::Sum, axis: 1, reverse, exclusive: false });
    assert_eq!((marked(scan(false)), marked(scan(true))), (vec![0, 1, 2, 3], vec![0]));
}
