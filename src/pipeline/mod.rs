//! The stages in order, as library calls: [`plan`] (file → plan), [`decompose`] (file → verified
//! suite) and [`verify`] (suite → verdicts).
//!
//! A stage that cannot serve a node reports it and goes on with the rest; only what makes the whole
//! meaningless (an unreadable file, a folder in the way) ends a run.

pub mod compiled;
mod data;
pub mod doors;
pub mod drawn;
pub mod emulate;
mod judge;
mod load;
pub mod lower;
mod observe;
mod only;
mod operators;
mod options;
mod repeat;
pub mod replay;
mod report;
mod seeds;
pub mod sketch;
pub mod task;
mod verdicts;
mod verify;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;

use crate::conform::sample;
use crate::diag::Diagnostic;
use crate::dtype::DType;
use crate::emit::{self, EmitOptions};
use crate::fuse::{self, Why};
use crate::graph::Graph;
use crate::graph::verify::violations;
use crate::import::Imported;
use crate::select::{self, Constraint, Planned, Served};
use crate::target::Target;
use crate::template::{BindOptions, Library};

pub use data::{GivenFile, GivenFiles};
pub use observe::{Cancel, Observer, Silent};
pub use options::{Options, Verification, VerifyScope, Weights};
pub use repeat::quoted;
pub use report::{Layer, Report};
pub use seeds::Seeds;
use verdicts::Known;
pub use verify::verify;
pub use watch::Snapshot;

/// What a fatal error leaves: every message, never empty.
pub type Outcome<T> = std::result::Result<T, Vec<Diagnostic>>;

/// A plan, the import it comes from, and what is missing in it.
pub struct PlanOutcome {
    pub imported: Imported,
    pub planned: Planned,
    /// Why fusion did what it did.
    pub why: Why,
    /// Unsupported operators and clusters that no template serves.
    pub problems: Vec<Diagnostic>,
    /// What a reader should know of the weights.
    pub notes: Vec<String>,
}

/// Reads a model and plans it.
pub fn plan(options: &Options, observer: &dyn Observer, cancel: &Cancel) -> Outcome<PlanOutcome> {
    observer.stage("import", 0);
    let library = library(options)?;
    let (name, imported, overflows) = load::load(options, &library)?;
    let notes = load::notes(&imported, overflows, options);
    let (planned, why, problems) = planned(&name, &imported, &library, options, observer, cancel)?;
    Ok(PlanOutcome { imported, planned, why, problems, notes })
}

/// The built-in templates, and the user's before them.
fn library(options: &Options) -> Outcome<Library> {
    let library = Library::embedded().map_err(one)?;
    options.templates.iter().try_fold(library, |library, folder| library.with_folder(folder)).map_err(one)
}

/// Plans an imported model: the plan, why it is so, and what is missing in it.
fn planned(
    name: &str,
    imported: &Imported,
    library: &Library,
    options: &Options,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Outcome<(Planned, Why, Vec<Diagnostic>)> {
    cancel.check().map_err(one)?;
    observer.stage("plan", 0);
    let target = Target::find(&options.target).ok_or_else(|| vec![load::unknown_target(&options.target)])?;
    verified(&imported.graph)?;
    let given = options.sketch.as_deref().map(sketch::read).transpose()?;
    let basis = sketch::basis(name, options);
    let constraint = given.as_ref().map(|given| Constraint::new(given, &imported.graph, &basis)).transpose().map_err(one)?;
    let groups = constraint.as_ref().map(Constraint::groups).unwrap_or_default();
    let mut why = Why::default();
    let graph = fuse::rewrite_why(&imported.graph, options.fuse, &groups, &mut why).map_err(one)?;
    verified(&graph)?;
    cancel.check().map_err(one)?;
    let clusters = fuse::cluster_why(&graph, options.fuse, &Served { library, target }, &groups, &mut why).map_err(one)?;
    let original = Arc::new(imported.graph.clone());
    let binding = BindOptions { precision: options.precision };
    let planned = match &constraint {
        None => select::plan(name, original, &graph, clusters, library, target, binding),
        Some(sketch) => select::plan_sketched(name, original, &graph, clusters, library, target, binding, (sketch, &why)),
    };
    let planned = planned.map_err(one)?;
    cancel.check().map_err(one)?;
    let missing = planned.missing.iter().map(|(_, reason)| reason.as_ref().clone());
    let problems = imported.unsupported.iter().cloned().chain(missing).collect();
    Ok((planned, why, problems))
}

/// Reads a model, plans it, writes the suite, and verifies the suite's files.
pub fn decompose(options: &Options, observer: &dyn Observer, cancel: &Cancel) -> Outcome<Report> {
    let output = options.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}-suite", load::stem(&options.model))));
    emit::may_write(&output, options.force).map_err(one)?;
    let PlanOutcome { imported, planned, problems, notes, why: _ } = plan(options, observer, cancel)?;
    cancel.check().map_err(one)?;
    observer.stage("emit", 0);
    let plan = &planned.plan;
    let missing = planned.missing.iter().map(|(cluster, _)| load::node_name(&plan.graph, cluster.anchor)).collect();
    let emitting = EmitOptions {
        seed: options.seed,
        always_seeded: options.weights == Weights::Seeded,
        settings: settings(options),
        missing,
        refused: imported.unsupported.iter().map(load::unsupported_name).collect(),
    };
    let samples = sample::of_plan(plan, options.seed, emitting.always_seeded).map_err(one)?;
    let mut files = emit::suite_with_layers(plan, &emitting, &samples).map_err(one)?;
    let mut report =
        verify::run(&output.display().to_string(), &files, &options.verification(), &Known::default(), observer, cancel)
            .map_err(one)?;
    report.notes.extend(notes);
    report.problems.splice(0..0, problems);
    let verdicts = verdicts::text(&report, &files, &Known::default());
    files.insert(verdicts::VERDICTS.to_owned(), verdicts.into_bytes());
    cancel.check().map_err(one)?;
    emit::write(&files, &output, options.force).map_err(one)?;
    report.suite = Some(output);
    Ok(report)
}

/// Reads a model, plans it, and writes each distinct layer as a task of its own: the folder, and the plan.
pub fn tasks(options: &Options, observer: &dyn Observer, cancel: &Cancel) -> Outcome<(PathBuf, Vec<String>, PlanOutcome)> {
    let output = options.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}-tasks", load::stem(&options.model))));
    emit::may_write(&output, options.force).map_err(one)?;
    let outcome = plan(options, observer, cancel)?;
    observer.stage("emit", 0);
    let files = emit::tasks(&outcome.planned.plan).map_err(one)?;
    cancel.check().map_err(one)?;
    emit::write(&files, &output, options.force).map_err(one)?;
    Ok((output, files.into_keys().collect(), outcome))
}

/// Later stages rely on every invariant of a graph; a violation is a fault of the stage before.
fn verified(graph: &Graph) -> Outcome<()> {
    let violations = violations(graph);
    if violations.is_empty() { Ok(()) } else { Err(violations) }
}

/// How the plan was made, for the manifest.
fn settings(options: &Options) -> Vec<(String, String)> {
    let dtype = options.dtype.map_or("as-is", DType::name);
    let precision = (emit::manifest::PRECISION, options.precision.name());
    let entries = [("dtype", dtype), ("fuse", options.fuse.name()), precision, ("target", options.target.as_str())];
    entries.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec()
}

fn one(diagnostic: Box<Diagnostic>) -> Vec<Diagnostic> {
    vec![*diagnostic]
}

#[cfg(test)]
mod tests;
