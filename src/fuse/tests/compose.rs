//! Composed Maps have the values of their chains: random chains against a plain evaluation.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::expr::Constant;
use crate::expr::eval::eval;
use crate::expr::index::Index;
use crate::expr::parse::parse_index;
use crate::graph::op::{Access, OutOfBounds};
use crate::shape::{Shape, contiguous_strides, numel};

/// The coordinates of the i-th element.
fn coordinates(shape: &[usize], i: usize) -> Vec<usize> {
    contiguous_strides(shape).iter().zip(shape).map(|(&stride, &size)| i / stride as usize % size).collect()
}

/// Every value of a graph of Maps, element by element.
fn evaluate(graph: &Graph) -> HashMap<ValueId, Vec<f64>> {
    let mut values: HashMap<ValueId, Vec<f64>> = HashMap::new();
    for (position, &input) in graph.inputs().iter().enumerate() {
        let lanes = (0..numel(graph.shape(input)).unwrap()).map(|i| ((i * 7 + position * 5) % 11) as f64 - 5.0);
        values.insert(input, lanes.collect());
    }
    for id in graph.topological().unwrap() {
        let node = graph.node(id);
        let map = pattern::as_map(graph, id).unwrap();
        let lanes = (0..numel(&map.dims).unwrap()).map(|i| {
            let at = coordinates(&map.dims, i);
            let mut reads: Vec<f64> = Vec::new();
            for access in &map.reads {
                let operand = node.inputs[access.input].unwrap();
                let shape = graph.shape(operand);
                let index: Vec<i64> = access.index.iter().map(|i| i.evaluate(&at, &mut |k| reads[k] as i64)).collect();
                let inside = index.iter().zip(shape).all(|(&i, &size)| (0..size as i64).contains(&i));
                reads.push(match access.oob {
                    OutOfBounds::Fill(c) if !inside => c,
                    OutOfBounds::Fill(_) | OutOfBounds::InBounds => {
                        assert!(inside, "{index:?} outside {shape:?}");
                        let offset: i64 = index.iter().zip(contiguous_strides(shape)).map(|(i, s)| i * s).sum();
                        values[&operand][offset as usize]
                    }
                });
            }
            let reads: Vec<Constant> = reads.into_iter().map(Constant::float).collect();
            match eval(&map.body, &reads, &at) {
                Some(Constant::Float(bits)) => f64::from_bits(bits),
                other => panic!("{other:?}"),
            }
        });
        values.insert(node.outputs[0], lanes.collect());
    }
    values
}

/// A Map that moves: each axis of `x` is found by an index.
fn movement(b: &mut Build, name: &str, dims: &[usize], index: Vec<Index>, oob: OutOfBounds, x: ValueId) -> ValueId {
    let body = parse("r0", &[DType::F32]).unwrap();
    let map = Map { label: name.into(), dims: Shape::from_slice(dims), reads: vec![Access { input: 0, index, oob }], body };
    b.node(name, Op::Map(map), &[x])
}

/// The next link of a chain over values of shape [a, b].
fn step(b: &mut Build, kind: u8, name: &str, x: ValueId) -> ValueId {
    let shape = b.0.shape(x).to_vec();
    let (rows, columns) = (shape[0], shape[1]);
    let index = |texts: [String; 2]| texts.iter().map(|t| parse_index(t).unwrap()).collect::<Vec<_>>();
    let inside = OutOfBounds::InBounds;
    match kind {
        0 => b.relu(name, x),
        1 => {
            let other = b.input(&format!("{name}.in"), &[columns]);
            b.map(name, "add(r0, mul(r1, 0.5))", &[x, other])
        }
        2 => movement(b, name, &[columns, rows], index(["d1".into(), "d0".into()]), inside, x),
        3 => movement(b, name, &shape, index([format!("d0*-1 + {}", rows - 1), "d1".into()]), inside, x),
        4 => movement(b, name, &[rows + 2, columns + 1], index(["d0 - 1".into(), "d1".into()]), OutOfBounds::Fill(0.0), x),
        5 => {
            let (r, c) = (columns, rows);
            let flat = format!("d0*{c} + d1");
            movement(b, name, &[r, c], index([format!("({flat})//{columns}"), format!("({flat})%{columns}")]), inside, x)
        }
        6 => {
            let body = parse("add(r0, mul(r1, f32(d1)))", &[DType::F32; 2]).unwrap();
            let mut map = Map::pointwise(name, &shape, &[&shape, &shape], body);
            map.reads[1].index[1] = parse_index(&format!("d1*-1 + {}", columns - 1)).unwrap();
            map.reads[1].input = 0;
            b.node(name, Op::Map(map), &[x])
        }
        7 => movement(b, name, &[rows, columns], index([format!("(d0 + 1)%{rows}"), "d1".into()]), inside, x),
        _ => b.map(name, "add(r0, 1.0)", &[x]),
    }
}

proptest! {
    #[test]
    fn composing_keeps_values(kinds in proptest::collection::vec(0u8..9, 1..6), rows in 1usize..4, columns in 1usize..5) {
        let mut b = Build::new();
        let mut x = b.input("x", &[rows, columns]);
        for (i, kind) in kinds.iter().enumerate() {
            x = step(&mut b, *kind, &format!("n{i}"), x);
        }
        let graph = b.done(&[x]);
        let composed = rewrite(&graph, Level::Basic).unwrap();
        prop_assert!(composed.node_count() <= graph.node_count());
        prop_assert_eq!(&evaluate(&graph)[&x], &evaluate(&composed)[&x]);
    }
}

#[test]
fn what_is_worth_composing() {
    let nodes = |kinds: &[u8]| {
        let mut b = Build::new();
        let mut x = b.input("x", &[3, 4]);
        for (i, kind) in kinds.iter().enumerate() {
            x = step(&mut b, *kind, &format!("n{i}"), x);
        }
        rewrite(&b.done(&[x]), Level::Basic).unwrap().node_count()
    };
    assert_eq!(nodes(&[0, 1, 2, 3]), 1, "pointwise and moving");
    assert_eq!(nodes(&[0, 4]), 1, "relu(0) = 0: the padding moves inside");
    assert_eq!(nodes(&[8, 4]), 2, "0 + 1 is not 0");
    assert_eq!(nodes(&[3, 6]), 1, "a movement may be repeated");
    assert_eq!(nodes(&[0, 6]), 2, "arithmetic is not");
}

#[test]
fn composed_text() {
    let mut b = Build::new();
    let mut x = b.input("x", &[3, 4]);
    for (i, kind) in [1, 0, 5, 2].into_iter().enumerate() {
        x = step(&mut b, kind, &format!("n{i}"), x);
    }
    let graph = rewrite(&b.done(&[x]), Level::Basic).unwrap();
    let map = pattern::as_map(&graph, graph.node_ids().next().unwrap()).unwrap();
    let mut text = format!("{} {:?}: {}\n", map.label, map.dims, map.body);
    for access in &map.reads {
        let index: Vec<String> = access.index.iter().map(Index::to_string).collect();
        text += &format!("{}[{}]\n", access.input, index.join(", "));
    }
    expect![[r#"
        n0_n1_n2_n3 [3, 4]: t0 = add(r0, mul(r1, 0.5)); select(lt(t0, 0.0), 0.0, t0)
        0[(d0 + d1*3)//4, (d0 + d1*3)%4]
        1[(d0 + d1*3)%4]
    "#]]
    .assert_eq(&text);
}
