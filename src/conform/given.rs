//! A user's own arrays: for one kernel, whose operands they are, or for the whole model.
//!
//! The arrays stand for generated inputs ([`Kind::Given`]); what is not given is generated as ever, and
//! that is said. Bounds are those derived from these very elements; what caps them grows with the numbers inside
//! the kernel, and without a contraction nothing does ([`Inputs::Any`](super::bound::Inputs::Any)). Without expected
//! values the reference is the truth. With them the kernel is held to both, under the same bound, and a mismatch
//! says whether the reference agrees with the user.
//!
//! Not caught: expected values that are less exact than the bound are refused like wrong ones.

use std::collections::HashMap;

use super::causes;
use super::chain::ChainReport;
use super::compare;
use super::diagnose;
use super::execute::Executor;
use super::inputs::Kind;
use super::run::{Bench, Run, output_name};
use super::subject::{Given, Launch, Subject};
use super::verdict::Word;
use crate::diag::{Diagnostic, Result, codes};
use crate::graph::ValueId;
use crate::reference::Env;
use crate::shape::display;
use crate::tensor::{Tensor, npy};

/// An array as the user names it.
#[derive(Clone, Debug)]
pub struct Array {
    /// An operand, input or output; `None` where there is only one.
    pub name: Option<String>,
    /// For messages.
    pub file: String,
    /// In numpy's format.
    pub bytes: Vec<u8>,
}

/// Arrays to verify on.
#[derive(Clone, Debug, Default)]
pub struct Data {
    pub inputs: Vec<Array>,
    pub expected: Vec<Array>,
}

/// What was found out on a user's data.
#[derive(Clone, Debug)]
pub struct OnData {
    /// `kernel kernels/relu__0123.py`, or `the model`.
    pub what: String,
    pub word: Word,
    /// Against the expected values where there are any, else against the reference.
    pub error: f64,
    /// What that may be; of a kernel at the element that comes closest to it.
    pub allowed: f64,
    /// Whether expected values were compared.
    pub expected: bool,
    pub notes: Vec<String>,
    pub diagnostics: Vec<Diagnostic>,
}

/// A place that an array can be for.
struct Place {
    value: ValueId,
    /// The names that mean it, the shortest way to say it first.
    names: Vec<String>,
    /// Whether an array without a name can mean it.
    plain: bool,
}

/// The user's tensors for one kernel, and what is generated beside them.
///
/// # Errors
/// U001 for an array that is not read, or does not fit what it is for.
pub fn for_kernel(subject: &Subject, launch: &Launch, data: &Data) -> Result<(Given, Vec<String>)> {
    let graph = &subject.imported;
    let held = launch.held();
    let entering = graph.entering(&launch.nodes(graph));
    let place = |value: ValueId| {
        let operands = launch.operands.iter().filter(|o| o.imported == Some(value));
        let names = operands.map(|o| o.entry.name.clone()).chain([graph.value(value).name.clone()]).collect();
        Place { value, names, plain: held.contains(&value) || value == launch.output }
    };
    let inputs: Vec<Place> = entering.into_iter().map(place).collect();
    resolved(subject, &inputs, &[place(launch.output)], data)
}

/// The user's tensors for the whole model, and what is generated beside them.
///
/// # Errors
/// As [`for_kernel`].
pub fn for_model(subject: &Subject, data: &Data) -> Result<(Given, Vec<String>)> {
    let graph = &subject.imported;
    let places = |values: &[ValueId]| -> Vec<Place> {
        values.iter().map(|&value| Place { value, names: vec![graph.value(value).name.clone()], plain: true }).collect()
    };
    resolved(subject, &places(graph.inputs()), &places(graph.outputs()), data)
}

fn resolved(subject: &Subject, inputs: &[Place], outputs: &[Place], data: &Data) -> Result<(Given, Vec<String>)> {
    let given = Given {
        inputs: resolve(subject, "--input", inputs, &data.inputs)?,
        expected: resolve(subject, "--expect", outputs, &data.expected)?,
    };
    let rest: Vec<&str> = inputs.iter().filter(|p| !given.inputs.contains_key(&p.value)).map(|p| p.names[0].as_str()).collect();
    let note = format!("not given, and generated from seed {}: {}", subject.seed, rest.join(", "));
    Ok((given, if rest.is_empty() { Vec::new() } else { vec![note] }))
}

/// Verifies one kernel on a user's operands. The executor must run launches whole.
pub fn kernel(subject: &Subject, executor: &Executor, launch: &Launch, given: &Given, notes: Vec<String>) -> OnData {
    let file = &subject.manifest.kernels[launch.kernel].file;
    let (what, expected) = (format!("kernel {file}"), !given.expected.is_empty());
    let mut found = OnData { what, word: Word::Verified, error: 0.0, allowed: 0.0, expected, notes, diagnostics: Vec::new() };
    if let Some(error) = subject.unreadable(launch) {
        found.diagnostics.push(error.clone());
        found.word = Word::of(error.class());
        return found;
    }
    let change = |env: &mut Env| given.inputs.iter().for_each(|(&value, tensor)| env.set(value, tensor.clone()));
    let bench = Bench { subject, executor, launch };
    let run = bench.inputs(Kind::Given).and_then(|mut elements| {
        change(&mut elements.env);
        bench.run(Kind::Given, &elements)
    });
    match run {
        Ok(run) => {
            compared(subject, launch, &run, None, &mut found);
            if let Some(own) = given.expected.get(&launch.output) {
                compared(subject, launch, &run, Some(own), &mut found);
            }
        }
        Err(fault) => found.diagnostics.push(*causes::behind(subject, launch, fault, None)),
    }
    if let Some(first) = found.diagnostics.first() {
        found.word = Word::of(first.class());
    }
    found
}

/// Holds a kernel's output to the reference, or to the user's own truth.
fn compared(subject: &Subject, launch: &Launch, run: &Run, own: Option<&Tensor>, found: &mut OnData) {
    let (truth, derived) = (own.unwrap_or(&run.expected.tensor), &run.expected.derived);
    let comparison = compare::compare(&run.got, truth, derived);
    found.error = comparison.worst.as_ref().map_or(0.0, |worst| (worst.got - worst.expected).abs());
    found.allowed = comparison.worst.as_ref().map_or(0.0, |worst| worst.bound);
    let Some(mut finding) = diagnose::examine(&output_name(launch), &run.got, truth, derived, &comparison) else { return };
    if own.is_some() {
        if run.comparison.passed() {
            let message = format!(
                "{}: {} of {} elements differ from the expected values (--expect)",
                output_name(launch),
                comparison.failures,
                comparison.elements
            );
            let file = format!("{}/{}", subject.name, subject.manifest.kernels[launch.kernel].file);
            let diagnostic = Diagnostic::new(finding.diagnostic.code, message).in_file(file);
            // No line of the kernel is suspect.
            let diagnostic = diagnostic.note("the kernel agrees with the reference on these inputs");
            let help = "check that the inputs, the weights and the expected values belong together";
            found.diagnostics.push(diagnostic.help(help));
            return;
        }
        finding.diagnostic.notes.push("compared with the expected values (--expect)".to_owned());
    }
    found.diagnostics.push(causes::located(subject, launch, finding, Kind::Given.name(), None));
}

/// What a chain on the user's data found.
pub fn of_chain(chain: ChainReport, mut notes: Vec<String>) -> OnData {
    notes.extend(chain.notes);
    OnData {
        what: "the model".to_owned(),
        word: chain.word,
        error: chain.expected_err.unwrap_or(chain.max_abs_err),
        allowed: chain.allowed,
        expected: chain.expected_err.is_some(),
        notes,
        diagnostics: chain.diagnostics,
    }
}

/// Reads the arrays as what the places that they name hold.
fn resolve(subject: &Subject, flag: &str, places: &[Place], arrays: &[Array]) -> Result<HashMap<ValueId, Tensor>> {
    let mut found = HashMap::new();
    for array in arrays {
        let refuse = |what: String| Box::new(Diagnostic::new(&codes::USAGE, what).in_file(&array.file));
        let known = || places.iter().map(|p| p.names[0].as_str()).collect::<Vec<_>>().join(", ");
        let place = match &array.name {
            Some(name) => places.iter().find(|place| place.names.contains(name)).ok_or_else(|| {
                let diagnostic = refuse(format!("{flag} {name}=: there is nothing of this name"));
                Box::new(diagnostic.help(format!("name one of: {}", known())))
            })?,
            None => {
                let mut plain = places.iter().filter(|place| place.plain);
                match (plain.next(), plain.next()) {
                    (Some(only), None) => only,
                    (Some(_) | None, _) => {
                        let diagnostic = refuse(format!("{flag} does not say which array this is"));
                        return Err(Box::new(diagnostic.help(format!("write {flag} NAME=FILE, with one of: {}", known()))));
                    }
                }
            }
        };
        let name = &place.names[0];
        let ty = subject.imported.ty(place.value);
        let tensor = npy::read(&array.bytes, ty.dtype).map_err(|what| refuse(format!("{flag} {name}: {what}")))?;
        if tensor.shape() != ty.shape.as_slice() {
            let (own, wanted) = (display(tensor.shape()), display(&ty.shape));
            let diagnostic = refuse(format!("{flag} {name}: it holds {own}, but {name} is {wanted}"));
            return Err(Box::new(
                diagnostic.help("decompose the model at the shape of the data (--shape, --dim), or cut the data"),
            ));
        }
        if found.insert(place.value, tensor).is_some() {
            return Err(refuse(format!("{flag} gives {name} twice")));
        }
    }
    Ok(found)
}
