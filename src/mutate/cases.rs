//! The suites that mutations are made in: small problems that together exercise what a template can
//! do.
//!
//! For every template, the user's own included, the problems of its `probe:` give the kernel as it
//! stands, with an epilogue and with a prologue ([`around`]), and bound for a target of two cores,
//! which takes the looped entry. For the built-in templates `cases/*.txt` adds graphs whose sizes leave a
//! tail in every blocked axis, with groups, padding, dilation, batches and fused epilogues; they are planned as a model is.
//!
//! Emission and verification are the ordinary ones: nothing here is known to the checks.

use std::sync::Arc;

use include_dir::{Dir, include_dir};

use crate::diag::{Diagnostic, Result, codes};
use crate::emit::manifest::{self, PRECISION};
use crate::emit::{self, EmitOptions, Files};
use crate::fuse::{self, Level};
use crate::graph::verify::violations;
use crate::graph::{Cluster, Graph, Op, Producer, text};
use crate::select::{self, Served};
use crate::source::SourceFile;
use crate::target::{Ascend, Target};
use crate::template::check::{self, Probe, Probed};
use crate::template::manifest::Implements;
use crate::template::{self, BindOptions, Library, Template};
use crate::tolerance::Precision;

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
}

/// The cases of one template.
///
/// # Errors
/// What binding and emission refuse, with the case's name.
pub fn of_template(template: &Arc<Template>, library: &Library) -> Result<Vec<Case>> {
    let own = Library::only(template);
    let (mut cases, mut apart) = (Vec::new(), Vec::new());
    let mut add = |name: &str, graph: &Graph, cluster: &Cluster, looped: bool| -> Result<()> {
        cases.extend(planned(name, graph, graph, vec![cluster.clone()], &own, &target(looped), &template.name)?);
        Ok(())
    };
    for probe in check::probes(template)? {
        if let Some(moved) = probe.moved {
            // Weights are prepared dense.
            if !matches!(probe.graph.value(moved).producer, Producer::Weight(_)) {
                apart.push(probe);
            }
            continue;
        }
        if !matches!(probe.probed, Probed::Alone | Probed::Body) {
            continue;
        }
        add(&probe.name, &probe.graph, &probe.cluster, false)?;
        if template.takes_epilogues() {
            let (graph, cluster) = around::with_epilogue(&probe.graph, &probe.cluster);
            add(&format!("{}, with an epilogue", probe.name), &graph, &cluster, false)?;
        }
        // The operands of a Map take no prologues: fusion composes Maps instead.
        let positions = probe.graph.node(probe.cluster.anchor).inputs.len();
        for position in (0..positions).filter(|_| template.manifest.implements != Implements::Map) {
            if let Some((graph, cluster)) = around::with_prologue(&probe.graph, &probe.cluster, position) {
                add(&format!("{}, with a prologue", probe.name), &graph, &cluster, false)?;
            }
        }
        add(&format!("{}, looped", probe.name), &probe.graph, &probe.cluster, true)?;
    }
    for (name, graph) in listed(&template.name)? {
        for looped in [false, true] {
            let name = if looped { format!("{name}, looped") } else { name.clone() };
            cases.extend(as_a_model(&name, &graph, library, &target(looped), &template.name)?);
        }
        cases.extend(with_maps_around(&name, &graph, &own, &template.name)?);
    }
    for probe in apart {
        cases.extend(lying_apart(&probe, &own, &template.name)?);
    }
    Ok(cases)
}

/// A listed graph of one operator with Maps around it.
fn with_maps_around(name: &str, graph: &Graph, own: &Library, subject: &str) -> Result<Vec<Case>> {
    let computing: Vec<_> = graph.node_ids().filter(|&n| !matches!(graph.node(n).op, Op::View(_))).collect();
    let [anchor] = computing[..] else { return Ok(Vec::new()) };
    let cluster = Cluster::of(anchor);
    if cluster.output(graph) != graph.outputs()[0] || matches!(graph.node(anchor).op, Op::Map(_)) {
        return Ok(Vec::new());
    }
    let (fused, around) = around::with_epilogue(graph, &cluster);
    let mut cases = planned(&format!("{name}, with an epilogue"), &fused, &fused, vec![around], own, &target(false), subject)?;
    for position in 0..graph.node(anchor).inputs.len() {
        if let Some((fused, around)) = around::with_prologue(graph, &cluster, position) {
            cases.extend(planned(
                &format!("{name}, with a prologue"),
                &fused,
                &fused,
                vec![around],
                own,
                &target(false),
                subject,
            )?);
        }
    }
    Ok(cases)
}

/// A probe with one operand that lies apart in its storage: a layout that views do not make, so that no
/// stride is 1 or another's.
fn lying_apart(probe: &Probe, own: &Library, subject: &str) -> Result<Vec<Case>> {
    let target = target(false);
    let bind: select::build::Bind =
        &|graph, cluster, _| template::bind(graph, cluster, &|v| probe.layout(v), own, &target, BindOptions::default());
    let graph = &probe.graph;
    let planned = select::build::build("case", Arc::new(graph.clone()), graph, vec![probe.cluster.clone()], bind)?;
    let plan = &planned.plan;
    // `run.py` cannot be written for it: its buffers have no gaps. The kernel and its wrapper can.
    let mut files = Files::new();
    let own: Vec<String> = plan.kernels.iter().map(|kernel| emit::kernel_path(kernel)).collect();
    for (kernel, path) in plan.kernels.iter().zip(&own) {
        files.insert(path.clone(), emit::launch_module(kernel).into_bytes());
    }
    for path in [RUNNER, "weights.py"] {
        files.insert(path.to_owned(), b"\"\"\"Not run.\"\"\"\n".to_vec());
    }
    let manifest = manifest::text(plan, &options(), &files);
    files.insert(emit::MANIFEST.to_owned(), manifest.into_bytes());
    debug_assert!(plan.kernels.iter().all(|kernel| kernel.template == subject), "a library of one template");
    Ok(own.into_iter().map(|file| Case { name: probe.name.clone(), files: files.clone(), file }).collect())
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
    emitted(name, planned, subject)
}

fn emitted(name: &str, planned: select::Planned, subject: &str) -> Result<Vec<Case>> {
    if let Some((_, reason)) = planned.missing.into_iter().next() {
        return Err(Box::new(reason.note(format!("case: {name}"))));
    }
    let files = emit::suite(&planned.plan, &options()).map_err(|error| Box::new(error.note(format!("case: {name}"))))?;
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
