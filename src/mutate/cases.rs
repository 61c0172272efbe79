//! The suites that mutations are made in: small problems that together exercise what a template can
//! do.
//!
//! For every template, the user's own included, the problems of its `probe:` give the kernel as it
//! stands, one with an epilogue that reads a full operand and one along each axis, and one with a
//! prologue; one more is bound for a target of few cores, which takes the looped entry. For the
//! built-in templates `cases/*.txt` adds graphs whose sizes leave a tail in every blocked axis, with
//! groups, padding, dilation, batches and fused epilogues; they are planned as a model is.
//!
//! Emission and verification are the ordinary ones: nothing here is known to the checks.

use std::sync::Arc;

use include_dir::{Dir, include_dir};

use crate::diag::{Diagnostic, Result, codes};
use crate::emit::{self, EmitOptions, Files};
use crate::fuse::{self, Level};
use crate::graph::verify::violations;
use crate::graph::{Cluster, Graph, text};
use crate::select::{self, Served};
use crate::source::SourceFile;
use crate::target::{Ascend, Target};
use crate::template::check::{self, Probed};
use crate::template::{BindOptions, Library, Template};

static CASES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/src/mutate/cases");

/// The subject whose host code `run.py` is mutated: every other subject is a template.
pub const RUNNER: &str = "run.py";

/// One emitted suite.
pub struct Case {
    /// `conv2d_resnet 2×3×9×8: epilogue`.
    pub name: String,
    pub files: Files,
    /// The file that is mutated.
    pub file: String,
}

/// The cases of one template.
///
/// # Errors
/// What binding and emission refuse, with the case's name.
pub fn of_template(template: &Arc<Template>, library: &Library) -> Result<Vec<Case>> {
    let gpu = target(false);
    let mut cases = Vec::new();
    let own = Library::only(template);
    let mut looped = false;
    for probe in check::probes(template)? {
        let (graph, cluster) = (&probe.graph, &probe.cluster);
        // Layouts of a plan come from views: operands that lie apart are cases of `cases/*.txt`.
        if probe.moved.is_some() || prepared_prologue(graph, cluster) {
            continue;
        }
        cases.extend(planned(&probe.name, graph, graph, vec![cluster.clone()], &own, &gpu, &template.name)?);
        if !looped && matches!(probe.probed, Probed::Alone | Probed::Body) {
            looped = true;
            let name = format!("{}, looped", probe.name);
            cases.extend(planned(&name, graph, graph, vec![cluster.clone()], &own, &target(true), &template.name)?);
        }
    }
    for (name, graph) in listed(&template.name)? {
        cases.extend(as_a_model(&name, &graph, library, &gpu, &template.name)?);
    }
    Ok(cases)
}

/// The cases whose `run.py` is mutated.
pub fn of_runner(library: &Library) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for (name, graph) in listed(RUNNER)? {
        cases.extend(as_a_model(&name, &graph, library, &target(false), RUNNER)?);
    }
    Ok(cases)
}

/// The default target, or one whose kernels loop over tiles with two programs.
fn target(looped: bool) -> Target {
    let default = Target::all().iter().find(|t| t.name == crate::target::DEFAULT).copied().unwrap_or(Target::all()[0]);
    let facts = Target::all().iter().find_map(|t| t.ascend).filter(|_| looped);
    Target { ascend: facts.map(|facts| Ascend { cube_cores: 2, vector_cores: 2, ..facts }), ..default }
}

/// Prologues on weights belong to weight preparation, and no plan makes them.
fn prepared_prologue(graph: &Graph, cluster: &Cluster) -> bool {
    cluster.prologues.iter().any(|&(_, node)| graph.is_prepared(graph.node(node).outputs[0]))
}

/// The graphs of `cases/<subject>.txt`, with their names.
fn listed(subject: &str) -> Result<Vec<(String, Graph)>> {
    let path = format!("{}.txt", subject.trim_end_matches(".py"));
    let Some(file) = CASES.get_file(&path).and_then(|file| file.contents_utf8()) else { return Ok(Vec::new()) };
    let mut graphs = Vec::new();
    let starts: Vec<usize> = file.match_indices("graph \"").map(|(at, _)| at).filter(|&at| at == 0 || file[..at].ends_with('\n')).collect();
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

fn as_a_model(name: &str, graph: &Graph, library: &Library, target: &Target, subject: &str) -> Result<Vec<Case>> {
    let rewritten = fuse::rewrite(graph, Level::Basic)?;
    let clusters = fuse::cluster(&rewritten, Level::Basic, &Served { library, target })?;
    planned(name, graph, &rewritten, clusters, library, target, subject)
}

/// Plans and emits; one case a kernel of the subject's template, or one for `run.py`.
fn planned(
    name: &str,
    imported: &Graph,
    graph: &Graph,
    clusters: Vec<Cluster>,
    library: &Library,
    target: &Target,
    subject: &str,
) -> Result<Vec<Case>> {
    let planned = select::plan("case", Arc::new(imported.clone()), graph, clusters, library, target, BindOptions::default())?;
    if let Some((_, reason)) = planned.missing.into_iter().next() {
        return Err(Box::new(reason.note(format!("case: {name}"))));
    }
    let options = EmitOptions { seed: 0, always_seeded: false, settings: Vec::new(), missing: Vec::new() };
    let files = emit::suite(&planned.plan, &options).map_err(|error| Box::new(error.note(format!("case: {name}"))))?;
    if subject == RUNNER {
        return Ok(vec![Case { name: name.to_owned(), files, file: RUNNER.to_owned() }]);
    }
    let own: Vec<String> = planned.plan.kernels.iter().filter(|k| k.template == subject).map(|k| emit::kernel_path(k)).collect();
    if own.is_empty() {
        let message = format!("case {name}: no kernel of template {subject} is in its plan");
        return Err(Box::new(Diagnostic::new(&codes::INTERNAL, message)));
    }
    Ok(own.into_iter().map(|file| Case { name: name.to_owned(), files: files.clone(), file }).collect())
}
