//! Nodes of a graph as torch: the reference of a kernel and of the whole model.
//!
//! Printed from the graph as imported, with torch's own functions, so that a kernel is compared with
//! what the model says and not with how it was rewritten. Padding that torch's functions do not take
//! (asymmetric, or more than half a window) becomes `F.pad`, a dilated average a convolution by ones.

use std::collections::BTreeMap;

use super::python::{Names, float, float_of, list, tuple};
use super::{torch_expr, torch_lines};
use crate::diag::{self, Diagnostic, codes};
use crate::graph::op::{Conv, Lrn, Pool, PoolKind, View};
use crate::graph::{Graph, NodeId, Op, ValueId};

/// Statements (without indent) that compute the outputs of `nodes`, in their order. `values` names
/// every value that enters, and afterwards every value computed.
pub fn statements(
    graph: &Graph,
    nodes: &[NodeId],
    names: &mut Names,
    values: &mut BTreeMap<ValueId, String>,
) -> diag::Result<Vec<String>> {
    let mut lines = Vec::new();
    for &id in nodes {
        let node = graph.node(id);
        let operands: Vec<Option<(String, &[usize])>> = node
            .inputs
            .iter()
            .map(|input| match input {
                None => Ok(None),
                Some(value) => match values.get(value) {
                    Some(name) => Ok(Some((name.clone(), graph.shape(*value)))),
                    None => {
                        let message = format!("value {} is used before it is computed", graph.value(*value).name);
                        Err(Box::new(Diagnostic::new(&codes::INTERNAL, message)))
                    }
                },
            })
            .collect::<diag::Result<_>>()?;
        let text = expression(graph, id, &operands, names, &mut lines)?;
        let output = node.outputs[0];
        let name = names.fresh(&graph.value(output).name);
        lines.push(format!("{name} = {text}"));
        values.insert(output, name);
    }
    Ok(lines)
}

/// The first output of one node.
pub(super) fn expression(
    graph: &Graph,
    id: NodeId,
    operands: &[Option<(String, &[usize])>],
    names: &mut Names,
    lines: &mut Vec<String>,
) -> diag::Result<String> {
    let refuse = |what: &str| {
        let source = graph.node(id).sources.first().map_or_else(|| format!("#{}", id.index()), |s| s.node.clone());
        Box::new(Diagnostic::new(&codes::NOT_OFFERED, format!("{what} as torch")).at_node(graph.file.clone(), source))
    };
    let need = |i: usize| operands.get(i).and_then(Option::as_ref).ok_or_else(|| refuse("a missing operand"));
    let name = |i: usize| need(i).map(|(name, _)| name.clone());
    match &graph.node(id).op {
        Op::Map(map) => {
            let operands: Vec<(String, &[usize])> = operands.iter().flatten().cloned().collect();
            Ok(torch_expr::map(map, &operands, names, lines))
        }
        Op::Conv(conv) => {
            let bias = operands.get(2).and_then(Option::as_ref).map(|(name, _)| name.as_str());
            convolution(conv, &name(0)?, &name(1)?, bias).ok_or_else(|| refuse("a convolution over more than three axes"))
        }
        Op::Pool(pool) => pooling(pool, &name(0)?).ok_or_else(|| refuse("this pooling")),
        Op::BatchNorm { epsilon } => {
            let dtype = graph.dtype(graph.node(id).outputs[0]);
            let (x, gamma, beta, mean, var) = (name(0)?, name(1)?, name(2)?, name(3)?, name(4)?);
            Ok(format!("F.batch_norm({x}, {mean}, {var}, {gamma}, {beta}, eps={})", float_of(dtype, *epsilon)))
        }
        Op::MatMul => Ok(format!("torch.matmul({}, {})", name(0)?, name(1)?)),
        Op::ConvTranspose(conv) => {
            let bias = operands.get(2).and_then(Option::as_ref).map(|(name, _)| name.as_str());
            let text = torch_lines::transposed(conv, &name(0)?, &name(1)?, bias);
            text.ok_or_else(|| refuse("a transposed convolution over more than three axes"))
        }
        Op::Norm(norm) => {
            let dtype = graph.dtype(graph.node(id).outputs[0]);
            let parameter = |i: usize| operands.get(i).and_then(Option::as_ref).map(|(name, _)| name.as_str());
            need(0).map(|(x, shape)| torch_lines::normalised(norm, x, shape, dtype, parameter(1), parameter(2)))
        }
        Op::Softmax { axis, log: false } => Ok(format!("torch.softmax({}, dim={axis})", name(0)?)),
        Op::Softmax { axis, log: true } => Ok(format!("torch.log_softmax({}, dim={axis})", name(0)?)),
        Op::Reduce(reduce) => Ok(torch_lines::reduction(reduce, &name(0)?, graph.dtype(graph.node(id).outputs[0]))),
        Op::ArgReduce(arg) => need(0).map(|(x, shape)| torch_lines::position(arg, x, shape[arg.axis])),
        Op::Scan(scan) => {
            let dtype = graph.dtype(graph.node(id).outputs[0]);
            need(0).map(|(x, shape)| torch_lines::running(scan, x, shape.len(), dtype))
        }
        Op::Lrn(lrn) => need(0).map(|(x, shape)| response_norm(lrn, x, shape.len())),
        Op::View(View::Reshape(shape)) => Ok(format!("{}.reshape{}", name(0)?, tuple(shape))),
        Op::View(View::Transpose(order)) => Ok(format!("{}.permute{}", name(0)?, tuple(order))),
        Op::View(View::Broadcast(shape)) => Ok(format!("{}.expand{}", name(0)?, tuple(shape))),
    }
}

/// torch's window of an even size reaches further to the channels before; on flipped channels it is ours.
fn response_norm(lrn: &Lrn, x: &str, rank: usize) -> String {
    let (apart, together) = if rank < 3 { (".unsqueeze(-1)", ".squeeze(-1)") } else { ("", "") };
    let flip = if lrn.size.is_multiple_of(2) { ".flip(1)" } else { "" };
    let [alpha, beta, bias] = [lrn.alpha, lrn.beta, lrn.bias].map(float);
    let call = format!("F.local_response_norm({x}{apart}{flip}, {}, alpha={alpha}, beta={beta}, k={bias})", lrn.size);
    format!("{call}{flip}{together}")
}

/// `F.pad(x, …)` with a fill; torch gives the last axis first.
fn padded(x: &str, begin: &[usize], end: &[usize], fill: Option<f64>) -> String {
    let pads: Vec<usize> = begin.iter().zip(end).rev().flat_map(|(&b, &e)| [b, e]).collect();
    let value = fill.map_or_else(String::new, |v| format!(", value={}", float(v)));
    format!("F.pad({x}, {}{value})", tuple(&pads))
}

/// One number when all are equal, else a tuple.
pub(super) fn sizes(values: &[usize]) -> String {
    match values {
        [first, rest @ ..] if rest.iter().all(|v| v == first) => first.to_string(),
        _ => tuple(values),
    }
}

fn convolution(conv: &Conv, x: &str, w: &str, bias: Option<&str>) -> Option<String> {
    let rank = conv.strides.len();
    if !(1..=3).contains(&rank) {
        return None;
    }
    let symmetric = conv.pads_begin == conv.pads_end;
    let x = if symmetric { x.to_owned() } else { padded(x, &conv.pads_begin, &conv.pads_end, None) };
    let mut args = vec![x, w.to_owned()];
    args.extend(bias.map(str::to_owned));
    let mut option = |name: &str, value: &[usize], default: usize| {
        if value.iter().any(|&v| v != default) {
            args.push(format!("{name}={}", sizes(value)));
        }
    };
    option("stride", &conv.strides, 1);
    option("padding", if symmetric { &conv.pads_begin } else { &[] }, 0);
    option("dilation", &conv.dilations, 1);
    option("groups", &[conv.groups], 1);
    Some(format!("F.conv{rank}d({})", list(&args)))
}

fn pooling(pool: &Pool, x: &str) -> Option<String> {
    let rank = pool.kernel.len();
    if !(1..=3).contains(&rank) {
        return None;
    }
    let unpadded = pool.pads_begin.iter().chain(&pool.pads_end).all(|&p| p == 0);
    let taken = pool.pads_begin == pool.pads_end && pool.pads_begin.iter().zip(&pool.kernel).all(|(&p, &k)| 2 * p <= k);
    let dilated = pool.dilations.iter().any(|&d| d != 1);
    let window = format!("{}, stride={}", sizes(&pool.kernel), sizes(&pool.strides));
    let padding = if unpadded || !taken { String::new() } else { format!(", padding={}", sizes(&pool.pads_begin)) };
    match pool.kind {
        PoolKind::Max => {
            let dilation = if dilated { format!(", dilation={}", sizes(&pool.dilations)) } else { String::new() };
            let x = if taken { x.to_owned() } else { padded(x, &pool.pads_begin, &pool.pads_end, Some(f64::NEG_INFINITY)) };
            Some(format!("F.max_pool{rank}d({x}, {window}{padding}{dilation})"))
        }
        // torch's average has no dilation: a depthwise convolution by ones, divided by the count.
        PoolKind::Average { count_pad } if dilated => {
            let count = pool.kernel.iter().product::<usize>();
            let dilation = sizes(&pool.dilations);
            let window = format!("stride={}, dilation={dilation}, groups={x}.shape[1]", sizes(&pool.strides));
            let ones = format!("{x}.new_ones({x}.shape[1], 1, {})", list(&pool.kernel));
            let total = |x: &str| {
                let x = if unpadded { x.to_owned() } else { padded(x, &pool.pads_begin, &pool.pads_end, None) };
                format!("F.conv{rank}d({x}, {ones}, {window})")
            };
            let same = count_pad || unpadded;
            let divisor = if same { count.to_string() } else { total(&format!("torch.ones_like({x})")) };
            Some(format!("{} / {divisor}", total(x)))
        }
        PoolKind::Average { count_pad } if taken => {
            let count = if count_pad || unpadded { "" } else { ", count_include_pad=False" };
            Some(format!("F.avg_pool{rank}d({x}, {window}{padding}{count})"))
        }
        PoolKind::Average { count_pad } => {
            let mean = |x: &str| format!("F.avg_pool{rank}d({}, {window})", padded(x, &pool.pads_begin, &pool.pads_end, None));
            let ones = format!("torch.ones_like({x})");
            Some(if count_pad { mean(x) } else { format!("{} / {}", mean(x), mean(&ones)) })
        }
        PoolKind::AdaptiveAverage => Some(format!("F.adaptive_avg_pool{rank}d({x}, {})", tuple(&pool.kernel))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    #[test]
    fn a_dilated_average_is_a_convolution_by_ones() {
        let mut op = pool(PoolKind::Average { count_pad: false }, 0, 0);
        op.dilations = smallvec![2, 2];
        let sum = pooling(&op, "x").unwrap();
        assert!(sum.starts_with("F.conv2d(x, x.new_ones(x.shape[1], 1, 3, 3), stride="), "{sum}");
        assert!(sum.ends_with(", groups=x.shape[1]) / 9"), "{sum}");
        op.pads_begin = smallvec![1, 0];
        let mean = pooling(&op, "x").unwrap();
        assert!(mean.starts_with("F.conv2d(F.pad(x, (0, 0, 1, 0)), "), "{mean}");
        assert!(mean.contains(" / F.conv2d(F.pad(torch.ones_like(x), (0, 0, 1, 0)), "), "{mean}");
    }

    fn pool(kind: PoolKind, begin: usize, end: usize) -> Pool {
        Pool {
            kind,
            kernel: smallvec![3, 3],
            strides: smallvec![2, 2],
            dilations: smallvec![1, 1],
            pads_begin: smallvec![begin, begin],
            pads_end: smallvec![end, end],
        }
    }

    #[test]
    fn padding_goes_where_torch_takes_it() {
        let conv = |end: usize| Conv {
            strides: smallvec![2, 1],
            dilations: smallvec![1, 1],
            pads_begin: smallvec![1, 1],
            pads_end: smallvec![end, end],
            groups: 4,
        };
        assert_eq!(convolution(&conv(1), "x", "w", Some("b")).unwrap(), "F.conv2d(x, w, b, stride=(2, 1), padding=1, groups=4)");
        assert_eq!(
            convolution(&conv(0), "x", "w", None).unwrap(),
            "F.conv2d(F.pad(x, (1, 0, 1, 0)), w, stride=(2, 1), groups=4)"
        );
        assert_eq!(pooling(&pool(PoolKind::Max, 1, 1), "x").unwrap(), "F.max_pool2d(x, 3, stride=2, padding=1)");
        assert_eq!(
            pooling(&pool(PoolKind::Max, 0, 1), "x").unwrap(),
            "F.max_pool2d(F.pad(x, (0, 1, 0, 1), value=float(\"-inf\")), 3, stride=2)"
        );
        assert_eq!(
            pooling(&pool(PoolKind::Average { count_pad: false }, 1, 0), "x").unwrap(),
            "F.avg_pool2d(F.pad(x, (1, 0, 1, 0)), 3, stride=2) / \
             F.avg_pool2d(F.pad(torch.ones_like(x), (1, 0, 1, 0)), 3, stride=2)"
        );
    }
}
