//! `bound`: how far each element of a kernel with 16-bit floats may be off, as torch beside the reference.
//!
//! Such a kernel computes in fp32, so it is allowed what the same kernel in fp32 is, and every rounding to 16
//! bits on top: half a unit of the result, and half a unit of those values inside that a kernel may round, carried
//! through the operators behind them. These are the outputs of normalisations (`fuse::rules::scale_batchnorm`) and
//! computed operands of contractions (a dot takes 16-bit operands). A flat tolerance is too strict where such a
//! value is large and the result small (a residual that cancels), and too loose elsewhere.
//!
//! Rounding a value t to d digits moves it by at most 2⁻ᵈ·|t|; an infinite value by nothing. A linear operator
//! carries errors as itself on magnitudes, a maximum as itself, a function by its Lipschitz constant;
//! below 0, a ReLU passes only what an error lifts above it.
//!
//! Not derived: errors that enter a softmax, a normalisation by own statistics, a minimum, a product, or a function without such a constant
//! (`None`: the kernel keeps its flat tolerance).

mod growth;

use std::collections::BTreeMap;

use super::kernel_file::Parameters;
use super::python::{Names, call, float, statement};
use super::subject::Subject;
use super::{torch_expr, torch_ops, wrapper};
use crate::diag;
use crate::dtype::DType;
use crate::graph::op::{Reduce, ReduceKind, Scan, ScanKind};
use crate::graph::{Graph, NodeId, Op, ValueId};
use crate::select::plan::Plan;
use crate::tolerance::rounding;

use growth::map_error;

/// Errors are float64, as the reference's values are.
const WIDE: DType = DType::F64;

/// An operand as torch text, with its shape.
type Text<'g> = (String, &'g [usize]);

/// The function, or `None` when an error meets an operator whose growth is not known. `flat`: what the kernel in
/// fp32 is allowed, relative and absolute.
pub(super) fn text(plan: &Plan, subject: &Subject, parameters: &Parameters, flat: &str) -> diag::Result<Option<String>> {
    let graph = &plan.imported;
    let mut names = Names::new(&wrapper::RESERVED);
    let mut values = BTreeMap::new();
    for (value, name) in parameters {
        values.insert(*value, names.fresh(name));
    }
    let mut errors: BTreeMap<ValueId, String> = BTreeMap::new();
    let mut lines = Vec::new();
    for &id in &subject.nodes {
        lines.extend(torch_ops::statements(graph, &[id], &mut names, &mut values)?);
        let output = graph.node(id).outputs[0];
        let Some(mut terms) = carried(graph, id, &values, &errors, &mut names, &mut lines)? else { return Ok(None) };
        let inside = output != subject.output;
        if inside && may_round(graph, id, &subject.nodes) {
            let (unit, value) = (float(rounding(graph.dtype(output))), &values[&output]);
            terms.push(format!("{unit} * torch.where({value}.isfinite(), {value}.abs(), 0.0)"));
        }
        if terms.is_empty() {
            continue;
        }
        let text = terms.join(" + ");
        let known = errors.values().any(|name| *name == text);
        let name = if known { text.clone() } else { names.fresh("error") };
        if !known {
            lines.push(format!("{name} = {text}"));
        }
        errors.insert(output, name);
    }
    let result = &values[&subject.output];
    let whole = names.fresh("whole");
    let more = errors.get(&subject.output).map_or_else(String::new, |error| format!(" + {error}"));
    lines.push(format!("{whole} = {flat} * (1 + {result}.abs()){more}"));
    let stored = match rounding(graph.dtype(subject.output)) {
        unit if graph.dtype(subject.output).size() < 4 => format!("({whole} + {} * ({result}.abs() + {whole}))", float(unit)),
        _ => whole,
    };
    lines.push(format!("return {stored}.nan_to_num(0.0, posinf=0.0)"));

    let list: Vec<String> = parameters.iter().map(|(_, name)| name.clone()).collect();
    let mut text = call(0, "def bound", &[list]);
    text.truncate(text.trim_end().len());
    text += ":\n    \"\"\"How far each element may be off: as in fp32, and by roundings to 16 bits.\"\"\"\n";
    lines.iter().for_each(|line| text += &statement(4, line));
    Ok(Some(text))
}

/// Whether a kernel may round the node's output to its 16 bits although it is not stored.
fn may_round(graph: &Graph, id: NodeId, nodes: &[NodeId]) -> bool {
    let output = graph.node(id).outputs[0];
    let dtype = graph.dtype(output);
    let contracted = || {
        nodes.iter().map(|&id| graph.node(id)).any(|node| match node.op {
            Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul => reaches(graph, &node.inputs, output, nodes),
            Op::Map(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::Softmax { .. } | Op::Lrn(_) => false,
            Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) | Op::View(_) => false,
        })
    };
    let viewed = matches!(graph.node(id).op, Op::View(_));
    !viewed && dtype.is_float() && dtype.size() < 4 && (matches!(graph.node(id).op, Op::BatchNorm { .. }) || contracted())
}

/// Whether a value is among `inputs`, or becomes one by views alone.
fn reaches(graph: &Graph, inputs: &[Option<ValueId>], value: ValueId, nodes: &[NodeId]) -> bool {
    let viewed = |id: &&NodeId| matches!(graph.node(**id).op, Op::View(_)) && inputs.contains(&Some(graph.node(**id).outputs[0]));
    inputs.contains(&Some(value)) || nodes.iter().filter(viewed).any(|&id| reaches(graph, &graph.node(id).inputs, value, nodes))
}

/// The terms of a node's error that come from its operands; `None` when they are not known.
fn carried(
    graph: &Graph,
    id: NodeId,
    values: &BTreeMap<ValueId, String>,
    errors: &BTreeMap<ValueId, String>,
    names: &mut Names,
    lines: &mut Vec<String>,
) -> diag::Result<Option<Vec<String>>> {
    let node = graph.node(id);
    let operand = |i: usize, wrap: fn(&str) -> String| -> Option<Text> {
        let value = (*node.inputs.get(i)?)?;
        Some((wrap(values.get(&value)?), graph.shape(value)))
    };
    let error = |i: usize| -> Option<Text> {
        let value = (*node.inputs.get(i)?)?;
        Some((errors.get(&value)?.clone(), graph.shape(value)))
    };
    let magnitude: fn(&str) -> String = |name| format!("{name}.abs()");
    let nothing: fn(&str) -> String = |name| format!("torch.zeros_like({name})");
    let itself: fn(&str) -> String = str::to_owned;
    if (0..node.inputs.len()).all(|i| error(i).is_none()) {
        return Ok(Some(Vec::new()));
    }
    let mut applied = |operands: &[Option<Text>]| torch_ops::expression(graph, id, operands, names, lines);
    Ok(match &node.op {
        Op::Map(map) => {
            let wrong: Vec<bool> = (0..node.inputs.len()).map(|i| error(i).is_some()).collect();
            let Some(grown) = map_error(map, &wrong) else { return Ok(None) };
            let given = (0..node.inputs.len()).filter_map(|i| operand(i, itself));
            let operands: Vec<Text> = given.chain((0..node.inputs.len()).filter_map(error)).collect();
            Some(vec![torch_expr::map(&grown, &operands, names, lines)])
        }
        // |Σ (a + δa)(b + δb) − Σ a·b| ≤ Σ |δa|·|b| + Σ (|a| + |δa|)·|δb|
        Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul => {
            let mut terms = Vec::new();
            if let Some(first) = error(0) {
                terms.push(applied(&[Some(first), operand(1, magnitude)])?);
            }
            if let Some(second) = error(1) {
                let more = error(0).map_or_else(String::new, |(error, _)| format!(" + {error}"));
                let first = operand(0, magnitude).map(|(name, shape)| (format!("({name}{more})"), shape));
                terms.push(applied(&[first, Some(second)])?);
            }
            if error(2).is_some() { None } else { Some(terms) }
        }
        Op::Pool(_) | Op::View(_) => Some(vec![applied(&[error(0)])?]),
        Op::Reduce(Reduce { kind: ReduceKind::Sum | ReduceKind::Mean | ReduceKind::Max, .. })
        | Op::Scan(Scan { kind: ScanKind::Sum, .. }) => Some(vec![applied(&[error(0)])?]),
        Op::BatchNorm { .. } if (1..5).all(|i| error(i).is_none()) => {
            let exact = [operand(1, magnitude), operand(2, nothing), operand(3, nothing), operand(4, itself)];
            Some(vec![applied(&[[error(0)].as_slice(), &exact].concat())?])
        }
        Op::BatchNorm { .. } | Op::Norm(_) | Op::Softmax { .. } | Op::Lrn(_) => None,
        Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::expr::{Binary, ExprBuilder};
    use crate::graph::op::Map;

    #[test]
    fn what_a_dot_takes_may_be_rounded_and_what_is_added_is_not() {
        let mut graph = Graph::new("bound");
        let ty = || crate::graph::TensorType { dtype: DType::BF16, shape: smallvec![2, 2] };
        let role = crate::graph::Role::Activation;
        let (x, w) = (graph.add_input("x", ty(), role).unwrap(), graph.add_input("w", ty(), role).unwrap());
        let add = || {
            let mut b = ExprBuilder::new();
            let (x, y) = (b.read(0, DType::BF16), b.read(1, DType::BF16));
            let root = b.binary(Binary::Add, x, y);
            Op::Map(Map::pointwise("add", &[2, 2], &[&[2, 2], &[2, 2]], b.finish(root)))
        };
        let one = graph.add_node(add(), &[Some(x), Some(w)], vec![("one".into(), ty())], vec![]);
        let sum = graph.node(one).outputs[0];
        let view = Op::View(crate::graph::op::View::Transpose(smallvec![1, 0]));
        let turned = graph.add_node(view, &[Some(sum)], vec![("turned".into(), ty())], vec![]);
        let b = graph.node(turned).outputs[0];
        let dot = graph.add_node(Op::MatMul, &[Some(x), Some(b)], vec![("dot".into(), ty())], vec![]);
        let product = graph.node(dot).outputs[0];
        let two = graph.add_node(add(), &[Some(product), Some(w)], vec![("two".into(), ty())], vec![]);
        let nodes = [one, turned, dot, two];
        assert_eq!(nodes.map(|id| may_round(&graph, id, &nodes)), [true, false, false, false]);
    }
}
