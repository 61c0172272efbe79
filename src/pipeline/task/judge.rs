//! What is said of a file that answers a task: the ban on PyTorch, the coding rules for NPUs, and whether it computes what
//! the task does.

use crate::conform::answer::{Answer, Judged};
use crate::conform::chain::ChainReport;
use crate::conform::execute::Executor;
use crate::conform::verdict::{Verdict, Word};
use crate::diag::Result;
use crate::emulate;
use crate::graph::Graph;
use crate::graph::op::Op;
use crate::import::task::Task;
use crate::lint;
use crate::lint::ban::{self, Ban, Mode};
use crate::pipeline::judge::FUEL;
use crate::pipeline::{Cancel, Layer, Observer, Report, Seeds, Verification, VerifyScope};
use crate::source::SourceFile;
use crate::syntax::parse_module;
use crate::target::Target;
use crate::tolerance::Precision;

/// A file and what it answers.
pub struct Answered<'a> {
    /// Its path, for messages.
    pub name: String,
    pub text: &'a str,
    pub task: &'a Task,
    pub graph: &'a Graph,
    pub precision: Precision,
    pub target: &'a str,
    /// What the harness seeds with before it constructs the task; without one it seeds before both.
    pub init_seed: Option<u64>,
}

/// Judges a file. What makes it unreadable is a verdict like any other.
///
/// # Errors
/// U009 when it was interrupted.
pub fn judge(answered: &Answered, asked: &Verification, observer: &dyn Observer, cancel: &Cancel) -> Result<Report> {
    let Answered { name, text, task, graph, precision, target, init_seed } = answered;
    let seeds = Seeds::new(asked.seed.unwrap_or(0), 1);
    let mut report = Report { model: task.task.clone(), seeds, ..Report::default() };
    if let Ok(module) = parse_module(&SourceFile::new(name, *text)) {
        let numbers = task.inputs.iter().filter(|input| input.ty().is_none()).map(|input| input.name().to_owned());
        let strict = Ban { mode: Mode::Strict, task_computes: computes(graph), numbers: numbers.collect(), ..Ban::default() };
        report.problems.extend(ban::check(&module, &strict).into_iter().map(|finding| finding.diagnostic));
        report.problems.extend(lint::npu_rules(&module, Target::find(target)));
    }
    observer.stage("verify", 1);
    let (judged, launches) = match Answer::read((name, text), task, graph, *precision, *init_seed) {
        Ok(answer) => {
            report.notes.extend(answer.notes().iter().cloned());
            report.kernels = answer.launches().1;
            report.buffers = answer.allocated();
            let launches = answer.launches().0;
            let options =
                emulate::Options { threads: asked.jobs, fuel: FUEL, cancel: Some(cancel.flag()), ..emulate::Options::default() };
            let judged = match asked.scope {
                VerifyScope::None => None,
                VerifyScope::Unique | VerifyScope::All | VerifyScope::Sampled => {
                    let executor = Executor::new(&answer.modules, options).judged_by(asked.checks);
                    Some(answer.verify(&executor, seeds.first())?)
                }
            };
            (judged, launches)
        }
        Err(fault) => {
            let whole = ChainReport { word: Word::NotVerified, ..ChainReport::of_nothing() };
            (Some(Judged { results: vec![Verdict::fault(*fault)], whole }), 0)
        }
    };
    observer.step("forward");
    let operators = operators(graph);
    let unjudged = || graph.outputs().iter().map(|_| Verdict::not_verified()).collect();
    let (verdicts, whole) = judged.map_or_else(|| (unjudged(), None), |judged| (judged.results, Some(judged.whole)));
    for (at, &output) in graph.outputs().iter().enumerate() {
        report.layers.push(Layer {
            layer: graph.value(output).name.clone(),
            sources: operators.clone(),
            template: if launches == 1 { "1 launch".to_owned() } else { format!("{launches} launches") },
            kernel: name.clone(),
            shape: graph.shape(output).to_vec(),
            grid: None,
            verdict: at.min(verdicts.len().saturating_sub(1)),
            asked: true,
        });
    }
    report.verdicts = verdicts;
    if let Some(whole) = whole {
        report.notes.extend(whole.notes.clone());
        report.chain = Some(whole);
    }
    Ok(report)
}

/// Whether a task does more than to move data.
fn computes(graph: &Graph) -> bool {
    graph.node_ids().any(|id| match &graph.node(id).op {
        Op::View(_) => false,
        Op::Map(map) => map.body.nodes().len() > 1,
        _ => true,
    })
}

/// The operators that the task names: (node, operator), each operator once.
fn operators(graph: &Graph) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for id in graph.node_ids() {
        for source in &graph.node(id).sources {
            if !found.iter().any(|(_, operator)| *operator == source.operator) {
                found.push((source.node.clone(), source.operator.clone()));
            }
        }
    }
    found
}
