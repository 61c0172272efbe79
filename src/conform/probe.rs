//! The anchor probe: whether a template keeps its contract at every fusion anchor.
//!
//! `template::check` gives small clusters that use one kind of anchor each. Every one is bound for each
//! of the template's schedules, with the direct entry and with the looped one (a single program, so
//! that its loop runs more than once), its wrapper is read back, its launches are emulated with all
//! checks on, and the result must be the reference's bit for bit, in every element of the output and
//! nowhere else. A function that rounds (exp, a division by what is no power of two) is held to its
//! derived bound, which a wrong coordinate of integers exceeds. The kernel alone runs on real numbers,
//! too, since integers do not see a wrong branch between two of them.
//!
//! The first fault of each anchor is told with the smallest shapes at which it shows ([`smallest`]).
//!
//! Not caught: what is right at the probe's shapes and wrong at others; other dtypes than fp32 and
//! other precision classes than ieee.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use crate::conform::bound::{Derived, Inputs, derive};
use crate::conform::execute::Executor;
use crate::conform::inputs::{self, Kind};
use crate::conform::{causes, compare, diagnose, layout};
use crate::diag::{Diagnostic, Place, Result, codes};
use crate::emit::{self, manifest::OperandEntry};
use crate::emulate::{self, BufferId, Checks, Memory, View};
use crate::graph::TensorType;
use crate::host::{self, Event, HostArg, Modules};
use crate::reference::{self, Env, Math};
use crate::shape::{Shape, display};
use crate::source::{SourceFile, Span};
use crate::syntax::parse_module;
use crate::target::{Ascend, Target};
use crate::template::check::{self, Probe, Probed};
use crate::template::{BindOptions, Bound, BoundKernel, Library, OperandAccess, Template, bind};
use crate::tensor::Tensor;
use crate::tolerance::Precision;

/// What became of one probe under one schedule and entry.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// `conv2d_resnet 2×3×9×8: prologue of X`.
    pub name: String,
    pub probed: Probed,
    /// Entries of `kernel.py` that were launched, joined by `, `; empty when nothing could be bound.
    pub entry: String,
    /// `None`: it holds. Else T002, at the anchor's comment.
    pub fault: Option<Diagnostic>,
}

/// What a probe is bound to, for each target that makes a difference.
type Kernels = Vec<(Target, Bound)>;

/// Probes every anchor of a template.
///
/// The last result is about anchors that no probe reached, when there are any. Once `cancel` is set nothing runs to
/// its end, and the results say nothing.
///
/// # Errors
/// T001 when a problem of `probe:` in `template.yaml` is incomplete.
pub fn template(template: &Arc<Template>, cancel: &Arc<AtomicBool>) -> Result<Vec<ProbeResult>> {
    let library = Library::only(template);
    let mut cases: Vec<(Probe, Kind, Kernels)> = Vec::new();
    let mut unbound = Vec::new();
    for probe in check::probes(template)? {
        let mut keys = BTreeSet::new();
        let mut kernels = Vec::new();
        for target in targets(template) {
            match bind(&probe.graph, &probe.cluster, &|v| probe.layout(v), &library, &target, BindOptions::default()) {
                Ok(bound) if keys.insert(bound.kernel.key.clone()) => kernels.push((target, bound)),
                Ok(_) => {}
                Err(error) => unbound.push(ProbeResult {
                    name: probe.name.clone(),
                    probed: probe.probed.clone(),
                    entry: String::new(),
                    fault: Some(fault(template, &probe, &[], format!("binding fails: {}", error.message), Some(*error))),
                }),
            }
        }
        cases.push((probe.clone(), Kind::Structure, kernels.clone()));
        if probe.probed == Probed::Alone {
            let name = format!("{}, real numbers", probe.name);
            cases.push((Probe { name, ..probe }, Kind::Numerics, kernels));
        }
    }
    let used: BTreeSet<&str> =
        cases.iter().flat_map(|(_, _, kernels)| kernels).flat_map(|(_, bound)| entries(&bound.kernel)).collect();
    let unreached = unreached(template, &used.into_iter().collect::<Vec<_>>());
    let mut ran: Vec<(ProbeResult, (&Probe, Kind, &Target))> = Vec::new();
    ran.par_extend(cases.par_iter().flat_map_iter(|(probe, kind, kernels)| {
        // Once for all schedules and entries: a reference is slower than a small launch.
        let expected = expected(probe, *kind);
        kernels.iter().map(move |(target, bound)| {
            let entries = entries(&bound.kernel);
            let outcome = match &expected {
                Ok(expected) => run(template, probe, bound, &entries, expected, cancel),
                Err(error) => Err(error.clone()),
            };
            let result = ProbeResult {
                name: probe.name.clone(),
                probed: probe.probed.clone(),
                entry: entries.join(", "),
                fault: outcome.err().map(|diagnostic| *diagnostic),
            };
            (result, (probe, *kind, target))
        })
    }));
    // The first fault of each anchor is the one that is shown.
    let mut told = Vec::new();
    for (result, (probe, kind, target)) in &mut ran {
        let Some(fault) = result.fault.as_mut().filter(|_| !told.contains(&result.probed)) else { continue };
        told.push(result.probed.clone());
        fault.notes.extend(smallest::note(template, &library, probe, *kind, target, cancel));
    }
    let mut results = unbound;
    results.extend(ran.into_iter().map(|(result, _)| result));
    results.extend(unreached);
    Ok(results)
}

/// One target for each way in which the schedule can choose; each with the direct entry and with the
/// looped one, whose single program takes every tile.
fn targets(template: &Template) -> Vec<Target> {
    let one_core = Target::all().iter().find_map(|t| t.ascend).map(|facts| Ascend { cube_cores: 1, vector_cores: 1, ..facts });
    let mut classes = Vec::new();
    let mut out = Vec::new();
    for target in Target::all() {
        let offered = |names: &[String]| names.is_empty() || names.iter().any(|name| name == target.name);
        let class: Vec<bool> = template.schedule.iter().map(|entry| offered(&entry.targets)).collect();
        if !classes.contains(&class) {
            classes.push(class);
            out.extend([Target { ascend: None, ..*target }, Target { ascend: one_core, ..*target }]);
        }
    }
    out
}

fn entries(kernel: &BoundKernel) -> Vec<&str> {
    kernel.launches.iter().map(|launch| launch.function.as_str()).collect()
}

/// Anchors of the template that lie in no function that was launched.
fn unreached(template: &Template, used: &[&str]) -> Option<ProbeResult> {
    let all: Vec<&str> = template.kernel.functions.iter().map(|f| f.name.as_str()).collect();
    let reached = check::anchors(template, None, used);
    let missed: Vec<Span> = check::anchors(template, None, &all).into_iter().filter(|a| !reached.contains(a)).collect();
    let first = *missed.first()?;
    let file = &template.kernel.file;
    let message = format!("template {}: no problem of `probe:` launches a kernel with this anchor", template.name);
    let diagnostic = Diagnostic::new(&codes::TEMPLATE_ANCHOR, message).at(file, first);
    Some(ProbeResult {
        name: format!("{}: every anchor is probed", template.name),
        probed: Probed::Unreached,
        entry: String::new(),
        fault: Some(diagnostic.help("add a problem to `probe:` whose shapes lead there")),
    })
}

/// T002 at the first anchor that the probe is about, with what was found.
fn fault(template: &Template, probe: &Probe, entries: &[&str], what: String, cause: Option<Diagnostic>) -> Diagnostic {
    let file = &template.kernel.file;
    let anchors = match probe.probed {
        Probed::Alone => Vec::new(),
        _ => check::anchors(template, Some(&probe.probed), entries),
    };
    let subject = match probe.probed {
        Probed::Alone => "the kernel as it stands, which is not the operator".to_owned(),
        _ => format!("anchor `{}`", probe.probed),
    };
    let entry = if entries.is_empty() { String::new() } else { format!(", {}", entries.join(", ")) };
    let message = format!("{subject} of template {} ({}{entry}): {what}", template.name, probe.name);
    let mut diagnostic = Diagnostic::new(&codes::TEMPLATE_ANCHOR, message);
    diagnostic = match anchors.split_first() {
        Some((&first, rest)) => rest.iter().fold(diagnostic.at(file, first), |diagnostic, &span| {
            diagnostic.related(Place::Text { file: file.clone(), span }, "bound alike")
        }),
        None => diagnostic.in_file(file.name()),
    };
    if let Some(cause) = cause {
        diagnostic.notes.extend(cause.notes);
        if let Some(place) = cause.place {
            diagnostic = diagnostic.related(place, cause.code.title);
        }
    }
    diagnostic.help(match probe.probed {
        Probed::Alone => "mend the kernel's own work first: the anchors of a wrong kernel cannot be judged",
        _ => "compare the anchor's coordinates and masks with the addresses and masks of its statement",
    })
}

/// Lines of `kernel.py` to look at first when the kernel alone gives wrong values.
fn suspects(template: &Template, entries: &[&str], got: &Tensor, expected: &Expected) -> Result<Vec<(Place, String)>> {
    let Expected { tensor, derived, operands: _ } = expected;
    let comparison = compare::compare(got, tensor, derived);
    let finding = diagnose::examine(&template.manifest.output().name, got, tensor, derived, &comparison);
    let (Some(finding), Some(entry)) = (finding, entries.last()) else { return Ok(Vec::new()) };
    let module = parse_module(&template.kernel.file)?;
    let manifest = &template.manifest;
    let pointers = manifest.inputs().iter().chain([manifest.output()]).map(|operand| {
        let stem = operand.name.to_ascii_lowercase();
        (format!("{stem}_ptr"), stem)
    });
    let seen = diagnose::Seen { clue: finding.clue, evidence: None, pointers: &pointers.collect(), grid: None };
    let ranked = diagnose::rank(&module, entry, seen, diagnose::SUSPECTS);
    Ok(causes::with_suspects(finding.diagnostic, &module, ranked).related)
}

/// Emulates one bound kernel and compares.
fn run(
    template: &Template,
    probe: &Probe,
    bound: &Bound,
    entries: &[&str],
    expected: &Expected,
    cancel: &Arc<AtomicBool>,
) -> Result<()> {
    let broken = |what: String, cause: Option<Diagnostic>| Box::new(fault(template, probe, entries, what, cause));
    let Some(failure) = judged(bound, expected, cancel) else { return Ok(()) };
    let mut fault = broken(failure.what, failure.cause);
    if let Some(got) = failure.got.filter(|_| probe.probed == Probed::Alone) {
        fault.related.extend(suspects(template, entries, &got, expected)?);
    }
    Err(fault)
}

/// What is wrong with a bound kernel.
struct Failure {
    what: String,
    /// A fault of the run, or ...
    cause: Option<Diagnostic>,
    /// ... wrong elements.
    got: Option<Tensor>,
}

/// Runs a bound kernel and compares.
fn judged(bound: &Bound, expected: &Expected, cancel: &Arc<AtomicBool>) -> Option<Failure> {
    let Expected { tensor, derived, operands } = expected;
    let got = match emulated(bound, operands, cancel) {
        Ok(got) => got,
        Err(error) => return Some(Failure { what: error.message.clone(), cause: Some(*error), got: None }),
    };
    let failing = compare::failing(&got, tensor, derived);
    let &at = failing.first()?;
    let (is, wanted) = (got.storage().get_f64(at), tensor.storage().get_f64(at));
    let index = compare::unflatten(at, got.shape());
    let what = format!(
        "element {:?} of {} is {is}, not {wanted} ({} of {} elements differ)",
        index.as_slice(),
        display(got.shape()),
        failing.len(),
        got.len()
    );
    Some(Failure { what, cause: None, got: Some(got) })
}

/// What a probe's kernels must give.
struct Expected {
    tensor: Arc<Tensor>,
    derived: Derived,
    operands: Env,
}

/// The reference on generated operands.
fn expected(probe: &Probe, kind: Kind) -> Result<Expected> {
    let (graph, nodes) = (&probe.graph, probe.cluster.nodes());
    let output = probe.cluster.output(graph);
    let mut env = Env::new();
    inputs::generate(graph, &nodes, &graph.entering(&nodes), kind, 0, &mut env)?;
    let operands = env.clone();
    let lost = || Box::new(Diagnostic::new(&codes::INTERNAL, format!("no elements for the output of {}", probe.name)));
    if probe.exact && kind == Kind::Structure {
        reference::evaluate(graph, &nodes, &mut env, Math::F32)?;
        let tensor = env.get(output).cloned().ok_or_else(lost)?;
        return Ok(Expected { tensor, derived: Derived::exact(), operands });
    }
    reference::evaluate(graph, &nodes, &mut env, Math::F64)?;
    let derived = derive(graph, &nodes, &env, Precision::Ieee, Inputs::OwnLaw)?;
    Ok(Expected { tensor: env.get(output).cloned().ok_or_else(lost)?, derived, operands })
}

/// Runs a bound kernel's wrapper on the operands; what it wrote.
fn emulated(bound: &Bound, env: &Env, cancel: &Arc<AtomicBool>) -> Result<Tensor> {
    const MODULE: &str = "probe";
    let kernel = &bound.kernel;
    let mut modules = Modules::new();
    modules.add(MODULE, parse_module(&SourceFile::new(format!("{}.py", kernel.template), emit::launch_module(kernel)))?)?;
    let options = emulate::Options { cancel: Some(cancel.clone()), ..emulate::Options::default() };
    let executor = Executor::new(&modules, options);
    let mut memory = Memory::default();
    let mut written = None;
    let mut args = Vec::new();
    let taken = kernel.operands.iter().filter(|operand| operand.access != OperandAccess::Scratch);
    for (operand, &value) in taken.zip(&bound.values) {
        let entry = OperandEntry::of(operand);
        let flat = Shape::from_slice(&[entry.storage]);
        let shape = if operand.layout.is_contiguous() { operand.layout.shape.clone() } else { flat };
        args.push(HostArg::Tensor(TensorType { dtype: operand.dtype, shape }));
        match env.get(value) {
            Some(tensor) => drop(memory.insert(&operand.name, layout::scatter(tensor, &entry))),
            None => written = Some((memory.allocate(&operand.name, operand.dtype, entry.storage), operand, entry)),
        }
    }
    let trace = host::trace_launch(&modules, MODULE, "launch", &args)?;
    for event in &trace.events {
        match event {
            Event::Alloc { .. } => executor.allocate(&mut memory, &trace, event),
            Event::Launch(launch) => drop(executor.launch(&mut memory, launch)?),
        }
    }
    let (buffer, operand, entry) =
        written.ok_or_else(|| Box::new(Diagnostic::new(&codes::INTERNAL, "a bound kernel writes nothing")))?;
    let (shape, strides, origin) = (operand.layout.shape.clone(), operand.layout.strides.clone(), entry.offset as usize);
    match emulate::coverage(&memory, &View { buffer, pointer: origin, shape, strides, origin }, Checks::default()) {
        Some(gap) => Err(Box::new(gap)),
        None => {
            nothing_else(&memory, buffer, &entry)?;
            Ok(layout::gather(memory.lanes(buffer), operand.dtype, &entry))
        }
    }
}

/// Between the output's elements nothing was written.
fn nothing_else(memory: &Memory, buffer: BufferId, entry: &OperandEntry) -> Result<()> {
    let own: BTreeSet<usize> = layout::positions(&entry.shape, &entry.strides, entry.offset).collect();
    let Some(undefined) = &memory.buffers[buffer.0].undefined else { return Ok(()) };
    match (0..entry.storage).find(|at| !own.contains(at) && !undefined.get(*at)) {
        None => Ok(()),
        Some(at) => Err(Box::new(Diagnostic::new(
            &codes::OUT_OF_BOUNDS_STORE,
            format!("{} is written at {at} of its storage, which is no element of it", entry.name),
        ))),
    }
}

mod smallest;
#[cfg(test)]
mod tests;
