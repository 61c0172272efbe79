//! The graph: nodes that compute, values between them, weights; petgraph appears only here.
//!
//! A [`Graph`] is functional (no mutation, no subgraphs) and its shapes are concrete: symbolic
//! dimensions are bound by `import` before a node is added. Every node keeps its [`Source`], so that
//! each kernel can name the model's own node. `infer` computes output types, `verify` checks every
//! invariant and hands out `Verified<Graph>`-like data to later stages, `text` prints and reads it.

pub mod op;
mod access;
pub mod cluster;
pub mod convert;
pub mod folding;
pub mod infer;
pub mod reduction;
pub mod text;
pub mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use petgraph::Direction;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use petgraph::visit::EdgeRef;
use smallvec::SmallVec;

use crate::dtype::DType;
use crate::tensor::Tensor;
pub use cluster::Cluster;
pub use op::{Op, Role, TensorType};

/// A node's identity; stable while others are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(NodeIndex<u32>);

impl NodeId {
    /// A dense number for messages and sorting: nodes in order of creation.
    pub fn index(self) -> usize {
        self.0.index()
    }
}

/// A value's identity: an index into the graph's value table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// Where a node came from, as its own framework names it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Source {
    /// `Conv`, `aten.conv2d.default`.
    pub operator: String,
    /// The node's name in the file, or `#12 Conv` when it has none.
    pub node: String,
    /// The module path (`layer1.0.conv1`) where the format has one.
    pub module: Option<String>,
}

/// One operator application.
#[derive(Clone, Debug)]
pub struct Node {
    pub op: Op,
    pub inputs: SmallVec<[Option<ValueId>; 4]>,
    pub outputs: SmallVec<[ValueId; 1]>,
    /// Source nodes that this node computes: one after import, several after fusion.
    pub sources: Vec<Source>,
    /// Nodes of the imported graph that this node computes: itself after import. Node ids survive
    /// cloning and rewriting, so they can be looked up in the imported graph.
    pub covers: Vec<NodeId>,
}

/// What gives a value its elements.
#[derive(Clone, Debug)]
pub enum Producer {
    /// A model input, by position.
    Input(usize),
    /// A weight: elements from the file, or none (constant-filled or missing), then generated.
    Weight(Weight),
    /// An output of a node.
    Node { node: NodeId, output: usize },
}

/// Elements of a weight.
#[derive(Clone, Debug)]
pub enum Weight {
    /// Real elements of the file.
    Data(Arc<Tensor>),
    /// The file fills the whole tensor with one number (ConstantOfShape).
    Filled(f64),
    /// The file has no elements.
    Missing,
}

/// One value: a tensor that flows.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// Unique; the model's own name.
    pub name: String,
    pub ty: TensorType,
    pub role: Role,
    pub producer: Producer,
}

/// A functional dataflow graph with concrete shapes.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The model file's name, for messages.
    pub file: String,
    nodes: StableDiGraph<Node, ValueId, u32>,
    values: Vec<ValueData>,
    names: BTreeMap<String, ValueId>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
}

impl Graph {
    pub fn new(file: impl Into<String>) -> Graph {
        Graph { file: file.into(), ..Graph::default() }
    }

    /// Adds a value that no node makes. `Err` holds the id of the value that has the name already.
    fn add_value(&mut self, name: String, ty: TensorType, role: Role, producer: Producer) -> Result<ValueId, ValueId> {
        if let Some(&taken) = self.names.get(&name) {
            return Err(taken);
        }
        let id = ValueId(self.values.len() as u32);
        self.names.insert(name.clone(), id);
        self.values.push(ValueData { name, ty, role, producer });
        Ok(id)
    }

    /// Adds a model input. Fails with the holder of the name when it is taken.
    pub fn add_input(&mut self, name: impl Into<String>, ty: TensorType, role: Role) -> Result<ValueId, ValueId> {
        let position = self.inputs.len();
        let id = self.add_value(name.into(), ty, role, Producer::Input(position))?;
        self.inputs.push(id);
        Ok(id)
    }

    /// Adds a weight. Fails with the holder of the name when it is taken.
    pub fn add_weight(
        &mut self,
        name: impl Into<String>,
        ty: TensorType,
        role: Role,
        weight: Weight,
    ) -> Result<ValueId, ValueId> {
        self.add_value(name.into(), ty, role, Producer::Weight(weight))
    }

    /// Adds a node and its output values (name and type each; names must be free).
    ///
    /// # Panics
    /// When an output's name is taken: callers check names first.
    pub fn add_node(
        &mut self,
        op: Op,
        inputs: &[Option<ValueId>],
        outputs: Vec<(String, TensorType)>,
        sources: Vec<Source>,
    ) -> NodeId {
        let node = Node { op, inputs: SmallVec::from_slice(inputs), outputs: SmallVec::new(), sources, covers: Vec::new() };
        let id = NodeId(self.nodes.add_node(node));
        self.nodes[id.0].covers.push(id);
        for (output, (name, ty)) in outputs.into_iter().enumerate() {
            let value = self
                .add_value(name, ty, Role::Activation, Producer::Node { node: id, output })
                .expect("invariant: output names are checked before a node is added");
            self.nodes[id.0].outputs.push(value);
        }
        for value in inputs.iter().flatten() {
            if let Producer::Node { node, .. } = self.values[value.0 as usize].producer {
                self.nodes.add_edge(node.0, id.0, *value);
            }
        }
        id
    }

    /// Removes a node. Its output values stay in the table but must no longer be used.
    pub fn remove_node(&mut self, node: NodeId) {
        self.nodes.remove_node(node.0);
    }

    /// Makes every consumer of `old`, and the outputs list, use `new` instead.
    pub fn replace_uses(&mut self, old: ValueId, new: ValueId) {
        let users = self.consumers(old);
        for user in users {
            let mut moved = 0;
            for input in self.nodes[user.0].inputs.iter_mut().filter(|i| **i == Some(old)) {
                *input = Some(new);
                moved += 1;
            }
            let stale: Vec<_> =
                self.nodes.edges_directed(user.0, Direction::Incoming).filter(|e| *e.weight() == old).map(|e| e.id()).collect();
            for edge in stale {
                self.nodes.remove_edge(edge);
            }
            if let Producer::Node { node, .. } = self.values[new.0 as usize].producer {
                for _ in 0..moved {
                    self.nodes.add_edge(node.0, user.0, new);
                }
            }
        }
        for output in self.outputs.iter_mut().filter(|o| **o == old) {
            *output = new;
        }
    }

    /// Gives a node another operator and other operands. Its outputs stay: their ids, names and types
    /// are those of before, so that consumers need not change.
    pub fn rewrite_node(&mut self, node: NodeId, op: Op, inputs: &[Option<ValueId>]) {
        let stale: Vec<_> = self.nodes.edges_directed(node.0, Direction::Incoming).map(|e| e.id()).collect();
        for edge in stale {
            self.nodes.remove_edge(edge);
        }
        for value in inputs.iter().flatten() {
            if let Producer::Node { node: from, .. } = self.values[value.0 as usize].producer {
                self.nodes.add_edge(from.0, node.0, *value);
            }
        }
        self.nodes[node.0].op = op;
        self.nodes[node.0].inputs = SmallVec::from_slice(inputs);
    }

    /// Says which source nodes a rewritten node computes.
    pub fn set_sources(&mut self, node: NodeId, sources: Vec<Source>) {
        self.nodes[node.0].sources = sources;
    }

    /// Says which nodes of the imported graph a rewritten node computes.
    pub fn set_covers(&mut self, node: NodeId, covers: Vec<NodeId>) {
        self.nodes[node.0].covers = covers;
    }

    /// Whether a value depends on weights alone: such values are computed once, before the first
    /// launch (*weight preparation*), and never by a kernel.
    pub fn is_prepared(&self, value: ValueId) -> bool {
        let mut seen = BTreeSet::from([value]);
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match self.value(value).producer {
                Producer::Input(_) => return false,
                Producer::Weight(_) => {}
                Producer::Node { node, .. } => open.extend(self.node(node).inputs.iter().flatten().filter(|v| seen.insert(**v))),
            }
        }
        true
    }

    /// Gives a value another name, which must be free.
    ///
    /// # Panics
    /// When the name is taken: callers check names first.
    pub fn rename(&mut self, value: ValueId, name: &str) {
        let data = &mut self.values[value.0 as usize];
        self.names.remove(&data.name);
        data.name = name.to_owned();
        let taken = self.names.insert(name.to_owned(), value);
        assert!(taken.is_none(), "invariant: names are checked before a value gets one");
    }

    pub fn set_outputs(&mut self, outputs: Vec<ValueId>) {
        self.outputs = outputs;
    }

    pub fn set_role(&mut self, value: ValueId, role: Role) {
        self.values[value.0 as usize].role = role;
    }

    /// Gives a weight other elements, or none; another value stays as it is.
    pub fn set_weight(&mut self, value: ValueId, weight: Weight) {
        if let Producer::Weight(own) = &mut self.values[value.0 as usize].producer {
            *own = weight;
        }
    }

    /// Makes a weight an input of the model, behind the others; another value stays as it is.
    pub fn hand_in(&mut self, weight: ValueId) {
        let position = self.inputs.len();
        let producer = &mut self.values[weight.0 as usize].producer;
        if matches!(producer, Producer::Weight(_)) {
            *producer = Producer::Input(position);
            self.inputs.push(weight);
        }
    }

    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    pub fn contains(&self, id: NodeId) -> bool {
        self.nodes.contains_node(id.0)
    }

    pub fn value(&self, id: ValueId) -> &ValueData {
        &self.values[id.0 as usize]
    }

    pub fn ty(&self, id: ValueId) -> &TensorType {
        &self.values[id.0 as usize].ty
    }

    pub fn dtype(&self, id: ValueId) -> DType {
        self.ty(id).dtype
    }

    pub fn shape(&self, id: ValueId) -> &[usize] {
        &self.ty(id).shape
    }

    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.names.get(name).copied()
    }

    /// Every value ever added, in order of addition.
    pub fn values(&self) -> impl Iterator<Item = (ValueId, &ValueData)> {
        self.values.iter().enumerate().map(|(i, v)| (ValueId(i as u32), v))
    }

    pub fn node_count(&self) -> usize {
        self.nodes.node_count()
    }

    /// Nodes in order of creation.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.node_indices().map(NodeId)
    }

    /// Nodes that read a value, each once, in order of creation.
    pub fn consumers(&self, value: ValueId) -> Vec<NodeId> {
        match self.values[value.0 as usize].producer {
            Producer::Node { node, .. } if self.nodes.contains_node(node.0) => {
                let mut users: Vec<_> = self
                    .nodes
                    .edges_directed(node.0, Direction::Outgoing)
                    .filter(|e| *e.weight() == value)
                    .map(|e| NodeId(e.target()))
                    .collect();
                users.sort_unstable();
                users.dedup();
                users
            }
            _ => self.node_ids().filter(|&n| self.node(n).inputs.contains(&Some(value))).collect(),
        }
    }

    /// Values that nodes read and none of them makes, each once, in order of first use.
    pub fn entering(&self, nodes: &[NodeId]) -> Vec<ValueId> {
        let inside = |v: ValueId| matches!(self.value(v).producer, Producer::Node { node, .. } if nodes.contains(&node));
        let mut values = Vec::new();
        for &value in nodes.iter().flat_map(|&id| self.node(id).inputs.iter().flatten()) {
            if !inside(value) && !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// The values on the edges into a node, one an operand that a node computes.
    fn edges_into(&self, node: NodeId) -> Vec<ValueId> {
        self.nodes.edges_directed(node.0, Direction::Incoming).map(|e| *e.weight()).collect()
    }

    /// Operands before users; among ready nodes the one created first, so that the order is the
    /// file's own order whenever that is topological. `Err` holds the nodes on or behind a cycle.
    pub fn topological(&self) -> Result<Vec<NodeId>, Vec<NodeId>> {
        let mut waiting: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut ready = BTreeSet::new();
        for id in self.node_ids() {
            match self.nodes.edges_directed(id.0, Direction::Incoming).count() {
                0 => drop(ready.insert(id)),
                n => drop(waiting.insert(id, n)),
            }
        }
        let mut order = Vec::with_capacity(self.node_count());
        while let Some(id) = ready.pop_first() {
            order.push(id);
            for edge in self.nodes.edges_directed(id.0, Direction::Outgoing) {
                let target = NodeId(edge.target());
                if let Some(n) = waiting.get_mut(&target) {
                    *n -= 1;
                    if *n == 0 {
                        waiting.remove(&target);
                        ready.insert(target);
                    }
                }
            }
        }
        if waiting.is_empty() { Ok(order) } else { Err(waiting.into_keys().collect()) }
    }
}

#[cfg(test)]
mod tests;
