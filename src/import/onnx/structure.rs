//! Names and order: every value is defined exactly once and before it is used.
//!
//! The nodes are ordered by Kahn's algorithm, the file's own order breaking ties, so a file that is
//! not sorted is read all the same; what cannot be ordered is a cycle, and one cycle is named.

use std::collections::{BTreeSet, HashMap};

use tract_onnx::pb::{GraphProto, NodeProto};

use super::source::label;
use crate::diag::{Diagnostic, codes};

/// Node positions, operands before users.
pub(super) fn order(file: &str, graph: &GraphProto) -> Result<Vec<usize>, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let producers = definitions(file, graph, &mut errors);
    for (position, node) in graph.node.iter().enumerate() {
        for name in node.input.iter().filter(|n| !n.is_empty() && !producers.contains_key(n.as_str())) {
            errors.push(
                Diagnostic::new(&codes::MODEL_NAMES, format!("reads the value `{name}`, which nothing defines"))
                    .at_node(file, label(position, node)),
            );
        }
    }
    for output in graph.output.iter().filter(|o| !producers.contains_key(o.name.as_str())) {
        errors.push(
            Diagnostic::new(&codes::MODEL_NAMES, format!("the model's output `{}` is defined by nothing", output.name))
                .in_file(file),
        );
    }
    if graph.output.is_empty() {
        errors.push(Diagnostic::new(&codes::MODEL_INVALID, "the model has no output").in_file(file));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    sort(graph, &producers).map_err(|cycle| vec![cycle_error(file, graph, &cycle)])
}

/// What defines each name: a node's position, or `None` for an input or an initializer.
fn definitions<'m>(file: &str, graph: &'m GraphProto, errors: &mut Vec<Diagnostic>) -> HashMap<&'m str, Option<usize>> {
    let mut producers: HashMap<&str, Option<usize>> = HashMap::new();
    let mut twice = |message: String| errors.push(Diagnostic::new(&codes::MODEL_NAMES, message).in_file(file));
    for input in &graph.input {
        if input.name.is_empty() {
            twice("a model input has no name".to_owned());
        } else if producers.insert(&input.name, None).is_some() {
            twice(format!("two model inputs are named `{}`", input.name));
        }
    }
    let mut initializers = BTreeSet::new();
    for initializer in &graph.initializer {
        if initializer.name.is_empty() {
            twice("an initializer has no name".to_owned());
        } else if !initializers.insert(initializer.name.as_str()) {
            twice(format!("two initializers are named `{}`", initializer.name));
        }
        producers.insert(&initializer.name, None);
    }
    for (position, node) in graph.node.iter().enumerate() {
        for name in node.output.iter().filter(|n| !n.is_empty()) {
            let Some(first) = producers.insert(name, Some(position)) else { continue };
            let first = first.map_or("an input or initializer".to_owned(), |p| format!("node {}", label(p, &graph.node[p])));
            errors.push(
                Diagnostic::new(&codes::MODEL_NAMES, format!("defines the value `{name}`, which {first} defines already"))
                    .at_node(file, label(position, node)),
            );
        }
    }
    producers
}

/// Names that a node reads: its inputs, and what its subgraphs take from outside.
/// (and names of the subgraphs' own, which nothing outside defines).
pub(super) fn reads(node: &NodeProto) -> Vec<&str> {
    let mut names = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        names.extend(node.input.iter().map(String::as_str).filter(|name| !name.is_empty()));
        let subgraphs = node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs));
        for graph in subgraphs {
            open.extend(&graph.node);
            names.extend(graph.output.iter().map(|output| output.name.as_str()));
        }
    }
    names
}

/// `Err` holds the positions of one cycle, each node reading the next one's output.
fn sort(graph: &GraphProto, producers: &HashMap<&str, Option<usize>>) -> Result<Vec<usize>, Vec<usize>> {
    let operands: Vec<BTreeSet<usize>> = graph
        .node
        .iter()
        .map(|node| reads(node).into_iter().filter_map(|n| producers.get(n).copied().flatten()).collect())
        .collect();
    let mut users = vec![Vec::new(); operands.len()];
    for (position, before) in operands.iter().enumerate() {
        before.iter().for_each(|&p| users[p].push(position));
    }
    let mut waiting: Vec<usize> = operands.iter().map(BTreeSet::len).collect();
    let mut ready: BTreeSet<usize> = (0..waiting.len()).filter(|&i| waiting[i] == 0).collect();
    let mut order = Vec::with_capacity(waiting.len());
    while let Some(position) = ready.pop_first() {
        order.push(position);
        for &user in &users[position] {
            waiting[user] -= 1;
            if waiting[user] == 0 {
                ready.insert(user);
            }
        }
    }
    let Some(start) = waiting.iter().position(|&n| n > 0) else { return Ok(order) };
    // Every node left has an operand left: following operands must come back to a node seen before.
    let mut path = vec![start];
    loop {
        let last = path[path.len() - 1];
        let Some(&next) = operands[last].iter().find(|&&p| waiting[p] > 0) else { return Err(path) };
        if let Some(seen) = path.iter().position(|&p| p == next) {
            return Err(path.split_off(seen));
        }
        path.push(next);
    }
}

fn cycle_error(file: &str, graph: &GraphProto, cycle: &[usize]) -> Diagnostic {
    let name = |position: usize| label(position, &graph.node[position]);
    let mut names: Vec<_> = cycle.iter().rev().map(|&p| name(p)).collect();
    names.push(names[0].clone());
    Diagnostic::new(&codes::MODEL_CYCLE, format!("the outputs of {} node(s) depend on themselves", cycle.len()))
        .at_node(file, names[0].clone())
        .note(format!("cycle: {}", names.join(" → ")))
}
