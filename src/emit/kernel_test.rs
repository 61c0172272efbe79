//! The test of a kernel's file: seeded inputs, the kernel, torch in float64, a stated tolerance or a derived one.

use std::collections::BTreeMap;

use super::kernel_file::Parameters;
use super::prepare;
use super::python::{self, Names, call, dtype, statement, tuple};
use super::subject::{Origin, Subject};
use super::wrapper::{self, taken_shape};
use crate::diag;
use crate::dtype::DType;
use crate::expr::{Binary, Node, Unary};
use crate::graph::op::{PoolKind, ReduceKind};
use crate::graph::{Graph, Op, Producer, Role, ValueId, Weight};
use crate::select::plan::Plan;
use crate::template::{BoundKernel, Operand, OperandAccess};

/// Constants of a model up to this size are written into a test.
const LITERAL: usize = 64;

/// `compute`, `bound` where one is derived, `compare`, `test` and what runs them.
pub fn text(plan: &Plan, kernel: &BoundKernel, subject: &Subject, parameters: &Parameters) -> diag::Result<String> {
    let list: Vec<String> = parameters.iter().map(|(_, name)| name.clone()).collect();
    let mut text = compute(plan, kernel, subject, parameters)?;
    text += "\n\n";
    let bound = bound(plan, kernel, subject, parameters)?;
    if let Some(bound) = &bound {
        text += bound;
        text += "\n\n";
    }
    text += &match bound {
        Some(_) => compare_within(parameters),
        None => compare(plan, kernel, subject, parameters),
    };
    text += "\n\ndef test(device):\n    \"\"\"Ordinary inputs, then odd ones.\"\"\"\n";
    text += "    generator = torch.Generator().manual_seed(0)\n";
    for (value, name) in parameters {
        text += &format!("    {name} = {}.to(device)\n", seeded(&plan.imported, *value));
    }
    text += &call(4, "compare", std::slice::from_ref(&list));
    let odd = parameters
        .iter()
        .find(|(value, _)| subject.origins.contains(&Origin::Entering(*value)) && plan.imported.dtype(*value).is_float());
    if let Some((_, name)) = odd {
        text += &format!("    {name}.view(-1)[0] = float(\"nan\")\n    {name}.view(-1)[-1] = float(\"inf\")\n");
        text += &call(4, "compare", &[list]);
    }
    Ok(text + "\n\n" + include_str!("text/kernel_main.py"))
}

/// `compute`: launches the kernel on what the reference takes.
pub(super) fn compute(plan: &Plan, kernel: &BoundKernel, subject: &Subject, parameters: &Parameters) -> diag::Result<String> {
    let list: Vec<String> = parameters.iter().map(|(_, name)| name.clone()).collect();
    let mut names = Names::new(&wrapper::RESERVED);
    let mut values = BTreeMap::new();
    for (value, name) in parameters {
        values.insert(*value, names.fresh(name));
    }
    let first = list.first().cloned().unwrap_or_default();
    let mut text = call(0, "def compute", std::slice::from_ref(&list));
    text.truncate(text.trim_end().len());
    text += ":\n    \"\"\"What the kernel gives for the reference's arguments.\"\"\"\n";

    let wanted: Vec<ValueId> = subject
        .origins
        .iter()
        .filter_map(|origin| match origin {
            Origin::Weight(value) if matches!(plan.graph.value(*value).producer, Producer::Node { .. }) => Some(*value),
            _ => None,
        })
        .collect();
    let nodes = prepare::nodes_for(plan, &wanted);
    // Values that enter are the imported graph's, prepared ones the rewritten graph's.
    let entering = values.clone();
    for line in prepare::statements(&plan.graph, &nodes, &mut names, &mut values)? {
        text += &statement(4, &line);
    }

    let mut arguments = Vec::new();
    let mut result = String::new();
    for (operand, origin) in kernel.operands.iter().zip(&subject.origins) {
        let taken = taken_shape(operand);
        match origin {
            Origin::Scratch => {}
            Origin::Output(_) => {
                let name = names.fresh(&operand.name);
                let args = [tuple(&taken), format!("dtype={}", dtype(operand.dtype)), format!("device={first}.device")];
                text += &call(4, &format!("{name} = torch.empty"), &[args.to_vec()]);
                result = format!("{name}{}", strided(operand));
                arguments.push(name);
            }
            Origin::Weight(value) => arguments.push(viewed(&values[value], plan.graph.shape(*value), &taken)),
            Origin::Entering(value) => {
                let name = &entering[value];
                let logical = viewed(name, plan.imported.shape(*value), &operand.layout.shape);
                if operand.layout.is_contiguous() {
                    arguments.push(logical);
                } else {
                    let local = names.fresh(&format!("{}_storage", operand.name));
                    text += &format!("    {local} = {name}.new_zeros({})\n", operand.layout.storage);
                    text += &format!("    {local}{}.copy_({logical})\n", strided(operand));
                    arguments.push(local);
                }
            }
        }
    }
    text += &call(4, "launch", &[arguments]);
    let shape = plan.imported.shape(subject.output);
    let reshaped = kernel_output(kernel).is_some_and(|o| o.layout.shape.as_slice() != shape);
    text += &format!("    return {result}{}\n", if reshaped { format!(".reshape{}", tuple(shape)) } else { String::new() });
    Ok(text)
}

/// `compare`: the kernel against the reference.
fn compare(plan: &Plan, kernel: &BoundKernel, subject: &Subject, parameters: &Parameters) -> String {
    let list: Vec<String> = parameters.iter().map(|(_, name)| name.clone()).collect();
    let mut names = Names::new(&wrapper::RESERVED);
    list.iter().for_each(|name| drop(names.fresh(name)));
    let (given, expected) = (names.fresh("given"), names.fresh("expected"));
    let mut text = call(0, "def compare", std::slice::from_ref(&list));
    text.truncate(text.trim_end().len());
    text += ":\n    \"\"\"The kernel against the reference in float64.\"\"\"\n";
    let tolerance = tolerance(plan, kernel, subject);
    text += &format!("    {given} = {}\n", tuple(&list));
    text += &format!("    {expected} = reference(*(t.double() if t.is_floating_point() else t for t in {given}))\n");
    let options = [format!("rtol={tolerance}"), format!("atol={tolerance}"), "equal_nan=True".to_owned()];
    let pair = [format!("compute(*{given}).double()"), format!("{expected}.double()")];
    text + &call(4, "torch.testing.assert_close", &[pair.to_vec(), options.to_vec()])
}

/// The function `bound` of a kernel with 16-bit floats that rounds, where its error can be derived.
pub(super) fn bound(
    plan: &Plan,
    kernel: &BoundKernel,
    subject: &Subject,
    parameters: &Parameters,
) -> diag::Result<Option<String>> {
    if !narrow(kernel) || moves(plan, subject) {
        return Ok(None);
    }
    super::bound::text(plan, subject, parameters, in_fp32(plan, subject))
}

/// `compare`: the kernel against the reference, each element within its bound.
fn compare_within(parameters: &Parameters) -> String {
    let list: Vec<String> = parameters.iter().map(|(_, name)| name.clone()).collect();
    let mut names = Names::new(&wrapper::RESERVED);
    list.iter().for_each(|name| drop(names.fresh(name)));
    let [given, wide, actual, expected, same, share] =
        ["given", "wide", "actual", "expected", "same", "share"].map(|name| names.fresh(name));
    let mut text = call(0, "def compare", std::slice::from_ref(&list));
    text.truncate(text.trim_end().len());
    text += ":\n    \"\"\"The kernel against the reference in float64; differences as shares of the bound.\"\"\"\n";
    for line in [
        format!("{given} = {}", tuple(&list)),
        format!("{wide} = [t.double() if t.is_floating_point() else t for t in {given}]"),
        format!("{actual}, {expected} = compute(*{given}).double(), reference(*{wide}).double()"),
        format!("{same} = ({actual} == {expected}) | ({actual}.isnan() & {expected}.isnan())"),
        format!("{share} = torch.where({same}, 0.0, ({actual} - {expected}) / bound(*{wide}))"),
        format!("torch.testing.assert_close({share}, torch.zeros_like({share}), rtol=0, atol=1)"),
    ] {
        text += &statement(4, &line);
    }
    text
}

fn kernel_output(kernel: &BoundKernel) -> Option<&Operand> {
    kernel.operands.iter().find(|o| o.access == OperandAccess::Write)
}

/// The operand's elements inside its 1-D storage.
fn strided(operand: &Operand) -> String {
    let layout = &operand.layout;
    if layout.is_contiguous() {
        return String::new();
    }
    format!(".as_strided({}, {}, {})", tuple(&layout.shape), tuple(&layout.strides), layout.offset)
}

fn viewed(name: &str, from: &[usize], to: &[usize]) -> String {
    if from == to { name.to_owned() } else { format!("{name}.reshape{}", tuple(to)) }
}

/// An expression for a value's seeded elements, on the CPU.
fn seeded(graph: &Graph, value: ValueId) -> String {
    let data = graph.value(value);
    let (of, size) = (data.ty.dtype, tuple(&data.ty.shape));
    let cast = |text: String| if of == DType::F32 { text } else { format!("({text}).to({})", dtype(of)) };
    if let (Role::Exact, Producer::Weight(weight)) = (data.role, &data.producer) {
        match weight {
            Weight::Filled(v) => return format!("torch.full({size}, {}, dtype={})", python::float(*v), dtype(of)),
            Weight::Data(tensor) if tensor.len() <= LITERAL => {
                let lanes: Vec<String> = (0..tensor.len()).map(|i| python::float(tensor.storage().get_f64(i))).collect();
                return format!("torch.tensor([{}]).to({}).reshape{size}", lanes.join(", "), dtype(of));
            }
            Weight::Data(_) | Weight::Missing => {}
        }
    }
    let normal = format!("torch.randn({size}, generator=generator)");
    let uniform = format!("torch.rand({size}, generator=generator)");
    match data.role {
        _ if of == DType::Bool => format!("({uniform} < 0.5)"),
        Role::IndexBelow(n) => cast(format!("torch.randint(-{n}, {n}, {size}, generator=generator)")),
        Role::Divisor => cast(format!("torch.randint(1, 6, {size}, generator=generator)")),
        _ if of.is_integer() => {
            let low = if of.is_unsigned() { 0 } else { -8 };
            cast(format!("torch.randint({low}, 9, {size}, generator=generator)"))
        }
        Role::Weight { fan_in } => {
            // The power of two next to 1 / √fan_in keeps outputs near the size of inputs.
            let scale = (-(fan_in.max(1) as f64).log2() / 2.0).round().exp2();
            cast(if scale == 1.0 { normal } else { format!("({normal} * {})", python::float(scale)) })
        }
        Role::Scale | Role::Variance => cast(format!("({uniform} + 0.5)")),
        Role::Probability | Role::Mask => cast(uniform),
        Role::Activation | Role::Bias | Role::Mean | Role::Exact => cast(normal),
    }
}

/// How far an element may be off where no bound is derived, relative and absolute: 0 for what only moves and
/// chooses, else by the dtype and by whether sums are long.
pub(super) fn tolerance(plan: &Plan, kernel: &BoundKernel, subject: &Subject) -> &'static str {
    if moves(plan, subject) {
        "0"
    } else if kernel.truncates() || narrow(kernel) {
        "1e-2"
    } else {
        in_fp32(plan, subject)
    }
}

/// The same for what computes in fp32.
fn in_fp32(plan: &Plan, subject: &Subject) -> &'static str {
    let mut ops = subject.nodes.iter().map(|&id| &plan.imported.node(id).op);
    if ops.all(|op| matches!(op, Op::Map(_) | Op::View(_))) { "1e-5" } else { "1e-4" }
}

/// Whether the nodes only move and choose elements.
fn moves(plan: &Plan, subject: &Subject) -> bool {
    let mut ops = subject.nodes.iter().map(|&id| &plan.imported.node(id).op);
    ops.all(|op| match op {
        Op::View(_) => true,
        Op::Pool(pool) => pool.kind == PoolKind::Max,
        Op::Map(map) => map.body.nodes().iter().all(|(node, _)| chooses(node)),
        Op::Reduce(reduce) => matches!(reduce.kind, ReduceKind::Max | ReduceKind::Min),
        Op::ArgReduce(_) => true,
        Op::Conv(_) | Op::ConvTranspose(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::MatMul => false,
        Op::Softmax { .. } | Op::Lrn(_) | Op::Scan(_) => false,
    })
}

/// Whether an operand has floats of fewer than 32 bits.
fn narrow(kernel: &BoundKernel) -> bool {
    kernel.operands.iter().any(|o| o.dtype.is_float() && o.dtype.size() < 4)
}

/// Whether a node computes no new float.
fn chooses(node: &Node) -> bool {
    match node {
        Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) | Node::Compare(..) | Node::Select(..) => true,
        Node::Unary(op, _) => matches!(op, Unary::Neg | Unary::Abs | Unary::Not | Unary::Floor | Unary::Ceil | Unary::RoundEven),
        Node::Binary(op, _, _) => matches!(
            op,
            Binary::MinNan | Binary::MaxNan | Binary::MinNum | Binary::MaxNum | Binary::And | Binary::Or | Binary::Xor
        ),
        Node::Cast(_) => false,
    }
}
