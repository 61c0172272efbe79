//! The graph and the names in it; what leaves it and what enters it where a node is not supported.

use std::collections::HashSet;
use std::sync::Arc;

use super::limits;
use super::operand::{Known, Operand};
use crate::diag::Diagnostic;
use crate::graph::op::View;
use crate::graph::{Graph, Op, Producer, Role, Source, TensorType, ValueData, ValueId, Weight};
use crate::import::{Absorbed, Imported};
use crate::shape::Shape;
use crate::tensor::Tensor;

/// The graph under construction.
pub struct Builder {
    pub graph: Graph,
    /// Elements that a tensor of the graph may have.
    pub most: usize,
    /// Names of the file and those made up here.
    names: HashSet<String>,
    opaque: Vec<ValueId>,
    exposed: Vec<ValueId>,
    absorbed: Vec<(Source, Absorbed)>,
}

impl Builder {
    /// `names` are those of the file, which made-up ones keep away from.
    pub fn new(file: &str, names: HashSet<String>) -> Builder {
        Builder {
            graph: Graph::new(file),
            most: limits::MAX_ELEMENTS,
            names,
            opaque: Vec::new(),
            exposed: Vec::new(),
            absorbed: Vec::new(),
        }
    }

    pub fn ty(&self, operand: &Operand) -> TensorType {
        match operand {
            Operand::Graph(id) => self.graph.ty(*id).clone(),
            Operand::Known(known) => TensorType { dtype: known.tensor.dtype(), shape: Shape::from_slice(known.tensor.shape()) },
        }
    }

    /// The graph's value of an operand; a known tensor is added as a weight at its first use.
    pub fn materialize(&mut self, operand: &Operand) -> ValueId {
        match operand {
            Operand::Graph(id) => *id,
            Operand::Known(known) => match self.graph.find(&known.name) {
                Some(id) => id,
                None => {
                    let role = if known.exact { Role::Exact } else { Role::Activation };
                    self.add_weight(&known.name, self.ty(operand), role, Weight::Data(known.tensor.clone()))
                }
            },
        }
    }

    /// A weight under a name that nothing has.
    pub fn add_weight(&mut self, name: &str, ty: TensorType, role: Role, weight: Weight) -> ValueId {
        self.graph
            .add_weight(name, ty, role, weight)
            .expect("invariant: names of the file are distinct and made-up ones are fresh")
    }

    /// A model input under a name that nothing has.
    pub fn add_input(&mut self, name: &str, ty: TensorType) -> Operand {
        let id = self.graph.add_input(name, ty, Role::Activation);
        Operand::Graph(id.expect("invariant: input names were checked to be distinct"))
    }

    /// A tensor made up while lowering, under a fresh name.
    pub fn known(&mut self, base: &str, tensor: Tensor) -> Operand {
        let name = self.fresh(base);
        Operand::Known(Arc::new(Known { name, tensor: Arc::new(tensor), exact: true }))
    }

    /// A name that nothing has: `base`, or `base.2`, ….
    pub fn fresh(&mut self, base: &str) -> String {
        let candidates = std::iter::once(base.to_owned()).chain((2..).map(|i| format!("{base}.{i}")));
        let name =
            candidates.into_iter().find(|c| !self.names.contains(c)).expect("invariant: there are more numbers than names");
        self.names.insert(name.clone());
        name
    }

    /// Gives a made-up name back.
    pub(super) fn forget(&mut self, name: &str) {
        self.names.remove(name);
    }

    /// What a node that is not supported reads becomes an output of the graph.
    pub fn expose(&mut self, operand: &Operand) {
        if let Operand::Graph(id) = operand
            && matches!(self.graph.value(*id).producer, Producer::Node { .. })
            && !self.exposed.contains(id)
        {
            self.exposed.push(*id);
        }
    }

    /// What a node that is not supported computes becomes an input of the graph; `None` when the name is taken.
    pub fn enter(&mut self, name: &str, ty: TensorType) -> Option<Operand> {
        let id = self.graph.add_input(name, ty, Role::Activation).ok()?;
        self.opaque.push(id);
        Some(Operand::Graph(id))
    }

    /// Whether an operand is what a node that is not supported computes.
    pub fn is_opaque(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Graph(id) if self.opaque.contains(id))
    }

    /// A node of the file that is no node of the graph.
    pub fn absorb(&mut self, source: Source, how: Absorbed) {
        self.absorbed.push((source, how));
    }

    /// The value that the model returns under `name`: the operand's own where it has this name and was not
    /// returned before, else a view of it. `operator` is what the format calls such a copy.
    pub fn output(&mut self, name: &str, operand: &Operand, returned: &[ValueId], operator: &str) -> ValueId {
        let value = self.materialize(operand);
        if self.graph.value(value).name == name && !returned.contains(&value) {
            return value;
        }
        let ty = self.graph.ty(value).clone();
        let view = Op::View(View::Reshape(ty.shape.clone()));
        let name = if self.graph.find(name).is_some() { self.fresh(name) } else { name.to_owned() };
        let source = Source { operator: operator.to_owned(), node: name.clone(), module: None };
        let node = self.graph.add_node(view, &[Some(value)], vec![(name, ty)], vec![source]);
        self.graph.node(node).outputs[0]
    }

    /// The graph with these outputs, and behind them what nodes that are not supported read.
    pub fn finish(mut self, mut outputs: Vec<ValueId>, unsupported: Vec<Diagnostic>) -> Imported {
        self.exposed.retain(|value| !outputs.contains(value));
        outputs.extend(&self.exposed);
        self.graph.set_outputs(outputs);
        // A filled tensor that no operator took as a parameter is a constant of the model's code.
        let is_constant = |v: &ValueData| v.role == Role::Activation && matches!(v.producer, Producer::Weight(Weight::Filled(_)));
        let constants: Vec<_> = self.graph.values().filter(|(_, value)| is_constant(value)).map(|(id, _)| id).collect();
        constants.into_iter().for_each(|value| self.graph.set_role(value, Role::Exact));
        let Builder { graph, most: _, opaque, exposed, absorbed, names: _ } = self;
        Imported { graph, unsupported, opaque, exposed, mutates: Vec::new(), absorbed }
    }
}
