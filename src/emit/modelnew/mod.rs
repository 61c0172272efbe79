//! `modelnew.py`: a task's answer as one self-contained file, whose `ModelNew` computes everything in Triton kernels.
//!
//! The file is [`kernels`] (each distinct text once, a launching function for each kernel of the plan), and the class:
//! `__init__` as the task has it ([`init`]), so that the same modules draw the same numbers, with weights prepared behind
//! it; `forward` in the host subset. `conform` reads it back.
//!
//! Buffers that the task's forward would change (running statistics) are not: a task is judged by what it returns.

mod init;
mod kernels;

use std::collections::{BTreeMap, BTreeSet};

use super::body::{self, Body};
use super::python::{Names, call, dtype, paragraph, prose, string, tuple};
use super::weights::literal;
use super::{prepare, run};
use crate::diag::{self, Diagnostic, codes};
use crate::dtype::DType;
use crate::graph::{Producer, ValueId};
use crate::import::task::source::Needed;
use crate::import::task::{Argument, Input, Task};
use crate::reference::seeded;
use crate::select::plan::{Plan, Slot};
use crate::syntax::ast::FunctionDef;
use crate::syntax::edit::Edits;
use crate::syntax::is_identifier;
use crate::tensor::Tensor;
use kernels::Kernels;

/// The file's name.
pub const FILE: &str = "modelnew.py";

/// The most elements of a constant that is written into the text.
const LITERAL: usize = 4096;

/// How the file is written.
#[derive(Clone, Debug)]
pub struct Form {
    /// What the kernels' names begin with.
    pub op_name: String,
    /// What `torch.manual_seed` is given first; `None` where the harness seeds.
    pub init_seed: Option<u64>,
}

/// The whole text.
///
/// # Errors
/// U006 for what the host subset has no form for, X001 when the plan contradicts itself.
pub fn text(plan: &Plan, task: &Task, form: &Form) -> diag::Result<String> {
    let inputs: Vec<String> = tensors(task).map(|(name, _)| name.to_owned()).collect();
    let needed = task.source.needed();
    let mut module = Names::new(&["torch", "nn", "triton", "tl", "check", "ModelNew", "self"]);
    for name in inputs.iter().chain(&bound_names(&needed)) {
        module.fresh(name);
    }
    let kernels = Kernels::of(plan, &form.op_name, &mut module);

    let mut text = docstring(plan, task);
    text += &imports(task, &needed);
    for kernel in &kernels.texts {
        text += &format!("\n\n{kernel}\n");
    }
    for launch in &kernels.launches {
        text += &format!("\n\n{launch}");
    }
    text += &format!("\n\n{}", include_str!("../text/check_input.py"));
    for part in needed.iter().filter(|part| !part.is_import) {
        text += &format!("\n\n{}\n", init::declaration(task, part.stmt));
    }
    text += "\n\nclass ModelNew(nn.Module):\n";
    let state = State::of(plan, task)?;
    text += &init::text(plan, task, form, &state)?;
    text += &format!("\n{}", forward(plan, task, &kernels, &state, inputs)?);
    Ok(text)
}

/// The tensors among the inputs.
fn tensors(task: &Task) -> impl Iterator<Item = (&str, &crate::graph::TensorType)> {
    task.inputs.iter().filter_map(|input| match input {
        Input::Tensor { name, ty } => Some((name.as_str(), ty)),
        Input::Value { .. } => None,
    })
}

fn bound_names(needed: &[Needed]) -> Vec<String> {
    needed.iter().flat_map(|part| part.names()).collect()
}

fn docstring(plan: &Plan, task: &Task) -> String {
    let launches = plan.launches.len();
    let kernels = plan.kernels.len();
    let count = |n: usize, what: &str, more: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}{more}") };
    let what = format!(
        "{} of {} in Triton: {} of {}.",
        prose(&task.source.class),
        prose(&task.task),
        count(launches, "launch", "es"),
        count(kernels, "kernel", "s")
    );
    let mut text = format!("\"\"\"{}", paragraph(0, &what).trim_end());
    text += "\n\nMade for the shapes and types that `forward` names; it refuses others.";
    if task.parameters.iter().any(|parameter| parameter.is_buffer) {
        text += " Buffers that the original updates are left as they are.";
    }
    text + "\n\"\"\"\n\n"
}

/// The imports that this file needs, then those of the task that its constructor needs.
fn imports(task: &Task, needed: &[Needed]) -> String {
    const OWN: [&str; 4] = ["import torch", "import torch.nn as nn", "import triton", "import triton.language as tl"];
    let theirs = needed.iter().filter(|part| part.is_import).map(|part| task.source.text(part.stmt.span));
    let (mut lines, mut rest): (Vec<&str>, Vec<&str>) = (OWN.to_vec(), theirs.filter(|line| !OWN.contains(line)).collect());
    rest.append(&mut lines);
    rest.join("\n") + "\n"
}

/// Where `self` holds what the launches read of weights.
struct State {
    /// Weights as the task's modules hold them, by an expression behind `self`.
    own: BTreeMap<ValueId, String>,
    /// Constants of the program that no module holds: attribute and elements.
    constants: Vec<(ValueId, String, std::sync::Arc<Tensor>)>,
    /// Prepared values, by attribute.
    prepared: Vec<(ValueId, String)>,
}

impl State {
    fn of(plan: &Plan, task: &Task) -> diag::Result<State> {
        let prepared = run::prepared_values(plan);
        let nodes = prepare::nodes_for(plan, &prepared);
        let mut attributes = Names::new(&[]);
        for name in init::attributes(task) {
            attributes.fresh(&name);
        }
        let mut state = State { own: BTreeMap::new(), constants: Vec::new(), prepared: Vec::new() };
        for value in weights(plan, &prepare::weights_of(&plan.graph, &nodes)) {
            let name = &plan.graph.value(value).name;
            if task.parameter(name).is_some() {
                let path = path(name).ok_or_else(|| {
                    let message = format!("the parameter `{name}`, whose name is no expression of Python");
                    Box::new(Diagnostic::new(&codes::NOT_OFFERED, message).in_file(&task.task))
                })?;
                state.own.insert(value, path);
                continue;
            }
            let imported = plan.imported.find(name).unwrap_or(value);
            let elements = seeded::own(&plan.imported, imported)?;
            if elements.len() > LITERAL && uniform(&elements).is_none() {
                let message = format!("a constant of {} elements, `{name}`, that no module of the task holds", elements.len());
                return Err(Box::new(Diagnostic::new(&codes::NOT_OFFERED, message).in_file(&task.task)));
            }
            state.constants.push((value, attributes.fresh(&format!("constant_{name}")), elements));
        }
        for value in prepared {
            let attribute = attributes.fresh(&format!("prepared_{}", plan.graph.value(value).name));
            state.prepared.push((value, attribute));
        }
        Ok(state)
    }

    /// A weight in `forward`; halves are held as integers, which no harness casts.
    fn named(&self, plan: &Plan, value: ValueId) -> String {
        if let Some(path) = self.own.get(&value) {
            return format!("self.{path}");
        }
        let constant = self.constants.iter().map(|(of, attribute, _)| (of, attribute));
        let mut held = constant.chain(self.prepared.iter().map(|(of, attribute)| (of, attribute)));
        let attribute = held.find(|(of, _)| **of == value).map_or_else(String::new, |(_, attribute)| attribute.clone());
        match plan.graph.dtype(value) {
            of @ (DType::F16 | DType::BF16) => format!("self.{attribute}.view({})", dtype(of)),
            _ => format!("self.{attribute}"),
        }
    }
}

/// The number that a constant has everywhere, where it has only one.
fn uniform(tensor: &Tensor) -> Option<f64> {
    let first = tensor.storage().get_f64(0);
    (0..tensor.len()).all(|i| tensor.storage().get_f64(i) == first).then_some(first)
}

/// A constant as Python.
fn constant(tensor: &Tensor) -> String {
    match uniform(tensor).filter(|_| tensor.len() > 1) {
        Some(value) => {
            let number = if tensor.dtype().is_float() { super::python::float(value) } else { (value as i64).to_string() };
            format!("torch.full({}, {number}, dtype={})", tuple(tensor.shape()), dtype(tensor.dtype()))
        }
        None => literal(tensor),
    }
}

/// Weights that launches read as they are, that are returned, or that preparation reads.
fn weights(plan: &Plan, prepared_from: &[ValueId]) -> BTreeSet<ValueId> {
    let taken = plan.launches.iter().flat_map(|launch| launch.operands.iter().map(|&(slot, _)| slot));
    let returned = plan.layouts.iter().filter(|(value, _, _)| plan.graph.outputs().contains(value)).map(|&(_, slot, _)| slot);
    let slots = taken.chain(returned).filter_map(|slot| match slot {
        Slot::Weight(value) => Some(value),
        Slot::Input(_) | Slot::Buffer(_) => None,
    });
    let own = |value: &ValueId| matches!(plan.graph.value(*value).producer, Producer::Weight(_));
    slots.chain(prepared_from.iter().copied()).filter(own).collect()
}

/// A name of a module's state as an expression: `layers.0.weight` is `layers[0].weight`; `None` where a part is no
/// identifier.
fn path(name: &str) -> Option<String> {
    let mut text = String::new();
    for part in name.split('.') {
        text += &match part.parse::<usize>() {
            Ok(index) if !text.is_empty() => format!("[{index}]"),
            _ if !is_identifier(part) => return None,
            _ if text.is_empty() => part.to_owned(),
            _ => format!(".{part}"),
        };
    }
    Some(text)
}

fn forward(plan: &Plan, task: &Task, kernels: &Kernels, state: &State, inputs: Vec<String>) -> diag::Result<String> {
    let def = task.source.forward();
    let mut taken: Vec<&str> = def.params.iter().map(|param| param.name.as_str()).collect();
    taken.extend(["torch", "triton", "check"]);
    taken.extend(kernels.callees.iter().map(String::as_str));
    let mut names = Names::new(&taken);
    let returns = def.returns.as_ref().map_or_else(String::new, |e| format!(" -> {}", task.source.text(e.span)));
    let mut text = format!("    def forward{}{returns}:\n", parameters(task, def));
    text += &format!("        \"\"\"Returns {}.\"\"\"\n", body::results(&plan.graph));
    for (name, ty) in tensors(task) {
        text += &call(8, "check", &[vec![string(name), name.to_owned(), tuple(&ty.shape), dtype(ty.dtype)]]);
    }
    for (name, value) in task.inputs.iter().filter_map(|input| match input {
        Input::Value { name, value } => Some((name, value)),
        Input::Tensor { .. } => None,
    }) {
        let value = python_value(value).ok_or_else(|| {
            let message = format!("an argument `{name}` of forward that is no number, string or tuple of these");
            Box::new(Diagnostic::new(&codes::NOT_OFFERED, message).in_file(&task.task))
        })?;
        let differs = if value == "None" { "is not" } else { "!=" };
        text += &format!("        if {name} {differs} {value}:\n");
        text += &format!("            raise ValueError(f\"{name} is {{{name}}}, made for {}\")\n", value.replace('"', "'"));
    }
    let body = Body::new(plan, 8, inputs, &mut names);
    let named = |value: ValueId| state.named(plan, value);
    text += &body.allocations();
    text += &body.launches(&named, &|kernel| kernels.callees[kernel].clone())?;
    Ok(text + &body.end(&named)?)
}

/// The task's parameter list. What is no tensor says so: readers of the file, the ban on operators among them, take every
/// other parameter for one.
fn parameters(task: &Task, def: &FunctionDef) -> String {
    let mut edits = Edits::default();
    for param in def.params.iter().filter(|param| param.annotation.is_none()) {
        let ty = task.inputs.iter().find_map(|input| match input {
            Input::Value { name, value } if *name == param.name => python_type(value),
            Input::Value { .. } | Input::Tensor { .. } => None,
        });
        if let Some(ty) = ty {
            edits.insert(param.span.start + param.name.len() as u32, format!(": {ty}"));
        }
    }
    edits.apply(task.source.module.file.text(), def.params_span)
}

fn python_type(value: &Argument) -> Option<&'static str> {
    Some(match value {
        Argument::Bool(_) => "bool",
        Argument::Int(_) => "int",
        Argument::Float(_) => "float",
        Argument::Str(_) => "str",
        Argument::Tuple(_) => "tuple",
        Argument::None | Argument::List(_) | Argument::Opaque(_) => return None,
    })
}

/// An argument as a Python literal.
fn python_value(value: &Argument) -> Option<String> {
    let all = |items: &[Argument]| items.iter().map(python_value).collect::<Option<Vec<String>>>();
    Some(match value {
        Argument::None => "None".to_owned(),
        Argument::Bool(v) => if *v { "True" } else { "False" }.to_owned(),
        Argument::Int(v) => v.to_string(),
        Argument::Float(v) => super::python::float(*v),
        Argument::Str(text) => string(text),
        Argument::Tuple(items) => tuple(&all(items)?),
        Argument::List(_) | Argument::Opaque(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn names_of_the_state_are_expressions() {
        assert_eq!(path("layers.0.conv.weight").as_deref(), Some("layers[0].conv.weight"));
        assert_eq!(path("bias").as_deref(), Some("bias"));
        assert_eq!(path("0.weight"), None);
        assert_eq!(path("a-b.weight"), None);
    }
}
