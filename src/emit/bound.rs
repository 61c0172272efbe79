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
//! Not derived: errors that enter a softmax, a response normalisation, or a function without such a constant
//! (`None`: the kernel keeps its flat tolerance).

use std::collections::BTreeMap;

use super::kernel_file::Parameters;
use super::python::{Names, call, float, statement};
use super::subject::Subject;
use super::{torch_expr, torch_ops, wrapper};
use crate::diag;
use crate::dtype::DType;
use crate::expr::{self, Binary, Compare, ExprBuilder, ExprId, Node, Unary};
use crate::graph::op::{Access, Map, OutOfBounds};
use crate::graph::{Graph, NodeId, Op, ValueId};
use crate::select::plan::Plan;
use crate::tolerance::rounding;

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
            Op::Conv(_) | Op::MatMul => reaches(graph, &node.inputs, output, nodes),
            Op::Map(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::Softmax { .. } | Op::Lrn(_) | Op::View(_) => false,
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
        Op::Conv(_) | Op::MatMul => {
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
        Op::BatchNorm { .. } if (1..5).all(|i| error(i).is_none()) => {
            let exact = [operand(1, magnitude), operand(2, nothing), operand(3, nothing), operand(4, itself)];
            Some(vec![applied(&[[error(0)].as_slice(), &exact].concat())?])
        }
        Op::BatchNorm { .. } | Op::Softmax { .. } | Op::Lrn(_) => None,
    })
}

/// The Map that gives a Map's error: its operands are those of `map`, then the errors of those that are `wrong`.
fn map_error(map: &Map, wrong: &[bool]) -> Option<Map> {
    let mut reads = map.reads.clone();
    let mut place = wrong.len();
    let places: Vec<Option<usize>> = wrong
        .iter()
        .map(|&wrong| {
            place += usize::from(wrong);
            wrong.then(|| place - 1)
        })
        .collect();
    let errors: Vec<Option<u32>> = map
        .reads
        .iter()
        .map(|access| {
            let input = places[access.input]?;
            let oob = match access.oob {
                OutOfBounds::InBounds => OutOfBounds::InBounds,
                OutOfBounds::Fill(_) => OutOfBounds::Fill(0.0),
            };
            reads.push(Access { input, index: access.index.clone(), oob });
            Some(reads.len() as u32 - 1)
        })
        .collect();
    let mut growth = Growth { b: ExprBuilder::new(), values: Vec::new(), errors: Vec::new() };
    if let Some(read) = torch_expr::relu_operand(map.body.nodes()) {
        let root = growth.of_relu(map.body.nodes(), read, errors[read]?);
        return Some(Map { reads, body: growth.b.finish(root), ..map.clone() });
    }
    for &(node, dtype) in map.body.nodes() {
        let value = growth.b.node(node.with_operands(|id| growth.values[id.0 as usize]), dtype);
        let error = growth.of(node, dtype, value, &errors)?;
        growth.values.push(value);
        growth.errors.push(error);
    }
    let root = match *growth.errors.last()? {
        Some(error) => error,
        None => growth.b.float(0.0, WIDE),
    };
    Some(Map { reads, body: growth.b.finish(root), ..map.clone() })
}

/// The error of each node of an expression beside its value.
struct Growth {
    b: ExprBuilder,
    values: Vec<ExprId>,
    /// `None`: exact.
    errors: Vec<Option<ExprId>>,
}

impl Growth {
    /// The outer `None`: not known.
    fn of(&mut self, node: Node, dtype: DType, value: ExprId, reads: &[Option<u32>]) -> Option<Option<ExprId>> {
        let error = |id: ExprId| self.errors[id.0 as usize];
        let exact = {
            let mut exact = true;
            expr::operands(node, |id| exact &= error(id).is_none());
            exact
        };
        let narrowed = |from: DType| matches!((from.format(), dtype.format()), (Some(a), Some(b)) if b.digits < a.digits);
        match node {
            Node::Read(k) => Some(reads[k as usize].map(|k| self.b.read(k, WIDE))),
            Node::Coordinate(_) | Node::Constant(_) => Some(None),
            Node::Cast(a) if narrowed(self.b.dtype(self.values[a.0 as usize])) => {
                let unit = self.b.float(rounding(dtype), WIDE);
                let own = self.weighed(unit, value);
                Some(self.sum(self.errors[a.0 as usize], Some(own)))
            }
            Node::Unary(..) | Node::Binary(..) | Node::Compare(..) | Node::Select(..) | Node::Cast(_) if exact => Some(None),
            Node::Unary(op, a) => {
                let error = error(a)?;
                let constant = lipschitz(op)?;
                let factor = self.b.float(constant, WIDE);
                Some(Some(if constant == 1.0 { error } else { self.b.binary(Binary::Mul, error, factor) }))
            }
            Node::Binary(op, a, b) => {
                let (ea, eb) = (error(a), error(b));
                let (a, b) = (self.values[a.0 as usize], self.values[b.0 as usize]);
                match op {
                    Binary::Add | Binary::Sub => Some(self.sum(ea, eb)),
                    Binary::MinNan | Binary::MaxNan | Binary::MinNum | Binary::MaxNum => Some(match (ea, eb) {
                        (Some(ea), Some(eb)) => Some(self.b.binary(Binary::MaxNan, ea, eb)),
                        (one, other) => one.or(other),
                    }),
                    Binary::Mul => {
                        let first = ea.map(|ea| self.weighed(ea, b));
                        let second = eb.map(|eb| self.weighed(eb, a));
                        let both = ea.zip(eb).map(|(ea, eb)| self.b.binary(Binary::Mul, ea, eb));
                        let sum = self.sum(first, second);
                        Some(self.sum(sum, both))
                    }
                    Binary::Div if eb.is_none() => {
                        let divisor = self.b.cast(b, WIDE);
                        let divisor = self.b.unary(Unary::Abs, divisor);
                        Some(Some(self.b.binary(Binary::Div, ea?, divisor)))
                    }
                    Binary::Div | Binary::DivTrunc | Binary::DivFloor | Binary::Pow => None,
                    Binary::And | Binary::Or | Binary::Xor => None,
                }
            }
            Node::Compare(..) => None,
            Node::Select(condition, _, _) if error(condition).is_some() => None,
            Node::Select(condition, a, b) => {
                let (ea, eb) = (error(a), error(b));
                let zero = self.b.float(0.0, WIDE);
                let condition = self.values[condition.0 as usize];
                Some(Some(self.b.select(condition, ea.unwrap_or(zero), eb.unwrap_or(zero))))
            }
            Node::Cast(a) => dtype.is_float().then(|| error(a)),
        }
    }

    /// Below 0 only what an error lifts above it counts.
    fn of_relu(&mut self, nodes: &[(Node, DType)], read: usize, error: u32) -> ExprId {
        let reads = |&&(node, _): &&(Node, DType)| node == Node::Read(read as u32);
        let dtype = nodes.iter().find(reads).map_or(WIDE, |&(_, dtype)| dtype);
        let x = self.b.read(read as u32, dtype);
        let x = self.b.cast(x, WIDE);
        let (error, zero) = (self.b.read(error, WIDE), self.b.float(0.0, WIDE));
        let below = self.b.compare(Compare::Lt, x, zero);
        let lifted = self.b.binary(Binary::Add, x, error);
        let lifted = self.b.binary(Binary::MaxNan, lifted, zero);
        self.b.select(below, lifted, error)
    }

    fn weighed(&mut self, error: ExprId, factor: ExprId) -> ExprId {
        let factor = self.b.cast(factor, WIDE);
        let magnitude = self.b.unary(Unary::Abs, factor);
        self.b.binary(Binary::Mul, error, magnitude)
    }

    fn sum(&mut self, a: Option<ExprId>, b: Option<ExprId>) -> Option<ExprId> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.b.binary(Binary::Add, a, b)),
            (one, other) => one.or(other),
        }
    }
}

/// How many times as far a function's values can be apart as its arguments.
fn lipschitz(op: Unary) -> Option<f64> {
    match op {
        Unary::Neg | Unary::Abs | Unary::Sin | Unary::Cos | Unary::Tanh => Some(1.0),
        Unary::Sigmoid => Some(0.25),
        // 2/√π.
        Unary::Erf => Some(std::f64::consts::FRAC_2_SQRT_PI),
        Unary::Exp | Unary::Log | Unary::Sqrt | Unary::Rsqrt => None,
        Unary::Floor | Unary::Ceil | Unary::RoundEven | Unary::Not => None,
    }
}

#[cfg(test)]
mod tests {
    use smallvec::{SmallVec, smallvec};

    use super::*;
    use crate::expr::Expr;
    use crate::reference::{Math, apply, floats};
    use crate::tensor::Tensor;

    const F16: DType = DType::F16;

    fn pointwise(reads: usize, build: impl FnOnce(&mut ExprBuilder) -> ExprId) -> Map {
        let mut b = ExprBuilder::new();
        let root = build(&mut b);
        let body: Expr = b.finish(root);
        Map::pointwise("test", &[2], &vec![[2].as_slice(); reads], body)
    }

    /// Errors of a Map at two elements, for operands and the errors of the wrong ones.
    fn errors(map: &Map, wrong: &[bool], lanes: &[[f64; 2]]) -> Option<Vec<f64>> {
        let grown = map_error(map, wrong)?;
        let tensors: Vec<Tensor> = lanes
            .iter()
            .map(|lanes| {
                let lanes = crate::tensor::Storage::F64(lanes.to_vec());
                Tensor::new(WIDE, SmallVec::from_slice(&[2]), lanes)
            })
            .collect();
        let operands: Vec<Option<&Tensor>> = tensors.iter().map(Some).collect();
        let error = apply(&Op::Map(grown), &operands, WIDE, Math::F64).unwrap();
        Some(floats(error.storage()).into_owned())
    }

    #[test]
    fn a_sum_adds_errors_and_a_product_weighs_them() {
        let sum = pointwise(2, |b| {
            let (x, y) = (b.read(0, F16), b.read(1, F16));
            b.binary(Binary::Sub, x, y)
        });
        assert_eq!(errors(&sum, &[true, true], &[[8.0, 1.0], [8.0, 2.0], [0.5, 0.25], [0.125, 1.0]]).unwrap(), [0.625, 1.25]);
        assert_eq!(errors(&sum, &[false, true], &[[8.0, 1.0], [8.0, 2.0], [0.125, 1.0]]).unwrap(), [0.125, 1.0]);
        let product = pointwise(2, |b| {
            let (x, y) = (b.read(0, F16), b.read(1, F16));
            b.binary(Binary::Mul, x, y)
        });
        let lanes = [[2.0, -3.0], [-4.0, 1.0], [0.5, 0.0], [0.25, 0.5]];
        assert_eq!(errors(&product, &[true, true], &lanes).unwrap(), [2.0 + 0.5 + 0.125, 1.5]);
        assert_eq!(errors(&product, &[true, false], &lanes[..3]).unwrap(), [2.0, 0.0]);
    }

    #[test]
    fn a_relu_passes_below_zero_only_what_is_lifted() {
        let relu = pointwise(1, |b| {
            let (x, zero) = (b.read(0, F16), b.float(0.0, F16));
            b.binary(Binary::MaxNan, x, zero)
        });
        assert_eq!(errors(&relu, &[true], &[[-0.25, 3.0], [0.5, 0.5]]).unwrap(), [0.25, 0.5]);
        assert_eq!(errors(&relu, &[true], &[[-8.0, -0.5], [0.5, 0.5]]).unwrap(), [0.0, 0.0]);
    }

    #[test]
    fn a_narrowing_rounds_and_a_step_is_not_derived() {
        let narrowed = pointwise(1, |b| {
            let x = b.read(0, DType::F32);
            b.cast(x, F16)
        });
        assert_eq!(errors(&narrowed, &[true], &[[4.0, -2.0], [0.5, 0.0]]).unwrap(), [0.5 + 4.0 / 2048.0, 2.0 / 2048.0]);
        for (op, known) in [(Unary::Floor, false), (Unary::Exp, false), (Unary::Tanh, true)] {
            let map = pointwise(1, |b| {
                let x = b.read(0, F16);
                b.unary(op, x)
            });
            assert_eq!(map_error(&map, &[true]).is_some(), known, "{op:?}");
        }
    }

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
