//! Which sizes are free, and graphs at others.

use super::sizes::Sizes;
use super::*;
use crate::graph::text;
use crate::shape::{Shape, display};
use crate::source::SourceFile;

fn graph(lines: &str) -> Graph {
    text::parse(&SourceFile::new("model", format!("graph \"model\"\n{lines}"))).unwrap()
}

/// The free sizes, and every value's shape when they are `chosen`; no shapes where an operator refuses.
fn at(graph: &Graph, chosen: &[usize]) -> (Vec<usize>, Option<String>) {
    let nodes = graph.topological().unwrap();
    let sizes = Sizes::of(graph, &nodes);
    let resized = resized(graph, &nodes, graph.outputs()[0], &|value, made| sizes.shape(value, chosen, made));
    let shapes = resized.map(|resized| {
        let shown = resized.graph.values().map(|(value, data)| format!("{} {}", data.name, display(resized.graph.shape(value))));
        shown.collect::<Vec<_>>().join(", ")
    });
    (sizes.free(), shapes)
}

const CONV: &str = "input x: f32[2,9,14,12]
weight w: f32[20,9,3,3] weight(81) = missing
weight b: f32[20] bias = missing
input z: f32[2,20,7,6]
c: f32[2,20,7,6] = conv(x, w, b) strides=[2,2] dilations=[1,1] pads_begin=[1,1] pads_end=[1,1] groups=1
s: f32[2,20,7,6] = map add(c, z)
  read 0[d0,d1,d2,d3]
  read 1[d0,d1,d2,d3]
  body add(r0, r1)
output s
";

#[test]
fn a_residual_follows_from_the_convolution() {
    let (free, shapes) = at(&graph(CONV), &[1, 4, 5, 3, 2, 1, 2]);
    // Batch, channels, height and width of x; filters and window of w.
    assert_eq!(free, [2, 9, 14, 12, 20, 3, 3]);
    assert_eq!(shapes.unwrap(), "x 1×4×5×3, w 2×4×1×2, b 2, c 1×2×4×2, z 1×2×4×2, s 1×2×4×2");
}

#[test]
fn a_window_larger_than_its_input_is_no_graph() {
    assert_eq!(at(&graph(CONV), &[1, 1, 1, 1, 1, 4, 1]).1, None);
    assert!(at(&graph(CONV), &[1, 1, 1, 1, 1, 3, 1]).1.is_some());
}

#[test]
fn groups_and_general_reshapes_stay() {
    let grouped = CONV.replace("[20,9,3,3]", "[20,3,3,3]").replace("groups=1", "groups=3").replace("20", "21");
    let (free, _) = at(&graph(&grouped), &[2, 14, 12, 3, 3]);
    assert_eq!(free, [2, 14, 12, 3, 3]);
    let split = graph("input x: f32[4,6]\nr: f32[4,2,3] = reshape(x) shape=[4,2,3]\noutput r\n");
    assert_eq!(at(&split, &[]), (vec![], Some("x 4×6, r 4×2×3".to_owned())));
    let unit = graph("input x: f32[4,6]\nr: f32[4,1,6] = reshape(x) shape=[4,1,6]\noutput r\n");
    assert_eq!(at(&unit, &[3, 2]), (vec![4, 6], Some("x 3×2, r 3×1×2".to_owned())));
}

#[test]
fn batches_that_are_broadcast_stay_one() {
    let product = graph("input a: f32[2,1,5,7]\ninput b: f32[3,7,4]\ny: f32[2,3,5,4] = matmul(a, b)\noutput y\n");
    let (free, shapes) = at(&product, &[1, 4, 2, 2, 3]);
    assert_eq!(free, [2, 5, 7, 3, 4]);
    assert_eq!(shapes.unwrap(), "a 1×1×4×2, b 2×2×3, y 1×2×4×3");
}

#[test]
fn an_index_that_is_computed_pins_what_it_reads() {
    let sliced = graph("input x: f32[8,6]\ny: f32[4,6] = map slice(x)\n  read 0[(d0 + 2),d1]\n  body r0\noutput y\n");
    assert_eq!(at(&sliced, &[5]), (vec![6], Some("x 8×5, y 4×5".to_owned())));
}

#[test]
fn work_counts_elements_and_products() {
    let (elements, products) = resize::work(&graph(CONV));
    let elements_of = |shapes: &[&[usize]]| shapes.iter().map(|s| s.iter().product::<usize>()).sum::<usize>();
    let output: Shape = Shape::from_slice(&[2, 20, 7, 6]);
    assert_eq!(elements, elements_of(&[&[2, 9, 14, 12], &[20, 9, 3, 3], &[20], &output, &output, &output]));
    assert_eq!(products, 2 * 20 * 7 * 6 * (81 + 1));
}

#[test]
fn no_trial_is_made_once_cancelled() {
    let graph = graph("input x: f32[40,6]\nr: f32[6,40] = transpose(x) order=[1,0]\noutput r\n");
    let asked = |cancelled: bool| {
        let (mut asked, cancel) = (0, AtomicBool::new(false));
        smallest(&graph, &graph.topological().unwrap(), graph.outputs()[0], Some(&cancel), &mut |_| {
            asked += 1;
            cancel.store(cancelled, Ordering::Relaxed);
            false
        });
        asked
    };
    assert_eq!(asked(true), 1);
    assert!(asked(false) > 1);
}
