//! Bounds by hand, against fp32 evaluation by candle, and under the cap.

use super::*;
use crate::conform::compare::compare;
use crate::conform::exact::is_exact;
use crate::conform::inputs::{self, Kind};
use crate::dtype::DType;
use crate::expr::{Binary, Compare, ExprBuilder, ExprId, Unary};
use crate::graph::op::{Conv, Map, Pool, PoolKind};
use crate::graph::{Role, TensorType};
use crate::reference::evaluate;
use crate::tolerance::UNIT;
use smallvec::smallvec;

/// Builds small graphs: values by name.
struct Net {
    graph: Graph,
    inputs: Vec<ValueId>,
    nodes: Vec<NodeId>,
}

impl Net {
    fn new() -> Net {
        Net { graph: Graph::new("net"), inputs: Vec::new(), nodes: Vec::new() }
    }

    fn ty(shape: &[usize]) -> TensorType {
        TensorType { dtype: DType::F32, shape: Shape::from_slice(shape) }
    }

    fn input(&mut self, shape: &[usize], role: Role) -> ValueId {
        let name = format!("v{}", self.inputs.len());
        self.inputs.push(self.graph.add_input(name, Net::ty(shape), role).unwrap());
        self.inputs[self.inputs.len() - 1]
    }

    fn node(&mut self, op: Op, operands: &[ValueId], shape: &[usize]) -> ValueId {
        let operands: Vec<_> = operands.iter().map(|&v| Some(v)).collect();
        let name = format!("y{}", self.nodes.len());
        let node = self.graph.add_node(op, &operands, vec![(name, Net::ty(shape))], vec![]);
        self.nodes.push(node);
        self.graph.node(node).outputs[0]
    }

    fn pointwise(
        &mut self,
        label: &str,
        operands: &[ValueId],
        build: impl FnOnce(&mut ExprBuilder, &[ExprId]) -> ExprId,
    ) -> ValueId {
        let shape = self.graph.shape(operands[0]).to_vec();
        let mut b = ExprBuilder::new();
        let reads: Vec<_> = (0..operands.len()).map(|k| b.read(k as u32, DType::F32)).collect();
        let root = build(&mut b, &reads);
        let shapes: Vec<Vec<usize>> = operands.iter().map(|&v| self.graph.shape(v).to_vec()).collect();
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        let map = Map::pointwise(label, &shape, &shapes, b.finish(root));
        self.node(Op::Map(map), operands, &shape)
    }

    fn conv(&mut self, x: ValueId, filters: usize, kernel: usize, stride: usize) -> ValueId {
        let shape = self.graph.shape(x).to_vec();
        let w = self.input(&[filters, shape[1], kernel, kernel], Role::Weight { fan_in: shape[1] * kernel * kernel });
        let pad = kernel / 2;
        let conv = Conv {
            strides: smallvec![stride; 2],
            dilations: smallvec![1; 2],
            pads_begin: smallvec![pad; 2],
            pads_end: smallvec![pad; 2],
            groups: 1,
        };
        let size = |n: usize| (n + 2 * pad - kernel) / stride + 1;
        let output = [shape[0], filters, size(shape[2]), size(shape[3])];
        self.node(Op::Conv(conv), &[x, w], &output)
    }

    fn batch_norm(&mut self, x: ValueId) -> ValueId {
        let shape = self.graph.shape(x).to_vec();
        let roles = [Role::Scale, Role::Bias, Role::Mean, Role::Variance];
        let [g, b, m, v] = roles.map(|role| self.input(&shape[1..2], role));
        self.node(Op::BatchNorm { epsilon: 1e-5 }, &[x, g, b, m, v], &shape)
    }

    fn relu(&mut self, x: ValueId) -> ValueId {
        self.pointwise("relu", &[x], |b, r| {
            let zero = b.float(0.0, DType::F32);
            let negative = b.compare(Compare::Lt, r[0], zero);
            b.select(negative, zero, r[0])
        })
    }

    fn env(&self, kind: Kind, math: Math) -> Env {
        let mut env = Env::new();
        let missing = inputs::generate(&self.graph, &self.nodes, &self.inputs, kind, 0, &mut env).unwrap();
        assert!(missing.is_empty());
        evaluate(&self.graph, &self.nodes, &mut env, math).unwrap();
        env
    }

    fn output(&self) -> ValueId {
        self.graph.node(self.nodes[self.nodes.len() - 1]).outputs[0]
    }

    fn derive(&self, env: &Env) -> Derived {
        derive(&self.graph, &self.nodes, env, Precision::Ieee, Inputs::OwnLaw).unwrap()
    }
}

/// conv → batch norm → + residual → relu.
fn block(channels: usize, size: usize, filters: usize, kernel: usize) -> Net {
    let mut net = Net::new();
    let x = net.input(&[1, channels, size, size], Role::Activation);
    let y = net.conv(x, filters, kernel, 1);
    let y = net.batch_norm(y);
    let residual = net.input(&[1, filters, size, size], Role::Activation);
    let y = net.pointwise("add", &[y, residual], |b, r| b.binary(Binary::Add, r[0], r[1]));
    net.relu(y);
    net
}

#[test]
fn fp32_evaluation_stays_far_inside_the_bound_and_the_bound_inside_the_cap() {
    for (channels, size, filters, kernel) in [(3, 20, 8, 7), (64, 14, 16, 1), (64, 14, 16, 3), (512, 7, 16, 3), (2048, 3, 16, 1)]
    {
        let net = block(channels, size, filters, kernel);
        let (env, single) = (net.env(Kind::Numerics, Math::F64), net.env(Kind::Numerics, Math::F32));
        let derived = net.derive(&env);
        let (truth, got) = (env.get(net.output()).unwrap(), single.get(net.output()).unwrap());
        let comparison = compare(got, truth, &derived);
        assert!(comparison.passed(), "{comparison:?}");
        assert!(comparison.max_abs_err > 0.0 && comparison.error_over_bound < 0.5, "{comparison:?}");
        let r = floats(truth.storage());
        // The derived bound needs the cap nowhere: it is the tighter of the two.
        let share = |(&b, &r): (&f64, &f64)| b / (1e-4 * (1.0 + r.abs()));
        let largest = derived.bound.as_ref().unwrap().iter().zip(r.iter()).map(share).fold(0.0, f64::max);
        assert!(largest < 1.0, "{channels}×{kernel}×{kernel}: {largest} of the cap");
    }
}

#[test]
fn a_dropped_term_is_far_outside_on_integers_and_the_pass_is_exact() {
    let net = block(64, 6, 4, 3);
    let env = net.env(Kind::Structure, Math::F32);
    assert!(is_exact(&net.graph, &net.nodes, &env));
    let truth = env.get(net.output()).unwrap();
    let comparison = compare(truth, truth, &Derived::exact());
    assert!(comparison.passed() && comparison.worst.is_none());
    let values = floats(truth.storage()).into_owned();
    assert!(values.iter().all(|v| (v * 2.0).fract() == 0.0));
    assert!(values.iter().any(|&v| v > 4.0));

    // The last of the 576 terms of each sum (channel 63, kernel position 2, 2) is left out.
    let w = net.inputs[1];
    let mut lanes = floats(env.get(w).unwrap().storage()).iter().map(|&v| v as f32).collect::<Vec<_>>();
    lanes.iter_mut().skip(575).step_by(576).for_each(|v| *v = 0.0);
    let mut short = env.clone();
    short.set(w, Tensor::from_f32(Shape::from_slice(&[4, 64, 3, 3]), lanes));
    evaluate(&net.graph, &net.nodes, &mut short, Math::F32).unwrap();
    let comparison = compare(short.get(net.output()).unwrap(), truth, &Derived::exact());
    assert!(!comparison.passed() && comparison.failures > comparison.elements / 20, "{comparison:?}");
    // γ ≥ ½ times at least one.
    assert!(comparison.max_abs_err >= 0.5 && comparison.error_over_bound == f64::INFINITY, "{comparison:?}");
}

#[test]
fn functions_are_not_exact_and_movement_is() {
    let mut net = Net::new();
    let x = net.input(&[4, 5], Role::Activation);
    net.pointwise("exp", &[x], |b, r| b.unary(Unary::Exp, r[0]));
    assert!(!is_exact(&net.graph, &net.nodes, &net.env(Kind::Structure, Math::F32)));

    let mut net = Net::new();
    let x = net.input(&[1, 4, 5, 5], Role::Activation);
    let pool = Pool {
        kind: PoolKind::Max,
        kernel: smallvec![3; 2],
        strides: smallvec![2; 2],
        dilations: smallvec![1; 2],
        pads_begin: smallvec![1; 2],
        pads_end: smallvec![1; 2],
    };
    let y = net.node(Op::Pool(pool), &[x], &[1, 4, 3, 3]);
    net.relu(y);
    let env = net.env(Kind::Numerics, Math::F64);
    assert_eq!(net.derive(&env), Derived::exact());
    assert!(is_exact(&net.graph, &net.nodes, &net.env(Kind::Structure, Math::F32)));
}

#[test]
fn averages_are_exact_on_multiples_and_bounded_on_reals() {
    let mut net = Net::new();
    let x = net.input(&[1, 8, 7, 7], Role::Activation);
    let pool = Pool {
        kind: PoolKind::AdaptiveAverage,
        kernel: smallvec![1; 2],
        strides: smallvec![1; 2],
        dilations: smallvec![1; 2],
        pads_begin: smallvec![0; 2],
        pads_end: smallvec![0; 2],
    };
    net.node(Op::Pool(pool), &[x], &[1, 8, 1, 1]);
    assert!(is_exact(&net.graph, &net.nodes, &net.env(Kind::Structure, Math::F32)));
    let env = net.env(Kind::Numerics, Math::F64);
    let derived = net.derive(&env);
    // Naive fp32 summation.
    let x = floats(env.get(net.inputs[0]).unwrap().storage()).into_owned();
    let naive: Vec<f32> = x.chunks(49).map(|c| c.iter().fold(0f32, |s, &v| s + v as f32) / 49.0).collect();
    let got = Tensor::from_f32(Shape::from_slice(&[1, 8, 1, 1]), naive);
    let comparison = compare(&got, env.get(net.output()).unwrap(), &derived);
    assert!(comparison.passed(), "{comparison:?}");
    assert!(comparison.error_over_bound < 0.5);
}

#[test]
fn softmax_in_fp32_stays_inside_its_bound() {
    let mut net = Net::new();
    let x = net.input(&[4, 1000], Role::Activation);
    let x = net.pointwise("mul", &[x], |b, r| {
        let c = b.float(16.0, DType::F32);
        b.binary(Binary::Mul, r[0], c)
    });
    net.node(Op::Softmax { axis: 1, log: false }, &[x], &[4, 1000]);
    let env = net.env(Kind::Numerics, Math::F64);
    let derived = net.derive(&env);
    let x = floats(env.get(net.inputs[0]).unwrap().storage()).into_owned();
    let mut y = Vec::new();
    for row in x.chunks(1000) {
        let row: Vec<f32> = row.iter().map(|&v| v as f32 * 16.0).collect();
        let maximum = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let terms: Vec<f32> = row.iter().map(|&v| ((v - maximum) * std::f32::consts::LOG2_E).exp2()).collect();
        let sum: f32 = terms.iter().sum();
        y.extend(terms.iter().map(|t| t / sum));
    }
    let got = Tensor::from_f32(Shape::from_slice(&[4, 1000]), y);
    let comparison = compare(&got, env.get(net.output()).unwrap(), &derived);
    assert!(comparison.passed(), "{comparison:?}");
    assert!(comparison.error_over_bound > 0.001 && comparison.max_rel_err < 1e-4, "{comparison:?}");
}

/// The bound of a pointwise function of one value that is off by a rounding.
fn after_square(build: impl FnOnce(&mut ExprBuilder, ExprId) -> ExprId, at: f32) -> (f64, bool) {
    let mut net = Net::new();
    let x = net.input(&[1], Role::Activation);
    net.pointwise("f", &[x], |b, r| {
        let square = b.binary(Binary::Mul, r[0], r[0]);
        build(b, square)
    });
    let mut env = Env::new();
    env.set(x, Tensor::from_f32(Shape::from_slice(&[1]), vec![at]));
    evaluate(&net.graph, &net.nodes, &mut env, Math::F64).unwrap();
    let derived = derive(&net.graph, &net.nodes, &env, Precision::Ieee, Inputs::Any).unwrap();
    (derived.bound_at(0), derived.is_unsettled(0))
}

#[test]
fn errors_are_carried_by_slope() {
    // x² = 9 is off by two units of it, beside another operator; 5·x² by five times that and two units of 45.
    let (bound, unsettled) = after_square(
        |b, square| {
            let five = b.float(5.0, DType::F32);
            b.binary(Binary::Mul, five, square)
        },
        3.0,
    );
    assert_eq!((bound, unsettled), (5.0 * 18.0 * UNIT + 90.0 * UNIT, false));
    let (bound, _) = after_square(|b, square| b.unary(Unary::Sqrt, square), 3.0);
    let slope = 18.0 * UNIT / 6.0;
    assert!((bound - slope - 12.0 * UNIT).abs() < 1e-6 * UNIT, "{bound}");
}

#[test]
fn breakpoints_may_go_either_way() {
    let floor = |b: &mut ExprBuilder, square: ExprId| b.unary(Unary::Floor, square);
    assert_eq!(after_square(floor, 3.0), (1.0, true));
    assert_eq!(after_square(floor, 1.5), (0.0, false));
    // A continuous select near its breakpoint is settled: both sides agree to the error.
    let relu = |b: &mut ExprBuilder, square: ExprId| {
        let nine = b.float(9.0, DType::F32);
        let shifted = b.binary(Binary::Sub, square, nine);
        let zero = b.float(0.0, DType::F32);
        let negative = b.compare(Compare::Lt, shifted, zero);
        b.select(negative, zero, shifted)
    };
    let (bound, unsettled) = after_square(relu, 3.0);
    assert!(bound <= 36.0 * UNIT && !unsettled, "{bound}");
    let step = |b: &mut ExprBuilder, square: ExprId| {
        let (nine, zero, one) = (b.float(9.0, DType::F32), b.float(0.0, DType::F32), b.float(1.0, DType::F32));
        let below = b.compare(Compare::Lt, square, nine);
        b.select(below, zero, one)
    };
    assert_eq!(after_square(step, 3.0), (1.0, true));
    assert_eq!(after_square(step, 3.5), (0.0, false));
}

#[test]
fn a_pole_within_the_error_is_unsettled() {
    // x² is 2⁻⁴² above the constant 9 + 3·2⁻²⁰, nearer than its own error: finite on both sides.
    let at = 3.0 + 2f32.powi(-21);
    let near = |f: fn(&mut ExprBuilder, ExprId) -> ExprId| {
        move |b: &mut ExprBuilder, square: ExprId| {
            let c = b.float(9.0 + 3.0 * 2f64.powi(-20), DType::F32);
            let shifted = b.binary(Binary::Sub, square, c);
            f(b, shifted)
        }
    };
    let reciprocal = |b: &mut ExprBuilder, shifted: ExprId| {
        let one = b.float(1.0, DType::F32);
        b.binary(Binary::Div, one, shifted)
    };
    let power = |b: &mut ExprBuilder, shifted: ExprId| {
        let exponent = b.float(-1.5, DType::F32);
        b.binary(Binary::Pow, shifted, exponent)
    };
    assert_eq!(after_square(near(|b, shifted| b.unary(Unary::Log, shifted)), at), (f64::INFINITY, true));
    assert_eq!(after_square(near(|b, shifted| b.unary(Unary::Rsqrt, shifted)), at), (f64::INFINITY, true));
    assert_eq!(after_square(near(reciprocal), at), (f64::INFINITY, true));
    assert_eq!(after_square(near(power), at), (f64::INFINITY, true));
    // Bounded again, and still either side.
    let saturated = |b: &mut ExprBuilder, shifted: ExprId| {
        let one = b.float(1.0, DType::F32);
        let pole = b.binary(Binary::Div, one, shifted);
        b.unary(Unary::Tanh, pole)
    };
    let (bound, unsettled) = after_square(near(saturated), at);
    assert!(bound.is_finite() && bound > 1.0 && unsettled, "{bound}");
    let (bound, unsettled) = after_square(near(reciprocal), 3.5);
    assert!(bound < 1e-6 && !unsettled, "{bound}");
}

#[test]
fn infinite_elements_are_exact_limits() {
    // A mask of −∞ added to a score, scaled, and under an exponential.
    let masked = |b: &mut ExprBuilder, square: ExprId| {
        let (mask, half) = (b.float(f64::NEG_INFINITY, DType::F32), b.float(0.5, DType::F32));
        let score = b.binary(Binary::Add, square, mask);
        let scaled = b.binary(Binary::Mul, score, half);
        b.unary(Unary::Exp, scaled)
    };
    assert_eq!(after_square(masked, 3.0), (0.0, false));
}

/// The elements that are marked when a floor at a breakpoint, element 0 of sixteen, enters an
/// operator.
fn reached(follow: impl FnOnce(&mut Net, ValueId) -> ValueId) -> Vec<usize> {
    let mut net = Net::new();
    let x = net.input(&[1, 1, 4, 4], Role::Activation);
    let floor = net.pointwise("floor", &[x], |b, r| {
        let square = b.binary(Binary::Mul, r[0], r[0]);
        b.unary(Unary::Floor, square)
    });
    follow(&mut net, floor);
    let mut env = Env::new();
    let mut lanes = vec![1.5; 16];
    lanes[0] = 3.0;
    env.set(x, Tensor::from_f32(Shape::from_slice(&[1, 1, 4, 4]), lanes));
    inputs::generate(&net.graph, &net.nodes, &net.inputs, Kind::Numerics, 0, &mut env).unwrap();
    evaluate(&net.graph, &net.nodes, &mut env, Math::F64).unwrap();
    let derived = derive(&net.graph, &net.nodes, &env, Precision::Ieee, Inputs::Any).unwrap();
    (0..derived.bound.as_ref().unwrap().len()).filter(|&at| derived.is_unsettled(at)).collect()
}

#[test]
fn marks_reach_what_depends_on_them() {
    let pool = |kind| {
        let (kernel, zeros) = (smallvec![2; 2], smallvec![0; 2]);
        let dilations = smallvec![1; 2];
        Op::Pool(Pool { kind, strides: kernel.clone(), kernel, dilations, pads_begin: zeros.clone(), pads_end: zeros })
    };
    assert_eq!(reached(|_, x| x), [0]);
    assert_eq!(reached(|net, x| net.conv(x, 1, 3, 1)), [0, 1, 4, 5]);
    assert_eq!(reached(|net, x| net.node(Op::MatMul, &[x, x], &[1, 1, 4, 4])), [0, 1, 2, 3, 4, 8, 12]);
    assert_eq!(reached(|net, x| net.node(pool(PoolKind::Max), &[x], &[1, 1, 2, 2])), [0]);
    assert_eq!(reached(|net, x| net.node(pool(PoolKind::Average { count_pad: true }), &[x], &[1, 1, 2, 2])), [0]);
    assert_eq!(reached(|net, x| net.batch_norm(x)), [0]);
    assert_eq!(reached(|net, x| net.node(Op::Softmax { axis: 2, log: false }, &[x], &[1, 1, 4, 4])), [0, 4, 8, 12]);
    assert_eq!(reached(|net, x| net.node(Op::Softmax { axis: 3, log: false }, &[x], &[1, 1, 4, 4])), [0, 1, 2, 3]);
}

#[test]
fn a_small_sum_of_large_numbers_is_not_held_to_a_small_cap() {
    // conv, then y · 4096, then − the same residual: what is left is small, its error is that of the large numbers.
    let mut net = Net::new();
    let x = net.input(&[1, 4, 4, 4], Role::Activation);
    let residual = net.input(&[1, 8, 4, 4], Role::Activation);
    let conv = net.conv(x, 8, 1, 1);
    let large = net.pointwise("scale", &[conv], |b, r| {
        let factor = b.float(4096.0, DType::F32);
        b.binary(Binary::Mul, r[0], factor)
    });
    net.pointwise("sub", &[large, residual], |b, r| b.binary(Binary::Sub, r[0], r[1]));
    let mut env = net.env(Kind::Numerics, Math::F64);
    env.set(residual, env.get(large).unwrap().clone());
    evaluate(&net.graph, &net.nodes, &mut env, Math::F64).unwrap();
    let bound = |inputs| derive(&net.graph, &net.nodes, &env, Precision::Tf32, inputs).unwrap().bound.unwrap();
    let largest = |bounds: Vec<f64>| bounds.into_iter().fold(0.0, f64::max);
    assert_eq!(largest(bound(Inputs::OwnLaw)), 1e-2);
    let any = largest(bound(Inputs::Any));
    assert!(any > 1.0 && any < 1e-2 * 4096.0 * 8.0, "{any}");
}
