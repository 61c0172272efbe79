//! Walks the model's nodes once and builds the graph.
//!
//! A node that is wrong is reported and what stands behind it is passed over in silence; a node that
//! is not supported is reported, its outputs become inputs of the graph where the file gives their
//! types, and what it reads becomes an output, so that the rest is a graph of its own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tract_onnx::pb::{GraphProto, ModelProto, NodeProto};

use super::attributes::Attributes;
use super::external::External;
use super::node::{Context, Failure, Known, Lower, Operand};
use super::report::Report;
use super::types;
use super::{decode, ops, source, structure, table, tensor};
use crate::diag::{Code, Diagnostic, codes};
use crate::graph::TensorType;
use crate::import::build::sizes::{self, Declared, Sizes};
use crate::import::build::{Builder, Site, limits};
use crate::import::{Binding, Imported, OwnOperator};
use crate::shape::display;

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

/// What the names of the file stand for.
pub(super) struct Scope<'m> {
    pub opset: i64,
    pub external: &'m External,
    values: HashMap<&'m str, Value>,
    /// Names that nodes, subgraphs or the model's outputs read.
    used: HashSet<&'m str>,
}

impl<'m> Scope<'m> {
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
}

/// The walk over the nodes.
struct Lowering<'m> {
    scope: Scope<'m>,
    builder: Builder,
    declared: HashMap<&'m str, Declared>,
    sizes: Sizes,
    /// Served where no rule of the table is.
    own: Vec<Arc<OwnOperator>>,
    report: Report,
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
    lowering.outputs(graph)
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
        let sizes = match sizes::bind(file, &inputs, &BTreeMap::new(), binding) {
            Ok(sizes) => sizes,
            Err(errors) => return Err(report.into_errors(errors)),
        };
        let inputs_and_initializers = values.keys().copied().chain(inputs.iter().map(|(name, _)| *name));
        let defined = inputs_and_initializers.chain(model.node.iter().flat_map(|n| n.output.iter().map(String::as_str)));
        let mut builder = Builder::new(file, defined.map(str::to_owned).collect());
        for (name, declared) in &inputs {
            let value = match &declared.dtype {
                Ok(dtype) => {
                    let ty = TensorType { dtype: *dtype, shape: sizes.shapes[*name].clone() };
                    Value::There(builder.add_input(name, ty))
                }
                Err(dtype) => report.input(&codes::DTYPE_UNSUPPORTED, name, &format!("has the element type {dtype}")),
            };
            values.insert(name, value);
        }
        let read = model.node.iter().flat_map(structure::reads).chain(model.output.iter().map(|o| o.name.as_str()));
        Ok(Lowering {
            scope: Scope { opset, external, values, used: read.collect() },
            builder,
            declared: model
                .value_info
                .iter()
                .chain(&model.output)
                .filter_map(|i| Some((i.name.as_str(), types::declared(i)?)))
                .collect(),
            sizes,
            own: binding.operators.clone(),
            report,
        })
    }

    fn node(&mut self, position: usize, node: &'m NodeProto) {
        let source = source::source(position, node);
        let mut missing = node.input.iter().filter_map(|name| match self.scope.values.get(name.as_str()) {
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
                self.scope.values.insert(name, value);
            }
            return;
        }
        let attributes = Attributes::new(node);
        let base = node.output.iter().find(|name| !name.is_empty()).unwrap_or(&source.node);
        let site = Site::new(&mut self.builder, source.clone(), base);
        let mut context = Context { scope: &mut self.scope, site, node, attributes, misdeclared: None };
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
        let (done, misdeclared) = (context.site.close(), context.misdeclared);
        match result.and_then(|()| self.check_declared(node, misdeclared.as_deref())) {
            Ok(()) => done.keep(&mut self.builder, source),
            Err(Failure::Unsupported(code, message)) => {
                done.undo(&mut self.builder);
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
            self.scope.values.insert(name, Value::Wrong);
        }
    }

    /// Every used output must be defined, as the file declares it or with the wrong shape that is
    /// passed over; the declarations behind that one need not hold either.
    fn check_declared(&mut self, node: &NodeProto, misdeclared: Option<&[usize]>) -> Result<(), Failure> {
        for name in node.output.iter().filter(|n| self.scope.is_used(n)) {
            let Some(operand) = self.scope.operand(name) else {
                return Err(Failure::unsupported(format!("the output `{name}` is not offered")));
            };
            let Some(declared) = self.declared.get(name.as_str()) else { continue };
            let ty = self.builder.ty(&operand);
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
                let stated = sizes::describe(declared);
                return Err(Failure::shapes(format!("`{name}` is {}, the file declares {stated}", display(&ty.shape))));
            }
        }
        Ok(())
    }

    /// Cuts a node out: what it reads leaves the graph, what it computes enters it.
    fn cut(&mut self, node: &'m NodeProto, label: &str) {
        self.expose(node);
        for name in node.output.iter() {
            if !self.scope.is_used(name) {
                continue;
            }
            let ty = self.declared.get(name.as_str()).and_then(|declared| {
                let shape = self.sizes.resolve(declared).filter(|s| !s.contains(&0) && !self.sizes.overridden)?;
                Some(TensorType { dtype: *declared.dtype.as_ref().ok()?, shape })
            });
            let value = match ty.and_then(|ty| self.builder.enter(name, ty)) {
                Some(operand) => Value::There(operand),
                None => Value::Unsupported(label.to_owned()),
            };
            self.scope.values.insert(name, value);
        }
    }

    fn expose(&mut self, node: &'m NodeProto) {
        for name in structure::reads(node) {
            if let Some(operand) = self.scope.operand(name) {
                self.builder.expose(&operand);
            }
        }
    }

    /// The model's outputs in its order, each under its own name.
    fn outputs(mut self, model: &'m GraphProto) -> Result<Imported, Vec<Diagnostic>> {
        let mut outputs = Vec::new();
        for info in &model.output {
            let Some(operand) = self.scope.operand(&info.name) else { continue };
            let ty = self.builder.ty(&operand);
            if ty.shape.contains(&0) {
                let message = format!("output `{}` is {}: a dimension has size 0", info.name, display(&ty.shape));
                self.report.file(&codes::MODEL_EMPTY_DIMENSION, message);
                continue;
            }
            if !limits::is_offered(ty.dtype) {
                // A refused node has said so; an input or a constant has not.
                if !self.builder.is_opaque(&operand) {
                    self.report.output(&codes::DTYPE_UNSUPPORTED, &info.name, &format!("has the element type {}", ty.dtype));
                }
                continue;
            }
            outputs.push(self.builder.output(&info.name, &operand, &outputs, "Identity"));
        }
        Ok(self.builder.finish(outputs, self.report.finish()?))
    }
}
