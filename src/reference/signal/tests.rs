//! Moments against elements, and networks whose signal would grow or die.

use std::sync::Arc;

use smallvec::smallvec;

use super::*;
use crate::dtype::DType;
use crate::expr::{Binary, Compare, ExprBuilder};
use crate::graph::op::{Conv, Map};
use crate::graph::{TensorType, Weight};
use crate::reference::{Env, Math, evaluate};
use crate::rng::{self, Seed};
use crate::shape::Shape;
use crate::tensor::Tensor;

struct Net {
    graph: Graph,
    last: ValueId,
}

impl Net {
    fn new() -> Net {
        let mut graph = Graph::new("m");
        let last = graph.add_input("x", ty(&[1, 32, 16, 16]), Role::Activation).unwrap();
        Net { graph, last }
    }

    fn add(&mut self, op: Op, inputs: &[ValueId]) {
        let name = format!("y{}", self.graph.node_count());
        let inputs: Vec<Option<ValueId>> = inputs.iter().copied().map(Some).collect();
        let node = self.graph.add_node(op, &inputs, vec![(name, ty(&[1, 32, 16, 16]))], vec![]);
        self.last = self.graph.node(node).outputs[0];
    }

    fn weight(&mut self, shape: &[usize], role: Role) -> ValueId {
        let name = format!("w{}", self.graph.values().count());
        self.graph.add_weight(name, ty(shape), role, Weight::Filled(0.02)).unwrap()
    }

    /// 1×1, or one channel at a time 3×3.
    fn conv(&mut self, depthwise: bool) {
        let (shape, groups, pad) = if depthwise { ([32, 1, 3, 3], 32, 1) } else { ([32, 32, 1, 1], 1, 0) };
        let w = self.weight(&shape, Role::Weight { fan_in: shape[1..].iter().product() });
        let conv = Conv {
            strides: smallvec![1, 1],
            dilations: smallvec![1, 1],
            pads_begin: smallvec![pad, pad],
            pads_end: smallvec![pad, pad],
            groups,
        };
        self.add(Op::Conv(conv), &[self.last, w]);
    }

    fn norm(&mut self) {
        let roles = [Role::Scale, Role::Bias, Role::Mean, Role::Variance];
        let mut inputs = vec![self.last];
        inputs.extend(roles.map(|role| self.weight(&[32], role)));
        self.add(Op::BatchNorm { epsilon: 1e-5 }, &inputs);
    }

    fn relu(&mut self) {
        let mut b = ExprBuilder::new();
        let (x, zero) = (b.read(0, DType::F32), b.float(0.0, DType::F32));
        let below = b.compare(Compare::Lt, x, zero);
        let root = b.select(below, zero, x);
        self.map("relu", &[self.last], b.finish(root));
    }

    fn residual(&mut self, from: ValueId) {
        let mut b = ExprBuilder::new();
        let (x, y) = (b.read(0, DType::F32), b.read(1, DType::F32));
        let root = b.binary(Binary::Add, x, y);
        self.map("add", &[self.last, from], b.finish(root));
    }

    fn map(&mut self, label: &str, inputs: &[ValueId], body: crate::expr::Expr) {
        let dims = Shape::from_slice(&[1, 32, 16, 16]);
        let shapes: Vec<&[usize]> = inputs.iter().map(|_| dims.as_slice()).collect();
        self.add(Op::Map(Map::pointwise(label, &dims, &shapes, body)), inputs);
    }

    /// The mean square of the last value's elements, computed.
    fn measured(&self) -> f64 {
        let mut env = Env::new();
        for (value, data) in self.graph.values() {
            match data.producer {
                Producer::Weight(_) => env.set(value, seeded::weight(&self.graph, value, 0, false).unwrap().tensor()),
                Producer::Input(_) => {
                    let law = seeded::law(data.role, DType::F32).unwrap();
                    env.set(value, rng::fill(law, Seed::derive(0, &data.name), DType::F32, data.ty.shape.clone()));
                }
                Producer::Node { .. } => {}
            }
        }
        evaluate(&self.graph, &self.graph.topological().unwrap(), &mut env, Math::F64).unwrap();
        Moments::of_lanes(&floats(env.get(self.last).unwrap().storage())).square
    }
}

fn ty(shape: &[usize]) -> TensorType {
    TensorType { dtype: DType::F32, shape: Shape::from_slice(shape) }
}

/// Sixteen residual blocks as ShuffleNet's, with one ReLU among three convolutions.
fn deep() -> Net {
    let mut net = Net::new();
    for _ in 0..16 {
        let from = net.last;
        net.conv(false);
        net.relu();
        net.conv(true);
        net.conv(false);
        net.residual(from);
    }
    net.conv(false);
    net
}

#[test]
fn a_deep_signal_neither_grows_nor_dies() {
    let mut net = deep();
    let before = net.measured();
    assert!(before > 1e4, "{before}");
    balance(&mut net.graph, false);
    let after = net.measured();
    assert!((0.1..10.0).contains(&after), "{after}");
}

#[test]
fn a_signal_behind_small_scales_is_lifted() {
    let mut net = Net::new();
    for _ in 0..12 {
        net.conv(false);
        net.norm();
        net.norm();
        net.relu();
    }
    net.conv(false);
    assert!(net.measured() < 0.05, "{}", net.measured());
    balance(&mut net.graph, false);
    assert!((0.1..10.0).contains(&net.measured()), "{}", net.measured());
}

#[test]
fn rectified_unit_signals_keep_their_fan_in() {
    let mut net = Net::new();
    net.conv(false);
    net.relu();
    net.conv(false);
    balance(&mut net.graph, false);
    let fan_in = |name: &str| net.graph.value(net.graph.find(name).unwrap()).role;
    // Inputs are uniform in [−1, 1): a mean square of ⅓ weighs ⅔ of a rectified unit signal's.
    assert_eq!(fan_in("w1"), Role::Weight { fan_in: 21 });
    let Role::Weight { fan_in } = fan_in("w4") else { panic!("a weight") };
    assert!((24..=48).contains(&fan_in), "{fan_in}");
}

#[test]
fn weights_of_the_file_are_left_alone_unless_all_are_generated() {
    let mut net = Net::new();
    let data = Tensor::from_f32([32, 32, 1, 1].as_slice(), vec![0.5; 1024]);
    let role = Role::Weight { fan_in: 32 };
    let w = net.graph.add_weight("own", ty(&[32, 32, 1, 1]), role, Weight::Data(Arc::new(data))).unwrap();
    net.add(Op::MatMul, &[net.last, w]);
    let node = net.graph.node_ids().next().unwrap();
    assert!(matches!(net.graph.node(node).op, Op::MatMul));
    balance(&mut net.graph, false);
    assert_eq!(net.graph.value(w).role, role);
    balance(&mut net.graph, true);
    assert_ne!(net.graph.value(w).role, role);
}

#[test]
fn moments_of_rectified_and_larger_values_are_those_of_the_normal_law() {
    let unit = Moments::of(0.0, 1.0);
    let (below, above) = unit.above(0.0);
    assert!((below - 0.5).abs() < 1e-12 && (above.square - 0.5).abs() < 1e-12);
    assert!((above.mean - 1.0 / (2.0 * std::f64::consts::PI).sqrt()).abs() < 1e-12);
    let near = |moments: Moments, mean: f64, square: f64| {
        assert!((moments.mean - mean).abs() < 1e-9 && (moments.square - square).abs() < 1e-9, "{moments:?}");
    };
    near(unit.absolute(), (2.0 / std::f64::consts::PI).sqrt(), 1.0);
    near(unit.larger(unit), 1.0 / std::f64::consts::PI.sqrt(), 1.0);
    near(unit.larger(Moments::exactly(0.0)), above.mean, above.square);
    assert_eq!(Moments::exactly(3.0).above(2.0), (0.0, Moments::exactly(3.0)));
}
