//! Decomposed operators put together again, so that programs before and after `run_decompositions()` give the same
//! kernels.
//!
//! A pattern looks at one node and what makes its operands; where it holds, the node becomes the whole operator, and
//! nodes that nothing else reads go. Most decompositions need no pattern: the operator that is whole is lowered in the
//! same steps (`ops`). Not put together: attention, and losses over classes.

use std::collections::{HashMap, HashSet};

use super::program::{Argument, Graph, NamedArgument, Node, Symbolic};

/// Rewrites the program's nodes.
pub fn recompose(graph: &mut Graph) {
    let mut replaced = Vec::new();
    {
        let makers = Makers::new(&graph.nodes);
        for (position, node) in graph.nodes.iter().enumerate() {
            if let Some(found) = log_sum_exp(&makers, node) {
                replaced.push((position, found));
            }
        }
    }
    let mut candidates = HashSet::new();
    for (position, found) in replaced {
        candidates.extend(found.parts);
        let node = &mut graph.nodes[position];
        node.target = format!("torch.ops.aten.{}", found.target);
        node.inputs = found.inputs;
    }
    while !candidates.is_empty() {
        let read: HashSet<&str> = graph.nodes.iter().flat_map(reads).chain(graph.outputs.iter().filter_map(tensor)).collect();
        let dead = |node: &Node| made(node).is_some_and(|name| candidates.contains(name) && !read.contains(name));
        let gone: HashSet<String> = graph.nodes.iter().filter(|node| dead(node)).filter_map(made).map(str::to_owned).collect();
        if gone.is_empty() {
            break;
        }
        graph.nodes.retain(|node| made(node).is_none_or(|name| !gone.contains(name)));
    }
}

/// A whole operator, and the results of the nodes that it stands for.
struct Found {
    /// `logsumexp.default`.
    target: &'static str,
    inputs: Vec<NamedArgument>,
    parts: Vec<String>,
}

/// Which node makes which tensor.
struct Makers<'g>(HashMap<&'g str, &'g Node>);

impl<'g> Makers<'g> {
    fn new(nodes: &'g [Node]) -> Makers<'g> {
        Makers(nodes.iter().filter_map(|node| Some((made(node)?, node))).collect())
    }

    /// The node of an operator that makes an argument of another.
    fn behind(&self, node: &Node, argument: &str, target: &str) -> Option<&'g Node> {
        let found = *self.0.get(operand(node, argument)?)?;
        (found.target.strip_prefix("torch.ops.aten.")? == target).then_some(found)
    }
}

fn tensor(argument: &Argument) -> Option<&str> {
    if let Argument::Tensor(name) = argument { Some(name) } else { None }
}

/// The one tensor that a node makes.
fn made(node: &Node) -> Option<&str> {
    if let [output] = node.outputs.as_slice() { tensor(output) } else { None }
}

fn reads(node: &Node) -> Vec<&str> {
    let mut names = Vec::new();
    for input in &node.inputs {
        match &input.arg {
            Argument::Tensor(name) => names.push(name.as_str()),
            Argument::Tensors(all) => names.extend(all.iter().map(String::as_str)),
            Argument::OptionalTensors(all) => names.extend(all.iter().flatten().map(String::as_str)),
            Argument::None
            | Argument::Int(_)
            | Argument::Ints(_)
            | Argument::Float(_)
            | Argument::Floats(_)
            | Argument::Bool(_)
            | Argument::Bools(_)
            | Argument::String(_)
            | Argument::Dtype(_)
            | Argument::Placement
            | Argument::Other(_) => {}
        }
    }
    names
}

fn argument<'n>(node: &'n Node, name: &str) -> Option<&'n Argument> {
    node.inputs.iter().find(|input| input.name == name).map(|input| &input.arg)
}

fn operand<'n>(node: &'n Node, name: &str) -> Option<&'n str> {
    argument(node, name).and_then(tensor)
}

/// log(sum(exp(x − m))) + m, where m is the maximum, or 0 where that is infinite; without the reduced axes, m is
/// squeezed before it is added.
fn log_sum_exp(makers: &Makers, node: &Node) -> Option<Found> {
    if node.target != "torch.ops.aten.add.Tensor" || argument(node, "alpha").is_some() {
        return None;
    }
    let log = makers.behind(node, "self", "log.default")?;
    let sum = makers.behind(log, "self", "sum.dim_IntList")?;
    let exp = makers.behind(sum, "self", "exp.default")?;
    let sub = makers.behind(exp, "self", "sub.Tensor")?;
    let m = makers.behind(sub, "other", "where.self")?;
    let most = makers.behind(m, "other", "amax.default")?;
    let infinite = makers.behind(m, "condition", "eq.Scalar")?;
    let size = makers.behind(infinite, "self", "abs.default")?;
    let zero = makers.behind(m, "self", "scalar_tensor.default")?;
    let x = operand(sub, "self")?;
    let kept = |node: &Node| argument(node, "keepdim") == Some(&Argument::Bool(Symbolic::Is(true)));
    let keepdim = kept(sum);
    let squeezed = if keepdim { None } else { Some(makers.behind(node, "other", "squeeze.dims")?) };
    let added = match squeezed {
        None => operand(node, "other"),
        Some(squeeze) if argument(squeeze, "dim") == argument(sum, "dim") => operand(squeeze, "self"),
        Some(_) => None,
    };
    let holds = added == made(m)
        && operand(most, "self") == Some(x)
        && operand(size, "self") == made(most)
        && argument(infinite, "other") == Some(&Argument::Float(Symbolic::Is(f64::INFINITY)))
        && matches!(argument(zero, "s")?, Argument::Float(Symbolic::Is(0.0)) | Argument::Int(Symbolic::Is(0)))
        && argument(sum, "dim") == argument(most, "dim")
        && argument(sub, "alpha").is_none()
        && argument(sum, "dtype").is_none()
        && kept(most);
    if !holds {
        return None;
    }
    let inputs = vec![
        NamedArgument { name: "self".to_owned(), arg: Argument::Tensor(x.to_owned()) },
        NamedArgument { name: "dim".to_owned(), arg: argument(sum, "dim")?.clone() },
        NamedArgument { name: "keepdim".to_owned(), arg: Argument::Bool(Symbolic::Is(keepdim)) },
    ];
    let parts = [log, sum, exp, sub, m, most, infinite, size, zero]
        .into_iter()
        .chain(squeezed)
        .filter_map(made)
        .map(str::to_owned)
        .collect();
    Some(Found { target: "logsumexp.default", inputs, parts })
}
