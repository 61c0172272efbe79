//! `layers/<nnn>_<node>.json`: one file a launch, with what it takes to run the layer alone.
//!
//! Each names the kernel's file, the operands as they lie in storage, and for every parameter of the
//! file's `reference` the law and seed of its elements (those of the numerics pass of `conform`, which
//! also computes the samples). `test_layers.py` reads them.
//!
//! The functions in a kernel's file are those of the first layer that uses it. A layer with the same
//! kernel may differ from it in what was folded into weights (another ε); such a layer carries functions
//! of its own. `tolerance` holds for kernels without a derived `bound`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::kernel_file::{self, Parameters};
use super::manifest::{OperandEntry, object};
use super::subject::{Origin, Subject};
use super::{EmitOptions, Files, kernel_path, kernel_test, prepare};
use crate::diag::{self, Diagnostic, codes};
use crate::graph::{Graph, NodeId, Op, Producer, Role, ValueId};
use crate::reference::seeded;
use crate::rng::{Law, Seed};
use crate::select::plan::{Launch, Plan};

/// The longest name of a layer in a file's name.
const LONGEST: usize = 80;

/// Some elements of a layer's output, by flat position in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    pub elements: Vec<usize>,
    /// Rounded to the output's dtype.
    pub values: Vec<f64>,
}

/// The seed from which the numerics pass generates a value.
pub fn numerics_seed(seed: u64, name: &str) -> Seed {
    Seed::derive(seed, &format!("numerics/{name}"))
}

/// What a launch computes: nodes of the imported graph, those of its weights among them, and the
/// output's value.
///
/// # Errors
/// X001 when the plan's operands cannot be found in the imported graph.
pub fn computed(plan: &Plan, launch: &Launch) -> diag::Result<(Vec<NodeId>, ValueId)> {
    let subject = Subject::of_launch(plan, launch)?;
    Ok((subject.nodes, subject.output))
}

/// The files, one a launch; `samples` holds one entry a launch.
///
/// # Errors
/// X001 when there are other samples than launches; else as [`super::suite`].
pub fn files(plan: &Plan, options: &EmitOptions, samples: &[Samples]) -> diag::Result<Files> {
    if samples.len() != plan.launches.len() {
        let what = format!("samples of {} layers for {} launches", samples.len(), plan.launches.len());
        return Err(Box::new(Diagnostic::new(&codes::INTERNAL, what)));
    }
    let mut files = Files::new();
    for (position, (launch, samples)) in plan.launches.iter().zip(samples).enumerate() {
        files.insert(path(position, &launch.layer), text(plan, options, launch, samples)?.into_bytes());
    }
    Ok(files)
}

/// `layers/007_layer1.0.conv2.json`.
fn path(position: usize, layer: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = layer.chars().take(LONGEST).map(plain).collect();
    format!("layers/{position:03}_{name}.json")
}

fn text(plan: &Plan, options: &EmitOptions, launch: &Launch, samples: &Samples) -> diag::Result<String> {
    let kernel = &plan.kernels[launch.kernel];
    let (first, subject) = (Subject::of(plan, launch.kernel)?, Subject::of_launch(plan, launch)?);
    let parameters = kernel_file::parameters(plan, kernel, &subject);
    let graph = &plan.imported;
    let inputs = parameters.iter().map(|(value, name)| input(graph, options, *value, name)).collect::<diag::Result<Vec<_>>>()?;
    let operators: Vec<&str> =
        launch.covers.iter().flat_map(|&id| graph.node(id).sources.first()).map(|source| source.operator.as_str()).collect();
    let operands: Vec<Value> = kernel.operands.iter().map(|operand| json!(OperandEntry::of(operand))).collect();
    let (values, elements): (Vec<Value>, &[usize]) = (samples.values.iter().map(|&v| number(v)).collect(), &samples.elements);
    let mut entries = vec![
        ("layer", json!(launch.layer)),
        ("operators", json!(operators)),
        ("kernel", json!(kernel_path(kernel))),
        ("operands", Value::Array(operands)),
        ("inputs", Value::Array(inputs)),
        ("output", json!({"dtype": graph.dtype(subject.output).torch_name(), "shape": graph.shape(subject.output)})),
        ("tolerance", json!(kernel_test::tolerance(plan, kernel, &subject).parse::<f64>().unwrap_or(0.0))),
        ("samples", json!({"elements": elements, "values": values})),
    ];
    if !alike(plan, (&first, &kernel_file::parameters(plan, kernel, &first)), (&subject, &parameters)) {
        let code = kernel_file::reference(plan, &subject, &parameters)?
            + "\n\n"
            + &kernel_test::compute(plan, kernel, &subject, &parameters)?
            + &kernel_test::bound(plan, kernel, &subject, &parameters)?.map_or_else(String::new, |bound| format!("\n\n{bound}"));
        entries.push(("code", json!(code.lines().collect::<Vec<_>>())));
    }
    Ok(object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<String, Value>>()))
}

/// JSON has no NaN and no infinities: those are the words that Python's `float` reads.
fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(format!("{value}").to_lowercase()) }
}

/// How an input is made.
fn input(graph: &Graph, options: &EmitOptions, value: ValueId, parameter: &str) -> diag::Result<Value> {
    let data = graph.value(value);
    let mut entry = json!({
        "parameter": parameter, "value": data.name, "dtype": data.ty.dtype.torch_name(), "shape": data.ty.shape.as_slice(),
    });
    match seeded::law(data.role, data.ty.dtype) {
        Some(law) => {
            let Seed { a, b } = numerics_seed(options.seed, &data.name);
            let (name, mut arguments) = match law {
                Law::Uniform { scale, offset } => ("uniform", vec![json!(scale), json!(offset)]),
                Law::Integers { low, count, step, keep } => {
                    ("integers", vec![json!(low), json!(count), json!(step), json!(keep)])
                }
                Law::Powers { low, count } => ("powers", vec![json!(low), json!(count)]),
                Law::Constant(value) => ("constant", vec![json!(value)]),
            };
            if !matches!(law, Law::Constant(_)) {
                arguments.splice(0..0, [json!(a), json!(b)]);
            }
            entry["law"] = json!(name);
            entry["arguments"] = Value::Array(arguments);
        }
        None if matches!(data.producer, Producer::Weight(_)) => entry["weight"] = json!(data.name),
        None => {
            let what = format!("generating the exact value {}", data.name);
            return Err(Box::new(Diagnostic::new(&codes::NOT_OFFERED, what).in_file(graph.file.clone())));
        }
    }
    Ok(entry)
}

/// Whether two layers of one kernel are computed and prepared by the same functions.
fn alike(plan: &Plan, first: (&Subject, &Parameters), other: (&Subject, &Parameters)) -> bool {
    let ((first, names), (other, other_names)) = (first, other);
    if names.len() != other_names.len() || names.iter().zip(other_names).any(|(a, b)| a.1 != b.1) {
        return false;
    }
    let mut same: BTreeMap<ValueId, ValueId> = names.iter().map(|p| p.0).zip(other_names.iter().map(|p| p.0)).collect();
    let graph = &plan.imported;
    // Elements of exact values may be written into the functions.
    let fits = |(&a, &b): (&ValueId, &ValueId)| graph.ty(a) == graph.ty(b) && (a == b || graph.value(a).role != Role::Exact);
    if !same.iter().all(fits) {
        return false;
    }
    if !walk(&plan.imported, &first.nodes, &other.nodes, &mut same) || same.get(&first.output) != Some(&other.output) {
        return false;
    }
    let prepared = |subject: &Subject| -> Vec<ValueId> {
        let weights = subject.origins.iter().filter_map(|origin| match origin {
            Origin::Weight(value) => Some(*value),
            Origin::Entering(_) | Origin::Output(_) | Origin::Scratch => None,
        });
        weights.collect()
    };
    let (wanted, other_wanted) = (prepared(first), prepared(other));
    let nodes = |wanted: &[ValueId]| prepare::nodes_for(plan, wanted);
    walk(&plan.graph, &nodes(&wanted), &nodes(&other_wanted), &mut same)
        && wanted.len() == other_wanted.len()
        && wanted.iter().zip(&other_wanted).all(|(a, b)| same.get(a) == Some(b))
}

/// Walks two lists of nodes at once; `same` pairs their values.
fn walk(graph: &Graph, first: &[NodeId], other: &[NodeId], same: &mut BTreeMap<ValueId, ValueId>) -> bool {
    first.len() == other.len()
        && first.iter().zip(other).all(|(&a, &b)| {
            let (a, b) = (graph.node(a), graph.node(b));
            let operands = a.inputs.len() == b.inputs.len()
                && a.inputs.iter().zip(&b.inputs).all(|(x, y)| match (x, y) {
                    (Some(x), Some(y)) => same.get(x) == Some(y),
                    (None, None) => true,
                    (Some(_), None) | (None, Some(_)) => false,
                });
            let fits = operands && operator(&a.op) == operator(&b.op) && a.outputs.len() == b.outputs.len();
            same.extend(a.outputs.iter().copied().zip(b.outputs.iter().copied()));
            fits && a.outputs.iter().zip(&b.outputs).all(|(&x, &y)| graph.ty(x) == graph.ty(y))
        })
}

/// An operator without its name for people.
fn operator(op: &Op) -> Op {
    match op {
        Op::Map(map) => Op::Map(crate::graph::op::Map { label: String::new(), ..map.clone() }),
        Op::Conv(_) | Op::ConvTranspose(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::Lrn(_) => op.clone(),
        Op::MatMul | Op::Softmax { .. } | Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) | Op::View(_) => op.clone(),
    }
}
