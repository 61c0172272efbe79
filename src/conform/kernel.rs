//! One launch in isolation: generated operands, the wrapper's launches emulated, and the result
//! compared with the reference on the *original* nodes. Twice:
//!
//! 1. *structure*: small integers, where contractions, sums, pools and copies must be bit-equal, so
//!    that a dropped term or a wrong coordinate cannot hide;
//! 2. *numerics*: seeded real numbers under a derived bound.
//!
//! and once more with a NaN and both infinities among the activations, which must come out at the same
//! places.
//!
//! Where launches are sampled, see [`super::sampled`].
//!
//! What it does not catch: faults that need other shapes, and what `run.py` does between launches
//! (that is the chain's to find).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::conform::bound::{Derived, Inputs, derive};
use crate::conform::compare::Comparison;
use crate::conform::diagnose::Finding;
use crate::conform::execute::{Cost, Executor, Extent};
use crate::conform::inputs::{self, Kind};
use crate::conform::subject::{Launch, Operand, Subject, module_name, upstream};
use crate::conform::verdict::{Error, Verdict, Word};
use crate::conform::{causes, compare, counterfactual, diagnose, exact, layout, planned, prepare, sampled, special};
use crate::diag::{Class, Diagnostic, Place, Result, codes};
use crate::emit::manifest::{OperandEntry, SlotEntry};
use crate::emulate::{self, BufferId, Memory, View};
use crate::graph::{NodeId, ValueId};
use crate::host::{self, Event};
use crate::reference::{self, Env, Math};
use crate::rng::Seed;
use crate::shape::{Shape, Strides};
use crate::tensor::{Storage, Tensor};
use crate::tolerance::Precision;

/// Verifies one launch of a suite.
pub fn verify(subject: &Subject, executor: &Executor, launch: &Launch) -> Verdict {
    if let Some(error) = subject.unreadable(launch) {
        return Verdict::fault(error.clone());
    }
    match passes(subject, executor, launch) {
        Ok(Outcome { error, exact, mismatch, cost }) => Verdict {
            bit_equal: Some(exact),
            word: match &mismatch {
                Some(mismatch) => Word::of(mismatch.class()),
                None if cost.sampled => Word::Sampled,
                None => Word::Verified,
            },
            error: Some(error),
            emulation_seconds: cost.wall_seconds,
            programs: cost.programs,
            known: false,
            seed: None,
            diagnostics: with_grid(subject, launch, mismatch),
        },
        Err(fault) => {
            // An element that is never written is told with the axes of the gap where it was found.
            let told = fault.code == &codes::NEVER_WRITTEN;
            let fault = Verdict::fault(if told { *fault } else { *causes::behind(subject, launch, fault, None) });
            Verdict { diagnostics: with_grid(subject, launch, fault.diagnostics), ..fault }
        }
    }
}

/// What was found wrong, and the grid where it may be the cause.
fn with_grid(subject: &Subject, launch: &Launch, found: impl IntoIterator<Item = Diagnostic>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = found.into_iter().collect();
    if found.iter().any(|diagnostic| diagnostic.class() == Class::Bug) {
        found.extend(planned::short_grid(subject, launch));
    }
    found
}

/// The passes in order, up to the first that does not hold. The figures are those of the numerics pass.
fn passes(subject: &Subject, executor: &Executor, launch: &Launch) -> Result<Outcome> {
    if executor.samples() {
        accesses(subject, executor, launch)?;
    }
    let structure = pass(subject, executor, launch, Kind::Structure)?;
    if structure.mismatch.is_some() {
        return Ok(structure);
    }
    let numerics = Outcome { exact: structure.exact, ..pass(subject, executor, launch, Kind::Numerics)? };
    if numerics.mismatch.is_some() {
        return Ok(numerics);
    }
    let mismatch = special_values(subject, executor, launch)?;
    Ok(Outcome { mismatch, ..numerics })
}

struct Outcome {
    error: Error,
    /// Held to bit-equality.
    exact: bool,
    mismatch: Option<Diagnostic>,
    cost: Cost,
}

/// What one run gave, and what it should.
pub(super) struct Trial {
    pub got: Tensor,
    pub expected: Expected,
    pub comparison: Comparison,
    cost: Cost,
}

impl Trial {
    /// Runs the launch on the inputs of a pass, changed by `change`.
    pub(super) fn run(
        subject: &Subject,
        executor: &Executor,
        launch: &Launch,
        kind: Kind,
        change: &dyn Fn(&mut Env),
    ) -> Result<Trial> {
        let (nodes, mut env) = drawn(subject, launch, kind)?;
        change(&mut env);
        let storages = storages(subject, launch, &mut env)?;
        let Emulated { output: got, written, cost } = emulated(subject, executor, launch, storages, false)?;
        let mut expected = Expected::of(subject, launch, &nodes, env, kind)?;
        let got = match written {
            Some(written) => sampled::restricted(got, &expected.tensor, &mut expected.derived, &written),
            None => got,
        };
        let comparison = compare::compare(&got, &expected.tensor, &expected.derived);
        Ok(Trial { got, expected, comparison, cost })
    }

    fn finding(&self, launch: &Launch) -> Option<Finding> {
        diagnose::examine(&output_name(launch), &self.got, &self.expected.tensor, &self.expected.derived, &self.comparison)
    }
}

/// The nodes that a launch computes, and what enters them.
fn drawn(subject: &Subject, launch: &Launch, kind: Kind) -> Result<(Vec<NodeId>, Env)> {
    let graph = &subject.imported;
    let given: BTreeSet<ValueId> = launch.operands.iter().filter(|o| o.in_memory()).filter_map(|o| o.imported).collect();
    let nodes = upstream(graph, &[launch.output], &given);
    let mut env = Env::new();
    let missing = inputs::generate(graph, &nodes, &graph.entering(&nodes), kind, subject.seed, &mut env)?;
    for value in missing {
        env.set(value, subject.weight(value)?);
    }
    Ok((nodes, env))
}

/// What a launch touches, when its values are only sampled.
fn accesses(subject: &Subject, executor: &Executor, launch: &Launch) -> Result<()> {
    if sampled::programs(executor, &traced(subject, launch)?, seed_of(subject, launch))?.is_none() {
        return Ok(());
    }
    let (_, mut env) = drawn(subject, launch, Kind::Numerics)?;
    let storages = storages(subject, launch, &mut env)?;
    emulated(subject, executor, launch, storages, true).map(drop)
}

fn pass(subject: &Subject, executor: &Executor, launch: &Launch, kind: Kind) -> Result<Outcome> {
    let trial = Trial::run(subject, executor, launch, kind, &|_| {})?;
    let mismatch = trial.finding(launch).map(|finding| {
        let right = |change: &dyn Fn(&mut Env)| {
            Trial::run(subject, executor, launch, kind, change).is_ok_and(|trial| trial.comparison.passed())
        };
        let evidence = counterfactual::gather(subject, launch, &right);
        causes::located(subject, launch, finding, kind.name(), evidence.as_ref())
    });
    let exact = trial.expected.derived.bound.is_none();
    Ok(Outcome { error: Error::of(&trial.comparison, &trial.expected.derived), exact, mismatch, cost: trial.cost })
}

/// What a launch computes on the numerics pass's inputs.
pub fn output(subject: &Subject, executor: &Executor, launch: &Launch) -> Result<Tensor> {
    Ok(Trial::run(subject, executor, launch, Kind::Numerics, &|_| {})?.got)
}

/// Whether NaN and infinities come out where they should.
fn special_values(subject: &Subject, executor: &Executor, launch: &Launch) -> Result<Option<Diagnostic>> {
    let graph = &subject.imported;
    let operands: Vec<ValueId> = launch.operands.iter().filter(|o| o.in_memory()).filter_map(|o| o.imported).collect();
    let change = |env: &mut Env| special::scatter(graph, &launch.covers, &operands, env);
    let trial = Trial::run(subject, executor, launch, Kind::Numerics, &change)?;
    // Only where numbers are not finite: finite ones were held to their bounds before. Where no bound holds
    // (a number that fp32 rounds to 0, times infinity), nothing is said.
    let (got, expected) = (reference::floats(trial.got.storage()), reference::floats(trial.expected.tensor.storage()));
    let derived = &trial.expected.derived;
    let strange = |at: usize| {
        let (y, r) = (got[at], expected[at]);
        let opposite = y.is_infinite() && r.is_infinite() && y != r;
        (y.is_nan() != r.is_nan() || y.is_finite() != r.is_finite() || opposite)
            && (r.is_nan() || derived.bound_at(at).is_finite())
    };
    if trial.comparison.non_finite_equal || !(0..got.len()).any(strange) {
        return Ok(None);
    }
    Ok(trial.finding(launch).map(|finding| causes::located(subject, launch, finding, special::NAME, None)))
}

/// What the output must be.
pub struct Expected {
    pub tensor: Arc<Tensor>,
    pub derived: Derived,
}

impl Expected {
    /// Evaluates nodes of the imported graph on the operands in `env`, and derives what the output of
    /// `launch` is held to: equality where every node is exact on these operands, else a bound.
    pub fn of(subject: &Subject, launch: &Launch, nodes: &[NodeId], mut env: Env, kind: Kind) -> Result<Expected> {
        let graph = &subject.imported;
        if kind == Kind::Structure {
            let mut single = env.clone();
            reference::evaluate(graph, nodes, &mut single, Math::Unrounded)?;
            let kept = subject.precision == Precision::Ieee || exact::survives_splitting(graph, nodes, &single);
            if kept && exact::is_exact(graph, nodes, &single) {
                let tensor = single.get(launch.output).cloned().ok_or_else(|| lost(subject, launch.output))?;
                return Ok(Expected { tensor, derived: Derived::exact() });
            }
        }
        reference::evaluate(graph, nodes, &mut env, Math::F64)?;
        let inputs = match kind {
            Kind::Structure | Kind::Numerics => Inputs::OwnLaw,
            Kind::Given => Inputs::Any,
        };
        let derived = derive(graph, nodes, &env, subject.precision, inputs)?;
        let tensor = env.get(launch.output).cloned().ok_or_else(|| lost(subject, launch.output))?;
        Ok(Expected { tensor, derived })
    }
}

/// The storage of each operand: its elements where its layout has them, nothing yet for the output.
fn storages(subject: &Subject, launch: &Launch, env: &mut Env) -> Result<Vec<Storage>> {
    let graph = &subject.imported;
    let bases: Vec<&str> = launch
        .operands
        .iter()
        .filter_map(|operand| match &operand.slot {
            SlotEntry::Weight(base) => Some(base.as_str()),
            SlotEntry::Input(_) | SlotEntry::Buffer(_) => None,
        })
        .collect();
    let weights = prepare::values(&subject.rewritten, &bases, |name| {
        let value = graph.find(name).ok_or_else(|| {
            Box::new(
                Diagnostic::new(&codes::SUITE_INVALID, format!("weight `{name}` is not in the imported graph"))
                    .in_file(&subject.name),
            )
        })?;
        env.get(value).cloned().map_or_else(|| subject.weight(value), Ok)
    })?;
    let storage = |operand: &Operand| {
        let entry = &operand.entry;
        match (&operand.slot, operand.imported) {
            _ if operand.written() => Ok(Storage::zeros(operand.dtype.carrier(), entry.storage)),
            (SlotEntry::Weight(base), _) => Ok(weights[base].storage().clone()),
            (SlotEntry::Input(_) | SlotEntry::Buffer(_), Some(value)) => {
                let tensor = env.get(value).cloned().ok_or_else(|| lost(subject, value))?;
                let storage = layout::scatter(&tensor, entry);
                if entry.storage < tensor.len() {
                    // A layout that reads one place as several elements decides what the operand is.
                    let read = layout::gather(&storage, tensor.dtype(), entry);
                    env.set(value, read.reshaped(Shape::from_slice(tensor.shape())).ok_or_else(|| lost(subject, value))?);
                }
                Ok(storage)
            }
            (SlotEntry::Input(_) | SlotEntry::Buffer(_), None) => {
                let what = format!("operand {} of {} lies in a buffer, but is no value of the model", entry.name, launch.layer);
                Err(Box::new(Diagnostic::new(&codes::SUITE_INVALID, what).in_file(&subject.name)))
            }
        }
    };
    launch.operands.iter().map(storage).collect()
}

struct Emulated {
    output: Tensor,
    /// Which elements of the output were computed, where only some programs ran.
    written: Option<Vec<bool>>,
    cost: Cost,
}

/// What the wrapper does.
fn traced(subject: &Subject, launch: &Launch) -> Result<host::Trace> {
    let kernel = &subject.manifest.kernels[launch.kernel];
    let args: Vec<_> = launch.operands.iter().map(Operand::host_arg).collect();
    host::trace_launch(&subject.modules, &module_name(&kernel.file), "launch", &args)
}

/// What the choice of programs depends on.
fn seed_of(subject: &Subject, launch: &Launch) -> Seed {
    Seed::derive(subject.seed, &launch.layer)
}

/// Runs the wrapper's launches on the storages and reads the output back. Of launches that are sampled only the
/// `accesses`, or only some programs.
fn emulated(subject: &Subject, executor: &Executor, launch: &Launch, storages: Vec<Storage>, accesses: bool) -> Result<Emulated> {
    let trace = traced(subject, launch)?;
    planned::agree(subject, launch, &trace)?;
    let extent = match sampled::programs(executor, &trace, seed_of(subject, launch))? {
        Some(_) if accesses => Extent::Accesses,
        Some(programs) => Extent::Programs(programs),
        None => Extent::Whole,
    };
    let mut memory = Memory::default();
    let mut output = None;
    for (operand, lanes) in launch.operands.iter().zip(storages) {
        if operand.written() {
            output = Some((memory.allocate(&operand.entry.name, operand.dtype, lanes.len()), operand));
        } else {
            memory.insert(&operand.entry.name, lanes);
        }
    }
    let mut cost = Cost::default();
    for event in &trace.events {
        match event {
            Event::Alloc { .. } => executor.allocate(&mut memory, &trace, event),
            Event::Launch(kernel) => cost.add(executor.run(&mut memory, kernel, &extent)?),
        }
    }
    let (buffer, output) = output.expect("invariant: a launch writes a value, checked when the suite was read");
    let written = if cost.sampled {
        let undefined = memory.buffers[buffer.0].undefined.as_ref();
        let places = layout::positions(&output.entry.shape, &output.entry.strides, output.entry.offset);
        Some(places.map(|at| undefined.is_none_or(|bits| !bits.get(at))).collect())
    } else {
        covered(subject, &memory, launch, buffer)?;
        None
    };
    let lanes = layout::gather(memory.lanes(buffer), output.dtype, &output.entry);
    let shape = Shape::from_slice(subject.imported.shape(launch.output));
    Ok(Emulated { output: lanes.reshaped(shape).ok_or_else(|| lost(subject, launch.output))?, written, cost })
}

/// Every element of the output was written.
pub fn covered(subject: &Subject, memory: &Memory, launch: &Launch, buffer: BufferId) -> Result<()> {
    let Some(output) = launch.operands.iter().find(|o| o.written()) else { return Ok(()) };
    let origin = output.entry.offset as usize;
    let (shape, strides) = (Shape::from_slice(&output.entry.shape), Strides::from_slice(&output.entry.strides));
    let view = View { buffer, pointer: origin, shape, strides, origin };
    match emulate::coverage(memory, &view) {
        None => Ok(()),
        Some(fault) => {
            let kernel = &subject.manifest.kernels[launch.kernel];
            let launched: Vec<String> = kernel.launches.iter().map(|l| format!("{:?} of {}", l.grid, l.function)).collect();
            let fault = fault.note(format!("layer: {}", launch.layer)).note(format!("planned grid: {}", launched.join(", ")));
            let axes = gap_axes(memory, buffer, &output.entry);
            let fault = *causes::behind(subject, launch, Box::new(fault), Some(&axes));
            let place = fault.place.clone().or(Some(Place::File { file: format!("{}/{}", subject.name, kernel.file) }));
            Err(Box::new(Diagnostic { place, ..fault }))
        }
    }
}

/// Axes along which some indices have no missing element: what makes these indices is where to look.
fn gap_axes(memory: &Memory, buffer: BufferId, entry: &OperandEntry) -> Vec<usize> {
    let Some(undefined) = &memory.buffers[buffer.0].undefined else { return Vec::new() };
    let mut missing: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); entry.shape.len()];
    for (flat, at) in layout::positions(&entry.shape, &entry.strides, entry.offset).enumerate() {
        if undefined.get(at) {
            let index = compare::unflatten(flat, &entry.shape);
            for (set, i) in missing.iter_mut().zip(index) {
                set.insert(i);
            }
        }
    }
    (0..entry.shape.len()).filter(|&axis| missing[axis].len() < entry.shape[axis]).collect()
}

pub(super) fn output_name(launch: &Launch) -> String {
    launch.operands.iter().find(|o| o.written()).map_or_else(String::new, |o| o.entry.name.clone())
}

pub fn lost(subject: &Subject, value: ValueId) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::INTERNAL, format!("no elements for {}", subject.imported.value(value).name)))
}
