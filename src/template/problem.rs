//! A template joined with one operator: operands, sizes of the axes, attributes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::axes::{Axis, affine};
use super::bound::Layout;
use super::library::Template;
use super::manifest::{AxisCount, DimSpec, Implements, OperandSpec};
use crate::diag::Result;
use crate::expr::index::Index;
use crate::graph::op::{ArgKind, Lrn, Map, Op, OutOfBounds, PoolKind};
use crate::graph::reduction::runs;
use crate::graph::{Cluster, Graph, NodeId, ValueId};
use crate::shape::Shape;
use crate::syntax::Constant;

/// An operand of the template as the operator has it.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The template's name for it.
    pub name: String,
    pub dims: Vec<DimSpec>,
    /// What is loaded or stored: behind a prologue, the prologue's own input.
    pub value: ValueId,
    pub layout: Layout,
    /// The logical shape that the template sees.
    pub shape: Shape,
    /// Which element of `value` stands at a logical coordinate.
    pub index: Vec<Index>,
    pub oob: OutOfBounds,
    /// Logical dimensions of each entry of `dims`.
    pub ranges: Vec<Range<usize>>,
    pub prologue: Option<NodeId>,
}

impl Operand {
    /// The stem of its parameters: `x` of `x_ptr`.
    pub fn stem(&self) -> String {
        self.name.to_ascii_lowercase()
    }

    /// Logical dimensions of an axis, when it is a plain entry.
    pub fn range_of(&self, axis: &str) -> Option<&Range<usize>> {
        self.dims.iter().zip(&self.ranges).find(|(d, _)| d.index.is_none() && d.name == axis).map(|(_, r)| r)
    }
}

/// Strides of an access along the logical dimensions it is a function of.
#[derive(Clone, Debug)]
pub struct Linear {
    /// Of the element at coordinate 0, from the layout's first element.
    pub base: i64,
    /// One a logical dimension.
    pub coefs: Vec<i64>,
    /// The operand axis whose stride a coefficient is, when it is just that.
    pub source: Vec<Option<usize>>,
    /// Operand axes whose index is not affine.
    pub bent: Vec<usize>,
}

/// Splits an access into its affine part and the rest.
pub fn linear(index: &[Index], layout: &Layout, dims: usize) -> Linear {
    let mut out = Linear { base: 0, coefs: vec![0; dims], source: vec![None; dims], bent: Vec::new() };
    let mut touched = vec![0; dims];
    for (axis, expr) in index.iter().enumerate() {
        let stride = layout.strides[axis];
        let Some((base, terms)) = affine(expr) else {
            out.bent.push(axis);
            continue;
        };
        out.base += base * stride;
        for (dim, factor) in terms {
            out.coefs[dim] += factor * stride;
            touched[dim] += 1;
            out.source[dim] = (factor == 1 && touched[dim] == 1).then_some(axis);
        }
    }
    out
}

/// A template's view of a cluster's anchor.
#[derive(Clone, Debug)]
pub struct Problem {
    pub template: Arc<Template>,
    /// Inputs in the template's order, the output last.
    pub operands: Vec<Operand>,
    pub axes: Vec<Axis>,
    /// By constexpr name.
    pub attributes: BTreeMap<String, Constant>,
}

impl Problem {
    pub fn output(&self) -> &Operand {
        self.operands.last().expect("invariant: a template has an output")
    }

    pub fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|a| a.name == name)
    }

    /// Joins them; `None` when operand counts or ranks do not fit the template.
    pub fn new(
        template: &Arc<Template>,
        graph: &Graph,
        cluster: &Cluster,
        layout_of: &dyn Fn(ValueId) -> Layout,
    ) -> Result<Option<Problem>> {
        let manifest = &template.manifest;
        let node = graph.node(cluster.anchor);
        let attributes = attributes(&node.op);
        let mut operands = Vec::new();
        let reads = match &node.op {
            Op::Map(map) if manifest.label.is_some() => {
                if map.reads.len() != manifest.inputs().len() {
                    return Ok(None);
                }
                Some(map)
            }
            _ => None,
        };
        for (position, spec) in manifest.inputs().iter().enumerate() {
            let source = match reads {
                Some(map) => mapped(map, &node.inputs, position),
                None => plain(graph, cluster, &node.inputs, position),
            };
            let Some(source) = source else { return Ok(None) };
            operands.push(operand(spec, source, layout_of));
        }
        if manifest.implements != Implements::Map && node.inputs.len() > manifest.inputs().len() + manifest.optional.len() {
            return Ok(None);
        }
        let shape = Shape::from_slice(graph.shape(node.outputs[0]));
        let index = identity(shape.len());
        let value = cluster.output(graph);
        operands.push(operand(
            manifest.output(),
            Source { value, shape, index, oob: OutOfBounds::InBounds, prologue: None },
            layout_of,
        ));
        let mut problem = Problem { template: template.clone(), operands, axes: Vec::new(), attributes };
        Ok(problem.place()?.then_some(problem))
    }

    /// Finds each entry's dimensions and each axis's sizes; false when they do not fit.
    fn place(&mut self) -> Result<bool> {
        let manifest = &self.template.manifest;
        let mut fixed = Vec::new();
        for axis in &manifest.axes {
            fixed.push(match &axis.count {
                AxisCount::Many => None,
                AxisCount::Exactly(count) => Some(usize::try_from(count.int(&self.attributes)?).unwrap_or(0)),
            });
        }
        let mut sizes: Vec<Vec<usize>> = vec![Vec::new(); manifest.axes.len()];
        for operand in &mut self.operands {
            let count = |dim: &DimSpec| match &dim.index {
                Some(_) => Some(1),
                None => manifest.axis(&dim.name).and_then(|a| fixed[a]),
            };
            let known: usize = operand.dims.iter().filter_map(count).sum();
            let open = operand.dims.iter().filter(|d| count(d).is_none()).count();
            let Some(rest) = operand.shape.len().checked_sub(known) else { return Ok(false) };
            if open > 1 || (open == 0 && rest > 0) {
                return Ok(false);
            }
            let mut at = 0;
            for dim in &operand.dims {
                let n = count(dim).unwrap_or(rest);
                operand.ranges.push(at..at + n);
                if let (None, Some(axis)) = (&dim.index, manifest.axis(&dim.name)) {
                    let here = &operand.shape[at..at + n];
                    let all = &mut sizes[axis];
                    while all.len() < n {
                        all.insert(0, 1);
                    }
                    let lead = all.len() - n;
                    for (size, &mine) in all[lead..].iter_mut().zip(here) {
                        if *size == 1 {
                            *size = mine;
                        } else if mine != 1 && mine != *size {
                            return Ok(false);
                        }
                    }
                }
                at += n;
            }
        }
        let many = |i: usize| matches!(manifest.axes[i].count, AxisCount::Many);
        self.axes = sizes.into_iter().enumerate().map(|(i, s)| Axis::new(&manifest.axes[i].name, many(i), s)).collect();
        let output = self.operands.last().expect("invariant: a template has an output");
        let strides = linear(&output.index, &output.layout, output.shape.len()).coefs;
        for axis in &mut self.axes {
            if let Some(range) = output.range_of(&axis.name).filter(|r| r.len() == axis.sizes.len()) {
                axis.sort_by(&strides[range.clone()]);
            }
        }
        Ok(true)
    }

    /// The member of an axis that a logical dimension of an operand is; `None` where the operand is
    /// broadcast along it.
    pub fn member(&self, operand: &Operand, axis: usize, dim: usize) -> Option<usize> {
        let axis = &self.axes[axis];
        let range = operand.range_of(&axis.name)?;
        let logical = axis.sizes.len() - range.len() + (dim - range.start);
        let member = axis.member(logical)?;
        (operand.shape[dim] == axis.sizes[member]).then_some(member)
    }

    /// Coefficients of an access over the members of an axis.
    pub fn over_members(&self, operand: &Operand, axis: usize, coefs: &[i64]) -> Vec<i64> {
        let mut out = vec![0; self.axes[axis].sizes.len()];
        if let Some(range) = operand.range_of(&self.axes[axis].name) {
            for dim in range.clone() {
                if let Some(member) = self.member(operand, axis, dim) {
                    out[member] = coefs[dim];
                }
            }
        }
        out
    }
}

struct Source {
    value: ValueId,
    shape: Shape,
    index: Vec<Index>,
    oob: OutOfBounds,
    prologue: Option<NodeId>,
}

fn operand(spec: &OperandSpec, source: Source, layout_of: &dyn Fn(ValueId) -> Layout) -> Operand {
    let Source { value, shape, index, oob, prologue } = source;
    Operand {
        name: spec.name.clone(),
        dims: spec.dims.clone(),
        layout: layout_of(value),
        value,
        shape,
        index,
        oob,
        ranges: Vec::new(),
        prologue,
    }
}

pub fn identity(rank: usize) -> Vec<Index> {
    (0..rank).map(Index::Dim).collect()
}

/// The k-th read of a Map as an operand over the Map's own dimensions.
fn mapped(map: &Map, inputs: &[Option<ValueId>], k: usize) -> Option<Source> {
    let access = map.reads.get(k)?;
    let value = (*inputs.get(access.input)?)?;
    if access.oob != OutOfBounds::InBounds || access.index.iter().any(|i| affine(i).is_none()) {
        return None;
    }
    Some(Source { value, shape: map.dims.clone(), index: access.index.clone(), oob: access.oob, prologue: None })
}

fn plain(graph: &Graph, cluster: &Cluster, inputs: &[Option<ValueId>], position: usize) -> Option<Source> {
    let value = (*inputs.get(position)?)?;
    let shape = Shape::from_slice(graph.shape(value));
    let Some(&(_, node)) = cluster.prologues.iter().find(|(at, _)| *at == position) else {
        return Some(Source { value, index: identity(shape.len()), shape, oob: OutOfBounds::InBounds, prologue: None });
    };
    let prologue = graph.node(node);
    let Op::Map(map) = &prologue.op else { return None };
    let main = map.reads.first()?;
    let value = (*prologue.inputs.get(main.input)?)?;
    Some(Source { value, shape, index: main.index.clone(), oob: main.oob, prologue: Some(node) })
}

/// Attributes by constexpr name; those of spatial axes carry the axis: `STRIDE_H`.
pub fn attributes(op: &Op) -> BTreeMap<String, Constant> {
    let mut out = BTreeMap::new();
    let mut spatial = |name: &str, values: &[usize]| {
        let letters = ["D", "H", "W"];
        for (i, &value) in values.iter().enumerate() {
            let letter = match values.len() {
                n @ 1..=3 => letters[3 - n + i].to_owned(),
                _ => i.to_string(),
            };
            out.insert(format!("{name}_{letter}"), Constant::Int(value as i64));
        }
    };
    match op {
        Op::Conv(conv) => {
            spatial("STRIDE", &conv.strides);
            spatial("DILATION", &conv.dilations);
            spatial("PAD", &conv.pads_begin);
            spatial("PAD_END", &conv.pads_end);
            out.insert("GROUPS".to_owned(), Constant::Int(conv.groups as i64));
        }
        Op::Pool(pool) => {
            spatial("KERNEL", &pool.kernel);
            spatial("STRIDE", &pool.strides);
            spatial("DILATION", &pool.dilations);
            spatial("PAD", &pool.pads_begin);
            spatial("PAD_END", &pool.pads_end);
            match pool.kind {
                PoolKind::Max | PoolKind::AdaptiveAverage => {}
                PoolKind::Average { count_pad } => {
                    out.insert("COUNT_PAD".to_owned(), Constant::Int(count_pad.into()));
                }
            }
        }
        Op::BatchNorm { epsilon } => {
            out.insert("EPSILON".to_owned(), Constant::Float(*epsilon));
        }
        Op::ConvTranspose(conv) => {
            spatial("STRIDE", &conv.strides);
            spatial("DILATION", &conv.dilations);
            spatial("PAD", &conv.pads_begin);
            out.insert("GROUPS".to_owned(), Constant::Int(conv.groups as i64));
        }
        Op::Norm(norm) => {
            stretches(&norm.axes, &mut out);
            out.insert("EPSILON".to_owned(), Constant::Float(norm.epsilon));
        }
        Op::Softmax { axis, log: _ } => {
            out.insert("AXIS".to_owned(), Constant::Int(*axis as i64));
        }
        Op::Reduce(reduce) => {
            stretches(&reduce.axes, &mut out);
            out.insert("KEEP".to_owned(), Constant::Int(reduce.keep.into()));
        }
        Op::ArgReduce(arg) => {
            out.insert("AXIS".to_owned(), Constant::Int(arg.axis as i64));
            for (name, flag) in [("KEEP", arg.keep), ("LAST", arg.last), ("LARGEST", arg.kind == ArgKind::Max)] {
                out.insert(name.to_owned(), Constant::Int(flag.into()));
            }
        }
        Op::Scan(scan) => {
            out.insert("AXIS".to_owned(), Constant::Int(scan.axis as i64));
            out.insert("REVERSE".to_owned(), Constant::Int(scan.reverse.into()));
            out.insert("EXCLUSIVE".to_owned(), Constant::Int(scan.exclusive.into()));
        }
        Op::Lrn(Lrn { size, alpha, beta, bias }) => {
            out.insert("SIZE".to_owned(), Constant::Int(*size as i64));
            for (name, number) in [("ALPHA", alpha), ("BETA", beta), ("BIAS", bias)] {
                out.insert(name.to_owned(), Constant::Float(*number));
            }
        }
        Op::MatMul | Op::Map(_) | Op::View(_) => {}
    }
    out
}

/// Any axes as at most two stretches of neighbours: LEAD axes before them, RUN in the first, GAP between, RUN2
/// in the second (0 without one); STRETCHES counts them.
fn stretches(axes: &[usize], out: &mut BTreeMap<String, Constant>) {
    let runs = runs(axes);
    let first = runs.first().cloned().unwrap_or(0..0);
    let second = runs.get(1).cloned().unwrap_or(first.end..first.end);
    let numbers = [
        ("LEAD", first.start),
        ("RUN", first.len()),
        ("GAP", second.start - first.end),
        ("RUN2", second.len()),
        ("STRETCHES", runs.len()),
    ];
    for (name, number) in numbers {
        out.insert(name.to_owned(), Constant::Int(number as i64));
    }
}
