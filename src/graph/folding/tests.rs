//! Folded values, and what is left in the graph.

use smallvec::smallvec;

use super::*;
use crate::graph::{Graph, text};
use crate::shape::Shape;
use crate::source::SourceFile;

/// The last node of a graph text over these tensors, in the order of its inputs.
fn fold(text: &str, inputs: &[&Tensor]) -> Option<Tensor> {
    let graph: Graph = text::parse(&SourceFile::new("t", format!("graph \"g\"\n{text}"))).unwrap();
    let node = graph.node_ids().last().unwrap();
    evaluate(&graph.node(node).op, inputs)
}

#[test]
fn integers_are_exact() {
    let shape = Tensor::from_i64([4].as_slice(), vec![1, 3, 224, -7]);
    let two = Tensor::from_i64([].as_slice(), vec![2]);
    let binary = |op: &str| {
        format!("input s: i64[4]\ninput t: i64[]\ny: i64[4] = map m(s, t)\n  read 0[d0]\n  read 1[]\n  body {op}(r0, r1)\n")
    };
    let lanes = |op: &str| fold(&binary(op), &[&shape, &two]).unwrap().as_i64().unwrap().to_vec();
    assert_eq!(lanes("mul"), [2, 6, 448, -14]);
    assert_eq!(lanes("div_trunc"), [0, 1, 112, -3]);
    assert_eq!(lanes("div_floor"), [0, 1, 112, -4]);
    let zero = Tensor::from_i64([].as_slice(), vec![0]);
    assert_eq!(fold(&binary("div_trunc"), &[&shape, &zero]), None);
}

#[test]
fn movement() {
    let x = Tensor::from_i64([2, 3].as_slice(), vec![0, 1, 2, 3, 4, 5]);
    let lanes = |op: View| evaluate(&Op::View(op), &[&x]).unwrap().as_i64().unwrap().to_vec();
    assert_eq!(lanes(View::Transpose(smallvec![1, 0])), [0, 3, 1, 4, 2, 5]);
    assert_eq!(lanes(View::Broadcast(Shape::from_slice(&[2, 2, 3]))), [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
    let pad = "input x: i64[2,3]\ny: i64[2,5] = map pad(x)\n  read 0[d0, d1 - 1] fill 9.0\n  body r0\n";
    assert_eq!(fold(pad, &[&x]).unwrap().as_i64().unwrap(), [9, 0, 1, 2, 9, 9, 3, 4, 5, 9]);
    let ids = Tensor::from_i64([2].as_slice(), vec![-1, 0]);
    let gather =
        "input i: i64[2]\ninput x: i64[2,3]\ny: i64[2,2] = map gather(i, x)\n  read 0[d1]\n  read 1[d0, r0%3]\n  body r1\n";
    assert_eq!(fold(gather, &[&ids, &x]).unwrap().as_i64().unwrap(), [2, 0, 5, 3]);
    let absurd = Tensor::from_i64([2].as_slice(), vec![i64::MAX, i64::MIN]);
    assert_eq!(fold(gather, &[&absurd, &x]), None);
}

#[test]
fn floats_only_where_every_runtime_agrees() {
    let x = Tensor::from_f32([2].as_slice(), vec![0.1, 7.0]);
    let unary = |op: &str| format!("input x: f32[2]\ny: f32[2] = map m(x)\n  read 0[d0]\n  body {op}\n");
    assert_eq!(fold(&unary("sqrt(r0)"), &[&x]).unwrap().as_f32().unwrap(), [0.1f32.sqrt(), 7f32.sqrt()]);
    assert_eq!(fold(&unary("div(r0, 3.0)"), &[&x]).unwrap().as_f32().unwrap(), [0.1f32 / 3.0, 7.0 / 3.0]);
    assert_eq!(fold(&unary("exp(r0)"), &[&x]), None);
    assert_eq!(fold(&unary("pow(r0, r0)"), &[&x]), None);
}

#[test]
fn large_results_stay_in_the_graph() {
    let one = Tensor::from_i64([1].as_slice(), vec![1]);
    let wide = |n: usize| evaluate(&Op::View(View::Broadcast(Shape::from_slice(&[n]))), &[&one]).map(|t| t.len());
    assert_eq!((wide(MAX_INTEGERS), wide(MAX_INTEGERS + 1)), (Some(MAX_INTEGERS), None));
    let bias = Tensor::from_f32([64].as_slice(), vec![0.5; 64]);
    assert_eq!(evaluate(&Op::View(View::Reshape(Shape::from_slice(&[64, 1, 1]))), &[&bias]), None);
}
