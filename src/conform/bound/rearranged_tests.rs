//! Formulas written in other ways that mean the same, computed in fp32, stay inside the bound of the graph's own;
//! ways that do not mean the same leave it.

use super::*;
use crate::expr::{Binary, ExprBuilder, ExprId};
use crate::graph::op::{Map, Role};
use crate::graph::{Graph, TensorType};

/// Arguments around the places where a term cancels or a clamp begins, and of many sizes.
fn arguments() -> Vec<f32> {
    let near = |at: f32| (-400..=400).map(move |i| at + i as f32 * 7.3e-4);
    let wide = (-24..24).flat_map(|e| [1.0f32, 1.37, 1.93].map(|m| m * (e as f32).exp2()));
    let wide: Vec<f32> = wide.flat_map(|v| [v, -v]).collect();
    [-3.0, -2.5, -1.0, 0.0, 0.7, 2.5, 3.0].into_iter().flat_map(near).chain(wide).collect()
}

/// The largest share of its bound that a way to compute a function takes; `nodes` of one Map each.
fn share(body: &[&dyn Fn(&mut ExprBuilder, ExprId, ExprId) -> ExprId], way: impl Fn(f32) -> f32) -> f64 {
    let x = arguments();
    let ty = || TensorType { dtype: DType::F32, shape: Shape::from_slice(&[x.len()]) };
    let mut graph = Graph::new("net");
    let input = graph.add_input("x", ty(), Role::Activation).unwrap();
    let (mut last, mut nodes) = (input, Vec::new());
    for (k, build) in body.iter().enumerate() {
        let mut b = ExprBuilder::new();
        let (value, argument) = (b.read(0, DType::F32), b.read(1, DType::F32));
        let root = build(&mut b, value, argument);
        let shape = [x.len()];
        let map = Map::pointwise("f", &shape, &[&shape, &shape], b.finish(root));
        let node = graph.add_node(Op::Map(map), &[Some(last), Some(input)], vec![(format!("y{k}"), ty())], vec![]);
        last = graph.node(node).outputs[0];
        nodes.push(node);
    }
    let mut env = Env::new();
    env.set(input, Tensor::from_f32(Shape::from_slice(&[x.len()]), x.clone()));
    reference::evaluate(&graph, &nodes, &mut env, Math::F64).unwrap();
    let derived = derive(&graph, &nodes, &env, Precision::Ieee, Inputs::Any).unwrap();
    let truth = floats(env.get(last).unwrap().storage()).into_owned();
    let off = |(i, &r): (usize, &f64)| {
        let error = (f64::from(way(x[i])) - r).abs();
        if error == 0.0 { 0.0 } else { error / derived.bound_at(i) }
    };
    truth.iter().enumerate().map(off).fold(0.0, f64::max)
}

fn c(b: &mut ExprBuilder, value: f64) -> ExprId {
    b.float(value, DType::F32)
}

/// max(0, min(1, α·x + β)), as import writes it.
fn gate(alpha: f64, beta: f64) -> impl Fn(&mut ExprBuilder, ExprId, ExprId) -> ExprId {
    move |b, x, _| {
        let (alpha, beta, zero, one) = (c(b, alpha), c(b, beta), c(b, 0.0), c(b, 1.0));
        let scaled = b.binary(Binary::Mul, x, alpha);
        let line = b.binary(Binary::Add, scaled, beta);
        let capped = b.binary(Binary::MinNan, line, one);
        b.binary(Binary::MaxNan, capped, zero)
    }
}

fn times(b: &mut ExprBuilder, gate: ExprId, x: ExprId) -> ExprId {
    b.binary(Binary::Mul, gate, x)
}

/// A way to compute a function, by its text.
type Way = (&'static str, fn(f32) -> f32);

#[test]
fn hard_sigmoid_may_be_written_in_any_usual_way() {
    let ways: [Way; 6] = [
        ("x * (1/6) + 0.5", |x| (x * (1.0 / 6.0) + 0.5).clamp(0.0, 1.0)),
        ("x / 6 + 0.5", |x| (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        ("(x + 3) / 6", |x| ((x + 3.0) / 6.0).clamp(0.0, 1.0)),
        ("(x + 3) * (1/6)", |x| ((x + 3.0) * (1.0 / 6.0)).clamp(0.0, 1.0)),
        ("clamp(x + 3, 0, 6) / 6", |x| (x + 3.0).clamp(0.0, 6.0) / 6.0),
        ("fma(x, 1/6, 0.5)", |x| x.mul_add(1.0 / 6.0, 0.5).clamp(0.0, 1.0)),
    ];
    for (text, way) in ways {
        let share = share(&[&gate(1.0 / 6.0, 0.5)], way);
        assert!(share <= 1.0, "{text}: {share} of the bound");
    }
    let (alpha, ways): (f64, [Way; 2]) = (
        f64::from(0.2f32),
        [("(x + 2.5) / 5", |x| ((x + 2.5) / 5.0).clamp(0.0, 1.0)), ("x / 5 + 0.5", |x| (x / 5.0 + 0.5).clamp(0.0, 1.0))],
    );
    for (text, way) in ways {
        let share = share(&[&gate(alpha, 0.5)], way);
        assert!(share <= 1.0, "{text}: {share} of the bound");
    }
}

#[test]
fn hard_swish_may_be_written_in_any_usual_way() {
    let ways: [Way; 5] = [
        ("x * clamp(x / 6 + 0.5)", |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        ("x * clamp(x + 3, 0, 6) / 6", |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0),
        ("x * (clamp(x + 3, 0, 6) / 6)", |x| x * ((x + 3.0).clamp(0.0, 6.0) / 6.0)),
        ("x * clamp(x + 3, 0, 6) * (1/6)", |x| x * (x + 3.0).clamp(0.0, 6.0) * (1.0 / 6.0)),
        ("x / 6 * clamp(x + 3, 0, 6)", |x| x / 6.0 * (x + 3.0).clamp(0.0, 6.0)),
    ];
    let fused = |b: &mut ExprBuilder, x: ExprId, same: ExprId| {
        let gate = gate(1.0 / 6.0, 0.5)(b, x, same);
        times(b, gate, x)
    };
    for (text, way) in ways {
        // In one Map, and as two.
        for share in [share(&[&fused], way), share(&[&gate(1.0 / 6.0, 0.5), &times], way)] {
            assert!(share <= 1.0, "{text}: {share} of the bound");
        }
    }
}

#[test]
fn what_means_something_else_stays_outside() {
    let ways: [Way; 4] = [
        ("another slope", |x| (x * 0.166_667 + 0.5).clamp(0.0, 1.0)),
        ("another offset", |x| (x / 6.0 + 0.500_001).clamp(0.0, 1.0)),
        ("no upper clamp", |x| (x / 6.0 + 0.5).max(0.0)),
        ("a narrower type inside", |x| (f32::from_bits((x / 6.0).to_bits() & 0xffff_e000) + 0.5).clamp(0.0, 1.0)),
    ];
    for (text, way) in ways {
        assert!(share(&[&gate(1.0 / 6.0, 0.5)], way) > 1.5, "{text}");
    }
}

#[test]
fn a_single_operator_is_held_to_its_own_rounding() {
    let sum = |b: &mut ExprBuilder, x: ExprId, _| {
        let tenth = c(b, 0.1);
        b.binary(Binary::Add, x, tenth)
    };
    assert!(share(&[&sum], |x| x + 0.1) <= 1.0);
    assert!(share(&[&sum], |x| f32::from_bits((x + 0.1).to_bits() ^ 1)) > 1.0);
}
