//! Names for people: what a node is called in messages and which module of the model it belongs to.

use tract_onnx::pb::NodeProto;

use crate::graph::Source;

/// Endings of parameter names that torch's modules give their weights.
const PARAMETERS: [&str; 4] = [".weight", ".bias", ".running_mean", ".running_var"];

/// The source of node number `position`.
pub(super) fn source(position: usize, node: &NodeProto) -> Source {
    Source { operator: operator(node), node: label(position, node), module: module(node) }
}

/// The file's own name, that of the first output where there is none (names of values are unique, those of nodes
/// may be left out), or `#12 Conv`.
pub(super) fn label(position: usize, node: &NodeProto) -> String {
    let named = std::iter::once(&node.name).chain(&node.output).find(|name| !name.is_empty());
    named.cloned().unwrap_or_else(|| format!("#{position} {}", node.op_type))
}

/// `Conv`, or `com.microsoft.Gelu` outside the default domain.
pub(super) fn operator(node: &NodeProto) -> String {
    match node.domain.as_str() {
        "" | "ai.onnx" => node.op_type.clone(),
        domain => format!("{domain}.{}", node.op_type),
    }
}

/// The module path. Two sources: torch's exporter puts scopes into node names
/// (`/layer1/layer1.0/conv1/Conv`: each scope may repeat its parent's path), and parameters keep
/// their module's path (`layer1.0.conv1.weight`).
fn module(node: &NodeProto) -> Option<String> {
    if let Some(scoped) = node.name.strip_prefix('/') {
        let (scopes, _) = scoped.rsplit_once('/')?;
        let mut path = String::new();
        for scope in scopes.split('/') {
            if scope.strip_prefix(path.as_str()).is_some_and(|rest| path.is_empty() || rest.starts_with('.')) {
                path = scope.to_owned();
            } else {
                path = format!("{path}.{scope}");
            }
        }
        return Some(path);
    }
    let parameter = |name: &String| PARAMETERS.iter().find_map(|end| name.strip_suffix(end)).map(str::to_owned);
    node.input.iter().skip(1).find_map(parameter).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_paths_come_from_scopes_or_parameters() {
        let node = |name: &str, inputs: &[&str]| NodeProto {
            name: name.to_owned(),
            op_type: "Conv".to_owned(),
            input: inputs.iter().map(|&s| s.to_owned()).collect(),
            ..NodeProto::default()
        };
        let path = |name, inputs: &[&str]| module(&node(name, inputs));
        assert_eq!(path("/layer1/layer1.0/conv1/Conv", &[]).as_deref(), Some("layer1.0.conv1"));
        assert_eq!(path("/fc/Gemm", &["x"]).as_deref(), Some("fc"));
        assert_eq!(path("/Flatten", &["x"]), None);
        assert_eq!(path("n", &["x", "layer1.0.bn1.running_mean"]).as_deref(), Some("layer1.0.bn1"));
        assert_eq!(path("n", &["x.weight"]), None);
        assert_eq!(label(3, &node("", &[])), "#3 Conv");
        let unnamed = NodeProto { output: vec![String::new(), "c".to_owned()], ..node("", &[]) };
        assert_eq!([label(3, &unnamed), label(3, &NodeProto { name: "n".to_owned(), ..unnamed.clone() })], ["c", "n"]);
    }
}
