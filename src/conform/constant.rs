//! Outputs that are the same whatever goes into them: a softmax over one element, x − x, a product with
//! weights that are all zero.
//!
//! A dead activation proves nothing about what follows it, and is a fault of the chain
//! ([`super::alive`]), unless the model itself makes it so. That is asked of the reference: the launch's
//! nodes are evaluated on two other draws of the activations that enter them, except for values that
//! are constant by construction themselves; those of the second are [`LARGE`] times as large. A
//! layer that is dead because of the signal that reaches it gives something else on one of them.
//!
//! Not caught: a constant that reaches a launch through a view is drawn like anything else.

use super::inputs::{self, Kind};
use super::run::lost;
use super::subject::{Launch, Subject};
use crate::diag::Result;
use crate::graph::{Producer, Role};
use crate::reference::{self, Env, Math, floats};
use crate::tensor::{Storage, Tensor};

/// How many times as large the activations of the second draw are: a power of two that fp16 can hold.
const LARGE: f64 = 4096.0;

/// Whether a launch gives the same finite elements on other inputs; then its output is added to `known`.
pub fn by_construction(subject: &Subject, launch: &Launch, known: &mut Env) -> Result<bool> {
    let first = drawn(subject, launch, known, subject.seed.wrapping_add(1), 1.0)?;
    let second = drawn(subject, launch, known, subject.seed.wrapping_add(2), LARGE)?;
    let constant = first == second && floats(first.storage()).iter().all(|v| v.is_finite());
    if constant {
        known.set(launch.output, first);
    }
    Ok(constant)
}

/// The reference's output on inputs from another seed, activations scaled.
fn drawn(subject: &Subject, launch: &Launch, known: &Env, seed: u64, scale: f64) -> Result<Tensor> {
    let graph = &subject.imported;
    let nodes = launch.nodes(graph);
    let entering = graph.entering(&nodes);
    let mut env = Env::new();
    for &value in &entering {
        if let Some(tensor) = known.get(value) {
            env.set(value, tensor.clone());
        } else if matches!(graph.value(value).producer, Producer::Weight(_)) {
            env.set(value, subject.weight(value)?);
        }
    }
    for exact in inputs::generate(graph, &nodes, &entering, Kind::Numerics, seed, &mut env)? {
        env.set(exact, subject.weight(exact)?);
    }
    let activations = entering.iter().filter(|&&v| known.get(v).is_none() && graph.value(v).role == Role::Activation);
    for &value in activations {
        if let Some(tensor) = env.get(value) {
            env.set(value, scaled(tensor, scale));
        }
    }
    reference::evaluate(graph, &nodes, &mut env, Math::F64)?;
    env.get(launch.output).map(|tensor| tensor.as_ref().clone()).ok_or_else(|| lost(subject, launch.output))
}

/// Floats times a number that keeps them in their type; integers and bools as they are.
pub fn scaled(tensor: &Tensor, scale: f64) -> Tensor {
    let mut tensor = tensor.clone();
    match tensor.storage_mut() {
        Storage::F64(lanes) => lanes.iter_mut().for_each(|lane| *lane *= scale),
        Storage::F32(lanes) => lanes.iter_mut().for_each(|lane| *lane *= scale as f32),
        Storage::I64(_) | Storage::Bool(_) => {}
    }
    tensor
}
