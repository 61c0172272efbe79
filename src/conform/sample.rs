//! Single elements of a layer's output, computed one by one: the samples in `layers/*.json`.
//!
//! A second definition of the operators, for few elements at a time: every sum is a loop in a fixed
//! order in f64, and inputs are made element by element from the laws of the numerics pass. The result
//! is rounded to the output's dtype, so that the last bits of an f64 (a library's exponential) do not
//! show, and suites stay equal byte for byte.
//!
//! Not caught: what the [`reference`] evaluates in common with this (the scalar operators of a Map).

mod lines;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::inputs::{self, Kind};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::{Carrier, DType};
use crate::emit::{self, Samples, numerics_seed};
use crate::expr::{Constant, Expr, ExprBuilder, ExprId, Node};
use crate::graph::op::{Access, Conv, Lrn, Map, Op, OutOfBounds, Pool, PoolKind, View};
use crate::graph::{Graph, NodeId, Producer, ValueId};
use crate::reference::{self, Math, bins, seeded};
use crate::rng::{Law, Seed, hash};
use crate::select::plan::{Launch, Plan};
use crate::shape::{Shape, contiguous_strides, numel};
use crate::tensor::{Storage, Tensor};

/// How many elements of a layer are sampled at most.
const SAMPLES: usize = 16;

/// Where a value that enters a layer gets an element from.
enum Source {
    Law(Law, Seed),
    Elements(Arc<Tensor>),
}

/// Elements of values of one layer.
struct Sampler<'g> {
    graph: &'g Graph,
    inside: BTreeSet<NodeId>,
    sources: BTreeMap<ValueId, Source>,
}

/// Samples every launch of a plan.
///
/// # Errors
/// As [`samples`].
pub fn of_plan(plan: &Plan, seed: u64, always_seeded: bool) -> Result<Vec<Samples>> {
    let one = |launch: &Launch| {
        let (nodes, output) = emit::computed(plan, launch)?;
        samples(&plan.imported, &nodes, output, seed, always_seeded)
    };
    plan.launches.par_iter().map(one).collect()
}

/// Samples the value `output` of `nodes`, whose other inputs are generated from the suite's `seed`.
/// `always_seeded` as in [`seeded::weight`].
///
/// # Errors
/// M005 for an exact weight without elements; M009 where an operator is not defined on its elements.
pub fn samples(graph: &Graph, nodes: &[NodeId], output: ValueId, seed: u64, always_seeded: bool) -> Result<Samples> {
    let mut sources = BTreeMap::new();
    for value in graph.entering(nodes) {
        let source = match inputs::law(graph, nodes, value, Kind::Numerics) {
            Some(law) => Source::Law(law, numerics_seed(seed, &graph.value(value).name)),
            None => Source::Elements(seeded::weight(graph, value, seed, always_seeded)?.tensor()),
        };
        sources.insert(value, source);
    }
    let sampler = Sampler { graph, inside: nodes.iter().copied().collect(), sources };
    let (shape, dtype) = (graph.shape(output), graph.dtype(output));
    let elements = positions(numel(shape).unwrap_or(0), Seed::derive(seed, &format!("samples/{}", graph.value(output).name)));
    let strides = contiguous_strides(shape);
    let value = |&at: &usize| {
        let index: Shape = strides.iter().zip(shape).map(|(&stride, &size)| at / stride as usize % size).collect();
        sampler.element(output, &index).map(|v| dtype.round(v))
    };
    let values = elements.iter().map(value).collect::<Result<_>>()?;
    Ok(Samples { elements, values })
}

/// The first and the last element, and others that a hash picks.
fn positions(len: usize, seed: Seed) -> Vec<usize> {
    if len <= SAMPLES {
        return (0..len).collect();
    }
    let mut chosen = BTreeSet::from([0, len - 1]);
    let mut counter = 0;
    while chosen.len() < SAMPLES {
        let wide = u64::from(hash(seed, counter)) << 32 | u64::from(hash(seed, counter + 1));
        chosen.insert((wide % len as u64) as usize);
        counter += 2;
    }
    chosen.into_iter().collect()
}

impl Sampler<'_> {
    /// One element; an integer or bool as f64.
    fn element(&self, value: ValueId, index: &[usize]) -> Result<f64> {
        let graph = self.graph;
        let (dtype, shape) = (graph.dtype(value), graph.shape(value));
        if let Producer::Node { node, .. } = graph.value(value).producer
            && self.inside.contains(&node)
        {
            return self.computed(node, index).map_err(|diagnostic| reference::fault(graph, node, *diagnostic));
        }
        let flat: usize = contiguous_strides(shape).iter().zip(index).map(|(&stride, &at)| stride as usize * at).sum();
        match self.sources.get(&value) {
            Some(Source::Law(law, seed)) => Ok(law.element(*seed, flat as u64, dtype)),
            Some(Source::Elements(tensor)) => Ok(tensor.storage().get_f64(flat)),
            None => {
                let what = format!("{} does not enter the layer", graph.value(value).name);
                Err(Box::new(Diagnostic::new(&codes::INTERNAL, what)))
            }
        }
    }

    fn operand(&self, node: NodeId, i: usize) -> Result<ValueId> {
        let operand = self.graph.node(node).inputs.get(i).copied().flatten();
        operand.ok_or_else(|| Box::new(Diagnostic::new(&codes::GRAPH_INVALID, format!("operand {i} is missing"))))
    }

    fn computed(&self, node: NodeId, index: &[usize]) -> Result<f64> {
        match &self.graph.node(node).op {
            Op::Map(map) => self.map(node, map, index),
            Op::Conv(conv) => self.conv(node, conv, index),
            Op::Pool(pool) => self.pool(node, pool, index),
            Op::BatchNorm { epsilon } => self.batch_norm(node, *epsilon, index),
            Op::Lrn(lrn) => self.lrn(node, lrn, index),
            Op::MatMul => self.matmul(node, index),
            Op::ConvTranspose(conv) => self.conv_transpose(node, conv, index),
            Op::Norm(norm) => self.norm(node, norm, index),
            Op::Softmax { axis, log } => self.softmax(node, *axis, *log, index),
            Op::Reduce(reduce) => self.reduce(node, reduce, index),
            Op::ArgReduce(arg) => self.position(node, arg, index),
            Op::Scan(scan) => self.scan(node, scan, index),
            Op::View(view) => {
                let x = self.operand(node, 0)?;
                self.element(x, &viewed(view, self.graph.shape(x), self.graph.shape(self.graph.node(node).outputs[0]), index))
            }
        }
    }

    /// The Map on its accesses' elements alone.
    fn map(&self, node: NodeId, map: &Map, index: &[usize]) -> Result<f64> {
        let graph = self.graph;
        let mut read: Vec<f64> = Vec::with_capacity(map.reads.len());
        let mut dtypes: Vec<DType> = Vec::with_capacity(map.reads.len());
        for access in &map.reads {
            let value = self.operand(node, access.input)?;
            let at: Vec<i64> = access.index.iter().map(|i| i.evaluate(index, &mut |k| read[k] as i64)).collect();
            let inside: Option<Shape> =
                at.iter().zip(graph.shape(value)).map(|(&at, &size)| usize::try_from(at).ok().filter(|&at| at < size)).collect();
            read.push(match (inside, access.oob) {
                (Some(at), _) => self.element(value, &at)?,
                (None, OutOfBounds::Fill(fill)) => fill,
                (None, OutOfBounds::InBounds) => {
                    let what = format!("{} is read at {at:?}, outside of it", graph.value(value).name);
                    return Err(Box::new(Diagnostic::new(&codes::GRAPH_INVALID, what)));
                }
            });
            dtypes.push(graph.dtype(value));
        }
        let one = |(&value, &dtype): (&f64, &DType)| {
            let storage = match dtype.carrier() {
                Carrier::F64 | Carrier::F32 => return Tensor::new(DType::F64, Shape::new(), Storage::F64(vec![value])),
                Carrier::I64 => Storage::I64(vec![value as i64]),
                Carrier::Bool => Storage::Bool(vec![(value != 0.0) as u8]),
            };
            Tensor::new(dtype, Shape::new(), storage)
        };
        let operands: Vec<Tensor> = read.iter().zip(&dtypes).map(one).collect();
        let operands: Vec<Option<&Tensor>> = operands.iter().map(Some).collect();
        let reads = (0..read.len()).map(|input| Access { input, index: Vec::new(), oob: OutOfBounds::InBounds }).collect();
        let body = at_coordinates(&map.body, index);
        let dtype = body.dtype();
        let scalar = Op::Map(Map { label: map.label.clone(), dims: Shape::new(), reads, body });
        reference::apply(&scalar, &operands, dtype, Math::F64).map(|result| result.storage().get_f64(0))
    }

    fn conv(&self, node: NodeId, conv: &Conv, index: &[usize]) -> Result<f64> {
        let (x, w) = (self.operand(node, 0)?, self.operand(node, 1)?);
        let (input, kernel) = (self.graph.shape(x), self.graph.shape(w));
        let channels = kernel[1];
        let group = index[1] / (kernel[0] / conv.groups);
        let mut sum = 0.0;
        for c in 0..channels {
            for tap in coordinates(&kernel[2..]) {
                let position = |i: usize| {
                    let at = (index[2 + i] * conv.strides[i] + tap[i] * conv.dilations[i]).checked_sub(conv.pads_begin[i])?;
                    (at < input[2 + i]).then_some(at)
                };
                let Some(spatial) = (0..tap.len()).map(position).collect::<Option<Vec<usize>>>() else { continue };
                let at: Shape = [index[0], group * channels + c].into_iter().chain(spatial).collect();
                let weight: Shape = [index[1], c].into_iter().chain(tap).collect();
                sum += self.element(x, &at)? * self.element(w, &weight)?;
            }
        }
        match self.graph.node(node).inputs.get(2).copied().flatten() {
            Some(bias) => Ok(sum + self.element(bias, &index[1..2])?),
            None => Ok(sum),
        }
    }

    fn pool(&self, node: NodeId, pool: &Pool, index: &[usize]) -> Result<f64> {
        let x = self.operand(node, 0)?;
        let input = self.graph.shape(x)[2..].to_vec();
        // Positions that a window touches along each axis, padding left out, and the divisor.
        let along = |i: usize| -> Vec<usize> {
            if pool.kind == PoolKind::AdaptiveAverage {
                return bins(input[i], pool.kernel[i]).nth(index[2 + i]).into_iter().flatten().collect();
            }
            let tap = |r: usize| (index[2 + i] * pool.strides[i] + r * pool.dilations[i]).checked_sub(pool.pads_begin[i]);
            (0..pool.kernel[i]).filter_map(tap).filter(|&at| at < input[i]).collect()
        };
        let axes: Vec<Vec<usize>> = (0..input.len()).map(along).collect();
        let sizes: Vec<usize> = axes.iter().map(Vec::len).collect();
        let (mut sum, mut largest) = (0.0, f64::NEG_INFINITY);
        for window in coordinates(&sizes) {
            let spatial = window.iter().zip(&axes).map(|(&at, axis)| axis[at]);
            let at: Shape = index[..2].iter().copied().chain(spatial).collect();
            let value = self.element(x, &at)?;
            sum += value;
            largest = if value.is_nan() || largest.is_nan() { f64::NAN } else { largest.max(value) };
        }
        let count = sizes.iter().product::<usize>() as f64;
        Ok(match pool.kind {
            PoolKind::Max => largest,
            PoolKind::Average { count_pad: true } => sum / pool.kernel.iter().product::<usize>() as f64,
            PoolKind::Average { count_pad: false } | PoolKind::AdaptiveAverage => sum / count,
        })
    }

    fn batch_norm(&self, node: NodeId, epsilon: f64, index: &[usize]) -> Result<f64> {
        let parameter = |i: usize| self.element(self.operand(node, i)?, &index[1..2]);
        let x = self.element(self.operand(node, 0)?, index)?;
        let (gamma, beta, mean, variance) = (parameter(1)?, parameter(2)?, parameter(3)?, parameter(4)?);
        Ok((x - mean) / (variance + epsilon).sqrt() * gamma + beta)
    }

    fn lrn(&self, node: NodeId, lrn: &Lrn, index: &[usize]) -> Result<f64> {
        let x = self.operand(node, 0)?;
        let mut squares = 0.0;
        let mut at = Shape::from_slice(index);
        for channel in lrn.window(index[1], self.graph.shape(x)[1]) {
            at[1] = channel;
            squares += self.element(x, &at)?.powi(2);
        }
        let base = lrn.bias + lrn.alpha / lrn.size as f64 * squares;
        Ok(self.element(x, index)? / libm::pow(base, lrn.beta))
    }

    fn matmul(&self, node: NodeId, index: &[usize]) -> Result<f64> {
        let (a, b) = (self.operand(node, 0)?, self.operand(node, 1)?);
        let rank = index.len();
        // Batch axes are aligned at the right, and those of size 1 stand still.
        let at = |value: ValueId, row: usize, column: usize| {
            let shape = self.graph.shape(value);
            let batch = shape.len() - 2;
            let outer = (0..batch).map(|i| if shape[i] == 1 { 0 } else { index[rank - 2 - batch + i] });
            let at: Shape = outer.chain([row, column]).collect();
            self.element(value, &at)
        };
        let mut sum = 0.0;
        for k in 0..self.graph.shape(a).last().copied().unwrap_or(0) {
            sum += at(a, index[rank - 2], k)? * at(b, k, index[rank - 1])?;
        }
        Ok(sum)
    }

    fn softmax(&self, node: NodeId, axis: usize, log: bool, index: &[usize]) -> Result<f64> {
        let x = self.operand(node, 0)?;
        let line = (0..self.graph.shape(x)[axis]).map(|at| {
            let mut index = Shape::from_slice(index);
            index[axis] = at;
            self.element(x, &index)
        });
        let line = line.collect::<Result<Vec<f64>>>()?;
        let largest = line.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = line.iter().map(|v| libm::exp(v - largest)).sum();
        let own = line[index[axis]] - largest;
        Ok(if log { own - libm::log(sum) } else { libm::exp(own) / sum })
    }
}

/// A body whose coordinates are numbers.
fn at_coordinates(body: &Expr, index: &[usize]) -> Expr {
    let mut b = ExprBuilder::new();
    let mut lanes: Vec<ExprId> = Vec::with_capacity(body.nodes().len());
    for &(node, dtype) in body.nodes() {
        lanes.push(match node {
            Node::Read(k) => b.read(k, dtype),
            Node::Coordinate(d) if dtype.is_float() => b.float(index[d as usize] as f64, dtype),
            Node::Coordinate(d) => b.node(Node::Constant(Constant::Int(index[d as usize] as i64)), dtype),
            Node::Constant(_) | Node::Unary(..) | Node::Binary(..) | Node::Compare(..) | Node::Select(..) | Node::Cast(_) => {
                b.node(node.with_operands(|id| lanes[id.0 as usize]), dtype)
            }
        });
    }
    let root = lanes[lanes.len() - 1];
    b.finish(root)
}

/// Every coordinate of a space, in row-major order.
fn coordinates(sizes: &[usize]) -> impl Iterator<Item = Shape> + use<> {
    let sizes = Shape::from_slice(sizes);
    let strides = contiguous_strides(&sizes);
    (0..numel(&sizes).unwrap_or(0))
        .map(move |flat| strides.iter().zip(&sizes).map(|(&stride, &size)| flat / stride as usize % size).collect())
}

/// Where a view's element lies in what it views.
fn viewed(view: &View, from: &[usize], to: &[usize], index: &[usize]) -> Shape {
    match view {
        View::Reshape(_) => {
            let flat: usize = contiguous_strides(to).iter().zip(index).map(|(&stride, &at)| stride as usize * at).sum();
            contiguous_strides(from).iter().zip(from).map(|(&stride, &size)| flat / stride as usize % size).collect()
        }
        View::Transpose(order) => {
            let mut at = Shape::from_elem(0, order.len());
            order.iter().zip(index).for_each(|(&axis, &i)| at[axis] = i);
            at
        }
        View::Broadcast(_) => {
            let skip = to.len() - from.len();
            from.iter().zip(&index[skip..]).map(|(&size, &at)| if size == 1 { 0 } else { at }).collect()
        }
    }
}
