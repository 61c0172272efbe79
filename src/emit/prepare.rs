//! Weight preparation as host code: nodes that depend on weights alone, with `+ - * /`, `sqrt`,
//! `rsqrt`, `to` and views, as `prepare` may use. 16-bit floats are computed with in fp32 and rounded
//! once a Map, at its end and where it says so.

use std::collections::BTreeMap;

use super::python::{self, Names, dtype, list};
use super::torch_access;
use crate::diag::{self, Diagnostic, codes};
use crate::dtype::DType;
use crate::expr::{self, Binary, Constant, Node, Unary};
use crate::graph::op::{Map, View};
use crate::graph::{Graph, NodeId, Op, ValueId};
use crate::select::plan::Plan;

/// Preparation nodes that `wanted` values need: operands first, and what one value needs together.
pub fn nodes_for(plan: &Plan, wanted: &[ValueId]) -> Vec<NodeId> {
    let makers: BTreeMap<ValueId, NodeId> =
        plan.preparation.iter().flat_map(|&id| plan.graph.node(id).outputs.iter().map(move |&output| (output, id))).collect();
    let mut nodes = Vec::new();
    // Each value stands above its operands, and is taken when they are done.
    let mut open: Vec<(ValueId, bool)> = wanted.iter().rev().map(|&value| (value, false)).collect();
    while let Some((value, ready)) = open.pop() {
        let Some(&id) = makers.get(&value) else { continue };
        if ready && !nodes.contains(&id) {
            nodes.push(id);
        } else if !ready && !nodes.contains(&id) {
            open.push((value, true));
            open.extend(plan.graph.node(id).inputs.iter().rev().flatten().map(|&input| (input, false)));
        }
    }
    nodes
}

/// Weights that preparation nodes read, each once, in order of first use.
pub fn weights_of(graph: &Graph, nodes: &[NodeId]) -> Vec<ValueId> {
    let made: Vec<ValueId> = nodes.iter().flat_map(|&id| graph.node(id).outputs.iter().copied()).collect();
    let mut weights = Vec::new();
    for &value in nodes.iter().flat_map(|&id| graph.node(id).inputs.iter().flatten()) {
        if !made.contains(&value) && !weights.contains(&value) {
            weights.push(value);
        }
    }
    weights
}

/// Statements (without indent) that compute preparation nodes. `values` names the weights, and
/// afterwards every value computed.
///
/// # Errors
/// U006 for a node that the subset cannot express.
pub fn statements(
    graph: &Graph,
    nodes: &[NodeId],
    names: &mut Names,
    values: &mut BTreeMap<ValueId, String>,
) -> diag::Result<Vec<String>> {
    let mut lines = Vec::new();
    for &id in nodes {
        let node = graph.node(id);
        let refuse = || {
            let source = node.sources.first().map_or_else(|| format!("#{}", id.index()), |s| s.node.clone());
            let message = format!("preparing a weight with `{}` in the host subset", node.op.name());
            Box::new(Diagnostic::new(&codes::NOT_OFFERED, message).at_node(graph.file.clone(), source))
        };
        let operands: Option<Vec<(String, &[usize])>> =
            node.inputs.iter().flatten().map(|v| Some((values.get(v)?.clone(), graph.shape(*v)))).collect();
        let operands = operands.ok_or_else(refuse)?;
        let text = match &node.op {
            Op::Map(map) => arithmetic(map, &operands, names, &mut lines),
            Op::View(View::Reshape(shape)) => Some(format!("{}.reshape({})", operands[0].0, list(shape))),
            Op::View(View::Transpose(order)) => Some(format!("{}.permute({}).contiguous()", operands[0].0, list(order))),
            Op::View(View::Broadcast(_))
            | Op::Conv(_)
            | Op::ConvTranspose(_)
            | Op::Pool(_)
            | Op::BatchNorm { .. }
            | Op::Norm(_)
            | Op::MatMul
            | Op::Softmax { .. }
            | Op::Reduce(_)
            | Op::ArgReduce(_)
            | Op::Scan(_)
            | Op::Lrn(_) => None,
        };
        let name = names.fresh(&graph.value(node.outputs[0]).name);
        lines.push(format!("{name} = {}", text.ok_or_else(refuse)?));
        values.insert(node.outputs[0], name);
    }
    Ok(lines)
}

/// A Map as infix arithmetic; a node used twice gets a name. `None` outside the subset.
fn arithmetic(map: &Map, operands: &[(String, &[usize])], names: &mut Names, lines: &mut Vec<String>) -> Option<String> {
    let reads: Vec<String> = map
        .reads
        .iter()
        .map(|access| {
            let (name, shape) = &operands[access.input];
            let text = torch_access::broadcast(name, shape, access, &map.dims)?;
            // A result in another order of axes would not be contiguous.
            Some(if text.contains(".permute(") { format!("{text}.contiguous()") } else { text })
        })
        .collect::<Option<_>>()?;
    let nodes = map.body.nodes();
    if let [(Node::Read(0), _)] = nodes {
        return Some(reads[0].clone());
    }
    let narrow = |of: DType| of.computed_in() != of;
    let to = |value: &Printed, of: DType| Printed::atom(format!("{}.to({})", value.positive().within(ATOM), dtype(of)));
    let mut uses = vec![0; nodes.len()];
    for &(node, _) in nodes {
        expr::operands(node, |id| uses[id.0 as usize] += 1);
    }
    let mut printed: Vec<Printed> = Vec::with_capacity(nodes.len());
    for (i, &(node, of)) in nodes.iter().enumerate() {
        let at = |id: expr::ExprId| &printed[id.0 as usize];
        let value = match node {
            Node::Read(k) if narrow(of) => to(&Printed::atom(reads[k as usize].clone()), of.computed_in()),
            Node::Read(k) => Printed::atom(reads[k as usize].clone()),
            Node::Constant(Constant::Float(bits)) => Printed::atom(python::float_of(of.computed_in(), f64::from_bits(bits))),
            Node::Constant(Constant::Int(v)) => Printed::atom(v.to_string()),
            Node::Binary(op, a, b) => binary(op, at(a), at(b))?,
            Node::Unary(Unary::Sqrt, a) => Printed::atom(format!("torch.sqrt({})", at(a).positive().text)),
            Node::Unary(Unary::Rsqrt, a) => Printed::atom(format!("torch.rsqrt({})", at(a).positive().text)),
            Node::Unary(Unary::Neg, a) => Printed { negated: !at(a).negated, ..at(a).clone() },
            Node::Cast(a) if nodes[a.0 as usize].1.computed_in() == of => at(a).clone(),
            Node::Cast(a) if narrow(of) && i + 1 < nodes.len() => to(&to(at(a), of), of.computed_in()),
            Node::Cast(a) => to(at(a), of),
            Node::Constant(Constant::Bool(_)) | Node::Coordinate(_) | Node::Unary(..) | Node::Compare(..) | Node::Select(..) => {
                return None;
            }
        };
        let compound = !matches!(node, Node::Read(_) | Node::Constant(_));
        if compound && uses[i] > 1 {
            let name = names.fresh("t");
            lines.push(format!("{name} = {}", value.positive().text));
            printed.push(Printed::atom(name));
        } else {
            printed.push(value);
        }
    }
    let root = printed.pop()?;
    let rounded = !narrow(map.body.dtype()) || matches!(nodes.last(), Some((Node::Cast(_), _)));
    Some(if rounded { root.positive().text } else { to(&root, map.body.dtype()).text })
}

const SUM: u8 = 0;
const PRODUCT: u8 = 1;
const ATOM: u8 = 2;

/// A value's text, how tightly it binds, and whether the text is of its negative: a sign moves through
/// products, and −a + b is b − a, without changing any bit.
#[derive(Clone)]
struct Printed {
    text: String,
    tightness: u8,
    negated: bool,
}

impl Printed {
    fn atom(text: String) -> Printed {
        Printed { text, tightness: ATOM, negated: false }
    }

    fn within(&self, tightness: u8) -> String {
        if self.tightness >= tightness { self.text.clone() } else { format!("({})", self.text) }
    }

    /// The value itself; the subset has no sign before a tensor.
    fn positive(&self) -> Printed {
        if !self.negated {
            return self.clone();
        }
        Printed { text: format!("{} * -1.0", self.within(PRODUCT)), tightness: PRODUCT, negated: false }
    }
}

fn binary(op: Binary, a: &Printed, b: &Printed) -> Option<Printed> {
    let infix = |a: &Printed, sign: &str, b: &Printed, tightness: u8, negated: bool| Printed {
        text: format!("{} {sign} {}", a.within(tightness), b.within(tightness + 1)),
        tightness,
        negated,
    };
    let minus = match op {
        Binary::Mul => return Some(infix(a, "*", b, PRODUCT, a.negated != b.negated)),
        Binary::Div => return Some(infix(a, "/", b, PRODUCT, a.negated != b.negated)),
        Binary::Add => b.negated,
        Binary::Sub => !b.negated,
        _ => return None,
    };
    Some(match (a.negated, minus) {
        (false, false) => infix(a, "+", b, SUM, false),
        (false, true) => infix(a, "-", b, SUM, false),
        (true, false) => infix(b, "-", a, SUM, false),
        // Not −(a + b): where the sum is zero its sign would change.
        (true, true) => infix(&a.positive(), "-", b, SUM, false),
    })
}
