//! Each invariant, broken once: the message that says so, and no other.

use std::sync::Arc;

use super::*;
use crate::dtype::DType;
use crate::graph::op::View;
use crate::graph::{Role, text};
use crate::shape::Shape;
use crate::source::SourceFile;
use crate::tensor::Tensor;

fn read(text: &str) -> Graph {
    text::parse(&SourceFile::new("t", format!("graph \"g\"\ninput x: f32[2,3]\ninput i: i64[3]\n{text}"))).unwrap()
}

fn messages(graph: &Graph) -> Vec<String> {
    violations(graph).into_iter().map(|d| d.message).collect()
}

#[test]
fn broken_maps_are_named() {
    let cases = [
        ("y: f32[2,3] = map m(x)\n read 0[d0, d1 + 1]", "access 0: the index of axis 1 ranges from 1 to 3, the operand is 2×3"),
        ("y: f32[2,3] = map m(x)\n read 0[d0, d1*-1]", "access 0: the index of axis 1 ranges from -2 to 0, the operand is 2×3"),
        ("y: f32[2,3] = map m(x)\n read 0[d0]", "access 0 has 1 indices for 2×3"),
        ("y: f32[2,3] = map m(x)\n read 0[d0, d7]", "access 0, axis 1: d7 does not exist"),
        ("y: f32[2,3] = map m(x)\n read 0[d0, r0]", "access 0, axis 1: read(0) is not an earlier access"),
        ("y: f32[2,0] = map m(x)\n read 0[d0, d1]", "its iteration space is empty"),
    ];
    for (text, message) in cases {
        let graph = read(&format!("{}\n  body r0\n", text.replace("\n read", "\n  read")));
        assert!(messages(&graph).iter().any(|m| m == message), "{text}: {:?}", messages(&graph));
    }
    let float_index = read("y: f32[2] = map m(x)\n  read 0[d0, 0]\n  read 0[d0, r0]\n  body r1\n");
    assert_eq!(messages(&float_index), ["access 1, axis 1: read(0) is no integer"]);
    let coordinate = read("y: i64[2] = map m(x)\n  body d3\n");
    assert_eq!(messages(&coordinate), ["its body uses a coordinate that does not exist"]);
}

#[test]
fn sound_maps_pass() {
    let texts = [
        "y: f32[2,3] = map flip(x)\n  read 0[d0*-1 + 1, d1]\n  body r0\n",
        "y: f32[4,3] = map tile(x)\n  read 0[d0%2, d1]\n  body r0\n",
        "y: f32[6] = map flat(x)\n  read 0[d0//3, d0%3]\n  body r0\n",
        // Only trying every coordinate shows that these stay inside.
        "y: f32[6] = map flat(x)\n  read 0[d0//3, d0 + d0//3*-3]\n  body r0\n",
        "y: f32[4,5] = map pad(x)\n  read 0[d0 - 1, d1 - 1] fill 0.0\n  body r0\n",
        "y: f32[3,3] = map gather(i, x)\n  read 0[d0]\n  read 1[r0%2, d1]\n  body r1\n",
    ];
    for text in texts {
        assert_eq!(messages(&read(text)), [""; 0], "{text}");
    }
}

#[test]
fn types_are_those_that_inference_gives() {
    let wrong_shape = read("y: f32[3,3] = transpose(x) order=[1,0]\n");
    assert!(messages(&wrong_shape)[0].starts_with("its outputs are stated as"));
    let wrong_dtype = read("y: i64[3,2] = transpose(x) order=[1,0]\n");
    assert!(messages(&wrong_dtype)[0].starts_with("its outputs are stated as"));
    let no_fit = read("y: f32[2,2] = matmul(x, x)\n");
    assert_eq!(messages(&no_fit), ["A 2×3 has 3 columns, B 2×3 has 2 rows"]);
}

#[test]
fn values_and_edges() {
    let ty = |shape: &[usize]| TensorType { dtype: DType::F32, shape: Shape::from_slice(shape) };
    let mut graph = Graph::new("g");
    let x = graph.add_input("x", ty(&[2, 0]), Role::Activation).unwrap();
    assert_eq!(messages(&graph), ["value `x`: its shape 2×0 is empty or too large"]);

    let mut graph = Graph::new("g");
    let data = Weight::Data(Arc::new(Tensor::from_f32([3].as_slice(), vec![0.0; 3])));
    graph.add_weight("w", ty(&[4]), Role::Bias, data).unwrap();
    assert_eq!(messages(&graph), ["value `w`: its elements are f32 3, not f32 4"]);

    let mut graph = Graph::new("g");
    graph.add_input("x", ty(&[2]), Role::Activation).unwrap();
    let same = || Op::View(View::Reshape(Shape::from_slice(&[2])));
    let first = graph.add_node(same(), &[Some(x)], vec![("a".to_owned(), ty(&[2]))], vec![]);
    graph.add_node(same(), &[graph.find("a")], vec![("b".to_owned(), ty(&[2]))], vec![]);
    graph.set_outputs(vec![graph.find("b").unwrap()]);
    assert_eq!(messages(&graph), [""; 0]);
    graph.remove_node(first);
    assert_eq!(messages(&graph), ["operand `a`: its producer was removed"]);
}

#[test]
fn replacing_a_value_that_is_read_twice_keeps_the_edges() {
    let mut graph = read(
        "a: f32[2,3] = reshape(x) shape=[2,3]\ny: f32[2,3] = map add(x, x)\n  read 0[d0, d1]\n  read 1[d0, d1]\n  body add(r0, r1)\noutput y\n",
    );
    graph.replace_uses(graph.find("x").unwrap(), graph.find("a").unwrap());
    // The node that makes `a` now reads itself: the only thing wrong is the cycle.
    assert_eq!(messages(&graph), ["2 nodes lie on or behind a cycle"]);
}
