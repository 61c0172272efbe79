//! What nodes are called: the module that they belong to, where it has one node alone (`layer1.0.conv1`), else with
//! the node's own name behind it (`layer1.0/relu_1`). A node outside of every module has its own name.

use std::collections::HashMap;

use super::program::{Argument, Node};

pub struct Label {
    pub node: String,
    /// The module path.
    pub module: Option<String>,
}

/// One label a node, all different.
pub fn labels(nodes: &[Node]) -> Vec<Label> {
    let paths: Vec<Option<&str>> = nodes.iter().map(module).collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    paths.iter().flatten().for_each(|path| *count.entry(path).or_default() += 1);
    nodes
        .iter()
        .zip(&paths)
        .enumerate()
        .map(|(position, (node, path))| {
            let own = own_name(node).unwrap_or_else(|| format!("#{position}"));
            let label = match path {
                Some(path) if count[path] == 1 => (*path).to_owned(),
                Some(path) => format!("{path}/{own}"),
                None => own,
            };
            Label { node: label, module: path.map(str::to_owned) }
        })
        .collect()
}

fn own_name(node: &Node) -> Option<String> {
    let output = || match node.outputs.first() {
        Some(Argument::Tensor(name)) => Some(name.clone()),
        Some(Argument::Tensors(names)) => names.first().cloned(),
        Some(_) | None => None,
    };
    node.name.clone().or_else(output)
}

/// The innermost module of `nn_module_stack`: `key,path,class;key,path,class;…`.
fn module(node: &Node) -> Option<&str> {
    let stack = node.metadata.get("nn_module_stack")?;
    let path = stack.rsplit(';').next()?.split(',').nth(1)?;
    let known = !path.is_empty() && !path.starts_with('_');
    known.then_some(path)
}
