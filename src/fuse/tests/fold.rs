//! Folded parameters have the values of the formula, in fp32.

use super::*;
use crate::expr::Constant;
use crate::expr::eval::eval;

/// Evaluates a pointwise preparation Map whose operands are given as lanes of one channel.
fn lane(graph: &Graph, name: &str, reads: &[f32]) -> f32 {
    let node = pattern::producer(graph, graph.find(name).unwrap()).unwrap();
    let map = pattern::as_map(graph, node).unwrap();
    let reads: Vec<Constant> = reads.iter().map(|&v| Constant::float(v as f64)).collect();
    match eval(&map.body, &reads, &[0; 4]) {
        Some(Constant::Float(bits)) => f64::from_bits(bits) as f32,
        other => panic!("{other:?}"),
    }
}

#[test]
fn parameters_are_folded_in_fp32() {
    for bias in [false, true] {
        let mut b = Build::new();
        let x = b.input("x", &[1, 4, 3, 3]);
        let c = b.conv("conv", x, bias);
        let n = b.norm("norm", c);
        let graph = rewrite(&b.done(&[n]), Level::Basic).unwrap();
        let (gamma, beta, mean, var, weight, own) = (1.3f32, -0.7f32, 0.21f32, 0.9f32, 0.37f32, 0.5f32);
        let scale = gamma / (var + 1e-5f32).sqrt();
        assert_eq!(lane(&graph, "norm.scale", &[gamma, var]), scale);
        assert_eq!(lane(&graph, "norm.weight", &[weight, scale]), weight * scale);
        if bias {
            assert_eq!(lane(&graph, "norm.bias", &[scale, mean, beta, own]), (own - mean) * scale + beta);
        } else {
            assert_eq!(lane(&graph, "norm.bias", &[scale, mean, beta]), -mean * scale + beta);
        }
        let conv = graph.topological().unwrap().into_iter().find(|&n| matches!(graph.node(n).op, Op::Conv(_))).unwrap();
        assert_eq!(graph.node(conv).outputs[0], graph.outputs()[0], "the folded node keeps the output");
        let names: Vec<&str> = graph.node(conv).sources.iter().map(|s| s.node.as_str()).collect();
        assert_eq!(names, ["conv", "norm"]);
        assert!(["norm.scale", "norm.weight", "norm.bias"].iter().all(|n| graph.is_prepared(graph.find(n).unwrap())));
    }
}

#[test]
fn a_shared_convolution_and_computed_parameters_are_not_folded() {
    let mut b = Build::new();
    let x = b.input("x", &[1, 4, 3, 3]);
    let c = b.conv("conv", x, false);
    let n = b.norm("norm", c);
    let y = b.map("add", "add(r0, r1)", &[n, c]);
    assert_eq!(rewrite(&b.done(&[y]), Level::Basic).unwrap().node_count(), 3);

    let mut b = Build::new();
    let x = b.input("x", &[1, 4, 3, 3]);
    let g = b.input("g", &[4]);
    let c = b.conv("conv", x, false);
    let p = ["b", "m", "v"].map(|p| b.weight(p, &[4], Role::Scale));
    let n = b.node("norm", Op::BatchNorm { epsilon: 1e-5 }, &[c, g, p[0], p[1], p[2]]);
    assert_eq!(rewrite(&b.done(&[n]), Level::Basic).unwrap().node_count(), 2);
}
