//! What names mean in a template's expressions.
//!
//! Sizes of axes and of named dimensions in capitals (`M`, `H`; a group's is the product),
//! attributes, schedule keys and `args`, each once it is known; `X.shape`, `X.rank`, `X.dtype` of
//! each operand; `target.name`.

use std::collections::BTreeMap;

use super::problem::Problem;
use crate::graph::{Cluster, Graph, Producer, ValueId};
use crate::syntax::Constant;
use crate::syntax::eval::Environment;
use crate::target::Target;

#[derive(Clone, Debug, Default)]
pub struct Env {
    names: BTreeMap<String, Constant>,
    attributes: BTreeMap<String, Constant>,
}

impl Env {
    pub fn of(problem: &Problem, graph: &Graph, cluster: &Cluster, target: &Target) -> Env {
        let mut env = Env { names: problem.attributes.clone(), attributes: BTreeMap::new() };
        for operand in &problem.operands {
            for (dim, range) in operand.dims.iter().zip(&operand.ranges).filter(|(d, _)| d.index.is_some()) {
                env.set(&dim.name.to_ascii_uppercase(), Constant::Int(operand.shape[range.start] as i64));
            }
            let shape = operand.shape.iter().map(|&s| Constant::Int(s as i64)).collect();
            // What the operator itself reads, not a prologue's input.
            let dtype = graph.dtype(seen(graph, cluster, operand.value));
            env.describe(&operand.name, "shape", Constant::Tuple(shape));
            env.describe(&operand.name, "rank", Constant::Int(operand.shape.len() as i64));
            env.describe(&operand.name, "dtype", Constant::Str(dtype.name().to_owned()));
        }
        for axis in &problem.axes {
            env.set(&axis.name.to_ascii_uppercase(), Constant::Int(axis.size()));
        }
        env.describe("target", "name", Constant::Str(target.name.to_owned()));
        env
    }

    pub fn set(&mut self, name: &str, value: Constant) {
        self.names.insert(name.to_owned(), value);
    }

    fn describe(&mut self, of: &str, name: &str, value: Constant) {
        self.attributes.insert(format!("{of}.{name}"), value);
    }

    pub fn get(&self, name: &str) -> Option<&Constant> {
        self.names.get(name)
    }
}

/// The value that the anchor reads or makes in place of a value at the cluster's edge.
fn seen(graph: &Graph, cluster: &Cluster, value: ValueId) -> ValueId {
    for &(position, node) in &cluster.prologues {
        if graph.node(node).inputs.contains(&Some(value)) {
            return graph.node(cluster.anchor).inputs[position].unwrap_or(value);
        }
    }
    match graph.value(value).producer {
        Producer::Node { node, output: _ } if cluster.epilogues.contains(&node) => graph.node(cluster.anchor).outputs[0],
        Producer::Node { .. } | Producer::Input(_) | Producer::Weight(_) => value,
    }
}

impl Environment for Env {
    fn name(&self, name: &str) -> Option<Constant> {
        self.names.get(name).cloned()
    }

    fn attribute(&self, dotted: &str) -> Option<Constant> {
        self.attributes.get(dotted).cloned()
    }

    fn known(&self) -> Vec<String> {
        self.names.keys().chain(self.attributes.keys()).cloned().collect()
    }
}
