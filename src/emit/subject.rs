//! What a kernel is compared with: nodes of the graph *as imported*, the values that enter them, and
//! how each of the kernel's operands is made from those values.
//!
//! A kernel's file is about the first launch that uses it; the others have the same shapes. Nodes that
//! depend on weights alone are followed back to the weights, because a rewritten plan may prepare
//! something else from them.

use std::collections::BTreeSet;

use super::python::prose;
use crate::diag::{self, Diagnostic, codes};
use crate::graph::op::View;
use crate::graph::{Graph, NodeId, Op, Producer, ValueId};
use crate::select::plan::{Launch, Plan, Slot};
use crate::template::OperandAccess;

/// Where an operand's elements come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// A value that enters the imported nodes.
    Entering(ValueId),
    /// A weight or a prepared value of the plan's graph: the whole storage.
    Weight(ValueId),
    /// The kernel's result: the value of the imported graph.
    Output(ValueId),
    Scratch,
}

/// A kernel's counterpart in the imported graph.
pub struct Subject<'p> {
    pub launch: &'p Launch,
    /// Nodes of the imported graph, operands first.
    pub nodes: Vec<NodeId>,
    /// Values that enter them: activations and weights, in order of first use.
    pub entering: Vec<ValueId>,
    /// One an operand of the kernel, scratch included.
    pub origins: Vec<Origin>,
    pub output: ValueId,
}

impl Subject<'_> {
    /// # Errors
    /// X001 when the plan's operands cannot be found in the imported graph.
    pub fn of(plan: &Plan, kernel: usize) -> diag::Result<Subject<'_>> {
        let first = plan.launches.iter().find(|launch| launch.kernel == kernel);
        let unused = || format!("kernel {} is never launched", plan.kernels[kernel].key);
        Subject::of_launch(plan, first.ok_or_else(|| Box::new(Diagnostic::new(&codes::INTERNAL, unused())))?)
    }

    /// The model's own operators that the launch computes, for a docstring.
    pub fn operators(&self, imported: &Graph) -> String {
        let sources = self.launch.covers.iter().flat_map(|&id| imported.node(id).sources.first());
        sources.map(|source| prose(&source.operator)).collect::<Vec<_>>().join(", ")
    }

    /// The counterpart of one launch.
    ///
    /// # Errors
    /// As [`Subject::of`].
    pub fn of_launch<'p>(plan: &'p Plan, launch: &'p Launch) -> diag::Result<Subject<'p>> {
        let bound = &plan.kernels[launch.kernel];
        let broken = |message: String| Box::new(Diagnostic::new(&codes::INTERNAL, message));
        let imported = &plan.imported;
        let nodes = with_weight_nodes(imported, &launch.covers)?;
        let entering = imported.entering(&nodes);

        let mut operands = launch.operands.iter();
        let mut origins = Vec::new();
        let mut output = None;
        for operand in &bound.operands {
            if operand.access == OperandAccess::Scratch {
                origins.push(Origin::Scratch);
                continue;
            }
            let &(slot, value) =
                operands.next().ok_or_else(|| broken(format!("launch {} has too few operands", launch.layer)))?;
            origins.push(match (operand.access, slot) {
                (OperandAccess::Write, _) => {
                    let result = plan
                        .imported_value(value)
                        .ok_or_else(|| broken(format!("{} is not in the imported graph", plan.graph.value(value).name)))?;
                    output = Some(result);
                    Origin::Output(result)
                }
                (_, Slot::Weight(storage)) => Origin::Weight(storage),
                (_, Slot::Input(_) | Slot::Buffer(_)) => {
                    let found = plan.imported_value(value).and_then(|v| behind_reshapes(imported, v, &entering));
                    let name = &plan.graph.value(value).name;
                    Origin::Entering(found.ok_or_else(|| broken(format!("{name} does not enter layer {}", launch.layer)))?)
                }
            });
        }
        let output = output.ok_or_else(|| broken(format!("kernel {} writes nothing", bound.key)))?;
        Ok(Subject { launch, nodes, entering, origins, output })
    }
}

/// The covered nodes and those they need that depend on weights alone, in topological order.
fn with_weight_nodes(graph: &Graph, covers: &[NodeId]) -> diag::Result<Vec<NodeId>> {
    let order = graph.topological().map_err(|_| Box::new(Diagnostic::new(&codes::INTERNAL, "the imported graph has a cycle")))?;
    let mut needed: BTreeSet<NodeId> = covers.iter().copied().collect();
    for &id in order.iter().rev().filter(|&&id| graph.contains(id)) {
        if needed.contains(&id) {
            for &value in graph.node(id).inputs.iter().flatten() {
                if let Producer::Node { node, .. } = graph.value(value).producer
                    && graph.is_prepared(value)
                {
                    needed.insert(node);
                }
            }
        }
    }
    Ok(order.into_iter().filter(|id| needed.contains(id)).collect())
}

/// `value`, or what it is a reshape of: whichever is among `entering`.
fn behind_reshapes(graph: &Graph, mut value: ValueId, entering: &[ValueId]) -> Option<ValueId> {
    while !entering.contains(&value) {
        let Producer::Node { node, .. } = graph.value(value).producer else { return None };
        let Op::View(View::Reshape(_)) = graph.node(node).op else { return None };
        value = graph.node(node).inputs[0]?;
    }
    Some(value)
}
