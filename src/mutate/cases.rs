//! The suites that mutations are made in: small problems that together exercise what a template can
//! do.
//!
//! For every template, the user's own included, the problems of its `probe:` give the kernel as it
//! stands, with an epilogue and with a prologue ([`around`]), and bound for a target of two cores,
//! which takes the looped entry. For the built-in templates `cases/*.txt` adds graphs whose sizes leave a
//! tail in every blocked axis, with groups, padding, dilation, batches and fused epilogues; they are planned
//! as a model is. Those that do not loop stand again with operands that lie [`apart`] in their storage, which no
//! plan of so small a graph makes: these only judge the mutations of the others, unless the problem itself is
//! one of a layout.
//!
//! Verification is the ordinary one, and nothing here is known to the checks; emission is, but for the cases that
//! lie apart, which have a manifest and kernels and nothing that runs them as a whole.
//!
//! Not covered: other precision classes than ieee, other dtypes than those of probes and graphs, and weights that
//! lie apart where they are prepared.

use std::sync::Arc;

use include_dir::{Dir, include_dir};

use crate::diag::{Diagnostic, Result, codes};
use crate::emit::manifest::{self, PRECISION};
use crate::emit::{self, EmitOptions, Files};
use crate::fuse::{self, Level};
use crate::graph::verify::violations;
use crate::graph::{Cluster, Graph, Op, Producer, ValueId, text};
use crate::select::plan::Plan;
use crate::select::{self, Served};
use crate::source::SourceFile;
use crate::target::{Ascend, Target};
use crate::template::check::{self, Probed};
use crate::template::manifest::Implements;
use crate::template::{self, BindOptions, Layout, Library, Template};
use crate::tolerance::Precision;

use super::apart::{self, Apart};
use super::around;

static CASES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/src/mutate/cases");

/// The subject whose host code `run.py` is mutated: every other subject is a template.
pub const RUNNER: &str = "run.py";

fn options() -> EmitOptions {
    let settings = vec![(PRECISION.to_owned(), Precision::Ieee.name().to_owned())];
    EmitOptions { seed: 0, always_seeded: false, settings, missing: Vec::new(), refused: Vec::new() }
}

/// One emitted suite.
pub struct Case {
    /// `conv2d_resnet 2×3×9×8: epilogue`.
    pub name: String,
    pub files: Files,
    /// The file that is mutated.
    pub file: String,
    /// Whether mutations are found in it; otherwise it only judges those of other cases, where its text has
    /// them: operands that lie otherwise than the problem's own plan has them.
    pub source: bool,
}

/// A graph with its clusters, to be planned.
struct Problem {
    name: String,
    imported: Graph,
    graph: Graph,
    clusters: Vec<Cluster>,
}

impl Problem {
    /// One cluster of a graph that needs no rewriting.
    fn plain(name: &str, graph: &Graph, cluster: &Cluster) -> Problem {
        Problem { name: name.to_owned(), imported: graph.clone(), graph: graph.clone(), clusters: vec![cluster.clone()] }
    }

    /// A graph rewritten and clustered as a model is.
    fn model(name: &str, graph: &Graph, library: &Library, target: &Target) -> Result<Problem> {
        let rewritten = fuse::rewrite(graph, Level::Basic)?;
        let clusters = fuse::cluster(&rewritten, Level::Basic, &Served { library, target })?;
        Ok(Problem { name: name.to_owned(), imported: graph.clone(), graph: rewritten, clusters })
    }

    /// Plans and emits; one case a kernel of the subject's template, or one for `run.py`.
    fn cases(&self, library: &Library, target: &Target, subject: &str) -> Result<Vec<Case>> {
        let (imported, clusters) = (Arc::new(self.imported.clone()), self.clusters.clone());
        let planned = select::plan("case", imported, &self.graph, clusters, library, target, BindOptions::default())?;
        emitted(&self.name, planned, subject)
    }

    /// The problem with its weights handed in, so that they need not be dense.
    fn handed_in(mut self) -> Problem {
        for graph in [&mut self.imported, &mut self.graph] {
            let values: Vec<ValueId> = graph.values().map(|(value, _)| value).collect();
            values.into_iter().for_each(|value| graph.hand_in(value));
        }
        self
    }

    /// The kernel and wrapper, with operands that lie otherwise than a plan of this problem alone makes them:
    /// `how`, or, without it, as the problem's name says, which makes it a source of mutations.
    /// There is no `run.py` for them: its buffers have no gaps.
    fn laid_out(&self, how: Option<&str>, place: Place, library: &Library, subject: &str) -> Result<Vec<Case>> {
        let name = how.map_or_else(|| self.name.clone(), |how| format!("{}, {how}", self.name));
        let target = target(false);
        let bind: select::build::Bind = &|graph, cluster, layout_of| {
            let placed = |value| place(graph, value, &layout_of(value));
            template::bind(graph, cluster, &placed, library, &target, BindOptions::default())
        };
        let imported = Arc::new(self.imported.clone());
        let planned = complete(&name, select::build::build("case", imported, &self.graph, self.clusters.clone(), bind)?)?;
        let plan = &planned.plan;
        let mut files = Files::new();
        for kernel in &plan.kernels {
            files.insert(emit::kernel_path(kernel), emit::launch_module(kernel).into_bytes());
        }
        for path in [RUNNER, "weights.py"] {
            files.insert(path.to_owned(), b"\"\"\"Not run.\"\"\"\n".to_vec());
        }
        let manifest = manifest::text(plan, &options(), &files);
        files.insert(emit::MANIFEST.to_owned(), manifest.into_bytes());
        of_kernels(&name, plan, &files, subject, how.is_none())
    }
}

/// How a value lies, given how a plan has it.
type Place<'a> = &'a dyn Fn(&Graph, ValueId, &Layout) -> Layout;

/// The cases of one template.
///
/// # Errors
/// What binding and emission refuse, with the case's name.
pub fn of_template(template: &Arc<Template>, library: &Library) -> Result<Vec<Case>> {
    let own = Library::only(template);
    let subject = template.name.as_str();
    let (mut cases, mut apart) = (Vec::new(), Vec::new());
    for probe in check::probes(template)? {
        if let Some(moved) = probe.moved {
            // Weights are prepared dense.
            if !matches!(probe.graph.value(moved).producer, Producer::Weight(_)) {
                let place = |_: &Graph, value: ValueId, dense: &Layout| {
                    let axes: Vec<usize> = (0..dense.shape.len()).collect();
                    if value == moved { apart::spread(dense, &axes, true, 0, 3) } else { dense.clone() }
                };
                apart.extend(Problem::plain(&probe.name, &probe.graph, &probe.cluster).laid_out(None, &place, &own, subject)?);
            }
            continue;
        }
        if !matches!(probe.probed, Probed::Alone | Probed::Body) {
            continue;
        }
        let alone = Problem::plain(&probe.name, &probe.graph, &probe.cluster);
        let mut problems = Vec::new();
        if template.takes_epilogues() {
            let (graph, cluster) = around::with_epilogue(&probe.graph, &probe.cluster);
            problems.push(Problem::plain(&format!("{}, with an epilogue", probe.name), &graph, &cluster));
        }
        // The operands of a Map take no prologues: fusion composes Maps instead.
        if template.manifest.implements != Implements::Map {
            problems.extend(with_prologues(&probe.name, &probe.graph, &probe.cluster));
        }
        cases.extend(alone.cases(&own, &target(false), subject)?);
        for problem in &problems {
            cases.extend(problem.cases(&own, &target(false), subject)?);
        }
        let looped = Problem { name: format!("{}, looped", probe.name), ..Problem::plain("", &probe.graph, &probe.cluster) };
        cases.extend(looped.cases(&own, &target(true), subject)?);
        for problem in problems.into_iter().chain([alone]).map(Problem::handed_in) {
            apart.extend(lying_apart(&problem, &own, subject)?);
        }
    }
    for (name, graph) in listed(subject)? {
        let model = Problem::model(&name, &graph, library, &target(false))?;
        cases.extend(model.cases(library, &target(false), subject)?);
        let looped = Problem::model(&format!("{name}, looped"), &graph, library, &target(true))?;
        cases.extend(looped.cases(library, &target(true), subject)?);
        apart.extend(lying_apart(&model, library, subject)?);
        for problem in with_maps_around(&name, &graph) {
            cases.extend(problem.cases(&own, &target(false), subject)?);
            apart.extend(lying_apart(&problem.handed_in(), &own, subject)?);
        }
    }
    cases.extend(apart);
    // Those that only judge come last: what is simplest tells first.
    cases.sort_by_key(|case| !case.source);
    Ok(cases)
}

/// Every way in which the operands of a problem can lie apart.
fn lying_apart(problem: &Problem, library: &Library, subject: &str) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for how in Apart::ALL {
        let place = |graph: &Graph, value: ValueId, dense: &Layout| how.layout(graph, value, dense);
        cases.extend(problem.laid_out(Some(how.name), &place, library, subject)?);
    }
    Ok(cases)
}

/// One problem for each operand of the anchor that can have a Map before it.
fn with_prologues(name: &str, graph: &Graph, cluster: &Cluster) -> Vec<Problem> {
    let positions = 0..graph.node(cluster.anchor).inputs.len();
    let around = positions.filter_map(|position| around::with_prologue(graph, cluster, position));
    around.map(|(graph, cluster)| Problem::plain(&format!("{name}, with a prologue"), &graph, &cluster)).collect()
}

/// A listed graph of one operator with Maps around it.
fn with_maps_around(name: &str, graph: &Graph) -> Vec<Problem> {
    let computing: Vec<_> = graph.node_ids().filter(|&n| !matches!(graph.node(n).op, Op::View(_))).collect();
    let [anchor] = computing[..] else { return Vec::new() };
    let cluster = Cluster::of(anchor);
    if cluster.output(graph) != graph.outputs()[0] || matches!(graph.node(anchor).op, Op::Map(_)) {
        return Vec::new();
    }
    let (fused, around) = around::with_epilogue(graph, &cluster);
    let mut problems = vec![Problem::plain(&format!("{name}, with an epilogue"), &fused, &around)];
    problems.extend(with_prologues(name, graph, &cluster));
    problems
}

/// The cases whose `run.py` is mutated.
pub fn of_runner(library: &Library) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for (name, graph) in listed(RUNNER)? {
        let target = target(false);
        cases.extend(Problem::model(&name, &graph, library, &target)?.cases(library, &target, RUNNER)?);
    }
    Ok(cases)
}

/// The default target, or one whose kernels loop over tiles with two programs.
fn target(looped: bool) -> Target {
    let default = Target::all().iter().find(|t| t.name == crate::target::DEFAULT).copied().unwrap_or(Target::all()[0]);
    let facts = Target::all().iter().find_map(|t| t.ascend).filter(|_| looped);
    Target { ascend: facts.map(|facts| Ascend { cube_cores: 2, vector_cores: 2, ..facts }), ..default }
}

/// The graphs of `cases/<subject>.txt`, with their names.
fn listed(subject: &str) -> Result<Vec<(String, Graph)>> {
    let path = format!("{}.txt", subject.trim_end_matches(".py"));
    let Some(file) = CASES.get_file(&path).and_then(|file| file.contents_utf8()) else { return Ok(Vec::new()) };
    let mut graphs = Vec::new();
    let starts: Vec<usize> =
        file.match_indices("graph \"").map(|(at, _)| at).filter(|&at| at == 0 || file[..at].ends_with('\n')).collect();
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(file.len());
        let graph = text::parse(&SourceFile::new(format!("src/mutate/cases/{path}"), &file[start..end]))?;
        if let Some(violation) = violations(&graph).first() {
            return Err(Box::new(violation.clone()));
        }
        graphs.push((format!("{}: {}", subject, graph.file), graph));
    }
    Ok(graphs)
}

fn emitted(name: &str, planned: select::Planned, subject: &str) -> Result<Vec<Case>> {
    let planned = complete(name, planned)?;
    let files = emit::suite(&planned.plan, &options()).map_err(|error| Box::new(error.note(format!("case: {name}"))))?;
    if subject == RUNNER {
        return Ok(vec![Case { name: name.to_owned(), files, file: RUNNER.to_owned(), source: true }]);
    }
    of_kernels(name, &planned.plan, &files, subject, true)
}

/// A plan that misses no kernel.
fn complete(name: &str, mut planned: select::Planned) -> Result<select::Planned> {
    match std::mem::take(&mut planned.missing).into_iter().next() {
        None => Ok(planned),
        Some((_, reason)) => Err(Box::new(reason.note(format!("case: {name}")))),
    }
}

/// One case for every kernel of the subject's template, of which there must be one.
fn of_kernels(name: &str, plan: &Plan, files: &Files, subject: &str, source: bool) -> Result<Vec<Case>> {
    let own: Vec<String> = plan.kernels.iter().filter(|k| k.template == subject).map(|k| emit::kernel_path(k)).collect();
    if own.is_empty() {
        let message = format!("case {name}: no kernel of template {subject} is in its plan");
        return Err(Box::new(Diagnostic::new(&codes::INTERNAL, message)));
    }
    Ok(own.into_iter().map(|file| Case { name: name.to_owned(), files: files.clone(), file, source }).collect())
}
