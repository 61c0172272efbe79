//! One run of one launch: operands, the wrapper's launches emulated on them, and what the output must be.
//!
//! The operands of a [`Kind`] are generated once ([`Bench::inputs`]), and their weights prepared once.
//! Operands are protected while the launches run: a kernel writes its output and nothing else.
//!
//! Not caught: what a launch does to tensors that it was not given, which is the chain's to find.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use crate::conform::bound::{Derived, Inputs, derive};
use crate::conform::compare::Comparison;
use crate::conform::counterfactual::Observed;
use crate::conform::diagnose::Finding;
use crate::conform::execute::{Cost, Executor, Extent};
use crate::conform::inputs::{self, Kind};
use crate::conform::subject::{Launch, Operand, Subject, module_name, upstream};
use crate::conform::{causes, compare, diagnose, exact, layout, planned, prepare, sampled};
use crate::diag::{Diagnostic, Place, Result, codes};
use crate::emit::manifest::{OperandEntry, SlotEntry};
use crate::emulate::{self, BufferId, Memory, View};
use crate::graph::{Graph, NodeId, Op, Producer, ValueId};
use crate::host::{self, Event};
use crate::reference::{self, Env, Math};
use crate::rng::Seed;
use crate::shape::{Shape, Strides};
use crate::tensor::{Storage, Tensor};
use crate::tolerance::Precision;

/// One launch of a suite, to be run.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    pub subject: &'a Subject,
    pub executor: &'a Executor<'a>,
    pub launch: &'a Launch,
}

/// What one run gave, and what it should.
pub struct Run {
    pub got: Tensor,
    pub expected: Expected,
    pub comparison: Comparison,
    pub cost: Cost,
}

impl Bench<'_> {
    /// The imported nodes that the launch computes, operands first.
    pub fn nodes(&self) -> Vec<NodeId> {
        self.launch.nodes(&self.subject.imported)
    }

    /// Elements of everything that enters [`Bench::nodes`].
    pub fn inputs(&self, kind: Kind) -> Result<Elements> {
        self.drawn(kind, self.subject.seed)
    }

    /// The same from another seed.
    pub fn drawn(&self, kind: Kind, seed: u64) -> Result<Elements> {
        let (graph, nodes) = (&self.subject.imported, self.nodes());
        let mut env = Env::new();
        let missing = inputs::generate(graph, &nodes, &graph.entering(&nodes), kind, seed, &mut env)?;
        for value in missing {
            env.set(value, self.subject.weight(value)?);
        }
        Ok(Elements::of(env))
    }

    /// Runs the launch on these elements.
    pub fn run(&self, kind: Kind, given: &Elements) -> Result<Run> {
        let Bench { subject, executor, launch } = *self;
        let mut env = given.with_views(&subject.imported);
        // What was prepared of weights that now have other elements is set aside for later runs, and prepared anew here.
        let changed = self.made_of(&given.changed);
        let (aside, kept) = given.weights.take().into_iter().partition(|(operand, _)| changed.contains(operand));
        given.weights.replace(aside);
        let storages = storages(subject, launch, &mut env, kept)?;
        let Emulated { output, written, cost, memory } = self.emulated(storages, false)?;
        if executor.checks().emulator.read_only {
            given.weights.borrow_mut().extend(weights_of(launch, memory).filter(|(operand, _)| !changed.contains(operand)));
        }
        let nodes = self.nodes();
        self.keep_views(given, &nodes, &mut env)?;
        let averaged = (kind == Kind::Structure && exact::averages(&subject.imported, &nodes)).then(|| env.clone());
        let judged = |output: Tensor, mut expected: Expected| {
            let got = match &written {
                Some(written) => sampled::restricted(output, &expected.tensor, &mut expected.derived, written),
                None => output,
            };
            let comparison = compare::compare(&got, &expected.tensor, &expected.derived);
            Run { got, expected, comparison, cost }
        };
        let run = judged(output, Expected::of(subject, launch, &nodes, env, kind)?);
        let Some(env) = averaged.filter(|_| !run.comparison.passed() && run.expected.derived.bound.is_none()) else {
            return Ok(run);
        };
        let rounded = judged(run.got.clone(), Expected::rounded(subject, launch, &nodes, env)?);
        Ok(if rounded.comparison.passed() { rounded } else { run })
    }

    /// What the launch alone computes of these elements.
    pub fn output(&self, given: &Elements) -> Result<Tensor> {
        let mut env = given.with_views(&self.subject.imported);
        let mut kept = given.weights.borrow().clone();
        self.made_of(&given.changed).iter().for_each(|operand| drop(kept.remove(operand)));
        Ok(self.emulated(storages(self.subject, self.launch, &mut env, kept)?, false)?.output)
    }

    /// Evaluates the views of weights, which are the same in any arithmetic and may be as large as these.
    fn keep_views(&self, given: &Elements, nodes: &[NodeId], env: &mut Env) -> Result<()> {
        let graph = &self.subject.imported;
        let mut views = given.views.borrow_mut();
        for &id in nodes {
            let node = graph.node(id);
            let of_weight =
                |&value: &ValueId| views.contains_key(&value) || matches!(graph.value(value).producer, Producer::Weight(_));
            let fixed = matches!(node.op, Op::View(_)) && node.inputs.iter().flatten().all(of_weight);
            if fixed && env.get(node.outputs[0]).is_none() {
                reference::evaluate(graph, &[id], env, Math::F32)?;
                if !given.is_changed(graph, id) {
                    views.extend(env.get(node.outputs[0]).map(|view| (node.outputs[0], view.clone())));
                }
            }
        }
        Ok(())
    }

    /// Names of the operands that are prepared from any of these weights.
    fn made_of(&self, weights: &[ValueId]) -> BTreeSet<String> {
        let Subject { imported, rewritten, .. } = self.subject;
        let names: Vec<&str> = weights.iter().map(|&value| imported.value(value).name.as_str()).collect();
        let made = |operand: &&Operand| match &operand.slot {
            SlotEntry::Weight(base) => rewritten.find(base).is_some_and(|base| {
                let sources = upstream(rewritten, &[base], &BTreeSet::new());
                let mut read = sources.iter().flat_map(|&node| rewritten.node(node).inputs.iter().flatten()).chain([&base]);
                read.any(|&value| names.contains(&rewritten.value(value).name.as_str()))
            }),
            SlotEntry::Input(_) | SlotEntry::Buffer(_) => false,
        };
        if names.is_empty() {
            return BTreeSet::new();
        }
        self.launch.operands.iter().filter(made).map(|operand| operand.entry.name.clone()).collect()
    }

    /// Runs what a launch touches, where its values are only sampled.
    pub fn accesses(&self) -> Result<()> {
        let Bench { subject, executor, launch } = *self;
        if sampled::programs(executor, &self.traced()?, self.seed())?.is_none() {
            return Ok(());
        }
        let mut env = self.inputs(Kind::Numerics)?.env;
        self.emulated(storages(subject, launch, &mut env, HashMap::new())?, true).map(drop)
    }

    /// What the wrapper does.
    fn traced(&self) -> Result<host::Trace> {
        let kernel = &self.subject.manifest.kernels[self.launch.kernel];
        let args: Vec<_> = self.launch.operands.iter().map(Operand::host_arg).collect();
        host::trace_launch(&self.subject.modules, &module_name(&kernel.file), "launch", &args)
    }

    /// What the choice of programs depends on.
    fn seed(&self) -> Seed {
        Seed::derive(self.subject.seed, &self.launch.layer)
    }

    /// Runs the wrapper's launches on the storages, one buffer an operand, and reads the output back. Of launches
    /// that are sampled only the `accesses`, or only some programs.
    fn emulated(&self, storages: Vec<Storage>, accesses: bool) -> Result<Emulated> {
        let Bench { subject, executor, launch } = *self;
        let trace = self.traced()?;
        planned::agree(subject, launch, &trace)?;
        let extent = match sampled::programs(executor, &trace, self.seed())? {
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
                let buffer = memory.insert(&operand.entry.name, lanes);
                memory.protect(buffer, true);
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
            covered(subject, executor, &memory, launch, buffer)?;
            None
        };
        let lanes = layout::gather(memory.lanes(buffer), output.dtype, &output.entry);
        let shape = Shape::from_slice(subject.imported.shape(launch.output));
        let output = lanes.reshaped(shape).ok_or_else(|| lost(subject, launch.output))?;
        Ok(Emulated { output, written, cost, memory })
    }
}

/// What the wrapper's launches left.
struct Emulated {
    output: Tensor,
    /// Which elements were written, where only some programs ran.
    written: Option<Vec<bool>>,
    cost: Cost,
    memory: Memory,
}

/// Elements of what enters a launch. What is made of its weights is kept from one run to the next.
pub struct Elements {
    pub env: Env,
    /// Of weights, in the reference.
    views: Rc<RefCell<HashMap<ValueId, Arc<Tensor>>>>,
    /// What `prepare` makes of them, by operand's name; a launch may only read it.
    weights: Rc<RefCell<HashMap<String, Storage>>>,
    /// Values with other elements than those that the views and weights were made of.
    changed: Vec<ValueId>,
}

impl Elements {
    pub fn of(env: Env) -> Elements {
        Elements { env, views: Rc::default(), weights: Rc::default(), changed: Vec::new() }
    }

    /// Other elements of these values; what is made of other weights alone is shared, as it may be large.
    pub fn with(&self, values: &[ValueId], change: &dyn Fn(usize, &mut Tensor)) -> Elements {
        let mut env = self.env.clone();
        for (k, &value) in values.iter().enumerate() {
            let Some(tensor) = env.get(value) else { continue };
            let mut tensor = tensor.as_ref().clone();
            change(k, &mut tensor);
            env.set(value, tensor);
        }
        let changed = self.changed.iter().chain(values).copied().collect();
        Elements { env, views: self.views.clone(), weights: self.weights.clone(), changed }
    }

    /// The elements, and the views that are kept of them.
    fn with_views(&self, graph: &Graph) -> Env {
        let mut env = self.env.clone();
        for (&value, tensor) in self.views.borrow().iter() {
            let fresh = match graph.value(value).producer {
                Producer::Node { node, output: _ } => !self.is_changed(graph, node),
                Producer::Input(_) | Producer::Weight(_) => true,
            };
            if fresh {
                env.set(value, tensor.clone());
            }
        }
        env
    }

    /// Whether a view reads, at once or through views, what has changed.
    fn is_changed(&self, graph: &Graph, view: NodeId) -> bool {
        graph.node(view).inputs.iter().flatten().any(|value| {
            self.changed.contains(value)
                || matches!(graph.value(*value).producer, Producer::Node { node, output: _ } if self.is_changed(graph, node))
        })
    }
}

impl Run {
    /// Takes these elements of the output as they are.
    pub fn excuse(&mut self, elements: &[usize]) {
        if elements.is_empty() {
            return;
        }
        let mut expected = self.expected.tensor.as_ref().clone();
        for &at in elements {
            match (expected.storage_mut(), self.got.storage()) {
                (Storage::F64(to), got) => to[at] = got.get_f64(at),
                (Storage::F32(to), got) => to[at] = got.get_f64(at) as f32,
                (Storage::I64(to), Storage::I64(got)) => to[at] = got[at],
                (Storage::Bool(to), Storage::Bool(got)) => to[at] = got[at],
                (Storage::I64(_) | Storage::Bool(_), _) => unreachable!("invariant: an output has its reference's carrier"),
            }
        }
        self.expected.tensor = Arc::new(expected);
        self.comparison = compare::compare(&self.got, &self.expected.tensor, &self.expected.derived);
    }

    /// What it gave, and what fails of it.
    pub fn observed(&self) -> Observed {
        Observed {
            got: self.got.clone(),
            expected: self.expected.tensor.clone(),
            failing: compare::failing(&self.got, &self.expected.tensor, &self.expected.derived),
            passed: self.comparison.passed(),
        }
    }

    pub fn finding(&self, launch: &Launch) -> Option<Finding> {
        diagnose::examine(&output_name(launch), &self.got, &self.expected.tensor, &self.expected.derived, &self.comparison)
    }
}

/// The most that a rounded mean of integers may be off: a cap for narrow types, whose own bound may be wider than what a
/// wrong divisor changes. Hides in them a term of less than n/8 that is left out of n; in f32 the derived bound is far
/// below.
const ROUNDED: f64 = 0.125;

/// What the output must be.
pub struct Expected {
    pub tensor: Arc<Tensor>,
    pub derived: Derived,
}

impl Expected {
    /// Evaluates nodes of the imported graph on the operands in `env`, and derives what the output of
    /// `launch` is held to: equality where every node is exact on these operands, else a bound.
    pub fn of(subject: &Subject, launch: &Launch, nodes: &[NodeId], env: Env, kind: Kind) -> Result<Expected> {
        let graph = &subject.imported;
        if kind == Kind::Structure {
            let mut single = env.clone();
            evaluate_rest(graph, nodes, &mut single, Math::Unrounded)?;
            let kept = subject.precision == Precision::Ieee || exact::survives_splitting(graph, nodes, &single);
            if kept && exact::is_exact(graph, nodes, &single) {
                let tensor = single.get(launch.output).cloned().ok_or_else(|| lost(subject, launch.output))?;
                return Ok(Expected { tensor, derived: Derived::exact() });
            }
        }
        Expected::bounded(subject, launch, nodes, env, kind)
    }

    /// What a mean is held to on integers where it is no quotient but a product with 1/n, off by its own rounding.
    fn rounded(subject: &Subject, launch: &Launch, nodes: &[NodeId], env: Env) -> Result<Expected> {
        let mut expected = Expected::bounded(subject, launch, nodes, env, Kind::Structure)?;
        expected.derived.bound.iter_mut().flatten().for_each(|bound| *bound = bound.min(ROUNDED));
        Ok(expected)
    }

    fn bounded(subject: &Subject, launch: &Launch, nodes: &[NodeId], mut env: Env, kind: Kind) -> Result<Expected> {
        let graph = &subject.imported;
        evaluate_rest(graph, nodes, &mut env, Math::F64)?;
        let inputs = match kind {
            Kind::Structure | Kind::Numerics => Inputs::OwnLaw,
            Kind::Given => Inputs::Any,
        };
        let derived = derive(graph, nodes, &env, subject.precision, inputs)?;
        let tensor = env.get(launch.output).cloned().ok_or_else(|| lost(subject, launch.output))?;
        Ok(Expected { tensor, derived })
    }
}

/// Evaluates the nodes that are not yet.
fn evaluate_rest(graph: &Graph, nodes: &[NodeId], env: &mut Env, math: Math) -> Result<()> {
    let rest: Vec<NodeId> = nodes.iter().copied().filter(|&id| env.get(graph.node(id).outputs[0]).is_none()).collect();
    reference::evaluate(graph, &rest, env, math)
}

/// The storage of each operand: its elements where its layout has them, nothing yet for the output.
///
/// `kept` are weights of an earlier run.
fn storages(subject: &Subject, launch: &Launch, env: &mut Env, mut kept: HashMap<String, Storage>) -> Result<Vec<Storage>> {
    let graph = &subject.imported;
    let bases: Vec<&str> = launch
        .operands
        .iter()
        .filter(|operand| !kept.contains_key(&operand.entry.name))
        .filter_map(|operand| match &operand.slot {
            SlotEntry::Weight(base) => Some(base.as_str()),
            SlotEntry::Input(_) | SlotEntry::Buffer(_) => None,
        })
        .collect();
    let mut weights = prepare::values(&subject.rewritten, &bases, |name| {
        let value = graph.find(name).ok_or_else(|| {
            Box::new(
                Diagnostic::new(&codes::SUITE_INVALID, format!("weight `{name}` is not in the imported graph"))
                    .in_file(&subject.name),
            )
        })?;
        env.get(value).cloned().map_or_else(|| subject.weight(value), Ok)
    })?;
    let mut storage = |operand: &Operand| {
        let entry = &operand.entry;
        match (&operand.slot, operand.imported) {
            _ if operand.written() => Ok(Storage::zeros(operand.dtype.carrier(), entry.storage)),
            (SlotEntry::Weight(base), _) => Ok(kept.remove(&entry.name).unwrap_or_else(|| {
                // Not copied where nobody else holds it.
                let alone = bases.iter().filter(|other| *other == base).count() == 1;
                let tensor = if alone { weights.remove(base.as_str()) } else { weights.get(base.as_str()).cloned() };
                Arc::unwrap_or_clone(tensor.expect("invariant: what no run has kept was prepared")).into_storage()
            })),
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
    launch.operands.iter().map(&mut storage).collect()
}

/// Takes a launch's weights out of the memory that it ran in.
fn weights_of(launch: &Launch, memory: Memory) -> impl Iterator<Item = (String, Storage)> {
    let operands = launch.operands.iter().zip(memory.buffers);
    let weights = operands.filter(|(operand, _)| matches!(operand.slot, SlotEntry::Weight(_)));
    weights.map(|(operand, buffer)| (operand.entry.name.clone(), buffer.lanes))
}

/// Every element of the output was written.
pub fn covered(subject: &Subject, executor: &Executor, memory: &Memory, launch: &Launch, buffer: BufferId) -> Result<()> {
    let Some(output) = launch.operands.iter().find(|o| o.written()) else { return Ok(()) };
    let origin = output.entry.offset as usize;
    let (shape, strides) = (Shape::from_slice(&output.entry.shape), Strides::from_slice(&output.entry.strides));
    let view = View { buffer, pointer: origin, shape, strides, origin };
    match emulate::coverage(memory, &view, executor.checks().emulator) {
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

pub fn output_name(launch: &Launch) -> String {
    launch.operands.iter().find(|o| o.written()).map_or_else(String::new, |o| o.entry.name.clone())
}

pub fn lost(subject: &Subject, value: ValueId) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::INTERNAL, format!("no elements for {}", subject.imported.value(value).name)))
}
