//! Walks the program's nodes once and builds the graph.
//!
//! A node that is wrong is reported and what stands behind it is passed over in silence; a node that is not supported
//! is reported, its results become inputs of the graph (the program declares every type), and what it reads becomes
//! an output.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::arguments::Arg;
use super::call::{Call, Out, Outs};
use super::payload::{Payload, Place};
use super::program::{Argument, Node, Program, Spec, Symbolic};
use super::schema::{self, Schema};
use super::scope::{Missing, Scope};
use super::types::Types;
use super::{labels, numbers, table};
use crate::diag::{Class, Code, Diagnostic, codes};
use crate::graph::{Source, ValueId};
use crate::import::build::{Builder, Failure, Groups, Known, Operand, Site};
use crate::import::{Binding, Imported, OwnOperator};
use crate::shape::display;

/// The walk over the nodes.
struct Lowering<'p> {
    file: &'p str,
    types: Types,
    scope: Scope,
    builder: Builder,
    /// Names that nodes or outputs read.
    used: HashSet<&'p str>,
    own: Vec<Arc<OwnOperator>>,
    errors: Vec<Diagnostic>,
    unsupported: Groups,
    /// Buffers and inputs by the names that the program has for them: what a write changes.
    writable: Vec<(String, String)>,
}

/// Lowers a program.
pub fn lower(file: &str, program: &Program, payload: &Payload, binding: &Binding) -> Result<Imported, Vec<Diagnostic>> {
    let graph = &program.graph_module.graph;
    let types = Types::bind(file, program, binding)?;
    let reads = graph.nodes.iter().flat_map(|node| node.inputs.iter().map(|input| &input.arg)).chain(&graph.outputs);
    let mut used = HashSet::new();
    reads.for_each(|argument| tensor_names(argument, &mut |name| used.extend([name])));
    let names = graph.tensor_values.keys().cloned().collect();
    let mut lowering = Lowering {
        file,
        types,
        scope: Scope::default(),
        builder: Builder::new(file, names),
        used,
        own: binding.operators.clone(),
        errors: Vec::new(),
        unsupported: Groups::default(),
        writable: Vec::new(),
    };
    lowering.inputs(program, payload);
    for (node, label) in graph.nodes.iter().zip(labels::labels(&graph.nodes)) {
        lowering.node(node, label);
    }
    lowering.outputs(program)
}

/// Every tensor that an argument names.
fn tensor_names<'p>(argument: &'p Argument, each: &mut impl FnMut(&'p str)) {
    match argument {
        Argument::Tensor(name) => each(name),
        Argument::Tensors(names) => names.iter().for_each(|name| each(name)),
        Argument::OptionalTensors(names) => names.iter().flatten().for_each(|name| each(name)),
        Argument::None
        | Argument::Int(_)
        | Argument::Ints(_)
        | Argument::Float(_)
        | Argument::Floats(_)
        | Argument::Bool(_)
        | Argument::Bools(_)
        | Argument::String(_)
        | Argument::Dtype(_)
        | Argument::Placement
        | Argument::Other(_) => {}
    }
}

impl<'p> Lowering<'p> {
    fn error(&mut self, code: &'static Code, message: String) {
        self.errors.push(Diagnostic::new(code, message).in_file(self.file));
    }

    /// Parameters, buffers and constants from the archive, and what the user gives.
    fn inputs(&mut self, program: &'p Program, payload: &Payload) {
        let graph = &program.graph_module.graph;
        let specs = &program.graph_module.signature.input_specs;
        if specs.len() != graph.inputs.len() {
            let message = format!("the signature has {} inputs, the graph {}", specs.len(), graph.inputs.len());
            return self.error(&codes::MODEL_INVALID, message);
        }
        let mut tied: HashMap<Place, Arc<Known>> = HashMap::new();
        for (spec, argument) in specs.iter().zip(&graph.inputs) {
            let Argument::Tensor(name) = argument else {
                if let Err(what) = self.number(spec, argument) {
                    self.unsupported.message(&codes::NOT_OFFERED, what);
                }
                continue;
            };
            match spec.kind.as_str() {
                "user_input" => match self.types.of(name) {
                    Ok(ty) => {
                        let input = self.builder.add_input(name, ty);
                        self.scope.define(name, input);
                        self.writable.push((name.clone(), name.clone()));
                    }
                    Err(message) => {
                        self.unsupported.message(&codes::DTYPE_UNSUPPORTED, format!("input {message}"));
                        self.scope.refuse(name, &format!("input `{name}`"));
                    }
                },
                "parameter" | "buffer" | "tensor_constant" => {
                    let own = spec.text(&format!("{}_name", spec.kind)).unwrap_or(name).to_owned();
                    match payload.tensor(&own) {
                        Ok((tensor, place)) => {
                            let exact = tensor.len() <= 1 || !tensor.dtype().is_float() || spec.kind == "tensor_constant";
                            let known = tied.entry(place).or_insert_with(|| {
                                let name = self.builder.fresh(&own);
                                Arc::new(Known { name, tensor: Arc::new(tensor), exact })
                            });
                            self.scope.define(name, Operand::Known(known.clone()));
                            if spec.kind == "buffer" {
                                self.writable.push((name.clone(), own));
                            }
                        }
                        Err(error) if error.code.class == Class::Unsupported => {
                            self.unsupported.message(error.code, error.message);
                            self.scope.refuse(name, &format!("tensor `{own}`"));
                        }
                        Err(error) => {
                            self.errors.push(*error);
                            self.scope.wrong(name);
                        }
                    }
                }
                other => {
                    self.unsupported.message(&codes::NOT_OFFERED, format!("input `{name}` is a {other}"));
                    self.scope.refuse(name, &format!("input `{name}`"));
                }
            }
        }
    }

    /// An input that is no tensor: a number that the example had.
    fn number(&mut self, spec: &Spec, argument: &Argument) -> Result<(), String> {
        match argument {
            Argument::Int(Symbolic::Is(_)) | Argument::Float(Symbolic::Is(_)) | Argument::Bool(Symbolic::Is(_)) => Ok(()),
            Argument::None | Argument::String(_) => Ok(()),
            Argument::Int(Symbolic::Name(name))
            | Argument::Float(Symbolic::Name(name))
            | Argument::Bool(Symbolic::Name(name)) => {
                self.scope.refuse(name, &format!("input `{name}`"));
                Err(format!("input `{name}` is a number that varies"))
            }
            _ => Err(format!("an input is a {}", spec.kind)),
        }
    }

    fn node(&mut self, node: &'p Node, label: labels::Label) {
        let (name, operator) = table::operator(&node.target);
        let source = Source { operator, node: label.node, module: label.module };
        let outputs = outputs(node);
        if let Some(number) = numbers::function(&node.target) {
            return self.compute(node, number, &source, &outputs);
        }
        let (schema, lower) = match (name.and_then(schema::find), name.and_then(table::find)) {
            (Some(schema), Some(lower)) => (schema, lower),
            _ => return self.custom(node, source, &outputs),
        };
        let base = outputs.first().map_or(source.node.as_str(), |name| name);
        let mut site = Site::new(&mut self.builder, source.clone(), base);
        let args = match arguments(node, schema, &mut self.scope, &mut site) {
            Ok(args) => args,
            Err(Missing::Wrong) => return outputs.iter().for_each(|name| self.scope.wrong(name)),
            Err(Missing::Refused(cause)) => {
                self.unsupported.node(&codes::OP_UNSUPPORTED, format!("nodes behind {cause} cannot be decomposed"), &source.node);
                return self.cut(node, &outputs, &source);
            }
            Err(Missing::Failure(failure)) => {
                let done = site.close();
                done.undo(&mut self.builder);
                return self.failed(node, failure, &outputs, &source);
            }
        };
        let used = outputs.iter().map(|name| self.used.contains(name)).collect();
        let mut call = Call { site, schema, args, used };
        let result = lower(&mut call).and_then(|outs| bind(outs, &mut call, &mut self.scope, &outputs, &self.used));
        let result = result.and_then(|()| check(&mut call.site, &mut self.scope, &self.types, &outputs));
        let done = call.site.close();
        match result {
            Ok(()) => done.keep(&mut self.builder, source),
            Err(failure) => {
                done.undo(&mut self.builder);
                self.failed(node, failure, &outputs, &source);
            }
        }
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
        let mut site = Site::new(&mut self.builder, source.clone(), outputs.first().copied().unwrap_or(&source.node));
        let operands = node.inputs.iter().map(|input| match &input.arg {
            Argument::Tensor(name) => {
                self.scope.read(name, &mut site).map_err(|_| Failure::unsupported("its operand is missing"))
            }
            _ => Err(Failure::unsupported(format!("argument `{}`: a formula has operands alone", input.name))),
        });
        let result = operands.collect::<Result<Vec<_>, _>>().and_then(|operands| site.own(&own, &operands));
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
        match result {
            Ok(()) => done.keep(&mut self.builder, source),
            Err(failure) => {
                done.undo(&mut self.builder);
                self.failed(node, failure, outputs, &source);
            }
        }
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

    /// Cuts a node out: what it reads leaves the graph, what it computes enters it.
    fn cut(&mut self, node: &Node, outputs: &[&'p str], source: &Source) {
        let mut site = Site::new(&mut self.builder, source.clone(), &source.node);
        let mut read = Vec::new();
        for input in &node.inputs {
            tensor_names(&input.arg, &mut |name| read.extend(self.scope.read(name, &mut site).ok()));
        }
        site.close().keep(&mut self.builder, source.clone());
        read.iter().for_each(|operand| self.builder.expose(operand));
        for &name in outputs.iter().filter(|name| self.used.contains(*name)) {
            let ty = self.types.of(name).ok().filter(|ty| !ty.shape.contains(&0));
            match ty.and_then(|ty| self.builder.enter(name, ty)) {
                Some(operand) => self.scope.define(name, operand),
                None => self.scope.refuse(name, &source.node),
            }
        }
    }

    /// The program's outputs in its order, each under its own name, then what it writes.
    fn outputs(mut self, program: &'p Program) -> Result<Imported, Vec<Diagnostic>> {
        let graph = &program.graph_module.graph;
        let specs = &program.graph_module.signature.output_specs;
        let (mut outputs, mut changed): (Vec<ValueId>, Vec<(String, Operand)>) = (Vec::new(), Vec::new());
        for (position, argument) in graph.outputs.iter().enumerate() {
            let kind = specs.get(position).map_or("user_output", |spec| spec.kind.as_str());
            let Argument::Tensor(name) = argument else {
                if !matches!(argument, Argument::None) {
                    let message = format!("output {position} is no tensor");
                    self.unsupported.message(&codes::NOT_OFFERED, message);
                }
                continue;
            };
            let source = Source { operator: "output".to_owned(), node: name.clone(), module: None };
            let mut site = Site::new(&mut self.builder, source.clone(), name);
            let read = self.scope.read(name, &mut site);
            site.close().keep(&mut self.builder, source);
            let Ok(operand) = read else { continue };
            match kind {
                "user_output" => {
                    let ty = self.builder.ty(&operand);
                    if ty.shape.contains(&0) {
                        let message = format!("output `{name}` is {}: a dimension has size 0", display(&ty.shape));
                        self.error(&codes::MODEL_EMPTY_DIMENSION, message);
                        continue;
                    }
                    outputs.push(self.builder.output(name, &operand, &outputs, "output"));
                }
                "buffer_mutation" | "user_input_mutation" => {
                    let field = if kind == "buffer_mutation" { "buffer_name" } else { "user_input_name" };
                    let target = specs.get(position).and_then(|spec| spec.text(field)).unwrap_or(name).to_owned();
                    changed.push((target, operand));
                }
                "token" => {}
                other => self.unsupported.message(&codes::NOT_OFFERED, format!("output `{name}` is a {other}")),
            }
        }
        for (name, target) in std::mem::take(&mut self.writable) {
            if let Some(operand) = self.scope.written(&name) {
                changed.push((target, operand));
            }
        }
        let mut mutates = Vec::new();
        for (target, operand) in changed {
            // A counter of batches that is known is nobody's kernel.
            if operand.known().is_none() {
                let name = format!("{target}.updated");
                let value = self.builder.output(&name, &operand, &outputs, "output");
                mutates.push((value, target));
                outputs.push(value);
            }
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let unsupported = self.unsupported.diagnostics(self.file).collect();
        Ok(Imported { mutates, ..self.builder.finish(outputs, unsupported) })
    }
}

/// The names of a node's results; a list of tensors counts as several.
fn outputs(node: &Node) -> Vec<&str> {
    let mut names = Vec::new();
    for output in &node.outputs {
        match output {
            Argument::Int(Symbolic::Name(name))
            | Argument::Float(Symbolic::Name(name))
            | Argument::Bool(Symbolic::Name(name)) => {
                names.push(name.as_str());
            }
            other => tensor_names(other, &mut |name| names.push(name)),
        }
    }
    names
}

/// The arguments in the order of the schema's parameters, defaults filled in.
fn arguments(node: &Node, schema: &Schema, scope: &mut Scope, site: &mut Site) -> Result<Vec<Arg>, Missing> {
    let wrong = |message: String| Missing::Failure(Failure::invalid(message));
    for input in &node.inputs {
        if !schema.parameters.iter().any(|p| p.name == input.name) {
            return Err(wrong(format!("`{}` is no argument of {}", input.name, schema.name)));
        }
    }
    let mut args = Vec::new();
    for parameter in &schema.parameters {
        args.push(match node.inputs.iter().find(|input| input.name == parameter.name) {
            Some(input) => {
                let arg = scope.argument(&input.arg, site)?;
                arg.fitted(parameter.kind, parameter.length)
                    .ok_or_else(|| wrong(format!("argument `{}` of {} is of another kind", parameter.name, schema.name)))?
            }
            None => match &parameter.default {
                Some(default) => default.clone(),
                None => return Err(wrong(format!("argument `{}` of {} is missing", parameter.name, schema.name))),
            },
        });
    }
    Ok(args)
}

/// Gives the results their names, and writes where the operator does.
fn bind(outs: Outs, call: &mut Call, scope: &mut Scope, names: &[&str], used: &HashSet<&str>) -> Result<(), Failure> {
    let Outs { outs, writes } = outs;
    let in_place = call.schema.parameters.first().filter(|p| p.written && p.name == "self");
    if outs.len() < names.len() {
        return Err(Failure::unsupported(format!("{} results, {} are offered", names.len(), outs.len())));
    }
    if in_place.is_some()
        && let (Some(Out::Value(new)), Ok(target)) = (outs.first(), call.tensor_arg("self"))
    {
        let (old, made) = (call.ty(&target.operand), call.ty(new));
        if old != made {
            return Err(Failure::shapes(format!(
                "the result, {} {}, does not fit `self`, {} {}",
                made.dtype,
                display(&made.shape),
                old.dtype,
                display(&old.shape)
            )));
        }
        let new = match names.first() {
            Some(name) => call.site.named(new.clone(), name),
            None => new.clone(),
        };
        scope.write(&target.name, &mut call.site, new.clone())?;
        if let Some(name) = names.first() {
            scope.view(name, &target.name, super::alias::Step::Same, new);
        }
        return Ok(());
    }
    for (out, &name) in outs.into_iter().zip(names) {
        match out {
            Out::Value(operand) => {
                let operand = call.site.named(operand, name);
                scope.define(name, operand);
            }
            Out::View { operand, of, step } => {
                let operand = call.site.named(operand, name);
                scope.view(name, &of, step, operand);
            }
            Out::Number(value) => scope.define_number(name, value),
            Out::Absent(what) if used.contains(name) => return Err(Failure::unsupported(what)),
            Out::Absent(_) => {}
        }
    }
    for (name, operand) in writes {
        scope.write(&name, &mut call.site, operand)?;
    }
    Ok(())
}

/// Every result must have the type that the program declares.
fn check(site: &mut Site, scope: &mut Scope, types: &Types, names: &[&str]) -> Result<(), Failure> {
    for name in names {
        let Ok(operand) = scope.read(name, site) else { continue };
        types.compare(name, &site.ty(&operand))?;
    }
    Ok(())
}
