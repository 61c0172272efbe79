//! tract computes the whole networks from the same weights and inputs: a second opinion on import and
//! reference, by value.

use std::collections::HashMap;
use std::sync::Arc;

use decompose::graph::{Graph, Producer};
use decompose::import::{Binding, onnx};
use decompose::reference::{self, Env, Math, seeded, signal, statistics};
use decompose::rng::{self, Seed};
use decompose::tensor::Tensor;
use prost::Message;
use tract_onnx::pb::{ModelProto, TensorProto};
use tract_onnx::prelude::*;

use super::nets::{NETS, Net};

/// Of the largest value: fp32 against f64 over a hundred layers.
const ALLOWED: f64 = 1e-4;

/// Inputs and weights of a graph, as a suite has them with seed 0.
fn given(graph: &Graph) -> Env {
    let mut env = Env::new();
    for (value, data) in graph.values() {
        match data.producer {
            Producer::Weight(_) => env.set(value, seeded::weight(graph, value, 0, false).unwrap().tensor()),
            Producer::Input(_) => {
                let law = seeded::law(data.role, data.ty.dtype).unwrap();
                env.set(value, rng::fill(law, Seed::derive(0, &data.name), data.ty.dtype, data.ty.shape.clone()));
            }
            Producer::Node { .. } => {}
        }
    }
    env
}

/// The model's output by our reference, values dropped after their last use.
fn ours(graph: &Graph, mut env: Env) -> Arc<Tensor> {
    let order = graph.topological().unwrap();
    let last: HashMap<_, _> =
        order.iter().enumerate().flat_map(|(at, &id)| graph.node(id).inputs.iter().flatten().map(move |&v| (v, at))).collect();
    for (at, &id) in order.iter().enumerate() {
        reference::evaluate(graph, &[id], &mut env, Math::F64).unwrap();
        for &value in graph.node(id).inputs.iter().flatten().filter(|v| last[v] == at) {
            env.remove(value);
        }
    }
    env.get(graph.outputs()[0]).unwrap().clone()
}

/// The model with the weights as initializers.
fn filled(mut model: ModelProto, graph: &Graph, env: &Env) -> ModelProto {
    let proto = model.graph.as_mut().unwrap();
    let mut weights = HashMap::new();
    for (value, data) in graph.values().filter(|(_, v)| matches!(v.producer, Producer::Weight(_)) && v.ty.dtype.is_float()) {
        let lanes = env.get(value).unwrap().as_f32().unwrap();
        let tensor = TensorProto {
            name: data.name.clone(),
            dims: data.ty.shape.iter().map(|&size| size as i64).collect(),
            data_type: 1,
            raw_data: lanes.iter().flat_map(|v| v.to_le_bytes()).collect(),
            ..TensorProto::default()
        };
        weights.insert(data.name.clone(), tensor);
    }
    proto.node.retain(|node| !weights.contains_key(&node.output[0]));
    proto.initializer.retain(|tensor| !weights.contains_key(&tensor.name));
    proto.initializer.extend(weights.into_values());
    model
}

/// The model's output by tract, in fp32.
fn theirs(model: &ModelProto, input: &Tensor) -> Vec<f32> {
    let bytes = model.encode_to_vec();
    let model = tract_onnx::onnx().model_for_read(&mut bytes.as_slice()).unwrap();
    let runnable = model.into_optimized().unwrap().into_runnable().unwrap();
    let input = tract_onnx::prelude::Tensor::from_shape(input.shape(), input.as_f32().unwrap()).unwrap();
    let outputs = runnable.run(tvec![input.into()]).unwrap();
    outputs[0].to_plain_array_view::<f32>().unwrap().iter().copied().collect()
}

fn compare(net: &Net) -> Option<String> {
    let model = net.model();
    let imported = onnx::from_bytes(net.name, &model.encode_to_vec(), &Binding::default()).unwrap();
    let mut graph = imported.graph;
    statistics::forget_stale(&mut graph);
    signal::balance(&mut graph, false);
    let env = given(&graph);
    let input = env.get(graph.inputs()[0]).unwrap().clone();
    let theirs = theirs(&filled(model, &graph, &env), &input);
    let ours = ours(&graph, env);
    assert_eq!(ours.len(), theirs.len(), "{}", net.name);
    let value = |i: usize| ours.storage().get_f64(i);
    let largest = (0..ours.len()).map(|i| value(i).abs()).fold(0.0, f64::max);
    let spread = (0..ours.len()).map(|i| (value(i) - value(0)).abs()).fold(0.0, f64::max);
    let off = theirs.iter().enumerate().map(|(i, &v)| (f64::from(v) - value(i)).abs()).fold(0.0, f64::max);
    let right = off <= ALLOWED * largest && spread > 1e-3 * largest;
    (!right).then(|| format!("{}: off by {off:.1e} of {largest:.1e}, spread {spread:.1e}", net.name))
}

#[test]
fn tract_computes_the_same() {
    let wrong: Vec<String> = NETS.iter().filter_map(compare).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
