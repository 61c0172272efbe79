//! How large a network's signal is, layer by layer, and generated weights that keep it near 1.
//!
//! A law by fan-in alone (He et al. 2015) keeps a variance through one product and one ReLU. Products
//! without a ReLU between them, sums of residual branches and scales of normalisations make it grow or
//! shrink by a factor a layer, until a softmax saturates or nothing is left. So the moments of
//! every value are followed through the graph once, from the laws alone (mean and mean square, as if
//! elements were independent and normal: mean field theory, Poole et al. 2016), and each generated weight gets the
//! fan-in of a rectified unit signal that weighs as much as its own operand. Its products then
//! have a mean square near 1, whatever stands before them, and so have the logits.
//!
//! Nothing is evaluated: the result depends on the graph and on the file's own small weights, and is
//! the same on every machine. Not seen: correlations (an average of n neighbours counts as one of
//! them), padding, and everything that a normal law hides; a factor of 2 either way is meant to be
//! harmless.

mod map;
mod moments;

use std::collections::{BTreeSet, HashMap};

use super::bridge::floats;
use super::seeded::{self, Origin};
use super::terms_of;
use crate::graph::op::{PoolKind, ReduceKind, ScanKind, View};
use crate::graph::{Graph, Node, Op, Producer, Role, ValueId};
use moments::Moments;

/// How many times larger than for a rectified unit signal a weight may be.
const STRONGEST: f64 = 4.0;

/// Gives generated weights of contractions the fan-in with which their products keep a mean square of 1.
/// `always`: weights that the file has are generated, too.
pub fn balance(graph: &mut Graph, always: bool) {
    let Ok(order) = graph.topological() else { return };
    let mut walk = Walk { graph, always, known: HashMap::new(), balanced: BTreeSet::new() };
    if !order.iter().any(|&id| walk.generated(&walk.graph.node(id).clone()).is_some()) {
        return;
    }
    for id in order {
        let node = walk.graph.node(id).clone();
        if let Some((operand, weight)) = walk.generated(&node) {
            walk.scale(&node, operand, weight);
        }
        if let Some(moments) = walk.through(&node) {
            walk.known.insert(node.outputs[0], moments);
        }
    }
}

struct Walk<'g> {
    graph: &'g mut Graph,
    always: bool,
    known: HashMap<ValueId, Moments>,
    /// Weights that have their fan-in: of a shared one, the first use decides.
    balanced: BTreeSet<ValueId>,
}

impl Walk<'_> {
    /// Which operand of a contraction is a weight whose elements are generated, and that weight.
    fn generated(&self, node: &Node) -> Option<(usize, ValueId)> {
        if !matches!(node.op, Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul) {
            return None;
        }
        [1, 0].into_iter().find_map(|operand| {
            let weight = self.weight(node.inputs[operand]?)?;
            let is_weight = matches!(self.graph.value(weight).role, Role::Weight { .. });
            let elements = seeded::weight(self.graph, weight, 0, self.always).ok().filter(|_| is_weight)?;
            matches!(elements.origin, Origin::Generated(..)).then_some((operand, weight))
        })
    }

    /// The weight that a value is or is a view of.
    fn weight(&self, mut value: ValueId) -> Option<ValueId> {
        loop {
            match self.graph.value(value).producer {
                Producer::Weight(_) => return Some(value),
                Producer::Input(_) => return None,
                Producer::Node { node, .. } => match (&self.graph.node(node).op, self.graph.node(node).inputs.first()) {
                    (Op::View(_), Some(&Some(source))) => value = source,
                    _ => return None,
                },
            }
        }
    }

    /// Sets the weight's fan-in by what it is multiplied with.
    fn scale(&mut self, node: &Node, operand: usize, weight: ValueId) {
        let other = node.inputs[1 - operand].and_then(|value| self.moments(value));
        let (Some(terms), Some(other)) = (self.terms(node), other) else { return };
        if !self.balanced.insert(weight) {
            return;
        }
        // A rectified unit signal has the mean square ½, for which the law is made. Weights are at most
        // STRONGEST times as large as for that one: a kernel alone gets operands near 1.
        let terms = terms as f64;
        let weighs = (terms * 2.0 * other.square).round().clamp((terms / STRONGEST.powi(2)).max(1.0), 1e15);
        let role = Role::Weight { fan_in: weighs as usize };
        let mut value = node.inputs[operand];
        while let Some(at) = value {
            self.graph.set_role(at, role);
            self.known.remove(&at);
            value = match self.graph.value(at).producer {
                Producer::Node { node, .. } => self.graph.node(node).inputs[0],
                Producer::Weight(_) | Producer::Input(_) => None,
            };
        }
    }

    fn terms(&self, node: &Node) -> Option<usize> {
        let shapes: Vec<Option<&[usize]>> = node.inputs.iter().map(|v| v.map(|v| self.graph.shape(v))).collect();
        let terms = terms_of(&node.op, &shapes)?;
        // Of the taps of a transposed convolution, one in a stride meets an element.
        let apart: usize = if let Op::ConvTranspose(conv) = &node.op { conv.strides.iter().product() } else { 1 };
        Some((terms / apart.max(1)).max(1))
    }

    /// The moments of a value that was computed, or that enters.
    fn moments(&mut self, value: ValueId) -> Option<Moments> {
        if let Some(&known) = self.known.get(&value) {
            return Some(known);
        }
        let data = self.graph.value(value);
        let moments = match data.producer {
            Producer::Input(_) => Moments::of_law(seeded::law(data.role, data.ty.dtype)?),
            Producer::Weight(_) => match seeded::weight(self.graph, value, 0, self.always).ok()?.origin {
                Origin::Own(tensor) => Moments::of_lanes(&floats(tensor.storage())),
                Origin::Filled(number) => Moments::exactly(number),
                Origin::Generated(law, _) => Moments::of_law(law),
            },
            // A view of a weight that has its fan-in since.
            Producer::Node { .. } => return self.weight(value).and_then(|weight| self.moments(weight)),
        };
        self.known.insert(value, moments);
        Some(moments)
    }

    /// The moments of a node's output; `None` where nothing is known.
    fn through(&mut self, node: &Node) -> Option<Moments> {
        let operands: Vec<Option<Moments>> = node.inputs.iter().map(|v| v.and_then(|v| self.moments(v))).collect();
        let x = || operands.first().copied().flatten();
        match &node.op {
            Op::Map(map) => map::moments(map, &operands),
            Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul => {
                let (a, b, terms) = (x()?, operands.get(1).copied().flatten()?, self.terms(node)? as f64);
                let product = Moments { mean: a.mean * b.mean, square: a.square * b.square };
                let sum = Moments::of(terms * product.mean, terms * product.variance());
                Some(operands.get(2).copied().flatten().map_or(sum, |bias| sum.plus(bias)))
            }
            Op::Pool(pool) => Some(match pool.kind {
                PoolKind::Max if pool.kernel.iter().any(|&size| size > 1) => x()?.maximum(),
                PoolKind::Max | PoolKind::Average { .. } | PoolKind::AdaptiveAverage => x()?,
            }),
            Op::BatchNorm { epsilon } => self.batch_norm(node, x()?, *epsilon),
            Op::Norm(_) => {
                let parameter = |i: usize| node.inputs.get(i).copied().flatten().map(|_| operands[i]);
                let scale = parameter(1).map_or(Some(Moments::exactly(1.0)), |moments| moments)?;
                let shift = parameter(2).map_or(Some(Moments::exactly(0.0)), |moments| moments)?;
                Some(Moments { mean: 0.0, square: scale.square }.plus(shift))
            }
            Op::Softmax { axis, log: false } => {
                let size = self.graph.shape(node.outputs[0])[*axis] as f64;
                Some(Moments { mean: 1.0 / size, square: (2.0 / (size * size)).min(1.0) })
            }
            // The logarithm of the sum is nearly one number.
            Op::Softmax { axis, log: true } => {
                let size = self.graph.shape(node.outputs[0])[*axis] as f64;
                Some(x()?.plus(x()?.log_sum_exp(size).scaled(-1.0)))
            }
            Op::Reduce(reduce) => {
                let (x, terms) = (x()?, reduce.terms(self.graph.shape(node.inputs[0]?)) as f64);
                Some(match reduce.kind {
                    ReduceKind::Sum => Moments::of(terms * x.mean, terms * x.variance()),
                    ReduceKind::Max if terms > 1.0 => x.maximum(),
                    ReduceKind::Min if terms > 1.0 => x.scaled(-1.0).maximum().scaled(-1.0),
                    ReduceKind::Mean | ReduceKind::Max | ReduceKind::Min => x,
                    ReduceKind::Prod => Moments { mean: x.mean.powf(terms), square: x.square.powf(terms) },
                    ReduceKind::LogSumExp => x.log_sum_exp(terms),
                })
            }
            Op::ArgReduce(_) => None,
            Op::Scan(scan) => {
                // As in the middle of the line.
                let (x, terms) = (x()?, self.graph.shape(node.outputs[0])[scan.axis] as f64 / 2.0);
                Some(match scan.kind {
                    ScanKind::Sum => Moments::of(terms * x.mean, terms * x.variance()),
                    ScanKind::Prod => Moments { mean: x.mean.powf(terms), square: x.square.powf(terms) },
                })
            }
            Op::Lrn(lrn) => {
                let factor = (lrn.bias + lrn.alpha * x()?.square).abs().powf(-lrn.beta);
                Some(x()?.scaled(factor))
            }
            Op::View(View::Reshape(_) | View::Transpose(_) | View::Broadcast(_)) => x(),
        }
    }

    /// Over the channels' own parameters.
    fn batch_norm(&self, node: &Node, x: Moments, epsilon: f64) -> Option<Moments> {
        let lanes = |i: usize| {
            let tensor = seeded::weight(self.graph, self.weight(node.inputs[i]?)?, 0, self.always).ok()?.tensor();
            Some(floats(tensor.storage()).into_owned())
        };
        let (gamma, beta, mean, variance) = (lanes(1)?, lanes(2)?, lanes(3)?, lanes(4)?);
        let channel = |c: usize| {
            let scale = gamma[c] / (variance[c] + epsilon).sqrt();
            x.plus(Moments::exactly(-mean[c])).scaled(scale).plus(Moments::exactly(beta[c]))
        };
        Some(Moments::average((0..gamma.len()).map(channel)))
    }
}

#[cfg(test)]
mod tests;
