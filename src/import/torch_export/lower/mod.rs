//! Walks the program's nodes once and builds the graph.
//!
//! A node that is wrong is reported and what stands behind it is passed over in silence; a node that is not supported
//! is reported, its results become inputs of the graph (the program declares every type), and what it reads becomes
//! an output. [`inputs`] is before the nodes, [`outputs`] behind them; [`bind`] gives results their names.

mod bind;
mod inputs;
mod outputs;

use std::collections::HashSet;
use std::sync::Arc;

use super::arguments::{Arg, arguments};
use super::call::Call;
use super::payload::Payload;
use super::program::{Argument, Node, Program, Symbolic};
use super::scope::{Missing, Scope};
use super::types::Types;
use super::{labels, numbers, schema, table};
use crate::diag::{Code, Diagnostic, codes};
use crate::graph::Source;
use crate::import::build::limits;
use crate::import::build::{Builder, Done, Failure, Groups, Site};
use crate::import::{Binding, Imported, OwnOperator};
use bind::{bind, check};

/// The walk over the nodes.
struct Lowering<'p> {
    file: &'p str,
    types: Types,
    scope: Scope,
    builder: Builder,
    /// Names that nodes or outputs read.
    used: HashSet<&'p str>,
    own: Vec<Arc<OwnOperator>>,
    /// Whether parameters may have other elements when the kernels run.
    open_parameters: bool,
    errors: Vec<Diagnostic>,
    unsupported: Groups,
    /// Buffers and inputs by the names that the program has for them: what a write changes.
    writable: Vec<(String, String)>,
}

/// Lowers a program.
pub fn lower(file: &str, program: &Program, payload: &Payload, binding: &Binding) -> Result<Imported, Vec<Diagnostic>> {
    let graph = &program.graph_module.graph;
    let types = Types::bind(file, program, binding)?;
    let used = graph.reads().flat_map(Argument::tensors).collect();
    let mut names: HashSet<String> = HashSet::new();
    for name in graph.inputs.iter().flat_map(Argument::tensors).chain(graph.nodes.iter().flat_map(results)) {
        if !names.insert(name.to_owned()) {
            return Err(vec![Diagnostic::new(&codes::MODEL_INVALID, format!("`{name}` is made twice")).in_file(file)]);
        }
    }
    names.extend(graph.tensor_values.keys().cloned());
    let mut lowering = Lowering {
        file,
        types,
        scope: Scope::default(),
        builder: Builder::new(file, names),
        used,
        own: binding.operators.clone(),
        open_parameters: binding.open_parameters,
        errors: Vec::new(),
        unsupported: Groups::default(),
        writable: Vec::new(),
    };
    lowering.builder.most = limits::most(binding);
    lowering.inputs(program, payload);
    for (node, label) in graph.nodes.iter().zip(labels::labels(&graph.nodes)) {
        lowering.node(node, label);
    }
    lowering.outputs(program)
}

impl<'p> Lowering<'p> {
    fn error(&mut self, code: &'static Code, message: String) {
        self.errors.push(Diagnostic::new(code, message).in_file(self.file));
    }

    fn node(&mut self, node: &'p Node, label: labels::Label) {
        let (name, operator) = table::operator(&node.target);
        let source = Source { operator, node: label.node, module: label.module };
        let outputs = results(node);
        if let Some(number) = numbers::function(&node.target) {
            return self.compute(node, number, &source, &outputs);
        }
        let (schema, lower) = match (name.and_then(schema::find), name.and_then(table::find)) {
            (Some(schema), Some(lower)) => (schema, lower),
            _ => return self.custom(node, source, &outputs),
        };
        let base = outputs.first().map_or(source.node.as_str(), |name| name);
        // Views that are read anew stay in the graph whatever becomes of the node: their names hold them.
        let mut reading = Site::new(&mut self.builder, source.clone(), base);
        let args = match arguments(node, schema, &mut self.scope, &mut reading) {
            Ok(args) => args,
            Err(Missing::Wrong) => return outputs.iter().for_each(|name| self.scope.wrong(name)),
            Err(Missing::Refused(cause)) => {
                self.unsupported.node(&codes::OP_UNSUPPORTED, format!("nodes behind {cause} cannot be decomposed"), &source.node);
                return self.cut(node, &outputs, &source);
            }
            Err(Missing::Failure(failure)) => return self.failed(node, failure, &outputs, &source),
        };
        let site = Site::new(&mut self.builder, source.clone(), base);
        let used = outputs.iter().map(|name| self.used.contains(name)).collect();
        let mut call = Call { site, schema, args, used };
        let result = lower(&mut call).and_then(|outs| bind(outs, &mut call, &mut self.scope, &outputs, &self.used));
        let result = result.and_then(|()| check(&mut call.site, &mut self.scope, &self.types, &outputs));
        let done = call.site.close();
        self.end(node, done, result, &outputs, source);
    }

    /// A node of an operator that torch does not have: the user's own, or none.
    fn custom(&mut self, node: &Node, source: Source, outputs: &[&'p str]) {
        let bare = source.operator.strip_suffix(".default").unwrap_or(&source.operator);
        let own = self.own.iter().find(|own| own.names.iter().any(|name| name == bare || *name == source.operator)).cloned();
        let Some(own) = own else {
            let message = format!("operator {} is not supported", source.operator);
            self.unsupported.node(&codes::OP_UNSUPPORTED, message, &source.node);
            return self.cut(node, outputs, &source);
        };
        let base = outputs.first().copied().unwrap_or(&source.node);
        let mut reading = Site::new(&mut self.builder, source.clone(), base);
        let operands = node.inputs.iter().map(|input| match &input.arg {
            Argument::Tensor(name) => {
                self.scope.read(name, &mut reading).map_err(|_| Failure::unsupported("its operand is missing"))
            }
            _ => Err(Failure::unsupported(format!("argument `{}`: a formula has operands alone", input.name))),
        });
        let operands = operands.collect::<Result<Vec<_>, _>>();
        let mut site = Site::new(&mut self.builder, source.clone(), base);
        let result = operands.and_then(|operands| site.own(&own, &operands));
        let result = match (result, outputs) {
            (Ok(operand), &[name]) => {
                let operand = site.named(operand, name);
                self.scope.define(name, operand);
                check(&mut site, &mut self.scope, &self.types, outputs)
            }
            (Ok(_), _) => Err(Failure::unsupported(format!("{} outputs, a formula gives one", outputs.len()))),
            (Err(failure), _) => Err(failure),
        };
        let done = site.close();
        self.end(node, done, result, outputs, source);
    }

    /// A node that computes with numbers.
    fn compute(&mut self, node: &Node, function: numbers::Function, source: &Source, outputs: &[&'p str]) {
        let args: Option<Vec<Arg>> = node.inputs.iter().map(|input| self.scope.number(&input.arg)).collect();
        match (args.as_deref().and_then(|args| numbers::apply(function, args)), outputs) {
            (Some(value), &[name]) => self.scope.define_number(name, value),
            _ => {
                let message = format!("{} of numbers that are not known", source.operator);
                self.unsupported.node(&codes::OP_UNSUPPORTED, message, &source.node);
                outputs.iter().for_each(|name| self.scope.refuse(name, &source.node));
            }
        }
    }

    /// Keeps what a node became; takes it back where the node failed.
    fn end(&mut self, node: &Node, done: Done, result: Result<(), Failure>, outputs: &[&'p str], source: Source) {
        match result {
            Ok(()) => done.keep(&mut self.builder, source),
            Err(failure) => {
                done.undo(&mut self.builder);
                self.failed(node, failure, outputs, &source);
            }
        }
    }

    fn failed(&mut self, node: &Node, failure: Failure, outputs: &[&'p str], source: &Source) {
        match failure {
            Failure::Unsupported(code, message) => {
                self.unsupported.node(code, format!("{}: {message}", source.operator), &source.node);
                self.cut(node, outputs, source);
            }
            Failure::Invalid(code, message) => {
                self.errors.push(Diagnostic::new(code, message).at_node(self.file, &source.node));
                outputs.iter().for_each(|name| self.scope.wrong(name));
            }
        }
    }

    /// Cuts a node out: what it reads leaves the graph, what it computes enters it, what it writes is lost.
    fn cut(&mut self, node: &Node, outputs: &[&'p str], source: &Source) {
        let mut site = Site::new(&mut self.builder, source.clone(), &source.node);
        let mut read = Vec::new();
        for input in &node.inputs {
            read.extend(input.arg.tensors().into_iter().filter_map(|name| self.scope.read(name, &mut site).ok()));
        }
        read.iter().for_each(|operand| self.builder.expose(operand));
        written(node).for_each(|name| self.scope.lose(name, &source.node));
        for &name in outputs.iter().filter(|name| self.used.contains(*name)) {
            let ty = self.types.of(name).ok().filter(|ty| !ty.shape.contains(&0));
            match ty.and_then(|ty| self.builder.enter(name, ty)) {
                Some(operand) => self.scope.define(name, operand),
                None => self.scope.refuse(name, &source.node),
            }
        }
    }
}

/// The names of a node's results; a list of tensors counts as several.
fn results(node: &Node) -> Vec<&str> {
    let mut names = Vec::new();
    for output in &node.outputs {
        match output {
            Argument::Int(Symbolic::Name(name))
            | Argument::Float(Symbolic::Name(name))
            | Argument::Bool(Symbolic::Name(name)) => {
                names.push(name.as_str());
            }
            other => names.extend(other.tensors()),
        }
    }
    names
}

/// The tensors that a node writes. Of an operator without a signature, its name says whether it writes `self`.
fn written(node: &Node) -> impl Iterator<Item = &str> {
    let (operator, _) = table::operator(&node.target);
    let schema = operator.and_then(schema::find);
    let is_written = move |name: &str| match schema {
        Some(schema) => schema.parameters.iter().any(|p| p.written && p.name == name),
        None => name == "self" && operator.is_some_and(table::is_in_place),
    };
    node.inputs.iter().filter(move |input| is_written(&input.name)).flat_map(|input| input.arg.tensors())
}
