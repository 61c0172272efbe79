//! The whole of ResNet-50 through the reference: the signal stays alive, every node is exact on
//! integers, and every bound lies inside the cap.

use std::collections::HashSet;

use crate::conform::bound::{Inputs, derive};
use crate::conform::inputs::{self, Kind};
use crate::conform::{alive, exact};
use crate::graph::{Graph, Op, Producer};
use crate::import::{Binding, onnx};
use crate::reference::{Env, Math, evaluate, floats, seeded};
use crate::rng::{self, Law, Seed};
use crate::tolerance::Precision;

fn resnet() -> Graph {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("models/resnet50.onnx");
    onnx::load(&path, &Binding { default_dim: Some(1), ..Binding::default() }).unwrap().graph
}

/// Weights and the input, generated.
fn start(graph: &Graph) -> Env {
    let mut env = Env::new();
    for (value, data) in graph.values() {
        match data.producer {
            Producer::Weight(_) => env.set(value, seeded::weight(graph, value, 0, false).unwrap().tensor()),
            Producer::Input(_) => {
                let law = Law::Uniform { scale: 1.0, offset: 0.0 };
                env.set(value, rng::fill(law, Seed::derive(0, &data.name), data.ty.dtype, data.ty.shape.clone()));
            }
            Producer::Node { .. } => {}
        }
    }
    env
}

#[test]
fn the_signal_stays_alive_through_resnet50() {
    let graph = resnet();
    let order = graph.topological().unwrap();
    let mut env = start(&graph);
    let mut single = env.clone();
    evaluate(&graph, &order, &mut env, Math::F64).unwrap();
    evaluate(&graph, &order, &mut single, Math::F32).unwrap();
    for &node in &order {
        let output = graph.node(node).outputs[0];
        let (tensor, name) = (env.get(output).unwrap(), &graph.value(output).name);
        assert!(alive::check("resnet50", name, &graph.node(node).op, tensor).is_none(), "{name}");
        let signal = alive::Signal::of(tensor);
        assert!(signal.maximum < 64.0 && signal.spread > 1e-2, "{name}: {signal:?}");
    }
    let output = graph.outputs()[0];
    let (truth, got) = (env.get(output).unwrap(), single.get(output).unwrap());
    let error = floats(truth.storage()).iter().zip(floats(got.storage()).iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(error < 1e-4 * alive::Signal::of(truth).maximum);
}

#[test]
fn every_node_of_resnet50_is_exact_on_integers_and_bounded_under_the_cap() {
    let graph = resnet();
    let mut seen = HashSet::new();
    for node in graph.topological().unwrap() {
        let data = graph.node(node);
        let shapes: Vec<_> = data.inputs.iter().flatten().map(|&v| graph.shape(v).to_vec()).collect();
        if !seen.insert(format!("{:?} {shapes:?}", data.op)) || matches!(data.op, Op::View(_)) {
            continue;
        }
        let name = &graph.value(data.outputs[0]).name;
        let inputs: Vec<_> = data.inputs.iter().flatten().copied().collect();
        let fill = |kind| {
            let mut env = Env::new();
            assert!(inputs::generate(&graph, &[node], &inputs, kind, 0, &mut env).unwrap().is_empty());
            env
        };
        let mut env = fill(Kind::Structure);
        evaluate(&graph, &[node], &mut env, Math::F32).unwrap();
        assert!(exact::is_exact(&graph, &[node], &env), "{name}");

        let mut env = fill(Kind::Numerics);
        evaluate(&graph, &[node], &mut env, Math::F64).unwrap();
        let derived = derive(&graph, &[node], &env, Precision::Ieee, Inputs::OwnLaw).unwrap();
        let truth = floats(env.get(data.outputs[0]).unwrap().storage()).into_owned();
        let share = truth.iter().enumerate().map(|(i, r)| derived.bound_at(i) / (1e-4 * (1.0 + r.abs()))).fold(0.0, f64::max);
        assert!(share < 1.0, "{name}: {share} of the cap");
    }
}
