//! One node of the file at the place where it is lowered.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Builder;
use super::limits;
use super::operand::{Failure, Known, Operand};
use crate::diag::codes;
use crate::dtype::DType;
use crate::graph::infer::infer;
use crate::graph::op::View;
use crate::graph::{NodeId, Op, Producer, Role, Source, TensorType, ValueId, Weight, folding};
use crate::import::Absorbed;
use crate::shape::{self, Shape, display};
use crate::tensor::Tensor;

/// A node of the file and the graph that it adds to.
pub struct Site<'b> {
    pub builder: &'b mut Builder,
    pub source: Source,
    /// What made-up names begin with: the node's first output.
    base: String,
    /// Nodes added for this node of the file.
    emitted: SmallVec<[NodeId; 2]>,
    /// Made-up names that no output of the file's node has taken the place of.
    made: Vec<String>,
    pub absorbed: Option<Absorbed>,
}

/// What a node of the file became.
pub struct Done {
    emitted: SmallVec<[NodeId; 2]>,
    absorbed: Absorbed,
}

impl Done {
    /// Notes a node of the file that added nothing.
    pub fn keep(self, builder: &mut Builder, source: Source) {
        if self.emitted.is_empty() {
            builder.absorb(source, self.absorbed);
        }
    }

    /// Takes the nodes back that were added.
    pub fn undo(self, builder: &mut Builder) {
        for node in self.emitted {
            builder.graph.remove_node(node);
        }
    }
}

impl<'b> Site<'b> {
    pub fn new(builder: &'b mut Builder, source: Source, base: impl Into<String>) -> Site<'b> {
        Site { builder, source, base: base.into(), emitted: SmallVec::new(), made: Vec::new(), absorbed: None }
    }

    pub fn ty(&self, operand: &Operand) -> TensorType {
        self.builder.ty(operand)
    }

    pub fn shape(&self, operand: &Operand) -> Shape {
        self.ty(operand).shape
    }

    /// Says what a weight is for. Views of weights pass it on to the weight; the first use of a
    /// shared weight decides; anything computed from inputs keeps its role.
    pub fn set_role(&mut self, operand: &Operand, role: Role) -> Operand {
        let value = self.builder.materialize(operand);
        self.set_value_role(value, role);
        Operand::Graph(value)
    }

    /// Says what a value that may enter a kernel is for, and what it is a view of, unless an earlier
    /// use said so. Weights keep their role.
    pub fn set_entering_role(&mut self, operand: &Operand, role: Role) -> Operand {
        let value = self.builder.materialize(operand);
        let graph = &mut self.builder.graph;
        let mut next = Some(value);
        while let Some(value) = next.take().filter(|&v| graph.value(v).role == Role::Activation) {
            match graph.value(value).producer {
                Producer::Weight(_) => break,
                Producer::Input(_) => graph.set_role(value, role),
                Producer::Node { node, .. } => {
                    graph.set_role(value, role);
                    let node = graph.node(node);
                    next = node.inputs.first().copied().flatten().filter(|_| matches!(node.op, Op::View(_)));
                }
            }
        }
        Operand::Graph(value)
    }

    fn set_value_role(&mut self, mut value: ValueId, role: Role) {
        let graph = &mut self.builder.graph;
        if !graph.is_prepared(value) {
            return;
        }
        while matches!(graph.value(value).role, Role::Activation | Role::Exact) {
            graph.set_role(value, role);
            let Producer::Node { node, .. } = graph.value(value).producer else { return };
            match (&graph.node(node).op, graph.node(node).inputs.first()) {
                (Op::View(_), Some(&Some(source))) => value = source,
                _ => return,
            }
        }
    }

    /// A tensor made up while lowering.
    pub fn known(&mut self, what: &str, tensor: Tensor) -> Operand {
        let operand = self.builder.known(&format!("{}.{what}", self.base), tensor);
        if let Operand::Known(known) = &operand {
            self.made.push(known.name.clone());
        }
        operand
    }

    /// A tensor of one number, as a weight without elements of its own.
    pub fn constant(&mut self, what: &str, ty: TensorType, value: f64) -> Result<Operand, Failure> {
        if let Some(message) = limits::too_large(&ty.shape) {
            return Err(Failure::Invalid(&codes::MEMORY, format!("the output {message}")));
        }
        self.absorbed = Some(Absorbed::Weight);
        let name = self.fresh(what);
        Ok(Operand::Graph(self.builder.add_weight(&name, ty, Role::Exact, Weight::Filled(value))))
    }

    /// Says that elements that the user gives must be positive: their logarithm is taken.
    pub fn set_positive(&mut self, operand: &Operand) {
        let mut next = if let Operand::Graph(id) = operand { Some(*id) } else { None };
        while let Some(value) = next.take() {
            let graph = &mut self.builder.graph;
            match graph.value(value).producer {
                Producer::Input(_) if graph.value(value).role == Role::Activation => graph.set_role(value, Role::Probability),
                Producer::Input(_) | Producer::Weight(_) => {}
                Producer::Node { node, .. } => {
                    let node = graph.node(node);
                    next = node.inputs.first().copied().flatten().filter(|_| matches!(node.op, Op::View(_)));
                }
            }
        }
    }

    /// A name for something that the file does not name, after the node's first output.
    fn fresh(&mut self, what: &str) -> String {
        let name = self.builder.fresh(&format!("{}.{what}", self.base));
        self.made.push(name.clone());
        name
    }

    /// Adds a node, named after its operator until an output of the file's node is bound to it; or computes it,
    /// where all operands are known and it is small.
    pub fn emit(&mut self, op: Op, operands: &[Operand]) -> Result<Operand, Failure> {
        let types: Vec<_> = operands.iter().map(|o| self.ty(o)).collect();
        let types: Vec<_> = types.iter().map(Some).collect();
        let outputs = infer(&op, &types).map_err(Failure::shapes)?;
        let name = self.fresh(op.name());
        if let Some(tensor) = folded(&op, operands) {
            let exact = operands.iter().all(|o| matches!(o, Operand::Known(known) if known.exact));
            return Ok(Operand::Known(Arc::new(Known { name, tensor: Arc::new(tensor), exact })));
        }
        limits::check(&op, &types, &outputs, self.builder.most)?;
        let operands_too =
            types.iter().flatten().map(|&ty| ("an operand", ty)).chain(outputs.iter().map(|ty| ("its output", ty)));
        if let Some((what, empty)) = { operands_too }.find(|(_, ty)| ty.shape.contains(&0)) {
            let message = format!("{what} is {}: a dimension has size 0", display(&empty.shape));
            return Err(Failure::Invalid(&codes::MODEL_EMPTY_DIMENSION, message));
        }
        let inputs: Vec<_> = operands.iter().map(|o| Some(self.builder.materialize(o))).collect();
        let outputs = outputs.into_iter().map(|ty| (name.clone(), ty)).collect();
        let node = self.builder.graph.add_node(op, &inputs, outputs, vec![self.source.clone()]);
        self.emitted.push(node);
        Ok(Operand::Graph(self.builder.graph.node(node).outputs[0]))
    }

    /// Whether an operand was made here, and no output has its place yet.
    pub fn made(&self, operand: &Operand) -> bool {
        self.made.iter().any(|name| name == self.name_of(operand))
    }

    fn name_of<'o>(&'o self, operand: &'o Operand) -> &'o str {
        match operand {
            Operand::Graph(id) => &self.builder.graph.value(*id).name,
            Operand::Known(known) => &known.name,
        }
    }

    /// Gives an operand that this site made the name of the output that it is bound to. Others keep theirs.
    pub fn named(&mut self, operand: Operand, name: &str) -> Operand {
        let made = self.name_of(&operand).to_owned();
        let Some(position) = self.made.iter().position(|n| *n == made) else { return operand };
        self.made.remove(position);
        self.builder.forget(&made);
        match operand {
            Operand::Graph(id) => {
                self.builder.graph.rename(id, name);
                Operand::Graph(id)
            }
            Operand::Known(known) => {
                Operand::Known(Arc::new(Known { name: name.to_owned(), tensor: known.tensor.clone(), exact: known.exact }))
            }
        }
    }

    /// What was added, and why the file's node needs nothing where that is nothing.
    pub fn close(self) -> Done {
        Done { absorbed: self.absorbed.unwrap_or(Absorbed::Folded), emitted: self.emitted }
    }

    /// The operand under another shape of the same size; nothing is added when it has it already.
    pub fn reshape(&mut self, operand: Operand, shape: &[usize]) -> Result<Operand, Failure> {
        if self.shape(&operand).as_slice() == shape {
            return Ok(operand);
        }
        self.emit(Op::View(View::Reshape(Shape::from_slice(shape))), &[operand])
    }

    /// The operand with its axes in another order; nothing is added when they are in it already.
    pub fn permute(&mut self, operand: Operand, order: &[usize]) -> Result<Operand, Failure> {
        if order.iter().enumerate().all(|(i, &axis)| i == axis) {
            return Ok(operand);
        }
        self.emit(Op::View(View::Transpose(SmallVec::from_slice(order))), &[operand])
    }

    /// The operand grown to a shape that it broadcasts to; nothing is added when it has it already.
    pub fn grown(&mut self, operand: Operand, shape: &[usize]) -> Result<Operand, Failure> {
        if self.shape(&operand).as_slice() == shape {
            return Ok(operand);
        }
        self.emit(Op::View(View::Broadcast(Shape::from_slice(shape))), &[operand])
    }

    /// An axis, counted from the end when negative; `rank` itself is legal where `end` says so.
    pub fn axis(&self, axis: i64, rank: usize, end: bool) -> Result<usize, Failure> {
        let limit = rank + usize::from(end);
        let resolved = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
        usize::try_from(resolved)
            .ok()
            .filter(|&a| a < limit)
            .ok_or_else(|| Failure::shapes(format!("axis {axis} does not exist in a tensor of rank {rank}")))
    }

    /// The product of some sizes (a tensor without elements may have sizes whose product overflows).
    pub fn product(&self, sizes: &[usize]) -> Result<usize, Failure> {
        shape::numel(sizes).ok_or_else(|| Failure::shapes(format!("{} is larger than memory", display(sizes))))
    }

    /// The shape to which all operands broadcast.
    pub fn broadcast(&self, operands: &[Operand]) -> Result<Shape, Failure> {
        let mut all = Shape::new();
        for operand in operands {
            let shape = self.shape(operand);
            all = shape::broadcast(&all, &shape)
                .ok_or_else(|| Failure::shapes(format!("{} and {} do not broadcast", display(&all), display(&shape))))?;
        }
        Ok(all)
    }

    /// The one element type of all operands.
    pub fn common_dtype(&self, operands: &[Operand]) -> Result<DType, Failure> {
        let mut dtypes = operands.iter().map(|o| self.ty(o).dtype);
        let first = dtypes.next().ok_or_else(|| Failure::invalid("it has no operand"))?;
        match dtypes.find(|&d| d != first) {
            Some(other) => Err(Failure::shapes(format!("operands have different element types, {first} and {other}"))),
            None => Ok(first),
        }
    }
}

/// The result of an operator whose operands are all known, where that is small and exact.
fn folded(op: &Op, operands: &[Operand]) -> Option<Tensor> {
    let tensors: Option<Vec<&Tensor>> = operands.iter().map(Operand::known).collect();
    folding::evaluate(op, &tensors?)
}
