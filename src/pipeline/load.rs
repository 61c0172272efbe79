//! From what the user names to a graph: a file, or a model of the registry.

use std::path::Path;

use crate::diag::{Diagnostic, codes};
use crate::graph::{Graph, NodeId, Producer, Role, Weight};
use crate::import::{Imported, onnx};
use crate::target::Target;

use super::{Options, Outcome, Weights};

/// The suite's name and the imported model.
pub fn load(options: &Options) -> Outcome<(String, Imported)> {
    let imported = onnx::load(&options.model, &options.binding)?;
    if options.weights == Weights::Model {
        let absent: Vec<Diagnostic> =
            without_elements(&imported.graph).map(|name| missing_weight(&imported.graph, name)).collect();
        if !absent.is_empty() {
            return Err(absent);
        }
    }
    Ok((stem(&options.model), imported))
}

/// The suite's name: the file's name without its extension.
pub fn stem(model: &Path) -> String {
    model.file_stem().map_or_else(|| "model".to_owned(), |s| s.to_string_lossy().into_owned())
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
pub fn notes(imported: &Imported, options: &Options) -> Vec<String> {
    let filled = without_elements(&imported.graph).count();
    match (options.weights, filled) {
        (Weights::Seeded, _) => vec![format!("all weights are generated from seed {}", options.seed)],
        (Weights::Auto | Weights::Model, 0) => Vec::new(),
        (Weights::Auto | Weights::Model, n) => {
            vec![format!("{n} weights that the file fills with one number are generated from seed {}", options.seed)]
        }
    }
}
