//! A normalisation after a 16-bit convolution.

use super::*;
use crate::graph::convert::convert;
use crate::graph::verify::violations;

/// conv → normalisation → + residual → relu, in a float type.
fn block(dtype: DType, bias: bool) -> Graph {
    let mut b = Build::new();
    let x = b.input("x", &[1, 4, 3, 3]);
    let c = b.conv("conv", x, bias);
    let n = b.norm("norm", c);
    let sum = b.map("add", "add(r0, r1)", &[n, x]);
    let y = b.relu("y", sum);
    let mut graph = b.done(&[y]);
    convert(&mut graph, dtype);
    graph
}

#[test]
fn it_becomes_an_epilogue_with_parameters_in_fp32() {
    for dtype in [DType::F16, DType::BF16] {
        let graph = rewrite(&block(dtype, true), Level::Basic).unwrap();
        assert!(violations(&graph).is_empty());
        let clusters = cluster(&graph, Level::Basic, &All).unwrap();
        assert_eq!(lines(&graph, &clusters), "conv + batch_norm_add_y: x conv.w conv.b norm.scale norm.shift -> y\n");
        let prepared = ["norm.scale", "norm.shift"].map(|name| graph.find(name).unwrap());
        assert!(prepared.iter().all(|&value| graph.is_prepared(value) && graph.dtype(value) == DType::F32));
    }
}

#[test]
fn wider_weights_are_folded_into_instead() {
    let graph = rewrite(&block(DType::F32, false), Level::Basic).unwrap();
    assert!(graph.find("norm.shift").is_none() && graph.find("norm.weight").is_some());
}

#[test]
fn the_parameters_are_those_of_the_formula() {
    use crate::reference::{Env, Math, evaluate, floats};
    use crate::tensor::{Storage, Tensor};
    let graph = rewrite(&block(DType::BF16, false), Level::Basic).unwrap();
    let mut env = Env::new();
    let lanes = [("norm.g", 1.5f32), ("norm.b", -0.75), ("norm.m", 0.25), ("norm.v", 0.5)];
    for (name, value) in lanes {
        let tensor = Tensor::new(DType::BF16, SmallVec::from_slice(&[4]), Storage::F32(vec![value; 4]));
        env.set(graph.find(name).unwrap(), tensor);
    }
    let made = ["norm.scale", "norm.shift"].map(|name| graph.find(name).unwrap());
    let nodes: Vec<NodeId> = made.iter().map(|&v| pattern::producer(&graph, v).unwrap()).collect();
    evaluate(&graph, &nodes, &mut env, Math::F32).unwrap();
    let scale = 1.5f32 / (0.5f32 + 1e-5f32).sqrt();
    let got = made.map(|v| floats(env.get(v).unwrap().storage())[0]);
    assert_eq!(got, [scale, -0.75 - 0.25 * scale].map(f64::from));
}
