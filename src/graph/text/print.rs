//! Writes graph text.

use std::fmt::{self, Display, Formatter};

use super::SPELLED;
use crate::expr::print::float_text;
use crate::graph::op::{Access, ArgReduce, Lrn, Norm, OutOfBounds, Pool, PoolKind, Reduce, Scan, View};
use crate::graph::{Graph, Node, Op, Producer, Role, Source, ValueData, Weight};
use crate::tensor::{Storage, Tensor};

impl Display for Graph {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "graph {}", quoted(&self.file))?;
        for &input in self.inputs() {
            writeln!(f, "input {}", Value(self.value(input)))?;
        }
        for (_, value) in self.values() {
            if let Producer::Weight(weight) = &value.producer {
                writeln!(f, "weight {} = {}", Value(value), Elements(weight))?;
            }
        }
        // A graph with a cycle is not well formed, but must be printable to be looked at.
        for id in self.topological().unwrap_or_else(|_| self.node_ids().collect()) {
            write_node(self, self.node(id), f)?;
        }
        self.outputs().iter().try_for_each(|&output| writeln!(f, "output {}", Name(&self.value(output).name)))
    }
}

fn write_node(graph: &Graph, node: &Node, f: &mut Formatter<'_>) -> fmt::Result {
    let outputs = list(node.outputs.iter().map(|&v| Value(graph.value(v))));
    let operands = list(node.inputs.iter().map(|v| match v {
        Some(v) => Name(&graph.value(*v).name).to_string(),
        None => "_".to_owned(),
    }));
    let operator = match &node.op {
        Op::Map(map) => format!("map {}", Name(&map.label)),
        other => other.name().to_owned(),
    };
    writeln!(f, "{outputs} = {operator}({operands}){}", Attributes(&node.op))?;
    if let Op::Map(map) = &node.op {
        for access in &map.reads {
            writeln!(f, "  read {}", Reading(access))?;
        }
        writeln!(f, "  body {}", map.body)?;
    }
    node.sources.iter().try_for_each(|source| writeln!(f, "  from {}", Origin(source)))
}

/// Separated by `, `.
fn list(items: impl Iterator<Item = impl Display>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// `[1,64,112,112]`.
fn sizes(sizes: &[usize]) -> String {
    format!("[{}]", sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_bare(self.0) { f.write_str(self.0) } else { f.write_str(&quoted(self.0)) }
    }
}

/// Whether a name needs no quotes. `_` alone stands for an absent operand.
pub(super) fn is_bare(name: &str) -> bool {
    !name.is_empty() && name != "_" && !name.ends_with(':') && name.chars().all(is_bare_char)
}

pub(super) fn is_bare_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '-')
}

struct Value<'a>(&'a ValueData);

impl Display for Value<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ValueData { name, ty, role, producer: _ } = self.0;
        write!(f, "{}: {}{}", Name(name), ty.dtype, sizes(&ty.shape))?;
        match role {
            Role::Activation => Ok(()),
            Role::Weight { fan_in } => write!(f, " weight({fan_in})"),
            Role::IndexBelow(size) => write!(f, " index({size})"),
            Role::Bias => f.write_str(" bias"),
            Role::Scale => f.write_str(" scale"),
            Role::Mean => f.write_str(" mean"),
            Role::Variance => f.write_str(" variance"),
            Role::Divisor => f.write_str(" divisor"),
            Role::Probability => f.write_str(" probability"),
            Role::Mask => f.write_str(" mask"),
            Role::Exact => f.write_str(" exact"),
        }
    }
}

struct Elements<'a>(&'a Weight);

impl Display for Elements<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Weight::Filled(value) => write!(f, "filled {}", float_text(*value)),
            Weight::Missing => f.write_str("missing"),
            Weight::Data(tensor) if tensor.len() > SPELLED => f.write_str("stored"),
            Weight::Data(tensor) => write!(f, "data [{}]", elements(tensor)),
        }
    }
}

fn elements(tensor: &Tensor) -> String {
    match tensor.storage() {
        Storage::F64(v) => list(v.iter().map(|&x| float_text(x))),
        Storage::F32(v) => list(v.iter().map(|&x| if x.is_nan() { "nan".to_owned() } else { format!("{x:?}") })),
        Storage::I64(v) => list(v.iter()),
        Storage::Bool(v) => list(v.iter()),
    }
}

struct Attributes<'a>(&'a Op);

impl Display for Attributes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Op::Map(_) | Op::MatMul => Ok(()),
            Op::Conv(conv) => {
                window(f, &conv.strides, &conv.dilations, &conv.pads_begin, &conv.pads_end)?;
                write!(f, " groups={}", conv.groups)
            }
            Op::Pool(Pool { kind, kernel, strides, dilations, pads_begin, pads_end }) => match kind {
                PoolKind::AdaptiveAverage => write!(f, " size={}", sizes(kernel)),
                PoolKind::Max | PoolKind::Average { .. } => {
                    write!(f, " kernel={}", sizes(kernel))?;
                    window(f, strides, dilations, pads_begin, pads_end)?;
                    match kind {
                        PoolKind::Average { count_pad } => write!(f, " count_pad={count_pad}"),
                        PoolKind::Max | PoolKind::AdaptiveAverage => Ok(()),
                    }
                }
            },
            Op::BatchNorm { epsilon } => write!(f, " epsilon={}", float_text(*epsilon)),
            Op::ConvTranspose(conv) => {
                window(f, &conv.strides, &conv.dilations, &conv.pads_begin, &conv.pads_end)?;
                write!(f, " output_padding={} groups={}", sizes(&conv.output_padding), conv.groups)
            }
            Op::Norm(Norm { axes, epsilon, centred: _ }) => write!(f, " axes={} epsilon={}", sizes(axes), float_text(*epsilon)),
            Op::Softmax { axis, log: _ } => write!(f, " axis={axis}"),
            Op::Reduce(Reduce { kind: _, axes, keep }) => write!(f, " axes={} keep={keep}", sizes(axes)),
            Op::ArgReduce(ArgReduce { kind: _, axis, keep, last }) => write!(f, " axis={axis} keep={keep} last={last}"),
            Op::Scan(Scan { kind: _, axis, reverse, exclusive }) => {
                write!(f, " axis={axis} reverse={reverse} exclusive={exclusive}")
            }
            Op::Lrn(Lrn { size, alpha, beta, bias }) => {
                let [alpha, beta, bias] = [alpha, beta, bias].map(|&number| float_text(number));
                write!(f, " size={size} alpha={alpha} beta={beta} bias={bias}")
            }
            Op::View(View::Reshape(shape) | View::Broadcast(shape)) => write!(f, " shape={}", sizes(shape)),
            Op::View(View::Transpose(order)) => write!(f, " order={}", sizes(order)),
        }
    }
}

fn window(f: &mut Formatter<'_>, strides: &[usize], dilations: &[usize], begin: &[usize], end: &[usize]) -> fmt::Result {
    let (strides, dilations) = (sizes(strides), sizes(dilations));
    write!(f, " strides={strides} dilations={dilations} pads_begin={} pads_end={}", sizes(begin), sizes(end))
}

struct Reading<'a>(&'a Access);

impl Display for Reading<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Access { input, index, oob } = self.0;
        write!(f, "{input}[{}]", list(index.iter()))?;
        match oob {
            OutOfBounds::InBounds => Ok(()),
            OutOfBounds::Fill(value) => write!(f, " fill {}", float_text(*value)),
        }
    }
}

struct Origin<'a>(&'a Source);

impl Display for Origin<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Source { operator, node, module } = self.0;
        write!(f, "{} {}", Name(operator), quoted(node))?;
        module.as_ref().map_or(Ok(()), |module| write!(f, " in {}", quoted(module)))
    }
}
