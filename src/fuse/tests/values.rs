//! Rewriting keeps what a model computes: random small networks through the reference.

use proptest::prelude::*;

use super::*;
use crate::reference::{Env, Math, evaluate, floats, seeded};
use crate::rng::{Law, Seed, fill};

/// The model's outputs in f64, from generated weights and inputs.
fn outputs(graph: &Graph) -> Vec<Vec<f64>> {
    let mut env = Env::new();
    for (value, data) in graph.values() {
        match data.producer {
            crate::graph::Producer::Input(position) => {
                let law = Law::Uniform { scale: 1.0, offset: 0.0 };
                env.set(value, fill(law, Seed::derive(7, &position.to_string()), data.ty.dtype, data.ty.shape.clone()));
            }
            crate::graph::Producer::Weight(_) => env.set(value, seeded::weight(graph, value, 7, false).unwrap().tensor()),
            crate::graph::Producer::Node { .. } => {}
        }
    }
    evaluate(graph, &graph.topological().unwrap(), &mut env, Math::F64).unwrap();
    graph.outputs().iter().map(|&v| floats(env.get(v).unwrap().storage()).to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn rewriting_keeps_values(steps in proptest::collection::vec((0u8..8, 0usize..4), 1..8), returned in 0usize..4) {
        let mut b = Build::new();
        let mut values = vec![b.input("x", &[2, 3, 4, 4])];
        for (i, (kind, from)) in steps.iter().enumerate() {
            let x = values[values.len().saturating_sub(1 + from)];
            let name = format!("n{i}");
            values.push(match kind {
                0 => b.conv(&name, x, true),
                1 => b.conv(&name, x, false),
                2 | 3 => b.norm(&name, x),
                4 => b.relu(&name, x),
                5 => b.map(&name, "add(r0, r1)", &[values[values.len() - 1], x]),
                6 => b.map(&name, "mul(r0, 0.5)", &[x]),
                _ => {
                    let flat = b.node(&format!("{name}.flat"), Op::View(View::Reshape(smallvec![96])), &[x]);
                    b.node(&name, Op::View(View::Reshape(smallvec![2, 3, 4, 4])), &[flat])
                }
            });
        }
        let last = values[values.len() - 1];
        let other = values[values.len().saturating_sub(1 + returned).max(1)];
        let graph = b.done(&[last, other]);
        let rewritten = rewrite(&graph, Level::Basic).unwrap();
        prop_assert_eq!(rewritten.outputs(), graph.outputs());
        for (want, got) in outputs(&graph).into_iter().flatten().zip(outputs(&rewritten).into_iter().flatten()) {
            prop_assert!((want - got).abs() <= 1e-9 * (1.0 + want.abs()), "{} became {}", want, got);
        }
        // Clusters hold every computing node once, whatever was fused.
        let clusters = cluster(&rewritten, Level::Basic, &All).unwrap();
        let mut nodes: Vec<NodeId> = clusters.iter().flat_map(|c| c.nodes()).collect();
        nodes.sort_unstable();
        let computing = |&n: &NodeId| !matches!(rewritten.node(n).op, Op::View(_)) && !pattern::is_preparation(&rewritten, n);
        prop_assert_eq!(nodes, rewritten.node_ids().filter(computing).collect::<Vec<_>>());
    }
}
