//! What the chain is compared with: the model's inputs, and its outputs as the reference computes them.
//!
//! Nodes of the imported graph, one by one, in two arithmetics at once. Not caught here: a wrong import.

use std::collections::HashMap;
use std::sync::Arc;

use crate::conform::constant;
use crate::conform::run::lost;
use crate::conform::subject::Subject;
use crate::diag::{Diagnostic, Result, codes};
use crate::graph::{Producer, Role, ValueId};
use crate::reference::{self, Env, Math, seeded};
use crate::tensor::Tensor;

/// A model input: the user's, or generated from the subject's seed as the suite's `weights.py` does.
pub fn model_input(subject: &Subject, input: ValueId) -> Tensor {
    if let Some(own) = subject.given.inputs.get(&input) {
        return own.clone();
    }
    let tensor = seeded::input(&subject.imported, input, subject.seed);
    let scaled = subject.gain != 1.0 && subject.imported.value(input).role == Role::Activation;
    if scaled { constant::scaled(&tensor, subject.gain) } else { tensor }
}

/// A value that enters the model: an input, or a weight, which is made here and now.
pub fn entering(subject: &Subject, inputs: &Env, value: ValueId) -> Result<Arc<Tensor>> {
    match subject.imported.value(value).producer {
        Producer::Weight(_) => subject.weight(value),
        Producer::Input(_) | Producer::Node { .. } => inputs.get(value).cloned().ok_or_else(|| lost(subject, value)),
    }
}

/// The imported graph's outputs in f64 and in the `same` arithmetic as the suite's, evaluated whole, side
/// by side. Weights are made at their first use, and every value is dropped after its last.
pub fn model_outputs(subject: &Subject, inputs: &Env, same: Math) -> Result<[Vec<Arc<Tensor>>; 2]> {
    let graph = &subject.imported;
    let order = graph.topological().map_err(|_| Box::new(Diagnostic::new(&codes::INTERNAL, "the imported graph has a cycle")))?;
    let mut last_use: HashMap<ValueId, usize> = HashMap::new();
    for (at, &node) in order.iter().enumerate() {
        for &value in graph.node(node).inputs.iter().flatten() {
            last_use.insert(value, at);
        }
    }
    let (mut wide, mut narrow) = (inputs.clone(), inputs.clone());
    for (at, &node) in order.iter().enumerate() {
        let operands = || graph.node(node).inputs.iter().flatten().copied();
        for value in operands() {
            if wide.get(value).is_none() {
                let tensor = entering(subject, inputs, value)?;
                wide.set(value, tensor.clone());
                narrow.set(value, tensor);
            }
        }
        let (first, second) = rayon::join(
            || reference::evaluate(graph, &[node], &mut wide, Math::F64),
            || reference::evaluate(graph, &[node], &mut narrow, same),
        );
        first.and(second)?;
        for value in operands().filter(|value| last_use[value] == at && !graph.outputs().contains(value)) {
            wide.remove(value);
            narrow.remove(value);
        }
    }
    let outputs = |env: &Env| {
        let output = |&value: &ValueId| env.get(value).cloned().map_or_else(|| entering(subject, inputs, value), Ok);
        graph.outputs().iter().map(output).collect::<Result<Vec<_>>>()
    };
    Ok([outputs(&wide)?, outputs(&narrow)?])
}
