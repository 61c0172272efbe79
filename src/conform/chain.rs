//! The whole model: `run.py`'s `prepare` and `forward`, executed as they are written.
//!
//! Each launch is compared with the reference *on the emulated inputs* that it really read, in one
//! chain through one memory, so that an error is found at the launch that makes it. At the end the
//! outputs' error against an f64 chain may be at most [`outputs::FACTOR`] times that of a reference chain in
//! the suite's own types and class: each node's result rounded to its dtype, and operands truncated
//! for tf32. Every activation must carry a signal, since dead ones prove nothing.
//!
//! Host code that launches other kernels, or in another order, than the manifest says is found here;
//! what it computes with the right launches on wrong buffers is found by the last comparison.

use std::collections::{BTreeSet, HashMap};

use crate::conform::bound::{Inputs, derive};
use crate::conform::causes::located;
use crate::conform::execute::{Cost, Executor};
use crate::conform::outputs::{self, Left};
use crate::conform::run::{covered, lost};
use crate::conform::subject::{Launch, Subject, module_name, upstream};
use crate::conform::truth::{entering, model_input};
use crate::conform::verdict::Word;
use crate::conform::weights::{self, Weights};
use crate::conform::{alive, compare, constant, diagnose, forward, layout, planned};
use crate::diag::{Diagnostic, Result, codes};
use crate::emit::manifest::{AccessEntry, SlotEntry};
use crate::emulate::{BufferId, Memory};
use crate::graph::{Producer, TensorType, ValueId};
use crate::host::{self, Event, HostArg, KernelLaunch, Trace};
use crate::reference::{self, Env, Math};
use crate::shape::Shape;
use crate::tensor::Tensor;

/// What was found out about the whole model.
#[derive(Clone, Debug)]
pub struct ChainReport {
    pub word: Word,
    pub launches: usize,
    /// Of the outputs against the f64 chain.
    pub max_abs_err: f64,
    /// What that may be at most.
    pub allowed: f64,
    /// Of the outputs against what a user expects.
    pub expected_err: Option<f64>,
    pub cost: Cost,
    /// The first elements of each output, by name.
    pub outputs: Vec<(String, Vec<f64>)>,
    /// The layer at which the run ended because its kernel fails by itself.
    pub ended_at: Option<String>,
    /// Whether an earlier run reached this on the same bytes.
    pub known: bool,
    /// The seed of the inputs on which it does not hold.
    pub seed: Option<u64>,
    /// Outputs that carry no signal although no kernel is to blame.
    pub notes: Vec<String>,
    pub diagnostics: Vec<Diagnostic>,
}

impl ChainReport {
    /// Nothing ran yet.
    pub fn of_nothing() -> ChainReport {
        ChainReport {
            word: Word::Verified,
            launches: 0,
            max_abs_err: 0.0,
            allowed: 0.0,
            expected_err: None,
            cost: Cost::default(),
            outputs: Vec::new(),
            ended_at: None,
            known: false,
            seed: None,
            notes: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    /// One line for people.
    pub fn summary(&self) -> String {
        let launches = if self.launches == 1 { "1 launch".to_owned() } else { format!("{} launches", self.launches) };
        let mut text = format!("{}, {launches}", self.word.as_str());
        if let Some(layer) = &self.ended_at {
            return text + &format!(" before {layer}, whose kernel fails");
        }
        if self.known || self.word == Word::Verified {
            text += &format!(", error {:.1e} of {:.1e} allowed", self.max_abs_err, self.allowed);
        }
        if self.known {
            return text + ", unchanged";
        }
        if self.cost.programs > 0 {
            let (wall, cpu) = (self.cost.wall_seconds * 1e3, self.cost.cpu_seconds * 1e3);
            text += &format!(", emulated in {wall:.0} ms ({cpu:.0} ms CPU)");
        }
        text
    }
}

/// How much of what is allowed an error takes.
pub fn share(error: f64, allowed: f64) -> f64 {
    if allowed > 0.0 { error / allowed } else { 0.0 }
}

/// Runs and judges the whole model; `step` is told each layer that is done.
///
/// The run ends before the first launch of a kernel that is known to have `failed` by itself (kernels by
/// their place in the manifest): what follows would only tell the same fault again.
pub fn verify(
    subject: &Subject,
    executor: &Executor,
    failed: &BTreeSet<usize>,
    step: &dyn Fn(&str) -> Result<()>,
) -> Result<ChainReport> {
    let mut report = ChainReport::of_nothing();
    if let Some(error) = subject.unreadable.get("run") {
        report.diagnostics.push(error.clone());
        report.word = Word::of(error.class());
        return Ok(report);
    }
    if let Some((before, launch)) = subject.launches.iter().enumerate().find(|(_, launch)| subject.unreadable(launch).is_some()) {
        report.launches = before;
        report.ended_at = Some(launch.layer.clone());
        report.word = Word::NotVerified;
        return Ok(report);
    }
    match Chain::start(subject, executor).and_then(|chain| chain.run(executor, failed, &mut report, step)) {
        Ok(()) => {}
        Err(diagnostic) if diagnostic.code == &codes::INTERRUPTED => return Err(diagnostic),
        Err(diagnostic) => {
            match subject.launches.iter().find(|l| failed.contains(&l.kernel) && forward::leads_to(subject, l, &diagnostic)) {
                Some(launch) => report.ended_at = Some(launch.layer.clone()),
                None => report.diagnostics.push(*diagnostic),
            }
        }
    }
    match report.diagnostics.first() {
        Some(worst) => report.word = Word::of(worst.class()),
        None if report.ended_at.is_some() => report.word = Word::NotVerified,
        None => {}
    }
    Ok(report)
}

/// Runs the whole model without judging it: what the emulator spent, and the outputs.
pub fn emulate(subject: &Subject, executor: &Executor) -> Result<(Cost, Vec<Tensor>)> {
    let mut chain = Chain::start(subject, executor)?;
    let events = std::mem::take(&mut chain.trace.events);
    let mut cost = Cost::default();
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Alloc { .. } => executor.allocate(&mut chain.memory, &chain.trace, event),
            Event::Launch(kernel) => {
                chain.weights.load(kernel, &mut chain.memory)?;
                cost.add(executor.launch(&mut chain.memory, kernel)?);
                chain.weights.drop_after(at, &mut chain.memory);
            }
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
    /// Model inputs by value of the imported graph.
    given: Env,
    /// The storage of the first buffer; the others follow.
    first_buffer: usize,
    weights: Weights<'s>,
    /// The largest bound of the launch that wrote a storage last.
    bounds: HashMap<usize, f64>,
    /// Outputs that are the same whatever goes into the model.
    constant: Env,
}

impl<'s> Chain<'s> {
    /// Reads `prepare`, traces `forward`, and fills the inputs' storages.
    fn start(subject: &'s Subject, executor: &Executor) -> Result<Chain<'s>> {
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
        let name = |value: ValueId| graph.value(value).name.clone();
        let types: Vec<(String, TensorType)> = weights.iter().map(|(value, ty)| (name(*value), ty.clone())).collect();
        let prepare = weights::prepare(subject, &types)?;

        let mut args: Vec<HostArg> = graph.inputs().iter().map(|&input| HostArg::Tensor(graph.ty(input).clone())).collect();
        args.push(HostArg::Mapping(types.clone()));
        let prepared = prepare.returned.iter().map(|&at| HostArg::Tensor(prepare.steps[at].ty.clone()));
        args.push(HostArg::Tuple(prepared.collect()));
        let trace = host::trace_forward(&subject.modules, "run", &args).map_err(|error| forward::refused(subject, error))?;

        let mut memory = Memory::default();
        let lanes = |value: ValueId| given.get(value).map(|t| t.storage().clone()).ok_or_else(|| lost(subject, value));
        for &input in graph.inputs() {
            memory.insert(name(input), lanes(input)?);
        }
        let mut weights = Weights::new(subject, types, prepare, &trace, &mut memory, executor.checks().prepared);
        for tensor in &trace.returned {
            weights.make(tensor.storage.0, &mut memory)?;
        }
        let first_buffer = memory.buffers.len();
        forward::buffers_as_planned(subject, &trace)?;
        Ok(Chain { subject, trace, memory, given, first_buffer, weights, bounds: HashMap::new(), constant: Env::new() })
    }

    fn run(
        mut self,
        executor: &Executor,
        failed: &BTreeSet<usize>,
        report: &mut ChainReport,
        step: &dyn Fn(&str) -> Result<()>,
    ) -> Result<()> {
        let subject = self.subject;
        let events = std::mem::take(&mut self.trace.events);
        let mut launches = subject.launches.iter();
        let mut current: Option<&Launch> = None;
        let mut launched: Vec<&KernelLaunch> = Vec::new();
        for (at, event) in events.iter().enumerate() {
            let kernel = match event {
                Event::Alloc { .. } => {
                    executor.allocate(&mut self.memory, &self.trace, event);
                    continue;
                }
                Event::Launch(kernel) => kernel,
            };
            let launch = match current {
                Some(current) => current,
                None => {
                    launches.next().ok_or_else(|| forward::differs(subject, &kernel.module, "nothing", Some(kernel.called)))?
                }
            };
            let entry = &subject.manifest.kernels[launch.kernel];
            let module = module_name(&entry.file);
            if kernel.module != module {
                return Err(forward::differs(subject, &kernel.module, &module, Some(kernel.called)));
            }
            if failed.contains(&launch.kernel) {
                report.ended_at = Some(launch.layer.clone());
                return Ok(());
            }
            self.weights.load(kernel, &mut self.memory)?;
            self.protect(launch, true)?;
            let ran = executor.launch(&mut self.memory, kernel);
            report.cost.add(ran.map_err(|fault| forward::unwritten(subject, fault, kernel))?);
            self.protect(launch, false)?;
            launched.push(kernel);
            current = (launched.len() < entry.launches.len()).then_some(launch);
            if current.is_none() {
                let handed = planned::handed(subject, launch, &launched, &|slot| self.storage_of(slot));
                handed.map_err(|error| forward::at_call(subject, error, kernel.called))?;
                launched.clear();
                report.launches += 1;
                self.judge(executor, launch, report)?;
                step(&launch.layer)?;
            }
            self.weights.drop_after(at, &mut self.memory);
        }
        if let Some(launch) = current.or_else(|| launches.next()) {
            let planned = module_name(&subject.manifest.kernels[launch.kernel].file);
            return Err(forward::differs(subject, "nothing", &planned, None));
        }
        self.weights.rest_as_planned()?;
        if executor.checks().outputs {
            let left = Left { returned: &self.trace.returned, memory: &self.memory, bounds: &self.bounds };
            outputs::judge(subject, &self.given, left, report)?;
        }
        Ok(())
    }

    /// Lets a launch store to what it writes alone, among the manifest's operands, or no longer so.
    fn protect(&mut self, launch: &Launch, read_only: bool) -> Result<()> {
        let (written, read): (Vec<_>, Vec<_>) = launch.operands.iter().partition(|operand| operand.written());
        let written = written.iter().map(|o| self.storage_of(&o.slot)).collect::<Result<Vec<_>>>()?;
        for operand in read.iter().filter(|operand| operand.entry.access == AccessEntry::Read) {
            let storage = self.storage_of(&operand.slot)?;
            if !written.contains(&storage) {
                self.memory.protect(BufferId(storage), read_only);
            }
        }
        Ok(())
    }

    /// Compares one launch's output with the reference on the inputs that lie in memory.
    fn judge(&mut self, executor: &Executor, launch: &Launch, report: &mut ChainReport) -> Result<()> {
        let (subject, graph) = (self.subject, &self.subject.imported);
        let mut env = Env::new();
        let mut given = BTreeSet::new();
        let mut got = None;
        let mut written = None;
        for operand in &launch.operands {
            let slot = self.storage_of(&operand.slot)?;
            let Some(value) = operand.imported.filter(|_| !matches!(operand.slot, SlotEntry::Weight(_))) else { continue };
            let tensor = layout::gather(self.memory.lanes(BufferId(slot)), operand.dtype, &operand.entry);
            if operand.written() {
                covered(subject, executor, &self.memory, launch, BufferId(slot))?;
                written = Some(slot);
                got = tensor.reshaped(Shape::from_slice(graph.shape(value)));
            } else {
                env.set(value, tensor.reshaped(Shape::from_slice(graph.shape(value))).ok_or_else(|| lost(subject, value))?);
                given.insert(value);
            }
        }
        let nodes = upstream(graph, &[launch.output], &given);
        for value in graph.entering(&nodes) {
            if env.get(value).is_none() {
                env.set(value, entering(subject, &self.given, value)?);
            }
        }
        reference::evaluate(graph, &nodes, &mut env, Math::F64)?;
        let derived = derive(graph, &nodes, &env, subject.precision, Inputs::Any)?;
        let (Some(got), Some(expected)) = (got, env.get(launch.output)) else { return Err(lost(subject, launch.output)) };
        let finite = derived.bound.iter().flatten().copied().filter(|bound| bound.is_finite());
        self.bounds.extend(written.map(|slot| (slot, finite.fold(0.0, f64::max))));
        let comparison = compare::compare(&got, expected, &derived);
        let name = &graph.value(launch.output).name;
        let finding = diagnose::examine(name, &got, expected, &derived, &comparison);
        let mismatch = finding.map(|finding| located(subject, launch, finding, "chain", None));
        let dead = match graph.value(launch.output).producer {
            Producer::Node { node, .. } => alive::check(&subject.manifest.model, &launch.layer, &graph.node(node).op, &got),
            Producer::Input(_) | Producer::Weight(_) => None,
        };
        let checks = executor.checks();
        report.diagnostics.extend(mismatch.filter(|_| checks.launches));
        let Some(dead) = dead.filter(|_| checks.alive) else { return Ok(()) };
        if !subject.given.is_empty() {
            report.notes.push(format!("{}: {} on the given data", launch.layer, dead.message));
        } else if constant::by_construction(subject, launch, &mut self.constant)? {
            report.notes.push(format!("{name} ({}) is the same whatever goes into the model", launch.layer));
        } else {
            report.diagnostics.push(dead);
        }
        Ok(())
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
            SlotEntry::Weight(name) => self.weights.storage(name).ok_or_else(lost),
            SlotEntry::Buffer(i) => Some(self.first_buffer + i).filter(|&at| at < self.memory.buffers.len()).ok_or_else(lost),
        }
    }
}
