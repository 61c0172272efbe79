//! The whole model: `run.py`'s `prepare` and `forward`, executed as they are written.
//!
//! Each launch is compared with the reference *on the emulated inputs* that it really read, in one
//! chain through one memory, so that an error is found at the launch that makes it. At the end the
//! outputs' error against an f64 chain may be at most [`FACTOR`] times that of an f32 reference
//! chain; and every activation must carry a signal, since dead ones prove nothing.
//!
//! Host code that launches other kernels, or in another order, than the manifest says is found here;
//! what it computes with the right launches on wrong buffers is found by the last comparison.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rayon::prelude::*;

use crate::conform::bound::{Inputs, derive};
use crate::conform::causes::located;
use crate::conform::execute::{Cost, Executor};
use crate::conform::kernel::{covered, lost};
use crate::conform::subject::{Launch, Subject, module_name, upstream};
use crate::conform::verdict::Word;
use crate::conform::{alive, compare, diagnose, layout, prepare};
use crate::diag::{Diagnostic, Result, codes};
use crate::emit::manifest::SlotEntry;
use crate::emulate::{BufferId, Memory};
use crate::graph::{Producer, TensorType, ValueId};
use crate::host::{self, Event, HostArg, Trace, prepare_eval};
use crate::reference::{self, Env, Math, seeded};
use crate::rng::{self, Seed};
use crate::shape::{Shape, contiguous_strides};
use crate::tensor::Tensor;
use crate::tolerance::Precision;

/// How many times the error of an f32 reference chain the emulated outputs may have.
pub const FACTOR: f64 = 4.0;

/// How many elements of each output a report shows.
const HEAD: usize = 8;

/// What was found out about the whole model.
#[derive(Clone, Debug)]
pub struct ChainReport {
    pub word: Word,
    pub launches: usize,
    /// Of the outputs against the f64 chain.
    pub max_abs_err: f64,
    /// What that may be at most.
    pub allowed: f64,
    pub cost: Cost,
    /// The first elements of each output, by name.
    pub outputs: Vec<(String, Vec<f64>)>,
    pub diagnostics: Vec<Diagnostic>,
}

impl ChainReport {
    /// A verdict that was reached before; without figures.
    pub fn known(word: Word) -> ChainReport {
        let (outputs, diagnostics) = (Vec::new(), Vec::new());
        ChainReport { word, launches: 0, max_abs_err: 0.0, allowed: 0.0, cost: Cost::default(), outputs, diagnostics }
    }

    /// One line for people.
    pub fn summary(&self) -> String {
        if self.cost.programs == 0 {
            return format!("{}, {} launches, unchanged", self.word.as_str(), self.launches);
        }
        format!(
            "{}, {} launches, error {:.1e} of {:.1e} allowed, emulated in {:.0} ms ({:.0} ms CPU)",
            self.word.as_str(),
            self.launches,
            self.max_abs_err,
            self.allowed,
            self.cost.wall_seconds * 1e3,
            self.cost.cpu_seconds * 1e3
        )
    }
}

/// Runs and judges the whole model; `step` is told each layer that is done.
pub fn verify(subject: &Subject, executor: &Executor, step: &dyn Fn(&str) -> Result<()>) -> Result<ChainReport> {
    let mut report = ChainReport::known(Word::Verified);
    match Chain::start(subject).and_then(|chain| chain.run(executor, &mut report, step)) {
        Ok(()) => {}
        Err(diagnostic) if diagnostic.code == &codes::INTERRUPTED => return Err(diagnostic),
        Err(diagnostic) => report.diagnostics.push(*diagnostic),
    }
    if let Some(worst) = report.diagnostics.first() {
        report.word = Word::of(worst.class());
    }
    Ok(report)
}

/// Runs the whole model without judging it: what the emulator spent, and the outputs.
pub fn emulate(subject: &Subject, executor: &Executor) -> Result<(Cost, Vec<Tensor>)> {
    let mut chain = Chain::start(subject)?;
    let events = std::mem::take(&mut chain.trace.events);
    let mut cost = Cost::default();
    for event in &events {
        match event {
            Event::Alloc { .. } => executor.allocate(&mut chain.memory, &chain.trace, event),
            Event::Launch(kernel) => cost.add(executor.launch(&mut chain.memory, kernel)?),
        }
    }
    let outputs = chain.trace.returned.iter().map(|tensor| {
        let (strides, storage) = (tensor.strides.as_slice(), chain.memory.lanes(BufferId(tensor.storage.0)));
        layout::read(storage, tensor.dtype, &tensor.shape, strides, tensor.offset)
    });
    Ok((cost, outputs.collect()))
}

/// The model's memory while its launches run.
struct Chain<'s> {
    subject: &'s Subject,
    trace: Trace,
    memory: Memory,
    /// Model inputs and weights by value of the imported graph.
    given: Env,
    /// The storage of the first buffer; the others follow.
    first_buffer: usize,
    /// The storage of each weight or prepared value, by name.
    weights: HashMap<String, usize>,
}

impl<'s> Chain<'s> {
    /// Evaluates `prepare`, traces `forward`, and fills the arguments' storages.
    fn start(subject: &'s Subject) -> Result<Chain<'s>> {
        let graph = &subject.imported;
        let mut given = Env::new();
        for &input in graph.inputs() {
            given.set(input, model_input(subject, input));
        }
        let weights: Vec<(ValueId, TensorType)> = graph
            .values()
            .filter(|(_, data)| matches!(data.producer, Producer::Weight(_)))
            .map(|(value, data)| (value, data.ty.clone()))
            .collect();
        let tensors = weights.par_iter().map(|(value, _)| subject.weight(*value)).collect::<Result<Vec<_>>>()?;
        for ((value, _), tensor) in weights.iter().zip(tensors) {
            given.set(*value, tensor);
        }
        let name = |value: ValueId| graph.value(value).name.clone();
        let types: Vec<(String, TensorType)> = weights.iter().map(|(value, ty)| (name(*value), ty.clone())).collect();
        let prepared = prepared(subject, &types, &given)?;

        let mut args: Vec<HostArg> = graph.inputs().iter().map(|&input| HostArg::Tensor(graph.ty(input).clone())).collect();
        args.push(HostArg::Mapping(types.clone()));
        let ty = |tensor: &Tensor| TensorType { dtype: tensor.dtype(), shape: Shape::from_slice(tensor.shape()) };
        args.push(HostArg::Tuple(prepared.iter().map(|(_, tensor)| HostArg::Tensor(ty(tensor))).collect()));
        let trace = host::trace_forward(&subject.modules, "run", &args)?;

        let mut memory = Memory::default();
        let mut by_name = HashMap::new();
        let lanes = |value: ValueId| given.get(value).map(|t| t.storage().clone()).ok_or_else(|| lost(subject, value));
        for &input in graph.inputs() {
            memory.insert(name(input), lanes(input)?);
        }
        for (value, _) in &weights {
            by_name.insert(name(*value), memory.buffers.len());
            memory.insert(name(*value), lanes(*value)?);
        }
        for (name, tensor) in prepared {
            by_name.insert(name.clone(), memory.buffers.len());
            memory.insert(name, tensor.into_storage());
        }
        let first_buffer = memory.buffers.len();
        buffers_as_planned(subject, &trace)?;
        Ok(Chain { subject, trace, memory, given, first_buffer, weights: by_name })
    }

    fn run(mut self, executor: &Executor, report: &mut ChainReport, step: &dyn Fn(&str) -> Result<()>) -> Result<()> {
        let subject = self.subject;
        let events = std::mem::take(&mut self.trace.events);
        let mut launches = subject.launches.iter();
        let mut current: Option<(&Launch, usize)> = None;
        for event in &events {
            let kernel = match event {
                Event::Alloc { .. } => {
                    executor.allocate(&mut self.memory, &self.trace, event);
                    continue;
                }
                Event::Launch(kernel) => kernel,
            };
            let (launch, left) = match current {
                Some(current) => current,
                None => {
                    let launch = launches.next().ok_or_else(|| differs(subject, &kernel.module, "nothing"))?;
                    (launch, subject.manifest.kernels[launch.kernel].launches.len())
                }
            };
            let planned = module_name(&subject.manifest.kernels[launch.kernel].file);
            if kernel.module != planned {
                return Err(differs(subject, &kernel.module, &planned));
            }
            report.cost.add(executor.launch(&mut self.memory, kernel)?);
            current = (left > 1).then_some((launch, left - 1));
            if current.is_none() {
                report.launches += 1;
                report.diagnostics.extend(self.judge(launch)?);
                step(&launch.layer)?;
            }
        }
        if let Some(launch) = current.map(|c| c.0).or_else(|| launches.next()) {
            return Err(differs(subject, "nothing", &module_name(&subject.manifest.kernels[launch.kernel].file)));
        }
        self.outputs(report)
    }

    /// Compares one launch's output with the reference on the inputs that lie in memory.
    fn judge(&self, launch: &Launch) -> Result<Vec<Diagnostic>> {
        let (subject, graph) = (self.subject, &self.subject.imported);
        let mut env = Env::new();
        let mut given = BTreeSet::new();
        let mut got = None;
        for operand in &launch.operands {
            let slot = self.storage_of(&operand.slot)?;
            let tensor = layout::gather(self.memory.lanes(BufferId(slot)), operand.dtype, &operand.entry);
            let Some(value) = operand.imported else { continue };
            if operand.written() {
                covered(subject, &self.memory, launch, BufferId(slot))?;
                got = tensor.reshaped(Shape::from_slice(graph.shape(value)));
            } else if !matches!(operand.slot, SlotEntry::Weight(_)) {
                env.set(value, tensor.reshaped(Shape::from_slice(graph.shape(value))).ok_or_else(|| lost(subject, value))?);
                given.insert(value);
            }
        }
        let nodes = upstream(graph, &[launch.output], &given);
        for value in graph.entering(&nodes) {
            if env.get(value).is_none() {
                env.set(value, self.given.get(value).cloned().ok_or_else(|| lost(subject, value))?);
            }
        }
        reference::evaluate(graph, &nodes, &mut env, Math::F64)?;
        let derived = derive(graph, &nodes, &env, Precision::Ieee, Inputs::Any)?;
        let (Some(got), Some(expected)) = (got, env.get(launch.output)) else { return Err(lost(subject, launch.output)) };
        let comparison = compare::compare(&got, expected, &derived);
        let name = &graph.value(launch.output).name;
        let finding = diagnose::examine(name, &got, expected, &derived, &comparison);
        let mismatch = finding.map(|finding| located(subject, launch, finding, "chain", None));
        let dead = match graph.value(launch.output).producer {
            Producer::Node { node, .. } => alive::check(&subject.manifest.model, &launch.layer, &graph.node(node).op, &got),
            Producer::Input(_) | Producer::Weight(_) => None,
        };
        Ok(mismatch.into_iter().chain(dead).collect())
    }

    fn storage_of(&self, slot: &SlotEntry) -> Result<usize> {
        let lost = || {
            Box::new(
                Diagnostic::new(&codes::SUITE_INVALID, format!("the chain has no storage for {slot:?}"))
                    .in_file(&self.subject.name),
            )
        };
        match slot {
            SlotEntry::Input(i) => Ok(*i),
            SlotEntry::Weight(name) => self.weights.get(name).copied().ok_or_else(lost),
            SlotEntry::Buffer(i) => Some(self.first_buffer + i).filter(|&at| at < self.memory.buffers.len()).ok_or_else(lost),
        }
    }

    /// Compares the model's outputs with an f64 chain, by the measure of an f32 chain.
    fn outputs(&self, report: &mut ChainReport) -> Result<()> {
        let (subject, graph) = (self.subject, &self.subject.imported);
        let returned = &self.trace.returned;
        if returned.len() != graph.outputs().len() {
            let what = format!("forward returns {} tensors, the model {}", returned.len(), graph.outputs().len());
            return Err(Box::new(Diagnostic::new(&codes::SHAPE_MISMATCH, what).in_file(format!("{}/run.py", subject.name))));
        }
        let (wide, narrow) =
            rayon::join(|| model_outputs(subject, &self.given, Math::F64), || model_outputs(subject, &self.given, Math::F32));
        for (((&output, tensor), wide), narrow) in graph.outputs().iter().zip(returned).zip(wide?).zip(narrow?) {
            let name = &graph.value(output).name;
            if tensor.dtype != graph.dtype(output)
                || tensor.shape.as_slice() != graph.shape(output)
                || tensor.strides != contiguous_strides(&tensor.shape)
            {
                let what = format!(
                    "forward returns {name} as {}, not {}",
                    crate::shape::display(&tensor.shape),
                    crate::shape::display(graph.shape(output))
                );
                return Err(Box::new(Diagnostic::new(&codes::SHAPE_MISMATCH, what).in_file(format!("{}/run.py", subject.name))));
            }
            let storage = self.memory.lanes(BufferId(tensor.storage.0));
            let got: Vec<f64> = (0..wide.len()).map(|i| storage.get_f64(tensor.offset as usize + i)).collect();
            let distance = |lane: &dyn Fn(usize) -> f64| {
                let apart = |i: usize| difference(lane(i), wide.storage().get_f64(i));
                (0..wide.len()).map(apart).fold(0.0, |a: f64, b| if b.is_nan() { f64::NAN } else { a.max(b) })
            };
            let error = distance(&|i| got[i]);
            let finite = (0..wide.len()).map(|i| wide.storage().get_f64(i).abs()).filter(|v| v.is_finite());
            let largest = finite.fold(0.0, f64::max);
            // An f32 chain that happens to be exact still leaves one rounding.
            let allowed = FACTOR * distance(&|i| narrow.storage().get_f64(i)).max(largest * f64::from(f32::EPSILON));
            report.max_abs_err = report.max_abs_err.max(error);
            report.allowed = report.allowed.max(allowed);
            report.outputs.push((name.clone(), got.iter().take(HEAD).copied().collect()));
            if error.is_nan() || error > allowed {
                let what = format!(
                    "output {name} is off by {error:.3e}, but {allowed:.3e} is allowed ({FACTOR} times an f32 reference's error)"
                );
                report.diagnostics.push(
                    Diagnostic::new(&codes::CHAIN_MISMATCH, what)
                        .in_file(format!("{}/run.py", subject.name))
                        .help("compare run.py's launches and buffers with the manifest's"),
                );
            }
        }
        Ok(())
    }
}

/// |a − b|; nothing between equal infinities or two NaN, NaN where only one is not finite.
fn difference(a: f64, b: f64) -> f64 {
    match (a.is_finite(), b.is_finite()) {
        (true, true) => (a - b).abs(),
        (false, false) if a == b || (a.is_nan() && b.is_nan()) => 0.0,
        (false, _) | (_, false) => f64::NAN,
    }
}

/// A model input, generated as the suite's `weights.py` does.
pub fn model_input(subject: &Subject, input: ValueId) -> Tensor {
    let data = subject.imported.value(input);
    let shape = data.ty.shape.clone();
    match seeded::law(data.role, data.ty.dtype) {
        Some(law) => rng::fill(law, Seed::derive(subject.manifest.seed, &data.name), data.ty.dtype, shape),
        None => Tensor::zeros(data.ty.dtype, shape),
    }
}

/// `forward` allocates the manifest's buffers first, in their order.
fn buffers_as_planned(subject: &Subject, trace: &Trace) -> Result<()> {
    let mut allocated = trace.events.iter().filter_map(|event| match event {
        Event::Alloc { dtype, len, .. } => Some((dtype.name(), *len)),
        Event::Launch(_) => None,
    });
    for (i, planned) in subject.manifest.buffers.iter().enumerate() {
        let found = allocated.next();
        if found != Some((planned.dtype.as_str(), planned.len)) {
            let found = found.map_or("none".to_owned(), |(dtype, len)| format!("{len} elements of {dtype}"));
            let what = format!("forward's buffer {i} is {found}, the manifest's has {} of {}", planned.len, planned.dtype);
            let diagnostic = Diagnostic::new(&codes::HOST_EDITED, what).in_file(format!("{}/run.py", subject.name));
            return Err(Box::new(diagnostic.help("undo the edit, or decompose again")));
        }
    }
    Ok(())
}

/// What `run.py`'s `prepare` returns, by the name of the value that the manifest has for it; each is
/// compared with the reference's.
fn prepared(subject: &Subject, types: &[(String, TensorType)], given: &Env) -> Result<Vec<(String, Tensor)>> {
    let graph = &subject.imported;
    let names: Vec<&str> = subject.manifest.prepared.iter().map(String::as_str).collect();
    let weight = |name: &str| {
        let found = graph.find(name).and_then(|v| given.get(v));
        found.cloned().ok_or_else(|| {
            Box::new(Diagnostic::new(&codes::SUITE_INVALID, format!("there is no weight `{name}`")).in_file(&subject.name))
        })
    };
    let steps = host::prepare(&subject.modules, "run", types)?;
    let mut held: HashMap<&str, Arc<Tensor>> = HashMap::new();
    for (name, _) in types {
        held.insert(name, weight(name)?);
    }
    let own = prepare_eval::evaluate(&steps, |name| {
        let missing = || {
            Box::new(
                Diagnostic::new(&codes::SUITE_INVALID, format!("prepare reads `{name}`, which the model lacks"))
                    .in_file(&subject.name),
            )
        };
        held.get(name).map(|t| std::borrow::Cow::Borrowed(t.as_ref())).ok_or_else(missing)
    })?;
    let expected = prepare::values(&subject.rewritten, &names, weight)?;
    let run = || format!("{}/run.py", subject.name);
    if own.len() != names.len() {
        let what = format!("prepare returns {} tensors, the manifest has {}", own.len(), names.len());
        return Err(Box::new(Diagnostic::new(&codes::HOST_EDITED, what).in_file(run())));
    }
    for (name, tensor) in names.iter().zip(&own) {
        if *tensor != *expected[*name] {
            let what = format!("prepare computes other elements for {name} than the manifest's graph");
            return Err(Box::new(
                Diagnostic::new(&codes::HOST_EDITED, what).in_file(run()).help("undo the edit, or decompose again"),
            ));
        }
    }
    Ok(names.into_iter().map(str::to_owned).zip(own).collect())
}

/// The imported graph's outputs, evaluated whole; values are dropped after their last use.
fn model_outputs(subject: &Subject, given: &Env, math: Math) -> Result<Vec<Arc<Tensor>>> {
    let graph = &subject.imported;
    let order = graph.topological().map_err(|_| Box::new(Diagnostic::new(&codes::INTERNAL, "the imported graph has a cycle")))?;
    let mut last_use: HashMap<ValueId, usize> = HashMap::new();
    for (at, &node) in order.iter().enumerate() {
        for &value in graph.node(node).inputs.iter().flatten() {
            last_use.insert(value, at);
        }
    }
    let mut env = given.clone();
    for (at, &node) in order.iter().enumerate() {
        reference::evaluate(graph, &[node], &mut env, math)?;
        for &value in graph.node(node).inputs.iter().flatten() {
            if last_use[&value] == at && !graph.outputs().contains(&value) {
                env.remove(value);
            }
        }
    }
    graph.outputs().iter().map(|&v| env.get(v).cloned().ok_or_else(|| lost(subject, v))).collect()
}

fn differs(subject: &Subject, launched: &str, planned: &str) -> Box<Diagnostic> {
    let what = format!("forward launches {launched} where the manifest has {planned}");
    Box::new(
        Diagnostic::new(&codes::HOST_EDITED, what)
            .in_file(format!("{}/run.py", subject.name))
            .help("undo the edit, or decompose again"),
    )
}
