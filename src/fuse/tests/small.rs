//! Clusters and rules on graphs of a few nodes.

use super::*;
use crate::fuse::driver::{Operand, Patch, Rule, run};

#[test]
fn a_residual_add_joins_the_convolution_that_is_computed_last() {
    let mut b = Build::new();
    let x = b.input("x", &[1, 4, 3, 3]);
    let first = b.conv("first", x, true);
    let second = b.conv("second", x, true);
    let sum = b.map("add", "add(r0, r1)", &[first, second]);
    let y = b.relu("relu", sum);
    expect![[r#"
        conv: x first.w first.b -> first
        conv + add_relu: x second.w second.b first -> relu
    "#]]
    .assert_eq(&fused(&b.done(&[y])));
}

#[test]
fn a_value_with_two_readers_or_returned_by_the_model_ends_a_cluster() {
    let mut b = Build::new();
    let x = b.input("x", &[1, 4, 3, 3]);
    let c = b.conv("conv", x, false);
    let y = b.relu("relu", c);
    let z = b.map("add", "add(r0, r1)", &[c, y]);
    expect![[r#"
        conv + relu_add: x conv.w -> add
    "#]]
    .assert_eq(&fused(&b.done(&[z])));

    let mut b = Build::new();
    let x = b.input("x", &[1, 4, 3, 3]);
    let c = b.conv("conv", x, false);
    let y = b.relu("relu", c);
    expect![[r#"
        conv: x conv.w -> conv
        relu: conv -> relu
    "#]]
    .assert_eq(&fused(&b.done(&[c, y])));
}

#[test]
fn nodes_of_two_groups_stay_apart() {
    let mut b = Build::new();
    let x = b.input("x", &[1, 4, 3, 3]);
    let c = b.conv("conv", x, false);
    let n = b.norm("norm", c);
    let y = b.relu("relu", n);
    let graph = b.done(&[y]);
    let node = |value: ValueId| pattern::producer(&graph, value).unwrap();
    let grouped = |of: [usize; 3]| {
        let groups = Groups::new(&graph, [c, n, y].map(node).into_iter().zip(of).collect());
        let mut why = Why::default();
        let rewritten = rewrite_why(&graph, Level::Basic, &groups, &mut why).unwrap();
        let clusters = cluster_why(&rewritten, Level::Basic, &All, &groups, &mut why).unwrap();
        let shapes = clusters.iter().map(|cluster| {
            let names = cluster.nodes().into_iter().map(|node| rewritten.node(node).op.name());
            names.collect::<Vec<_>>().join("+")
        });
        shapes.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(grouped([0, 0, 0]), "conv+relu");
    assert_eq!(grouped([0, 0, 1]), "conv, relu");
    assert_eq!(grouped([0, 1, 1]), "conv, batch_norm+relu");
    assert_eq!(grouped([0, 1, 2]), "conv, batch_norm, relu");
    assert_eq!(grouped([0, 1, 0]), "conv, batch_norm, relu");
}

#[test]
fn without_anchors_or_levels_nothing_joins_an_operator() {
    let mut b = Build::new();
    let x = b.input("x", &[1, 4, 3, 3]);
    let c = b.conv("conv", x, true);
    let n = b.norm("norm", c);
    let y = b.relu("relu", n);
    let graph = b.done(&[y]);
    expect![[r#"
        conv: x conv.w conv.b -> conv
        batch_norm: conv norm.g norm.b norm.m norm.v -> norm
        relu: norm -> relu
    "#]]
    .assert_eq(&lines(&graph, &cluster(&rewrite(&graph, Level::None).unwrap(), Level::None, &All).unwrap()));
    let folded = rewrite(&graph, Level::Basic).unwrap();
    expect![[r#"
        conv: x norm.weight norm.bias -> norm
        relu: norm -> relu
    "#]]
    .assert_eq(&lines(&folded, &cluster(&folded, Level::Basic, &Nothing).unwrap()));
}

#[test]
fn an_operand_that_is_broadcast_joins_and_a_shifted_one_does_not() {
    let mut b = Build::new();
    let x = b.input("x", &[1, 4, 3, 3]);
    let s = b.weight("s", &[4, 1, 1], Role::Scale);
    let big = b.input("big", &[1, 4, 3, 4]);
    let c = b.conv("conv", x, false);
    let y = b.map("mul", "mul(r0, r1)", &[c, s]);
    let mut shifted =
        Map::pointwise("sub", &[1, 4, 3, 3], &[&[1, 4, 3, 3], &[1, 4, 3, 3]], parse("sub(r0, r1)", &[DType::F32; 2]).unwrap());
    shifted.reads[1].index[3] = crate::expr::parse::parse_index("d3 + 1").unwrap();
    let d = b.conv("other", y, false);
    let z = b.node("sub", Op::Map(shifted), &[d, big]);
    expect![[r#"
        conv + mul: x conv.w s -> mul
        conv: mul other.w -> other
        sub: other big -> sub
    "#]]
    .assert_eq(&fused(&b.done(&[z])));
}

#[test]
fn a_normalisation_without_a_convolution_is_an_anchor() {
    let mut b = Build::new();
    let x = b.input("x", &[1, 4, 3, 3]);
    let n = b.norm("norm", x);
    let y = b.relu("relu", n);
    expect![[r#"
        batch_norm + relu: x norm.g norm.b norm.m norm.v -> relu
    "#]]
    .assert_eq(&fused(&b.done(&[y])));
}

#[test]
fn views_merge_and_vanish() {
    let mut b = Build::new();
    let x = b.input("x", &[2, 3, 4]);
    let a = b.node("a", Op::View(View::Reshape(smallvec![6, 4])), &[x]);
    let c = b.node("c", Op::View(View::Reshape(smallvec![2, 3, 4])), &[a]);
    let t = b.node("t", Op::View(View::Transpose(smallvec![2, 0, 1])), &[c]);
    let u = b.node("u", Op::View(View::Transpose(smallvec![1, 2, 0])), &[t]);
    let y = b.relu("relu", u);
    let graph = rewrite(&b.done(&[y]), Level::Basic).unwrap();
    assert_eq!(graph.node_count(), 1);
    let relu = graph.node_ids().next().unwrap();
    assert_eq!(graph.node(relu).inputs[0], graph.find("x"));
    assert_eq!(graph.node(relu).covers.len(), 5);
    assert_eq!(graph.node(relu).sources.len(), 5);
}

#[test]
fn a_rule_that_does_not_end_or_fit_is_named() {
    let graph = || {
        let mut b = Build::new();
        let x = b.input("x", &[1, 4, 3, 3]);
        let y = b.relu("relu", x);
        b.done(&[y])
    };
    let again = |g: &Graph, n: NodeId| {
        let inputs = g.node(n).inputs.iter().map(|v| v.map(Operand::Value)).collect();
        Some(Patch { added: vec![], op: g.node(n).op.clone(), inputs, absorbed: vec![] })
    };
    let endless = run(&mut graph(), &[Rule { name: "again", apply: again }], &Groups::default(), &mut Vec::new()).unwrap_err();
    assert_eq!(endless.to_string(), "[M012] rewrite rule again: does not come to an end");
    let reshape = |g: &Graph, n: NodeId| {
        let inputs = g.node(n).inputs.iter().map(|v| v.map(Operand::Value)).collect();
        Some(Patch { added: vec![], op: Op::View(View::Reshape(smallvec![36])), inputs, absorbed: vec![] })
    };
    let mut before = graph();
    let unfit = run(&mut before, &[Rule { name: "flat", apply: reshape }], &Groups::default(), &mut Vec::new()).unwrap_err();
    assert_eq!(unfit.to_string(), "[M012] rewrite rule flat: the node's type changes");
    let relu = before.node_ids().next().unwrap();
    assert_eq!(before.node(relu).op.name(), "relu", "a patch that does not fit changes nothing");
}
