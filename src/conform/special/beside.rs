//! Strange numbers in what stands beside others: a residual, a bias, a second operand.
//!
//! Where all operands hold strange numbers, those of a contraction's factors reach whole rows of the output and
//! hide what becomes of the others': a residual's NaN that an epilogue replaces lies in a row that is NaN anyway.
//! So operands that are no factors get them while the rest stays ordinary, all at once, and in small launches each
//! alone. Biases and other weights that are added or multiplied element by element are among them; what `prepare`
//! makes of weights is made again.
//!
//! Not caught: a weight that is folded into a contraction's own, numbers that are none in a contraction's
//! weights, and infinities in the factor of a normalisation.

use crate::conform::run::{Bench, Elements};
use crate::diag::{Diagnostic, Result};
use crate::graph::{Graph, NodeId, Op, Producer, Role, ValueId};
use crate::tensor::Tensor;

use super::{Judged, Numbers, STRANGE, is_float, scatter};

/// Elements of all operands up to which each runs alone.
const SMALL: usize = 1 << 14;

/// Elements of an operand below which it holds a NaN and an infinity alone, so that others stay ordinary.
const SHORT: usize = 16;

/// What stands in the factor of a normalisation: an infinite one gives (x − mean)·∞ an infinity and x·∞ + (β − mean·∞),
/// which is as good a formula, a NaN.
const FINITE: [(usize, f64); 2] = [(1, f64::NAN), (4, 3e4)];

/// The first such run that does not hold; `given` is that of the numerics pass.
pub(super) fn pass(bench: Bench, given: &Elements) -> Result<Option<Diagnostic>> {
    let (graph, nodes) = (&bench.subject.imported, bench.nodes());
    let entering: Vec<ValueId> = graph.entering(&nodes).into_iter().filter(|&v| is_float(graph.dtype(v))).collect();
    let contracts = nodes.iter().any(|&id| matches!(graph.node(id).op, Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul));
    let beside =
        |&value: &ValueId| takes(graph, value, contracts) && reads(graph, &nodes, value) && given.env.get(value).is_some();
    let operands: Vec<ValueId> = entering.iter().copied().filter(beside).collect();
    if operands.is_empty() || entering.len() < 2 {
        return Ok(None);
    }
    let small = bench.launch.operands.iter().map(|o| o.entry.storage).sum::<usize>() <= SMALL;
    let mut runs: Vec<Vec<ValueId>> = Vec::new();
    if small {
        runs.extend(operands.iter().map(|&value| vec![value]));
    } else if operands.len() < entering.len() {
        runs.push(operands);
    }
    for values in runs {
        let change = |k: usize, tensor: &mut Tensor| strange(graph.value(values[k]).role, k, tensor);
        if let Some(found) = Judged::of(bench, &given.with(&values, &change))?.found(bench) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Puts strange numbers into the `k`-th tensor.
fn strange(role: Role, k: usize, tensor: &mut Tensor) {
    let numbers: Numbers = match tensor.len() {
        _ if role == Role::Scale => &FINITE,
        0..SHORT => STRANGE.split_at(2).0,
        SHORT.. => &STRANGE,
    };
    scatter(tensor, k, numbers);
}

/// Whether a value may hold any number.
fn takes(graph: &Graph, value: ValueId, contracts: bool) -> bool {
    let weight = matches!(graph.value(value).producer, Producer::Weight(_));
    match graph.value(value).role {
        Role::Activation | Role::Bias | Role::Weight { .. } => true,
        // Beside a contraction it is folded into its weights.
        Role::Scale => !(weight && contracts),
        Role::Mean | Role::Variance | Role::Probability => false,
        Role::IndexBelow(_) | Role::Divisor | Role::Mask | Role::Exact => false,
    }
}

/// Whether something else than a contraction reads a value, at once or through views.
fn reads(graph: &Graph, nodes: &[NodeId], value: ValueId) -> bool {
    let readers = nodes.iter().map(|&id| graph.node(id)).filter(|node| node.inputs.contains(&Some(value)));
    readers.into_iter().any(|node| match node.op {
        Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul => false,
        Op::View(_) => reads(graph, nodes, node.outputs[0]),
        Op::Map(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::Softmax { .. } | Op::Lrn(_) => true,
        Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) => true,
    })
}
