//! Graphs that are changed: values replaced, nodes rewritten and removed.

use super::*;
use crate::graph::op::View;
use smallvec::smallvec;

fn ty(shape: &[usize]) -> TensorType {
    TensorType { dtype: DType::F32, shape: SmallVec::from_slice(shape) }
}

#[test]
fn replacing_a_value_moves_its_consumers() {
    let mut g = Graph::new("m");
    let x = g.add_input("x", ty(&[2, 3]), Role::Activation).unwrap();
    let reshape = |s: &[usize]| Op::View(View::Reshape(SmallVec::from_slice(s)));
    let a = g.add_node(reshape(&[6]), &[Some(x)], vec![("a".into(), ty(&[6]))], vec![]);
    let b = g.add_node(Op::View(View::Transpose(smallvec![0])), &[g.find("a")], vec![("b".into(), ty(&[6]))], vec![]);
    let c = g.add_node(reshape(&[3, 2]), &[g.find("b")], vec![("c".into(), ty(&[3, 2]))], vec![]);
    g.set_outputs(vec![g.find("c").unwrap()]);
    assert_eq!(g.topological().unwrap(), [a, b, c]);
    assert_eq!(g.entering(&[b, c]), [g.find("a").unwrap()]);
    assert_eq!(g.entering(&[a, c]), [x, g.find("b").unwrap()]);
    g.replace_uses(g.find("b").unwrap(), g.find("a").unwrap());
    g.remove_node(b);
    assert_eq!(g.consumers(g.find("a").unwrap()), [c]);
    assert_eq!(g.topological().unwrap(), [a, c]);
    assert_eq!(g.add_input("a", ty(&[1]), Role::Activation), Err(g.find("a").unwrap()));
}

#[test]
fn a_rewritten_node_keeps_its_outputs() {
    let mut g = Graph::new("m");
    let x = g.add_input("x", ty(&[6]), Role::Activation).unwrap();
    let view = || Op::View(View::Transpose(smallvec![0]));
    let a = g.add_node(view(), &[Some(x)], vec![("a".into(), ty(&[6]))], vec![]);
    let b = g.add_node(view(), &[g.find("a")], vec![("b".into(), ty(&[6]))], vec![]);
    let c = g.add_node(view(), &[g.find("b")], vec![("c".into(), ty(&[6]))], vec![]);
    g.rewrite_node(b, Op::View(View::Reshape(smallvec![6])), &[Some(x)]);
    assert!(g.consumers(g.find("a").unwrap()).is_empty());
    assert_eq!(g.consumers(g.find("b").unwrap()), [c]);
    g.remove_node(a);
    assert_eq!(g.topological().unwrap(), [b, c]);
}
