//! A task's answer as a whole: `ModelNew.forward` of one file, ours or a stranger's, against the exported graph.
//!
//! Nothing is known of the file but what it does: `host` says what it launches on which storages, the emulator runs that,
//! and each result is compared with the reference over *all* nodes of the graph, as one kernel of a suite is
//! ([`super::kernel`]): on small integers, bit-equal where every node is exact, and on real numbers under the bound that
//! the nodes derive together. A last run has the task's own weights, and is held to [`outputs::FACTOR`] times the error of a
//! reference in the same types.
//!
//! Parameters and inputs may only be read; every element of a result must have been written.
//!
//! Not caught: which launch is wrong, where several lead to a result (lines are suspected in the last alone); wrong values
//! that the bound of the whole hides, or that change nothing at the task's sizes; special values; lines of one sign behind the
//! first operators; strides of
//! the task's own inputs.

mod drawn;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::conform::bound::{Derived, Inputs, derive};
use crate::conform::causes::with_suspects;
use crate::conform::chain::ChainReport;
use crate::conform::diagnose::{Finding, SUSPECTS, Seen};
use crate::conform::execute::{Cost, Executor};
use crate::conform::inputs::{self, Kind};
use crate::conform::subject::upstream;
use crate::conform::verdict::{Error, Verdict, Word};
use crate::conform::{alive, compare, diagnose, exact, outputs};
use crate::diag::{Diagnostic, Result, codes};
use crate::graph::{Graph, NodeId, Role, ValueId};
use crate::host::construct::CLASS;
use crate::host::{self, Constructed, Event, HostTensor, KernelArg, KernelLaunch, Modules, Trace};
use crate::import::task::Task;
use crate::reference::{self, Env, Math};
use crate::shape;
use crate::source::SourceFile;
use crate::syntax::parse_module;
use crate::tensor::Tensor;
use crate::tolerance::Precision;

/// Elements of one tensor that are verified: 4 GiB of fp32, of which several are held at once.
const HELD: usize = 1 << 30;

/// The import name of the file.
const MODULE: &str = "modelnew";

/// A file that was read, and what it answers.
pub struct Answer<'a> {
    pub task: &'a Task,
    /// What the task computes.
    pub graph: &'a Graph,
    /// The class that contractions with fp32 operands are held to.
    pub precision: Precision,
    pub modules: Modules,
    constructed: Constructed,
    trace: Trace,
}

/// What was found out about an answer.
#[derive(Clone, Debug)]
pub struct Judged {
    /// One a result.
    pub results: Vec<Verdict>,
    /// With the task's own weights.
    pub whole: ChainReport,
}

impl<'a> Answer<'a> {
    /// Reads a file: constructs its `ModelNew`, and traces its `forward`.
    ///
    /// # Errors
    /// S001 for what is no Python; as [`host::construct()`] and [`host::trace_launch`]; B001 where other results are returned
    /// than the task's.
    pub fn read(
        (name, text): (&str, &str),
        task: &'a Task,
        graph: &'a Graph,
        precision: Precision,
        init_seed: Option<u64>,
    ) -> Result<Answer<'a>> {
        let mut modules = Modules::new();
        modules.add(MODULE, parse_module(&SourceFile::new(name, text))?)?;
        let constructed = host::construct(&modules, MODULE, task, init_seed)?;
        let trace = host::construct::trace_model_new(&modules, MODULE, &constructed, task)?;
        let answer = Answer { task, graph, precision, modules, constructed, trace };
        answer.returns_the_results()?;
        Ok(answer)
    }

    /// What is right under some harnesses alone.
    pub fn notes(&self) -> &[String] {
        &self.constructed.notes
    }

    /// Launches of one forward, and how many kernels they are of.
    pub fn launches(&self) -> (usize, usize) {
        let mut functions: Vec<&str> = self.trace.launches().map(|launch| launch.function.as_str()).collect();
        let launches = functions.len();
        functions.sort_unstable();
        functions.dedup();
        (launches, functions.len())
    }

    /// Bytes that one forward allocates.
    pub fn allocated(&self) -> (usize, u64) {
        let sizes = self.trace.events.iter().filter_map(|event| match event {
            Event::Alloc { dtype, len, .. } => Some(*len as u64 * dtype.size() as u64),
            Event::Launch(_) => None,
        });
        (sizes.clone().count(), sizes.sum())
    }

    /// As many results as the task has, in its shapes and types.
    fn returns_the_results(&self) -> Result<()> {
        let (returned, expected) = (&self.trace.returned, self.graph.outputs());
        let wrong = |what: String| Err(Box::new(self.at_forward(Diagnostic::new(&codes::SHAPE_MISMATCH, what))));
        if returned.len() != expected.len() {
            return wrong(format!("forward returns {} tensors, the task {}", returned.len(), expected.len()));
        }
        for (i, (tensor, &value)) in returned.iter().zip(expected).enumerate() {
            let ty = self.graph.ty(value);
            if tensor.dtype != ty.dtype || tensor.shape != ty.shape {
                let have = format!("{} {}", tensor.dtype, shape::display(&tensor.shape));
                return wrong(format!("result {i} is {have}, the task's {} {}", ty.dtype, shape::display(&ty.shape)));
            }
        }
        Ok(())
    }

    /// A message about `forward` as a whole.
    fn at_forward(&self, diagnostic: Diagnostic) -> Diagnostic {
        match self.modules.method(MODULE, CLASS, "forward") {
            Some((file, span)) => diagnostic.at(file, span),
            None => diagnostic,
        }
    }

    /// Judges every result.
    ///
    /// # Errors
    /// U009 when it was interrupted.
    pub fn verify(&self, executor: &Executor, seed: u64) -> Result<Judged> {
        let (results, signals) = match self.is_held().and_then(|()| self.results(executor, seed)) {
            Ok(results) => results,
            Err(fault) if fault.code == &codes::INTERRUPTED => return Err(fault),
            Err(fault) => (vec![Verdict::fault(*fault)], Vec::new()),
        };
        let mut whole = ChainReport::of_nothing();
        if results.iter().all(|verdict| verdict.word == Word::Verified) {
            match self.whole(executor, seed, &signals, &mut whole) {
                Ok(()) => {}
                Err(fault) if fault.code == &codes::INTERRUPTED => return Err(fault),
                Err(fault) => whole.diagnostics.push(*fault),
            }
            if let Some(worst) = whole.diagnostics.first() {
                whole.word = Word::of(worst.class());
            }
        } else {
            whole.word = Word::NotVerified;
        }
        Ok(Judged { results, whole })
    }

    /// Whether every tensor of the task is small enough to be held several times.
    fn is_held(&self) -> Result<()> {
        let graph = self.graph;
        let large = graph.values().find(|(_, value)| value.ty.shape.iter().product::<usize>() > HELD);
        let Some((_, value)) = large else { return Ok(()) };
        let (name, shape) = (&value.name, shape::display(&value.ty.shape));
        let what = format!("{name} of {shape} has more than {HELD} elements, which are not verified");
        let help = "verify it at smaller sizes (--reduce N), or write it alone (--verify none)";
        Err(Box::new(Diagnostic::new(&codes::MEMORY, what).help(help)))
    }

    /// The two passes on generated inputs and parameters, of which the second gives the figures; and of each result whether
    /// it carried a signal in either.
    fn results(&self, executor: &Executor, seed: u64) -> Result<(Vec<Verdict>, Vec<bool>)> {
        let structure = self.pass(executor, Kind::Structure, seed, Strength::Full)?;
        if structure.iter().any(|result| result.mismatch.is_some()) {
            return Ok((structure.into_iter().map(|result| result.verdict(None)).collect(), Vec::new()));
        }
        let exact: Vec<bool> = structure.iter().map(|result| result.exact).collect();
        let mut signals: Vec<bool> = structure.iter().map(|result| result.signal).collect();
        let mut numerics = self.pass(executor, Kind::Numerics, seed, Strength::Full)?;
        let mut heard = |passed: &[Passed]| {
            signals.iter_mut().zip(passed).for_each(|(signal, result)| *signal |= result.signal);
            signals.iter().all(|&signal| signal)
        };
        if !heard(&numerics) && numerics.iter().all(|result| result.mismatch.is_none()) {
            numerics = self.pass(executor, Kind::Numerics, seed, Strength::Faint)?;
            heard(&numerics);
        }
        let verdicts = numerics.into_iter().zip(exact).map(|(result, exact)| result.verdict(Some(exact))).collect();
        Ok((verdicts, signals))
    }

    fn pass(&self, executor: &Executor, kind: Kind, seed: u64, strength: Strength) -> Result<Vec<Passed>> {
        let graph = self.graph;
        let nodes = self.nodes()?;
        let mut env = Env::new();
        let mut entering = graph.entering(&nodes);
        entering.extend(graph.inputs().iter().filter(|input| !entering.contains(input)).copied().collect::<Vec<_>>());
        let missing = inputs::generate(graph, &nodes, &entering, kind, seed, &mut env)?;
        for value in missing {
            env.set(value, self.given(value, seed)?);
        }
        for &value in &entering {
            let role = graph.value(value).role;
            let signed = role == Role::Activation && graph.inputs().contains(&value);
            let weak = strength == Strength::Faint && matches!(role, Role::Activation | Role::Weight { .. } | Role::Bias);
            let Some(tensor) = env.get(value).filter(|_| signed || weak) else { continue };
            let mut tensor = Tensor::clone(tensor);
            if signed {
                drawn::sign(&mut tensor, kind);
            }
            if weak {
                drawn::weaken(&mut tensor);
            }
            env.set(value, tensor);
        }
        let (got, cost) = self.run(executor, &env, seed)?;
        let expected = self.expected(&nodes, env, kind)?;
        let results = graph.outputs().iter().zip(&self.trace.returned).zip(got).map(|((output, returned), got)| {
            let (expected, derived) = (&expected.0[output], &expected.1[output]);
            let comparison = compare::compare(&got, expected, derived);
            let name = &graph.value(*output).name;
            let finding = diagnose::examine(name, &got, expected, derived, &comparison);
            let mismatch = finding.map(|finding| self.suspected(finding, returned).note(format!("pass: {}", kind.name())));
            let (exact, signal) = (derived.bound.is_none(), alive::of_result(expected).is_none());
            Passed { error: Error::of(&comparison, derived), exact, signal, mismatch, cost }
        });
        Ok(results.collect())
    }

    /// A wrong result, with the lines to look at in the kernel that writes it last.
    fn suspected(&self, finding: Finding, result: &HostTensor) -> Diagnostic {
        let diagnostic = self.at_forward(finding.diagnostic);
        let launches: Vec<&KernelLaunch> = self.trace.launches().collect();
        let hands = |launch: &&KernelLaunch| {
            launch.args.iter().any(|(_, arg)| matches!(arg, KernelArg::Tensor(tensor) if tensor.storage == result.storage))
        };
        let (Some(at), Some(module)) = (launches.iter().rposition(hands), self.modules.ast(MODULE)) else { return diagnostic };
        let writer = launches[at];
        let pointers = writer.args.iter().filter_map(|(param, arg)| match arg {
            KernelArg::Tensor(tensor) => Some((param.clone(), self.trace.storages[tensor.storage.0].name.clone())),
            _ => None,
        });
        let pointers = pointers.collect();
        let seen = Seen { clue: finding.clue, evidence: None, pointers: &pointers, grid: Some(writer.grid.map(i64::from)) };
        let suspects = diagnose::rank(module, &writer.function, seen, SUSPECTS);
        let last = format!("{} handles it last, launch {} of {}", writer.function, at + 1, launches.len());
        with_suspects(diagnostic.note(last), module, suspects)
    }

    /// Reference and bound of each output.
    fn expected(&self, nodes: &[NodeId], mut env: Env, kind: Kind) -> Result<(Outputs<Arc<Tensor>>, Outputs<Derived>)> {
        let graph = self.graph;
        let of = |env: &Env| -> Result<Outputs<Arc<Tensor>>> {
            let output = |&value: &ValueId| Ok((value, env.get(value).cloned().ok_or_else(|| self.lost(value))?));
            graph.outputs().iter().map(output).collect()
        };
        if kind == Kind::Structure {
            let mut single = env.clone();
            reference::evaluate(graph, nodes, &mut single, Math::Unrounded)?;
            let kept = self.precision == Precision::Ieee || exact::survives_splitting(graph, nodes, &single);
            if kept && exact::is_exact(graph, nodes, &single) {
                let derived = graph.outputs().iter().map(|&value| (value, Derived::exact())).collect();
                return Ok((of(&single)?, derived));
            }
        }
        reference::evaluate(graph, nodes, &mut env, Math::F64)?;
        let mut derived = Outputs::new();
        for &output in graph.outputs() {
            let own = upstream(graph, &[output], &BTreeSet::new());
            derived.insert(output, derive(graph, &own, &env, self.precision, Inputs::Any)?);
        }
        Ok((of(&env)?, derived))
    }

    /// With the task's own weights: as far from an f64 reference as one in the same types, and what KernelBench makes of it.
    fn whole(&self, executor: &Executor, seed: u64, signals: &[bool], report: &mut ChainReport) -> Result<()> {
        let graph = self.graph;
        let nodes = self.nodes()?;
        let mut env = Env::new();
        for value in graph.entering(&nodes).into_iter().chain(graph.inputs().iter().copied()) {
            env.set(value, self.given(value, seed)?);
        }
        let (got, cost) = self.run(executor, &env, seed)?;
        report.cost.add(cost);
        report.launches = self.launches().0;
        let same = if self.precision == Precision::Tf32 { Math::Tf32 } else { Math::F32 };
        let (mut wide, mut narrow) = (env.clone(), env);
        reference::evaluate(graph, &nodes, &mut wide, Math::F64)?;
        reference::evaluate(graph, &nodes, &mut narrow, same)?;
        for ((&output, got), signal) in graph.outputs().iter().zip(&got).zip(signals) {
            let of = |env: &Env| env.get(output).cloned().ok_or_else(|| self.lost(output));
            let (wide_output, narrow_output) = (of(&wide)?, of(&narrow)?);
            let distance = outputs::distance(got, &wide_output, &narrow_output);
            // No result is held closer than a kernel that computes all of it would be by itself.
            let own = derive(graph, &upstream(graph, &[output], &BTreeSet::new()), &wide, self.precision, Inputs::Any)?;
            let bound = own.bound.iter().flatten().copied().filter(|bound| bound.is_finite()).fold(0.0, f64::max);
            let allowed = outputs::allowed(&wide_output, &narrow_output, graph.dtype(output)).max(bound);
            report.max_abs_err = report.max_abs_err.max(distance);
            report.allowed = report.allowed.max(allowed);
            let name = &graph.value(output).name;
            let head = (0..got.len().min(outputs::HEAD)).map(|i| got.storage().get_f64(i));
            report.outputs.push((name.clone(), head.collect()));
            if distance.is_nan() || distance > allowed {
                let what =
                    format!("result {name} is off by {distance:.3e} with the task's own weights, but {allowed:.3e} is allowed");
                report.diagnostics.push(self.at_forward(Diagnostic::new(&codes::CHAIN_MISMATCH, what)));
            }
            match (alive::of_result(got), signal) {
                (Some(dead), true) => report.notes.push(format!("with the task's own weights {name} carries no signal: {dead}")),
                (Some(dead), false) => {
                    let what = format!("result {name} carries no signal, whatever is drawn: {dead}");
                    let diagnostic = self.at_forward(Diagnostic::new(&codes::SIGNAL_DEAD, what));
                    report.diagnostics.push(diagnostic.help("at these sizes the task cannot tell right kernels from wrong ones"));
                }
                (None, _) => {}
            }
            let outside = kernel_bench(got, &wide_output);
            if outside > 0 {
                let what = format!("{outside} of {} elements of {name} are further from an f64 reference than", got.len());
                report.notes.push(format!("{what} KernelBench's tolerance; so may be those of torch"));
            }
        }
        Ok(())
    }

    fn nodes(&self) -> Result<Vec<NodeId>> {
        self.graph.topological().map_err(|_| Box::new(Diagnostic::new(&codes::INTERNAL, "the exported graph has a cycle")))
    }

    fn lost(&self, value: ValueId) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&codes::INTERNAL, format!("no elements for {}", self.graph.value(value).name)))
    }
}

/// By output.
type Outputs<T> = BTreeMap<ValueId, T>;

/// How large the elements of a pass are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strength {
    /// As kernels of a suite are verified.
    Full,
    /// So small that saturating functions (sigmoid, GELU, clamps) do not saturate.
    Faint,
}

/// One result of one pass.
struct Passed {
    error: Error,
    exact: bool,
    /// Whether the expected elements vary.
    signal: bool,
    mismatch: Option<Diagnostic>,
    cost: Cost,
}

impl Passed {
    fn verdict(self, bit_equal: Option<bool>) -> Verdict {
        Verdict {
            word: self.mismatch.as_ref().map_or(Word::Verified, |mismatch| Word::of(mismatch.class())),
            error: Some(self.error),
            bit_equal: bit_equal.or(Some(self.exact)),
            emulation_seconds: self.cost.wall_seconds,
            programs: self.cost.programs,
            diagnostics: self.mismatch.into_iter().collect(),
            ..Verdict::not_verified()
        }
    }
}

/// How many elements KernelBench would not take: |y − r| ≤ 1e-4 + 1e-4·|r| for fp32, 1e-2 for narrower floats.
fn kernel_bench(got: &Tensor, expected: &Tensor) -> usize {
    let tolerance = if got.dtype().is_float() && got.dtype().size() < 4 { 1e-2 } else { 1e-4 };
    let outside = |i: &usize| {
        let (y, r) = (got.storage().get_f64(*i), expected.storage().get_f64(*i));
        !(y == r || (y.is_nan() && r.is_nan()) || (y - r).abs() <= tolerance + tolerance * r.abs())
    };
    (0..got.len()).filter(outside).count()
}
