//! From what the user names to a graph: a file, or a model of the registry.

use std::path::Path;
use std::sync::Arc;

use crate::diag::{Diagnostic, Place, codes};
use crate::graph::convert::{Overflows, convert};
use crate::graph::{Graph, NodeId, Producer, Role, Weight};
use crate::import::{self, Binding, Imported, OwnOperator, onnx};
use crate::reference::{signal, statistics};
use crate::registry::{self, Model, ModelFile, Registry, Size};
use crate::target::Target;
use crate::template::Library;

use super::{Options, Outcome, Weights, operators};

/// The suite's name and the imported model, its floats in the type that is asked for; and how many
/// elements of its weights that type cannot hold.
pub fn load(options: &Options, library: &Library) -> Outcome<(String, Imported, Overflows)> {
    let mut imported = imported(options, library)?;
    if options.weights == Weights::Model {
        let absent: Vec<Diagnostic> =
            without_elements(&imported.graph).map(|name| missing_weight(&imported.graph, name)).collect();
        if !absent.is_empty() {
            return Err(absent);
        }
    }
    if options.weights == Weights::Auto {
        statistics::forget_stale(&mut imported.graph);
    }
    signal::balance(&mut imported.graph, options.weights == Weights::Seeded);
    let overflows = options.dtype.map(|dtype| convert(&mut imported.graph, dtype)).unwrap_or_default();
    Ok((stem(&options.model), imported, overflows))
}

/// A file that is there is read as it is, under the shapes that the working directory's registry has
/// for its name; any other name must be a model of a registry.
fn imported(options: &Options, library: &Library) -> Outcome<Imported> {
    let own = own_operators(library)?;
    let registries = registry::registries(Path::new(".")).map_err(super::one)?;
    let path = &options.model;
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let found = registry::find(&registries, &name).or_else(|| registry::find(&registries, &stem(path)));
    if path.exists() {
        let listed = found.filter(|(registry, _)| registry.is_local() || options.size == Size::Unit);
        return import::load(path, &binding(options, listed.map(|(_, model)| model), own));
    }
    let bare = path.parent().is_none_or(|folder| folder.as_os_str().is_empty());
    let Some((registry, model)) = found.filter(|_| bare) else { return Err(vec![no_such_model(path, &registries)]) };
    match registry.file(model).map_err(super::one)? {
        Some(ModelFile::Path(path)) => import::load(&path, &binding(options, Some(model), own)),
        Some(ModelFile::Embedded { name, bytes }) => import::from_bytes(&name, bytes, &binding(options, Some(model), own)),
        None if options.binding != Binding::default() => {
            let message = format!("the shapes of {} are those of its operators; none can be given", model.name);
            Err(vec![Diagnostic::new(&codes::USAGE, message).help(format!("edit `operators:` of a {} here", registry::FILE))])
        }
        None => operators::import(registry, model, options.size, library),
    }
}

/// What the user binds, then what the registry says.
fn binding(options: &Options, model: Option<&Model>, operators: Vec<Arc<OwnOperator>>) -> Binding {
    let listed = model.map(|model| model.shapes(options.size));
    let weaker = listed.map(|shapes| Binding { shapes: shapes.inputs.clone(), dims: shapes.dims.clone(), ..Binding::default() });
    options.binding.clone().or(&Binding { operators, ..weaker.unwrap_or_default() })
}

/// The operators that templates describe by a formula.
fn own_operators(library: &Library) -> Outcome<Vec<Arc<OwnOperator>>> {
    let (mut operators, mut errors) = (Vec::new(), Vec::new());
    for template in library.templates() {
        let manifest = &template.manifest;
        let Some(own) = &manifest.own else { continue };
        if onnx::serves(&own.name) {
            let message = format!("{} is an operator of ONNX, which has its meaning already", own.name);
            let error = Diagnostic::new(&codes::TEMPLATE_INVALID, message).at(&manifest.file, own.span);
            errors.push(error.help("name the Map that it becomes: `implements: Map` with its `label:` and `body:`"));
        }
        operators.push(Arc::new(OwnOperator {
            names: std::iter::once(&own.name).chain(&manifest.aliases).cloned().collect(),
            label: own.name.clone(),
            operands: manifest.inputs().iter().map(|operand| operand.name.clone()).collect(),
            formula: own.reference.clone(),
        }));
    }
    if errors.is_empty() { Ok(operators) } else { Err(errors) }
}

fn no_such_model(path: &Path, registries: &[Registry]) -> Diagnostic {
    let known = registry::names(registries).join(", ");
    Diagnostic::new(&codes::FILE_UNREADABLE, "there is no such file, and the registry has no model of this name")
        .in_file(path.display().to_string())
        .help(format!("name an .onnx or .pt2 file, or a model of the registry: {known}"))
}

/// The suite's name: the file's name without its extension.
pub fn stem(model: &Path) -> String {
    model.file_stem().map_or_else(|| "model".to_owned(), |s| s.to_string_lossy().into_owned())
}

/// What a suite calls something that import refused: the node, or what is said of it.
pub fn unsupported_name(refusal: &Diagnostic) -> String {
    match &refusal.place {
        Some(Place::Node { node, .. }) => node.clone(),
        Some(Place::File { .. } | Place::Text { .. }) | None => refusal.message.clone(),
    }
}

/// Names of weights that the file fills with one number or leaves out.
fn without_elements(graph: &Graph) -> impl Iterator<Item = &str> {
    let weights = graph.values().filter(|(_, v)| v.role != Role::Exact);
    weights
        .filter(|(_, v)| matches!(v.producer, Producer::Weight(Weight::Filled(_) | Weight::Missing)))
        .map(|(_, v)| v.name.as_str())
}

fn missing_weight(graph: &Graph, name: &str) -> Diagnostic {
    let message = format!("weight `{name}` has no elements of its own in the file, but --weights model asks for them");
    Diagnostic::new(&codes::MODEL_INITIALIZER, message)
        .in_file(graph.file.clone())
        .help("use --weights auto to generate what is missing")
}

pub fn unknown_target(name: &str) -> Diagnostic {
    let known: Vec<&str> = Target::all().iter().map(|t| t.name).collect();
    Diagnostic::new(&codes::USAGE, format!("--target does not know `{name}`")).help(format!("use one of: {}", known.join(", ")))
}

/// A node's own name.
pub fn node_name(graph: &Graph, node: NodeId) -> String {
    graph.node(node).sources.first().map_or_else(|| format!("#{}", node.index()), |s| s.node.clone())
}

/// What a reader should know of the weights.
pub fn notes(imported: &Imported, overflows: Overflows, options: &Options) -> Vec<String> {
    let mut notes = weights_made(&imported.graph, options);
    if let (Overflows(n @ 1..), Some(dtype)) = (overflows, options.dtype) {
        notes.push(format!("{n} elements of weights lie beyond {dtype} and are infinite in it"));
    }
    notes
}

fn weights_made(graph: &Graph, options: &Options) -> Vec<String> {
    let seed = options.seed;
    if options.weights == Weights::Seeded {
        return vec![format!("all weights are generated from seed {seed}")];
    }
    let all = without_elements(graph).count();
    if graph.file == registry::FILE {
        return (all > 0)
            .then(|| format!("{all} weights that have no file are generated from seed {seed}"))
            .into_iter()
            .collect();
    }
    let stale = graph.values().filter(|(_, v)| matches!(v.producer, Producer::Weight(Weight::Missing))).count();
    let filled = format!("{} weights that the file fills with one number are generated from seed {seed}", all - stale);
    let followed = format!("{stale} means and variances that describe signals of generated weights are generated, too");
    [(all > stale, filled), (stale > 0, followed)].into_iter().filter(|(any, _)| *any).map(|(_, note)| note).collect()
}
