//! Applies rules until none of them finds anything.
//!
//! A rule looks at one node and answers with a [`Patch`], or with nothing. A patch is checked whole
//! before the graph changes, so that it applies entirely or not at all: operands exist, and every
//! operator infers the types that its values have. The rewritten node keeps its output values; the
//! nodes that it absorbed go when nothing reads them any more. A rule must shrink something at each
//! step; a run that does not end is stopped and reported by the name of the rule.

use super::groups::Groups;
use super::why::{self, Applied};
use crate::diag::{Diagnostic, Result, codes};
use crate::graph::infer::infer;
use crate::graph::{Graph, NodeId, Op, Source, TensorType, ValueId};

/// A named rewrite.
pub struct Rule {
    pub name: &'static str,
    pub apply: fn(&Graph, NodeId) -> Option<Patch>,
}

/// An operand of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Value(ValueId),
    /// The output of [`Patch::added`] at this position.
    Added(usize),
}

/// A node that a patch adds, operands first.
#[derive(Clone, Debug)]
pub struct Added {
    pub op: Op,
    pub inputs: Vec<Operand>,
    /// A suffix to the name of the rewritten node's output.
    pub name: &'static str,
}

/// One change of a graph.
#[derive(Clone, Debug)]
pub struct Patch {
    pub added: Vec<Added>,
    /// What the node becomes.
    pub op: Op,
    pub inputs: Vec<Option<Operand>>,
    /// Nodes whose work the node now does as well, operands first.
    pub absorbed: Vec<NodeId>,
}

/// Runs rules to a fixed point, where groups let them, and records what they did. Fails with an Internal diagnostic that names
/// the rule.
pub fn run(graph: &mut Graph, rules: &[Rule], groups: &Groups, applied: &mut Vec<Applied>) -> Result<()> {
    // Every rule removes a node or an operand's indirection; this bound is far beyond that.
    let mut fuel = 16 * graph.node_count() + 64;
    loop {
        let mut changed = false;
        let order = graph.topological().map_err(|nodes| {
            Box::new(Diagnostic::new(&codes::GRAPH_INVALID, format!("{} nodes on or behind a cycle", nodes.len())))
        })?;
        for node in order {
            for rule in rules {
                if !graph.contains(node) {
                    break;
                }
                let Some(patch) = (rule.apply)(graph, node).filter(|patch| may_join(graph, node, patch, groups)) else {
                    continue;
                };
                let fault = |cause: String| {
                    let at = graph
                        .node(node)
                        .sources
                        .first()
                        .map_or_else(|| graph.node(node).op.name().to_owned(), |s| s.node.clone());
                    let message = format!("rewrite rule {}: {cause}", rule.name);
                    Box::new(Diagnostic::new(&codes::GRAPH_INVALID, message).at_node(graph.file.clone(), at))
                };
                let types = check(graph, node, &patch).map_err(fault)?;
                if fuel == 0 {
                    return Err(fault("does not come to an end".to_owned()));
                }
                fuel -= 1;
                let absorbed = patch.absorbed.iter().map(|&part| why::name(graph, part)).collect();
                applied.push(Applied { rule: rule.name, node, absorbed });
                commit(graph, node, patch, types);
                changed = true;
            }
        }
        if !changed {
            return Ok(());
        }
    }
}

fn may_join(graph: &Graph, node: NodeId, patch: &Patch, groups: &Groups) -> bool {
    let joined: Vec<NodeId> = patch.absorbed.iter().copied().chain([node]).collect();
    // What is not there is a fault of the rule's, which `check` tells.
    joined.iter().any(|&node| !graph.contains(node)) || groups.allow(graph, &joined)
}

/// The types of the added values, or why the patch does not fit.
fn check(graph: &Graph, node: NodeId, patch: &Patch) -> std::result::Result<Vec<TensorType>, String> {
    let mut types: Vec<TensorType> = Vec::new();
    let ty = |operand: &Operand, types: &[TensorType]| match *operand {
        Operand::Value(value) => Ok(graph.ty(value).clone()),
        Operand::Added(i) => types.get(i).cloned().ok_or_else(|| format!("operand {i} is added later")),
    };
    for added in &patch.added {
        let inputs: Vec<TensorType> = added.inputs.iter().map(|o| ty(o, &types)).collect::<std::result::Result<_, _>>()?;
        let inferred = infer(&added.op, &inputs.iter().map(Some).collect::<Vec<_>>())?;
        types.extend(inferred.into_iter().take(1));
    }
    let inputs: Vec<Option<TensorType>> =
        patch.inputs.iter().map(|o| o.as_ref().map(|o| ty(o, &types)).transpose()).collect::<std::result::Result<_, _>>()?;
    let inferred = infer(&patch.op, &inputs.iter().map(Option::as_ref).collect::<Vec<_>>())?;
    let outputs = &graph.node(node).outputs;
    if inferred.len() != outputs.len() || inferred.iter().zip(outputs).any(|(t, &v)| t != graph.ty(v)) {
        return Err("the node's type changes".to_owned());
    }
    match patch.absorbed.iter().find(|&&n| n == node || !graph.contains(n)) {
        Some(_) => Err("a node is absorbed that is not there".to_owned()),
        None => Ok(types),
    }
}

fn commit(graph: &mut Graph, node: NodeId, patch: Patch, types: Vec<TensorType>) {
    let base = graph.value(graph.node(node).outputs[0]).name.clone();
    let sources = graph.node(node).sources.clone();
    let mut values: Vec<ValueId> = Vec::new();
    let resolve = |operand: Operand, values: &[ValueId]| match operand {
        Operand::Value(value) => value,
        Operand::Added(i) => values[i],
    };
    for (added, ty) in patch.added.into_iter().zip(types) {
        let inputs: Vec<Option<ValueId>> = added.inputs.iter().map(|&o| Some(resolve(o, &values))).collect();
        let name = free_name(graph, &format!("{base}.{}", added.name));
        let id = graph.add_node(added.op, &inputs, vec![(name, ty)], sources.clone());
        graph.set_covers(id, Vec::new());
        values.push(graph.node(id).outputs[0]);
    }
    let inputs: Vec<Option<ValueId>> = patch.inputs.iter().map(|o| o.map(|o| resolve(o, &values))).collect();
    let (mut sources, mut covers): (Vec<Source>, Vec<NodeId>) = (Vec::new(), Vec::new());
    for part in patch.absorbed.iter().chain([&node]).map(|&part| graph.node(part)) {
        for source in part.sources.iter() {
            if !sources.contains(source) {
                sources.push(source.clone());
            }
        }
        for &cover in &part.covers {
            if !covers.contains(&cover) {
                covers.push(cover);
            }
        }
    }
    graph.rewrite_node(node, patch.op, &inputs);
    graph.set_sources(node, sources);
    graph.set_covers(node, covers);
    for &part in patch.absorbed.iter().rev() {
        let outputs = graph.node(part).outputs.clone();
        if outputs.iter().all(|v| graph.consumers(*v).is_empty() && !graph.outputs().contains(v)) {
            graph.remove_node(part);
        }
    }
}

/// The name, or the name with the first number that makes it new.
fn free_name(graph: &Graph, name: &str) -> String {
    let numbered = (2..).map(|i| format!("{name}_{i}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|n| graph.find(n).is_none()).expect("invariant: numbers do not end")
}
