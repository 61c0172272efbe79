//! What the lowering of one node sees: its operands, attributes and the graph under construction.
//!
//! An operand is a value of the graph or a tensor that is known while importing. A node whose
//! operands are all known is computed at once ([`folding`]) where that is small and exact; a known
//! tensor becomes a weight only when a node of the graph reads it.

use std::sync::Arc;

use smallvec::SmallVec;
use tract_onnx::pb::{NodeProto, TensorProto};

use super::attributes::Attributes;
use super::limits;
use super::lower::Lowering;
use super::tensor;
use crate::diag::{Class, Code, codes};
use crate::dtype::DType;
use crate::graph::infer::infer;
use crate::graph::op::View;
use crate::graph::{NodeId, Op, Producer, Role, Source, TensorType, ValueId, Weight, folding};
use crate::import::Absorbed;
use crate::shape::{self, Shape, display};
use crate::tensor::Tensor;

/// Lowers one node: emits nodes of the graph and binds every output that is used.
pub(super) type Lower = fn(&mut Context) -> Result<(), Failure>;

/// Why a node cannot be lowered.
pub(super) enum Failure {
    /// The model is wrong.
    Invalid(&'static Code, String),
    /// The model asks for something that is not offered.
    Unsupported(&'static Code, String),
}

impl Failure {
    pub fn invalid(message: impl Into<String>) -> Failure {
        Failure::Invalid(&codes::MODEL_INVALID, message.into())
    }

    pub fn shapes(message: impl Into<String>) -> Failure {
        Failure::Invalid(&codes::MODEL_SHAPES, message.into())
    }

    pub fn unsupported(message: impl Into<String>) -> Failure {
        Failure::Unsupported(&codes::OP_UNSUPPORTED, message.into())
    }
}

/// A tensor whose elements are known while importing.
#[derive(Debug)]
pub(super) struct Known {
    /// The name it gets as a weight.
    pub name: String,
    pub tensor: Arc<Tensor>,
    /// It was computed from constants of the model's code rather than learned.
    pub exact: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Operand {
    Graph(ValueId),
    Known(Arc<Known>),
}

pub(super) struct Context<'a, 'm> {
    pub lowering: &'a mut Lowering<'m>,
    pub node: &'m NodeProto,
    pub source: Source,
    pub attributes: Attributes<'m>,
    pub emitted: SmallVec<[NodeId; 2]>,
    pub absorbed: Option<Absorbed>,
    /// A wrong shape of output 0 that other tools declare, and that is passed over.
    pub misdeclared: Option<Shape>,
}

impl<'m> Context<'_, 'm> {
    pub fn opset(&self) -> i64 {
        self.lowering.opset
    }

    /// Input `i` if it is given; optional inputs are left out by an empty name or at the end.
    pub fn optional(&self, i: usize) -> Option<Operand> {
        let name = self.node.input.get(i).filter(|name| !name.is_empty())?;
        self.lowering.operand(name)
    }

    pub fn input(&self, i: usize, name: &str) -> Result<Operand, Failure> {
        self.optional(i).ok_or_else(|| Failure::invalid(format!("input {i} ({name}) is missing")))
    }

    /// All inputs of an operator that takes any number of them.
    pub fn inputs(&self) -> Result<Vec<Operand>, Failure> {
        (0..self.node.input.len()).map(|i| self.input(i, "operand")).collect()
    }

    /// Input `i` as integers, when it is given: it must be known while importing.
    pub fn ints(&self, i: usize, name: &str) -> Result<Option<Vec<i64>>, Failure> {
        let Some(operand) = self.optional(i) else { return Ok(None) };
        let tensor = self.elements(&operand, name)?;
        let ints = tensor.as_i64().ok_or_else(|| Failure::invalid(format!("`{name}` has element type {}", tensor.dtype())))?;
        Ok(Some(ints.to_vec()))
    }

    /// Input `i` as one number, when it is given: it must be known while importing.
    pub fn scalar(&self, i: usize, name: &str) -> Result<Option<f64>, Failure> {
        let Some(operand) = self.optional(i) else { return Ok(None) };
        let tensor = self.elements(&operand, name)?;
        if tensor.len() != 1 {
            return Err(Failure::shapes(format!("`{name}` is {}, one number is expected", display(tensor.shape()))));
        }
        Ok(Some(tensor.storage().get_f64(0)))
    }

    fn elements<'o>(&self, operand: &'o Operand, name: &str) -> Result<&'o Tensor, Failure> {
        match operand {
            Operand::Known(known) => Ok(&known.tensor),
            Operand::Graph(_) => Err(Failure::unsupported(format!("`{name}` is computed while the model runs"))),
        }
    }

    /// Whether output `i` is given and something reads it.
    pub fn is_used(&self, i: usize) -> bool {
        self.node.output.get(i).is_some_and(|name| self.lowering.is_used(name))
    }

    pub fn ty(&self, operand: &Operand) -> TensorType {
        self.lowering.ty(operand)
    }

    pub fn shape(&self, operand: &Operand) -> Shape {
        self.ty(operand).shape
    }

    /// Says what a weight is for. Views of weights pass it on to the weight; the first use of a
    /// shared weight decides; anything computed from inputs keeps its role.
    pub fn set_role(&mut self, operand: &Operand, role: Role) -> Operand {
        let value = self.lowering.materialize(operand);
        self.set_value_role(value, role);
        Operand::Graph(value)
    }

    /// Says what a value that may enter a kernel is for, and what it is a view of, unless an earlier
    /// use said so. Weights keep their role.
    pub fn set_entering_role(&mut self, operand: &Operand, role: Role) -> Operand {
        let value = self.lowering.materialize(operand);
        let graph = &mut self.lowering.graph;
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

    /// A tensor made up while lowering.
    pub fn known(&mut self, what: &str, tensor: Tensor) -> Operand {
        let name = self.fresh(what);
        Operand::Known(Arc::new(Known { name, tensor: Arc::new(tensor), exact: true }))
    }

    fn set_value_role(&mut self, mut value: ValueId, role: Role) {
        let graph = &mut self.lowering.graph;
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

    /// The elements of a tensor that is attribute `value`.
    pub fn decoded(&self, proto: &TensorProto) -> Result<Tensor, Failure> {
        tensor::tensor(proto, self.lowering.external).map_err(|(code, message)| match code.class {
            Class::Unsupported => Failure::Unsupported(code, message),
            Class::Bug | Class::Limit | Class::Internal | Class::Usage => {
                Failure::Invalid(code, format!("attribute `value`: {message}"))
            }
        })
    }

    /// Adds a node whose output is no output of the model's node; it is named after the operator.
    pub fn emit(&mut self, op: Op, operands: &[Operand]) -> Result<Operand, Failure> {
        let name = self.fresh(op.name());
        self.add(op, operands, name)
    }

    /// A name for something that the file does not name, after the node's first output.
    fn fresh(&mut self, what: &str) -> String {
        let base = self.node.output.iter().find(|n| !n.is_empty()).map_or(self.source.node.as_str(), |n| n);
        self.lowering.fresh(&format!("{base}.{what}"))
    }

    /// Adds the node that computes output 0.
    pub fn finish(&mut self, op: Op, operands: &[Operand]) -> Result<(), Failure> {
        self.finish_output(0, op, operands)
    }

    /// Adds the node that computes output `i`.
    pub fn finish_output(&mut self, i: usize, op: Op, operands: &[Operand]) -> Result<(), Failure> {
        let name = self.output(i)?.to_owned();
        let result = self.add(op, operands, name)?;
        self.bind(i, result)
    }

    /// Makes output 0 the operand itself.
    pub fn pass(&mut self, operand: Operand) -> Result<(), Failure> {
        self.absorbed = Some(Absorbed::Passed);
        self.bind(0, operand)
    }

    /// Makes output `i` the given operand.
    pub fn bind(&mut self, i: usize, operand: Operand) -> Result<(), Failure> {
        let name = self.output(i)?;
        self.lowering.define(name, operand);
        Ok(())
    }

    /// Makes output 0 a tensor that is known.
    pub fn bind_known(&mut self, tensor: Tensor, exact: bool) -> Result<(), Failure> {
        let name = self.output(0)?.to_owned();
        self.bind(0, Operand::Known(Arc::new(Known { name, tensor: Arc::new(tensor), exact })))
    }

    /// Makes output 0 a weight without elements of its own.
    pub fn bind_weight(&mut self, ty: TensorType, weight: Weight) -> Result<(), Failure> {
        if let Some(message) = limits::too_large(&ty.shape) {
            return Err(Failure::Invalid(&codes::MEMORY, format!("the output {message}")));
        }
        let name = self.output(0)?;
        let value = self.lowering.add_weight(name, ty, Role::Activation, weight);
        self.absorbed = Some(Absorbed::Weight);
        self.bind(0, Operand::Graph(value))
    }

    fn output(&self, i: usize) -> Result<&'m str, Failure> {
        let name = self.node.output.get(i).filter(|name| !name.is_empty());
        name.map(String::as_str).ok_or_else(|| Failure::invalid(format!("output {i} has no name")))
    }

    fn add(&mut self, op: Op, operands: &[Operand], name: String) -> Result<Operand, Failure> {
        let types: Vec<_> = operands.iter().map(|o| self.ty(o)).collect();
        let types: Vec<_> = types.iter().map(Some).collect();
        let outputs = infer(&op, &types).map_err(Failure::shapes)?;
        let known: Option<Vec<&Known>> = operands
            .iter()
            .map(|o| match o {
                Operand::Known(known) => Some(known.as_ref()),
                Operand::Graph(_) => None,
            })
            .collect();
        if let Some(known) = known {
            let tensors: Vec<&Tensor> = known.iter().map(|k| k.tensor.as_ref()).collect();
            if let Some(tensor) = folding::evaluate(&op, &tensors) {
                let exact = known.iter().all(|k| k.exact);
                return Ok(Operand::Known(Arc::new(Known { name, tensor: Arc::new(tensor), exact })));
            }
        }
        limits::check(&op, &types, &outputs)?;
        let operands_too =
            types.iter().flatten().map(|&ty| ("an operand", ty)).chain(outputs.iter().map(|ty| ("its output", ty)));
        if let Some((what, empty)) = { operands_too }.find(|(_, ty)| ty.shape.contains(&0)) {
            let message = format!("{what} is {}: a dimension has size 0", display(&empty.shape));
            return Err(Failure::Invalid(&codes::MODEL_EMPTY_DIMENSION, message));
        }
        let inputs: Vec<_> = operands.iter().map(|o| Some(self.lowering.materialize(o))).collect();
        let outputs = outputs.into_iter().map(|ty| (name.clone(), ty)).collect();
        let node = self.lowering.graph.add_node(op, &inputs, outputs, vec![self.source.clone()]);
        self.emitted.push(node);
        Ok(Operand::Graph(self.lowering.graph.node(node).outputs[0]))
    }

    /// The operand under another shape of the same size; nothing is added when it has it already.
    pub fn reshape(&mut self, operand: Operand, shape: &[usize]) -> Result<Operand, Failure> {
        if self.shape(&operand).as_slice() == shape {
            return Ok(operand);
        }
        self.emit(Op::View(View::Reshape(Shape::from_slice(shape))), &[operand])
    }

    /// An axis, counted from the end when negative; `rank` itself is legal where `end` says so.
    pub fn axis(&self, axis: i64, rank: usize, end: bool) -> Result<usize, Failure> {
        let limit = rank + usize::from(end);
        let resolved = if axis < 0 { axis + rank as i64 } else { axis };
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
