//! Walks the model's nodes once and builds the graph.
//!
//! A node that is wrong is reported and what stands behind it is passed over in silence; a node that
//! is not supported is reported, its outputs become inputs of the graph where the file gives their
//! types, and what it reads becomes an output, so that the rest is a graph of its own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;
use tract_onnx::pb::{GraphProto, ModelProto, NodeProto};

use super::attributes::Attributes;
use super::external::External;
use super::node::{Context, Failure, Known, Lower, Operand};
use super::report::Report;
use super::types::{self, Declared, Sizes};
use super::{decode, limits, ops, source, structure, table, tensor};
use crate::diag::{Code, Diagnostic, codes};
use crate::graph::op::View;
use crate::graph::{Graph, Op, Producer, Role, Source, TensorType, ValueData, ValueId, Weight};
use crate::import::{Absorbed, Binding, Imported, OwnOperator};
use crate::shape::{Shape, display};

/// What a name of the file stands for.
pub(super) enum Value {
    There(Operand),
    /// Nothing: the node of this label is not supported and the file does not give the type.
    Unsupported(String),
    /// Nothing: an error was reported.
    Wrong,
}

/// What lowers a node.
enum Rule {
    Table(Lower),
    Own(Arc<OwnOperator>),
}

/// The graph under construction.
pub(super) struct Lowering<'m> {
    pub opset: i64,
    pub external: &'m External,
    pub graph: Graph,
    values: HashMap<&'m str, Value>,
    /// Names that nodes, subgraphs or the model's outputs read.
    used: HashSet<&'m str>,
    /// Names of the file and those made up here.
    names: HashSet<String>,
    declared: HashMap<&'m str, Declared>,
    sizes: Sizes,
    /// Served where no rule of the table is.
    own: Vec<Arc<OwnOperator>>,
    report: Report,
    opaque: Vec<ValueId>,
    exposed: Vec<ValueId>,
    absorbed: Vec<(Source, Absorbed)>,
}

/// Lowers a decoded model.
pub(super) fn lower(file: &str, model: &ModelProto, external: &External, binding: &Binding) -> Result<Imported, Vec<Diagnostic>> {
    let graph = model.graph.as_ref().expect("invariant: decoding checked that there is a graph");
    let opset = decode::opset(model).expect("invariant: decoding checked the opset");
    let order = structure::order(file, graph)?;
    let mut lowering = Lowering::new(file, graph, opset, external, binding)?;
    for &position in &order {
        lowering.node(position, &graph.node[position]);
    }
    lowering.outputs(graph);
    lowering.finish()
}

impl<'m> Lowering<'m> {
    fn new(
        file: &str,
        model: &'m GraphProto,
        opset: i64,
        external: &'m External,
        binding: &Binding,
    ) -> Result<Lowering<'m>, Vec<Diagnostic>> {
        let mut report = Report::new(file);
        let mut values = HashMap::new();
        for proto in &model.initializer {
            let value = match tensor::tensor(proto, external) {
                Ok(tensor) => {
                    let exact = tensor.len() <= 1 || !tensor.dtype().is_float();
                    Value::There(Operand::Known(Arc::new(Known { name: proto.name.clone(), tensor: Arc::new(tensor), exact })))
                }
                Err((code, message)) => report.tensor(code, &proto.name, &message),
            };
            values.insert(proto.name.as_str(), value);
        }
        for sparse in &model.sparse_initializer {
            let name = sparse.values.as_ref().map_or("", |v| v.name.as_str());
            values.insert(name, report.tensor(&codes::OP_UNSUPPORTED, name, "sparse initializers are not supported"));
        }
        let mut inputs = Vec::new();
        for info in &model.input {
            if values.contains_key(info.name.as_str()) {
                continue; // an initializer with a declared type (IR version 3 declares all of them)
            }
            match types::declared(info) {
                Some(declared) => inputs.push((info.name.as_str(), declared)),
                None => drop(values.insert(&info.name, report.input(&codes::DTYPE_UNSUPPORTED, &info.name, "is not a tensor"))),
            }
        }
        let sizes = match types::bind(file, &inputs, binding) {
            Ok(sizes) => sizes,
            Err(errors) => return Err(report.into_errors(errors)),
        };
        let mut graph = Graph::new(file);
        for (name, declared) in &inputs {
            let value = match &declared.dtype {
                Ok(dtype) => {
                    let ty = TensorType { dtype: *dtype, shape: sizes.shapes[*name].clone() };
                    let id = graph.add_input(*name, ty, Role::Activation);
                    Value::There(Operand::Graph(id.expect("invariant: input names were checked to be distinct")))
                }
                Err(dtype) => report.input(&codes::DTYPE_UNSUPPORTED, name, &format!("has the element type {dtype}")),
            };
            values.insert(name, value);
        }
        let read = model.node.iter().flat_map(structure::reads).chain(model.output.iter().map(|o| o.name.as_str()));
        let defined = values.keys().copied().chain(model.node.iter().flat_map(|n| n.output.iter().map(String::as_str)));
        Ok(Lowering {
            opset,
            external,
            graph,
            used: read.collect(),
            names: defined.map(str::to_owned).collect(),
            declared: model
                .value_info
                .iter()
                .chain(&model.output)
                .filter_map(|i| Some((i.name.as_str(), types::declared(i)?)))
                .collect(),
            values,
            sizes,
            own: binding.operators.clone(),
            report,
            opaque: Vec::new(),
            exposed: Vec::new(),
            absorbed: Vec::new(),
        })
    }

    fn node(&mut self, position: usize, node: &'m NodeProto) {
        let source = source::source(position, node);
        let mut missing = node.input.iter().filter_map(|name| match self.values.get(name.as_str()) {
            Some(Value::Unsupported(cause)) => Some(Value::Unsupported(cause.clone())),
            Some(Value::Wrong) => Some(Value::Wrong),
            Some(Value::There(_)) | None => None,
        });
        if node.op_type.is_empty() {
            return self.wrong(node, &codes::MODEL_INVALID, "the operator name is empty".to_owned(), &source.node);
        }
        let Some((most, rule)) = self.rule(node, &source.operator) else {
            self.report.unsupported(
                &codes::OP_UNSUPPORTED,
                format!("operator {} is not supported", source.operator),
                &source.node,
            );
            return self.cut(node, &source.node);
        };
        let missing = missing.next();
        if node.input.len() > most {
            let message = format!("{} inputs given, {} accepts at most {most}", node.input.len(), source.operator);
            return self.wrong(node, &codes::MODEL_INVALID, message, &source.node);
        }
        if let Some(cause) = missing {
            if let Value::Unsupported(cause) = &cause {
                self.report.unreachable(cause, &source.node);
                self.expose(node);
            }
            for name in node.output.iter().filter(|n| !n.is_empty()) {
                let value = if let Value::Unsupported(cause) = &cause { Value::Unsupported(cause.clone()) } else { Value::Wrong };
                self.values.insert(name, value);
            }
            return;
        }
        let attributes = Attributes::new(node);
        let mut context = Context {
            lowering: self,
            node,
            source: source.clone(),
            attributes,
            emitted: SmallVec::new(),
            absorbed: None,
            misdeclared: None,
        };
        let lowered = match &rule {
            Rule::Table(lower) => lower(&mut context),
            Rule::Own(own) => ops::own::lower(&mut context, own),
        };
        let result = lowered.and_then(|()| match context.attributes.unknown() {
            Some(name) => Err(Failure::invalid(format!(
                "attribute `{name}` is not one of {} in opset {}",
                source.operator,
                context.opset()
            ))),
            None => Ok(()),
        });
        let (emitted, absorbed, misdeclared) = (context.emitted, context.absorbed, context.misdeclared);
        match result.and_then(|()| self.check_declared(node, misdeclared.as_deref())) {
            Ok(()) => {
                if emitted.is_empty() {
                    self.absorbed.push((source, absorbed.unwrap_or(Absorbed::Folded)));
                }
            }
            Err(Failure::Unsupported(code, message)) => {
                for node in emitted {
                    self.graph.remove_node(node);
                }
                self.report.unsupported(code, format!("{}: {message}", source.operator), &source.node);
                self.cut(node, &source.node);
            }
            Err(Failure::Invalid(code, message)) => self.wrong(node, code, message, &source.node),
        }
    }

    /// What lowers a node, and the most inputs that it may have.
    fn rule(&self, node: &NodeProto, operator: &str) -> Option<(usize, Rule)> {
        if let Some((most, lower)) = table::find(&node.domain, &node.op_type) {
            return Some((most, Rule::Table(lower)));
        }
        let own = self.own.iter().find(|own| own.names.iter().any(|name| name == operator))?;
        Some((own.operands.len(), Rule::Own(own.clone())))
    }

    /// Reports a node that is wrong; what stands behind it is passed over.
    fn wrong(&mut self, node: &'m NodeProto, code: &'static Code, message: String, label: &str) {
        self.report.error(code, message, label);
        for name in node.output.iter().filter(|n| !n.is_empty()) {
            self.values.insert(name, Value::Wrong);
        }
    }

    /// Every used output must be defined, as the file declares it or with the wrong shape that is
    /// passed over; the declarations behind that one need not hold either.
    fn check_declared(&mut self, node: &NodeProto, misdeclared: Option<&[usize]>) -> Result<(), Failure> {
        for name in node.output.iter().filter(|n| self.used.contains(n.as_str())) {
            let Some(operand) = self.operand(name) else {
                return Err(Failure::unsupported(format!("the output `{name}` is not offered")));
            };
            let Some(declared) = self.declared.get(name.as_str()) else { continue };
            let ty = self.ty(&operand);
            if let Ok(stated) = &declared.dtype
                && *stated != ty.dtype
            {
                return Err(Failure::shapes(format!("`{name}` has the element type {}, the file declares {stated}", ty.dtype)));
            }
            if self.sizes.contradicts(declared, &ty.shape) {
                if misdeclared.is_some_and(|wrong| !self.sizes.contradicts(declared, wrong)) {
                    self.sizes.overridden = true;
                    continue;
                }
                let stated = types::describe(declared);
                return Err(Failure::shapes(format!("`{name}` is {}, the file declares {stated}", display(&ty.shape))));
            }
        }
        Ok(())
    }

    /// Cuts a node out: what it reads leaves the graph, what it computes enters it.
    fn cut(&mut self, node: &'m NodeProto, label: &str) {
        self.expose(node);
        for name in node.output.iter().filter(|n| self.used.contains(n.as_str())) {
            let ty = self.declared.get(name.as_str()).and_then(|declared| {
                let shape = self.sizes.resolve(declared).filter(|s| !s.contains(&0) && !self.sizes.overridden)?;
                Some(TensorType { dtype: *declared.dtype.as_ref().ok()?, shape })
            });
            let value = match ty.and_then(|ty| self.graph.add_input(name, ty, Role::Activation).ok()) {
                Some(id) => {
                    self.opaque.push(id);
                    Value::There(Operand::Graph(id))
                }
                None => Value::Unsupported(label.to_owned()),
            };
            self.values.insert(name, value);
        }
    }

    fn expose(&mut self, node: &'m NodeProto) {
        for name in structure::reads(node) {
            if let Some(Operand::Graph(id)) = self.operand(name)
                && matches!(self.graph.value(id).producer, Producer::Node { .. })
                && !self.exposed.contains(&id)
            {
                self.exposed.push(id);
            }
        }
    }

    /// The graph's outputs: the model's in its order, each under its own name, then exposed values.
    fn outputs(&mut self, model: &'m GraphProto) {
        let mut outputs = Vec::new();
        for info in &model.output {
            let Some(operand) = self.operand(&info.name) else { continue };
            if self.ty(&operand).shape.contains(&0) {
                let shape = display(&self.ty(&operand).shape);
                self.report
                    .file(&codes::MODEL_EMPTY_DIMENSION, format!("output `{}` is {shape}: a dimension has size 0", info.name));
                continue;
            }
            let dtype = self.ty(&operand).dtype;
            if !limits::is_offered(dtype) {
                // A refused node has said so; an input or a constant has not.
                if !matches!(&operand, Operand::Graph(id) if self.opaque.contains(id)) {
                    self.report.output(&codes::DTYPE_UNSUPPORTED, &info.name, &format!("has the element type {dtype}"));
                }
                continue;
            }
            let value = self.materialize(&operand);
            outputs.push(if self.graph.value(value).name == info.name && !outputs.contains(&value) {
                value
            } else {
                self.renamed(value, &info.name)
            });
        }
        self.exposed.retain(|value| !outputs.contains(value));
        outputs.extend(&self.exposed);
        self.graph.set_outputs(outputs);
    }

    /// The same elements under an output's name: a view.
    fn renamed(&mut self, value: ValueId, name: &str) -> ValueId {
        let ty = self.graph.ty(value).clone();
        let view = Op::View(View::Reshape(ty.shape.clone()));
        let name = if self.graph.find(name).is_some() { self.fresh(name) } else { name.to_owned() };
        let source = Source { operator: "Identity".to_owned(), node: name.clone(), module: None };
        let node = self.graph.add_node(view, &[Some(value)], vec![(name, ty)], vec![source]);
        self.graph.node(node).outputs[0]
    }

    fn finish(self) -> Result<Imported, Vec<Diagnostic>> {
        let Lowering { mut graph, report, opaque, exposed, absorbed, .. } = self;
        let unsupported = report.finish()?;
        // A filled tensor that no operator took as a parameter is a constant of the model's code.
        let is_constant = |v: &ValueData| v.role == Role::Activation && matches!(v.producer, Producer::Weight(Weight::Filled(_)));
        let constants: Vec<_> = graph.values().filter(|(_, value)| is_constant(value)).map(|(id, _)| id).collect();
        constants.into_iter().for_each(|value| graph.set_role(value, Role::Exact));
        Ok(Imported { graph, unsupported, opaque, exposed, absorbed })
    }

    pub fn operand(&self, name: &str) -> Option<Operand> {
        match self.values.get(name) {
            Some(Value::There(operand)) => Some(operand.clone()),
            Some(Value::Unsupported(_) | Value::Wrong) | None => None,
        }
    }

    pub fn define(&mut self, name: &'m str, operand: Operand) {
        self.values.insert(name, Value::There(operand));
    }

    pub fn is_used(&self, name: &str) -> bool {
        self.used.contains(name)
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

    pub fn add_weight(&mut self, name: &str, ty: TensorType, role: Role, weight: Weight) -> ValueId {
        self.graph
            .add_weight(name, ty, role, weight)
            .expect("invariant: names of the file are distinct and made-up ones are fresh")
    }

    /// A name that nothing has: `base`, or `base.2`, ….
    pub fn fresh(&mut self, base: &str) -> String {
        let candidates = std::iter::once(base.to_owned()).chain((2..).map(|i| format!("{base}.{i}")));
        let name =
            candidates.into_iter().find(|c| !self.names.contains(c)).expect("invariant: there are more numbers than names");
        self.names.insert(name.clone());
        name
    }
}
