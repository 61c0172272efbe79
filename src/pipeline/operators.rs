//! A graph from operator shapes alone: one node a problem that a registry lists, side by side.
//!
//! The operator's template says which operator it is and what its operands are called; the registry
//! gives their shapes and the attributes. Operand X of the first problem of `relu` is the value
//! `relu.0.X`, its node is `relu.0`; activations are inputs of the graph, every result is an output.
//! Everything is fp32.
//!
//! Not served: the generic `map`, which is no operator until a model says what it computes.

use smallvec::SmallVec;

use crate::diag::{Diagnostic, codes};
use crate::dtype::DType;
use crate::graph::infer::infer;
use crate::graph::op::{
    ArgKind, ArgReduce, Conv, ConvTranspose, Lrn, Map, Norm, Op, Pool, PoolKind, Reduce, Role, Scan, TensorType,
};
use crate::graph::{Graph, Source, ValueId, Weight};
use crate::import::Imported;
use crate::registry::{Attribute, FILE, Model, OperatorShape, Registry, Size};
use crate::shape::{Shape, broadcast, display};
use crate::template::manifest::Implements;
use crate::template::{Library, Template};

use super::Outcome;

/// The graph of a registered model without a file. Every problem that does not fit is reported.
pub fn import(registry: &Registry, model: &Model, size: Size, library: &Library) -> Outcome<Imported> {
    let mut graph = Graph::new(FILE);
    let (mut outputs, mut errors) = (Vec::new(), Vec::new());
    for (i, name) in model.operators.iter().enumerate() {
        if model.operators[..i].contains(name) {
            errors.push(wrong(name, format!("{} lists it twice", model.name)).help("list an operator once"));
            continue;
        }
        let problems = registry.operator(name).map_or(&[][..], |operator| operator.shapes(size));
        let Some(template) = library.templates().iter().find(|template| template.name == *name) else {
            let help = "name a template of operator_templates, or give its folder with --templates";
            errors.push(wrong(name, "there is no such operator template".to_owned()).help(help));
            continue;
        };
        for (i, problem) in problems.iter().enumerate() {
            let node = format!("{name}.{i}");
            match add(&mut graph, template, &node, problem) {
                Ok(output) => outputs.push(output),
                Err(why) => errors.push(wrong(&node, why).help("correct the problem under `operators:`")),
            }
        }
    }
    if outputs.is_empty() && errors.is_empty() {
        let message = format!("the operators of {} have no problems of this size", model.name);
        errors.push(Diagnostic::new(&codes::YAML_INVALID, message).in_file(FILE).help("add shapes under `operators:`"));
    }
    graph.set_outputs(outputs);
    if !errors.is_empty() {
        return Err(errors);
    }
    let (unsupported, opaque, exposed, absorbed) = Default::default();
    Ok(Imported { graph, unsupported, opaque, exposed, mutates: Vec::new(), absorbed })
}

fn wrong(node: &str, why: String) -> Diagnostic {
    Diagnostic::new(&codes::YAML_INVALID, format!("operator {node}: {why}")).in_file(FILE)
}

/// Adds one problem; its result. The error is a phrase that names operand or attribute and cause.
fn add(graph: &mut Graph, template: &Template, node: &str, problem: &OperatorShape) -> Result<ValueId, String> {
    let manifest = &template.manifest;
    let required = manifest.inputs().iter().map(|operand| (operand.name.as_str(), true));
    let operands: Vec<(&str, bool)> = required.chain(manifest.optional.iter().map(|o| (o.name.as_str(), false))).collect();
    if let Some(unknown) = problem.operands.keys().find(|name| !operands.iter().any(|(known, _)| known == name)) {
        let known: Vec<&str> = operands.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no operand {unknown}; known: {}", known.join(", ")));
    }
    let mut types = Vec::new();
    for &(name, required) in &operands {
        match problem.operands.get(name) {
            Some(shape) => types.push(Some((name, TensorType { dtype: DType::F32, shape: shape.clone() }))),
            None if required => return Err(format!("the shape of operand {name} is missing")),
            None => types.push(None),
        }
    }
    while types.last().is_some_and(Option::is_none) {
        types.pop();
    }
    let mut attributes = Attributes { problem, read: Vec::new() };
    let shapes: Vec<&Shape> = types.iter().flatten().map(|(_, ty)| &ty.shape).collect();
    let op = op(template, &shapes, &mut attributes)?;
    attributes.all_known()?;
    let inferred = infer(&op, &types.iter().map(|ty| ty.as_ref().map(|(_, ty)| ty)).collect::<Vec<_>>())?;
    let inputs: Vec<Option<ValueId>> = types
        .into_iter()
        .map(|operand| operand.map(|(name, ty)| operand_value(graph, manifest.implements, node, name, ty)))
        .collect();
    let outputs = inferred.into_iter().map(|ty| (format!("{node}.{}", manifest.output().name), ty)).collect();
    let source = Source { operator: template.name.clone(), node: node.to_owned(), module: None };
    let id = graph.add_node(op, &inputs, outputs, vec![source]);
    Ok(graph.node(id).outputs[0])
}

fn operand_value(graph: &mut Graph, implements: Implements, node: &str, name: &str, ty: TensorType) -> ValueId {
    let fan_in = |over: &[usize]| Role::Weight { fan_in: over.iter().product() };
    let role = match (implements, name) {
        (Implements::Conv, "W") => fan_in(&ty.shape[1..]),
        (Implements::MatMul, "B") => fan_in(&ty.shape[ty.shape.len() - 2..][..1]),
        (Implements::ConvTranspose, "W") => Role::Weight { fan_in: ty.shape[0] * ty.shape[2..].iter().product::<usize>() },
        (Implements::Conv | Implements::ConvTranspose | Implements::BatchNorm | Implements::Norm { .. }, "BIAS") => Role::Bias,
        (Implements::BatchNorm | Implements::Norm { .. }, "SCALE") => Role::Scale,
        (Implements::BatchNorm, "MEAN") => Role::Mean,
        (Implements::BatchNorm, "VAR") => Role::Variance,
        _ => Role::Activation,
    };
    let value = format!("{node}.{name}");
    let added = match role {
        Role::Activation => graph.add_input(value, ty, role),
        _ => graph.add_weight(value, ty, role, Weight::Missing),
    };
    added.expect("invariant: problems are numbered and operands have distinct names")
}

/// The operator of a template on operands of these shapes.
fn op(template: &Template, shapes: &[&Shape], attributes: &mut Attributes) -> Result<Op, String> {
    let axes = shapes.first().map_or(0, |x| x.len().saturating_sub(2));
    let pool = |kind, attributes: &mut Attributes| {
        Ok(Op::Pool(Pool {
            kind,
            kernel: attributes.sizes("kernel", None)?,
            strides: attributes.sizes("strides", Some((axes, 1)))?,
            dilations: attributes.sizes("dilations", Some((axes, 1)))?,
            pads_begin: attributes.sizes("pads_begin", Some((axes, 0)))?,
            pads_end: attributes.sizes("pads_end", Some((axes, 0)))?,
        }))
    };
    match template.manifest.implements {
        Implements::Conv => Ok(Op::Conv(Conv {
            strides: attributes.sizes("strides", Some((axes, 1)))?,
            dilations: attributes.sizes("dilations", Some((axes, 1)))?,
            pads_begin: attributes.sizes("pads_begin", Some((axes, 0)))?,
            pads_end: attributes.sizes("pads_end", Some((axes, 0)))?,
            groups: attributes.size("groups", Some(1))?,
        })),
        Implements::MaxPool => pool(PoolKind::Max, attributes),
        Implements::AveragePool => {
            let count_pad = attributes.size("count_pad", Some(0))? != 0;
            pool(PoolKind::Average { count_pad }, attributes)
        }
        Implements::AdaptiveAveragePool => Ok(Op::Pool(Pool::adaptive_average(attributes.sizes("size", None)?))),
        Implements::BatchNorm => Ok(Op::BatchNorm { epsilon: attributes.number("epsilon", 1e-5)? }),
        Implements::MatMul => Ok(Op::MatMul),
        Implements::ConvTranspose => Ok(Op::ConvTranspose(ConvTranspose {
            strides: attributes.sizes("strides", Some((axes, 1)))?,
            dilations: attributes.sizes("dilations", Some((axes, 1)))?,
            pads_begin: attributes.sizes("pads_begin", Some((axes, 0)))?,
            pads_end: attributes.sizes("pads_end", Some((axes, 0)))?,
            output_padding: attributes.sizes("output_padding", Some((axes, 0)))?,
            groups: attributes.size("groups", Some(1))?,
        })),
        Implements::Norm { centred } => Ok(Op::Norm(Norm {
            axes: attributes.sizes("axes", None)?.into_iter().collect(),
            epsilon: attributes.number("epsilon", 1e-5)?,
            centred,
        })),
        Implements::Softmax { log } => Ok(Op::Softmax { axis: attributes.size("axis", None)?, log }),
        Implements::Reduce(kind) => Ok(Op::Reduce(Reduce {
            kind,
            axes: attributes.sizes("axes", None)?.into_iter().collect(),
            keep: attributes.size("keep", Some(0))? != 0,
        })),
        Implements::ArgReduce => Ok(Op::ArgReduce(ArgReduce {
            kind: if attributes.size("smallest", Some(0))? != 0 { ArgKind::Min } else { ArgKind::Max },
            axis: attributes.size("axis", None)?,
            keep: attributes.size("keep", Some(0))? != 0,
            last: attributes.size("last", Some(0))? != 0,
        })),
        Implements::Scan(kind) => Ok(Op::Scan(Scan {
            kind,
            axis: attributes.size("axis", None)?,
            reverse: attributes.size("reverse", Some(0))? != 0,
            exclusive: attributes.size("exclusive", Some(0))? != 0,
        })),
        Implements::Lrn => Ok(Op::Lrn(Lrn {
            size: attributes.size("size", None)?,
            alpha: attributes.number("alpha", 1e-4)?,
            beta: attributes.number("beta", 0.75)?,
            bias: attributes.number("bias", 1.0)?,
        })),
        Implements::Map => {
            let body = template.body(DType::F32).map_err(|error| error.message)?;
            let (Some(body), Some(label)) = (body, &template.manifest.label) else {
                return Err("it is no operator by itself: a model says what a Map computes".to_owned());
            };
            let fit = |dims: Shape, shape: &&Shape| {
                broadcast(&dims, shape).ok_or_else(|| format!("{} and {} do not broadcast", display(&dims), display(shape)))
            };
            let dims = shapes.iter().try_fold(Shape::new(), fit)?;
            let operands: Vec<&[usize]> = shapes.iter().map(|shape| shape.as_slice()).collect();
            Ok(Op::Map(Map::pointwise(label, &dims, &operands, body)))
        }
    }
}

/// A problem's attributes, and which of them the operator has.
struct Attributes<'a> {
    problem: &'a OperatorShape,
    read: Vec<&'static str>,
}

impl Attributes<'_> {
    fn get(&mut self, name: &'static str) -> Option<&Attribute> {
        self.read.push(name);
        self.problem.attributes.get(name)
    }

    /// A list; without it `count` times a number, or an error.
    fn sizes(&mut self, name: &'static str, default: Option<(usize, usize)>) -> Result<SmallVec<[usize; 3]>, String> {
        let size = |value: &i64| usize::try_from(*value).map_err(|_| format!("attribute {name}: {value} is negative"));
        match (self.get(name), default) {
            (Some(Attribute::Ints(values)), _) => values.iter().map(size).collect(),
            (Some(Attribute::Int(_) | Attribute::Float(_)), _) => Err(format!("attribute {name} is a list of integers")),
            (None, Some((count, value))) => Ok(SmallVec::from_elem(value, count)),
            (None, None) => Err(format!("attribute {name} is missing")),
        }
    }

    fn size(&mut self, name: &'static str, default: Option<usize>) -> Result<usize, String> {
        match (self.get(name), default) {
            (Some(Attribute::Int(value)), _) => {
                usize::try_from(*value).map_err(|_| format!("attribute {name}: {value} is negative"))
            }
            (Some(Attribute::Ints(_) | Attribute::Float(_)), _) => Err(format!("attribute {name} is an integer")),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(format!("attribute {name} is missing")),
        }
    }

    fn number(&mut self, name: &'static str, default: f64) -> Result<f64, String> {
        match self.get(name) {
            Some(Attribute::Float(value)) => Ok(*value),
            Some(Attribute::Int(value)) => Ok(*value as f64),
            Some(Attribute::Ints(_)) => Err(format!("attribute {name} is a number")),
            None => Ok(default),
        }
    }

    fn all_known(&self) -> Result<(), String> {
        match self.problem.attributes.keys().find(|name| !self.read.contains(&name.as_str())) {
            None => Ok(()),
            Some(unknown) if self.read.is_empty() => Err(format!("attribute {unknown} is unknown; it has none")),
            Some(unknown) => Err(format!("attribute {unknown} is unknown; known: {}", self.read.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(operands: &[(&str, &[usize])], attributes: &[(&str, Attribute)]) -> OperatorShape {
        OperatorShape {
            operands: operands.iter().map(|(name, shape)| ((*name).to_owned(), Shape::from_slice(shape))).collect(),
            attributes: attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let library = Library::embedded().unwrap();
        let ints = |values: &[i64]| Attribute::Ints(values.to_vec());
        let refused = |name: &str, operands: &[(&str, &[usize])], attributes: &[(&str, Attribute)]| {
            let template = library.find(name).unwrap();
            add(&mut Graph::new(FILE), template, "n", &problem(operands, attributes)).unwrap_err()
        };
        let x: &[usize] = &[1, 3, 8, 8];
        assert_eq!(refused("conv2d_resnet", &[("X", x)], &[]), "the shape of operand W is missing");
        assert_eq!(refused("relu", &[("X", x), ("Z", x)], &[]), "there is no operand Z; known: X");
        assert_eq!(refused("relu", &[("X", x)], &[("axis", Attribute::Int(1))]), "attribute axis is unknown; it has none");
        assert_eq!(refused("maxpool2d", &[("X", x)], &[]), "attribute kernel is missing");
        assert_eq!(refused("maxpool2d", &[("X", x)], &[("kernel", ints(&[-1, 2]))]), "attribute kernel: -1 is negative");
        assert_eq!(refused("softmax", &[("X", x)], &[("axis", ints(&[1]))]), "attribute axis is an integer");
        assert_eq!(refused("add", &[("A", &[2, 3]), ("B", &[4])], &[]), "2×3 and 4 do not broadcast");
        assert_eq!(refused("matmul", &[("A", &[2, 3]), ("B", &[4, 5])], &[]), "A 2×3 has 3 columns, B 4×5 has 4 rows");
        assert!(refused("map", &[], &[]).starts_with("it is no operator by itself"));
    }
}
