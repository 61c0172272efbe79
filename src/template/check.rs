//! The anchor probe's problems: for a template, small graphs whose every element tells where it is.
//!
//! Each problem of the manifest's `probe:` gives clusters that use one kind of anchor each:
//!
//! * *alone*: the kernel as it stands;
//! * *value*: an epilogue y + Σ cᵢ·coordᵢ with a full and a per-axis operand;
//! * *load*: a prologue x + Σ cᵢ·coordᵢ + an operand beside x, and x lying apart in its storage, which
//!   rewrites the address;
//! * *store*: the output lying apart;
//! * *body*: Maps of every kind of access.
//!
//! The cᵢ are row-major strides: a coordinate that is wrong by anything changes the number, and a
//! wrong mask leaves out or adds what the operands give. All values are small integers, so a right
//! kernel equals the reference bit for bit. Whoever can run kernels (`conform::probe`) binds, emulates
//! and compares.
//!
//! Does not catch: an anchor that is right on these shapes and wrong on others.

use std::sync::Arc;

use super::anchors::{Anchor, Site};
use super::bound::Layout;
use super::library::Template;
use super::located::{add_input, broadcast, keeps_integers, linear_body, located};
use super::manifest::{Implements, ProbeSpec};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::expr::index::Index;
use crate::graph::op::{
    Access, ArgKind, ArgReduce, Conv, ConvTranspose, Lrn, Map, Norm, Op, OutOfBounds, Pool, PoolKind, Reduce, ReduceKind, Role,
    Scan, ScanKind, TensorType,
};
use crate::graph::reduction::Axes;
use crate::graph::{Cluster, Graph, ValueId};
use crate::shape::{Shape, Strides, display};
use crate::source::Span;

/// Which anchors a probe is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probed {
    /// None: the kernel as it stands.
    Alone,
    /// The `load` anchors of an operand.
    Load(String),
    Value,
    Store,
    Body,
    /// Anchors that no problem of the manifest leads to.
    Unreached,
}

impl std::fmt::Display for Probed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Probed::Alone => f.write_str("the kernel alone"),
            Probed::Load(operand) => write!(f, "load {operand}"),
            Probed::Value => f.write_str("value"),
            Probed::Store => f.write_str("store"),
            Probed::Body => f.write_str("body"),
            Probed::Unreached => f.write_str("unreached anchors"),
        }
    }
}

/// One cluster to bind, run and compare.
#[derive(Clone, Debug)]
pub struct Probe {
    /// `conv2d_resnet 2×3×9×8: prologue of X`.
    pub name: String,
    pub graph: Graph,
    pub cluster: Cluster,
    pub probed: Probed,
    /// A value that lies apart in its storage.
    pub moved: Option<ValueId>,
    /// Whether integer inputs must give bit-equal results: not for functions that round.
    pub exact: bool,
}

impl Probe {
    /// How a value lies in its storage: dense, or with gaps before, between and behind its elements,
    /// the first axis innermost, so that no address of a dense tensor is right.
    pub fn layout(&self, value: ValueId) -> Layout {
        let shape = self.graph.shape(value);
        if self.moved != Some(value) {
            return Layout::contiguous(shape);
        }
        const OFFSET: usize = 3;
        let mut step = 1;
        let mut strides = Strides::new();
        for &size in shape {
            strides.push(step as i64);
            step *= size + 1;
        }
        Layout { shape: Shape::from_slice(shape), strides, offset: OFFSET as i64, storage: OFFSET + step }
    }
}

/// The comments of the anchors that bound kernels with these entries have, of one kind or (`None`)
/// of every kind that a probe can be about.
pub fn anchors(template: &Template, probed: Option<&Probed>, entries: &[&str]) -> Vec<Span> {
    let kernel = &template.kernel;
    let functions = kernel.reached(entries);
    let inside = |a: &&Anchor| functions.iter().any(|f| f.span.start <= a.lines.start && a.lines.end <= f.span.end);
    let wanted = |a: &&Anchor| match &a.site {
        Site::Params | Site::Args => false,
        Site::Load { .. } => probed.is_none_or(|p| *p == Probed::Load(a.name.clone())),
        Site::Value { .. } => probed.is_none_or(|p| *p == Probed::Value),
        Site::Store { .. } => probed.is_none_or(|p| *p == Probed::Store),
        Site::Body { .. } => probed.is_none_or(|p| *p == Probed::Body),
    };
    let comment = |a: &Anchor| {
        let text = kernel.file.slice(a.lines);
        let lead = text.len() - text.trim_start().len();
        Span::new(a.lines.start as usize + lead, a.lines.start as usize + text.trim_end().len())
    };
    kernel.anchors.iter().filter(inside).filter(wanted).map(comment).collect()
}

/// All probes of a template, with fp32 operands.
///
/// Errors: T001 when a problem of `probe:` lacks an operand's shape.
pub fn probes(template: &Arc<Template>) -> Result<Vec<Probe>> {
    let mut out = Vec::new();
    let inputs = template.manifest.inputs().len();
    for spec in &template.manifest.probe {
        let maker = Maker { template, spec };
        match template.manifest.implements {
            Implements::Map if template.manifest.label.is_none() => out.extend(maker.maps()?),
            implements => {
                out.push(maker.build(Use::Alone)?);
                if template.takes_epilogues() {
                    out.push(maker.build(Use::Epilogue)?);
                }
                // The operands of a Map take no prologues: fusion composes Maps instead.
                for position in (0..inputs).filter(|_| implements != Implements::Map) {
                    out.push(maker.build(Use::Prologue(position))?);
                }
                for position in 0..=inputs {
                    out.push(maker.build(Use::Apart(position))?);
                }
            }
        }
    }
    Ok(out)
}

/// What a probe does with a template's operator.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Alone,
    Epilogue,
    Prologue(usize),
    /// An operand lies apart; behind the inputs comes the output.
    Apart(usize),
}

/// Makes the probes of one problem.
struct Maker<'a> {
    template: &'a Arc<Template>,
    spec: &'a ProbeSpec,
}

impl Maker<'_> {
    fn invalid(&self, message: String) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&codes::TEMPLATE_INVALID, message).in_file(self.template.manifest.file.name()))
    }

    fn shape(&self, operand: &str) -> Result<Shape> {
        let shape = self.spec.shapes.iter().find(|(name, _)| name == operand).map(|(_, shape)| shape.clone());
        shape.ok_or_else(|| self.invalid(format!("a problem of `probe:` has no shape for `{operand}`")))
    }

    fn list(&self, name: &str, axes: usize, default: usize) -> smallvec::SmallVec<[usize; 3]> {
        let given = self.spec.lists.iter().find(|(known, _)| known == name);
        match given {
            Some((_, values)) => values.iter().map(|&v| usize::try_from(v).unwrap_or(0)).collect(),
            None => smallvec::SmallVec::from_elem(default, axes),
        }
    }

    fn first(&self, name: &str, default: usize) -> usize {
        self.list(name, 1, default).first().copied().unwrap_or(default)
    }

    fn flag(&self, name: &str) -> bool {
        self.first(name, 0) != 0
    }

    fn axes(&self) -> Axes {
        self.list("axes", 1, 0).into_iter().collect()
    }

    fn number(&self, name: &str, default: f64) -> f64 {
        self.spec.numbers.iter().find(|(known, _)| known == name).map_or(default, |&(_, number)| number)
    }

    /// The operator of the template on this problem.
    fn op(&self) -> Result<Op> {
        let manifest = &self.template.manifest;
        let output = self.shape(&manifest.output().name)?;
        let axes = output.len().saturating_sub(2);
        let pool = |kind: PoolKind, kernel: smallvec::SmallVec<[usize; 3]>| {
            Op::Pool(Pool {
                kind,
                kernel,
                strides: self.list("strides", axes, 1),
                dilations: self.list("dilations", axes, 1),
                pads_begin: self.list("pads_begin", axes, 0),
                pads_end: self.list("pads_end", axes, 0),
            })
        };
        Ok(match manifest.implements {
            Implements::Conv => Op::Conv(Conv {
                strides: self.list("strides", axes, 1),
                dilations: self.list("dilations", axes, 1),
                pads_begin: self.list("pads_begin", axes, 0),
                pads_end: self.list("pads_end", axes, 0),
                groups: self.first("groups", 1),
            }),
            Implements::MaxPool => pool(PoolKind::Max, self.list("kernel", axes, 1)),
            Implements::AveragePool => {
                pool(PoolKind::Average { count_pad: self.first("count_pad", 0) != 0 }, self.list("kernel", axes, 1))
            }
            Implements::AdaptiveAveragePool => pool(PoolKind::AdaptiveAverage, output[2..].iter().copied().collect()),
            Implements::BatchNorm => Op::BatchNorm { epsilon: self.number("epsilon", 0.0) },
            Implements::MatMul => Op::MatMul,
            Implements::ConvTranspose => Op::ConvTranspose(ConvTranspose {
                strides: self.list("strides", axes, 1),
                dilations: self.list("dilations", axes, 1),
                pads_begin: self.list("pads_begin", axes, 0),
                pads_end: self.list("pads_end", axes, 0),
                output_padding: self.list("output_padding", axes, 0),
                groups: self.first("groups", 1),
            }),
            Implements::Norm { centred } => Op::Norm(Norm { axes: self.axes(), epsilon: self.number("epsilon", 1e-5), centred }),
            Implements::Softmax { log } => Op::Softmax { axis: self.first("axis", 0), log },
            Implements::Reduce(kind) => Op::Reduce(Reduce { kind, axes: self.axes(), keep: self.flag("keep") }),
            Implements::ArgReduce => Op::ArgReduce(ArgReduce {
                kind: if self.flag("smallest") { ArgKind::Min } else { ArgKind::Max },
                axis: self.first("axis", 0),
                keep: self.flag("keep"),
                last: self.flag("last"),
            }),
            Implements::Scan(kind) => Op::Scan(Scan {
                kind,
                axis: self.first("axis", 0),
                reverse: self.flag("reverse"),
                exclusive: self.flag("exclusive"),
            }),
            Implements::Lrn => Op::Lrn(Lrn {
                size: self.first("size", 1),
                alpha: self.number("alpha", 1e-4),
                beta: self.number("beta", 0.75),
                bias: self.number("bias", 1.0),
            }),
            Implements::Map => {
                let body = self.template.body(DType::F32)?;
                let body = body.ok_or_else(|| self.invalid("a labelled template has a body".to_owned()))?;
                let reads = manifest
                    .inputs()
                    .iter()
                    .enumerate()
                    .map(|(input, o)| Ok(broadcast(input, &self.shape(&o.name)?, output.len())))
                    .collect::<Result<Vec<_>>>()?;
                let label = manifest.label.clone().unwrap_or_default();
                Op::Map(Map { label, dims: output, reads, body })
            }
        })
    }

    fn role(&self, operand: &str, shape: &[usize]) -> Role {
        match (self.template.manifest.implements, operand) {
            (Implements::Conv, "W") => Role::Weight { fan_in: shape[1..].iter().product() },
            (Implements::ConvTranspose, "W") => Role::Weight { fan_in: shape[0] * shape[2..].iter().product::<usize>() },
            (Implements::BatchNorm | Implements::Norm { .. }, "SCALE") => Role::Scale,
            (_, "BIAS") => Role::Bias,
            (Implements::BatchNorm, "MEAN") => Role::Mean,
            (Implements::BatchNorm, "VAR") => Role::Variance,
            _ => Role::Activation,
        }
    }

    fn build(&self, fusion: Use) -> Result<Probe> {
        let manifest = &self.template.manifest;
        let mut graph = Graph::new(format!("{} probe", self.template.name));
        let (mut prologues, mut epilogues) = (Vec::new(), Vec::new());
        let mut inputs = Vec::new();
        for (position, operand) in manifest.inputs().iter().enumerate() {
            let shape = self.shape(&operand.name)?;
            let role = self.role(&operand.name, &shape);
            let mut value = add_input(&mut graph, &operand.name, &shape, role);
            if fusion == Use::Prologue(position) {
                let beside = add_input(&mut graph, &format!("beside {}", operand.name), &shape, role);
                let (node, result) = located(&mut graph, &format!("{} located", operand.name), value, &[beside]);
                prologues.push((position, node));
                value = result;
            }
            inputs.push(Some(value));
        }
        for optional in manifest.optional.iter().filter(|_| fusion == Use::Epilogue) {
            let given = self.spec.shapes.iter().find(|(name, _)| *name == optional.name).map(|(_, shape)| shape.clone());
            let sizes = match given {
                Some(shape) => shape,
                None => optional.access.iter().map(|axis| self.axis_size(axis)).collect::<Result<_>>()?,
            };
            inputs.push(Some(add_input(&mut graph, &optional.name, &sizes, self.role(&optional.name, &sizes))));
        }
        let output = self.shape(&manifest.output().name)?;
        let dtype = if manifest.implements == Implements::ArgReduce { DType::I64 } else { DType::F32 };
        let ty = TensorType { dtype, shape: output.clone() };
        let anchor = graph.add_node(self.op()?, &inputs, vec![("value".to_owned(), ty)], Vec::new());
        let mut value = graph.node(anchor).outputs[0];
        if fusion == Use::Epilogue {
            let full = add_input(&mut graph, "full", &output, Role::Activation);
            let mut extras = vec![full];
            for axis in 0..output.len() {
                let mut shape: Shape = smallvec::SmallVec::from_elem(1, output.len());
                shape[axis] = output[axis];
                extras.push(add_input(&mut graph, &format!("along {axis}"), &shape, Role::Activation));
            }
            let (node, result) = located(&mut graph, "output", value, &extras);
            epilogues.push(node);
            value = result;
        }
        graph.set_outputs(vec![value]);
        let (what, probed, moved) = match fusion {
            Use::Alone => ("alone".to_owned(), Probed::Alone, None),
            Use::Epilogue => ("epilogue".to_owned(), Probed::Value, None),
            Use::Prologue(position) => {
                let name = &manifest.inputs()[position].name;
                (format!("prologue of {name}"), Probed::Load(name.clone()), None)
            }
            Use::Apart(position) => match manifest.inputs().get(position) {
                Some(input) => (format!("{} lies apart", input.name), Probed::Load(input.name.clone()), inputs[position]),
                None => (format!("{} lies apart", manifest.output().name), Probed::Store, Some(value)),
            },
        };
        let first = self.spec.shapes.first().map_or_else(String::new, |(_, shape)| display(shape));
        // Softmax and powers round; a variance that is shifted by coordinates is no square.
        let exact = match (manifest.implements, fusion) {
            (Implements::Softmax { .. } | Implements::Lrn | Implements::Norm { .. }, _) => false,
            (Implements::Reduce(ReduceKind::LogSumExp), _) => false,
            // Products of coordinates have more digits than fp32.
            (Implements::Reduce(ReduceKind::Prod) | Implements::Scan(ScanKind::Prod), Use::Prologue(_)) => false,
            (Implements::Reduce(ReduceKind::Mean), Use::Prologue(_)) => false,
            (Implements::BatchNorm, Use::Prologue(position)) => manifest.inputs()[position].name != "VAR",
            (Implements::AveragePool | Implements::AdaptiveAveragePool, Use::Prologue(_)) => false,
            (Implements::Map, _) => self.template.body(DType::F32)?.is_none_or(|body| keeps_integers(&body)),
            _ => true,
        };
        Ok(Probe {
            name: format!("{} {first}: {what}", self.template.name),
            graph,
            cluster: Cluster { anchor, prologues, epilogues },
            probed,
            moved,
            exact,
        })
    }

    fn axis_size(&self, axis: &str) -> Result<usize> {
        let output = self.template.manifest.output();
        let shape = self.shape(&output.name)?;
        let at = output.dims.iter().position(|d| d.name == *axis);
        at.and_then(|i| shape.get(i).copied()).ok_or_else(|| self.invalid(format!("no size for axis `{axis}`")))
    }

    /// Maps of every kind: coordinates alone, broadcast reads, transposed, shifted with padding,
    /// divided and wrapped indices.
    fn maps(&self) -> Result<Vec<Probe>> {
        let output = self.shape(&self.template.manifest.output().name)?;
        let dims: Vec<Index> = (0..output.len()).map(Index::Dim).collect();
        let last = output.len().saturating_sub(1);
        let along = |i: usize, f: &dyn Fn(Index) -> Index| {
            let mut index = dims.clone();
            if let Some(at) = index.get_mut(i) {
                *at = f(at.clone());
            }
            index
        };
        let boxed = |i: Index| Box::new(i);
        let reversed: Shape = output.iter().rev().copied().collect();
        let mut halved = output.clone();
        halved.iter_mut().take(1).for_each(|s| *s = s.div_ceil(2));
        let kinds: Vec<(&str, Shape, Vec<Index>, OutOfBounds)> = vec![
            ("transposed", reversed, dims.iter().rev().cloned().collect(), OutOfBounds::InBounds),
            (
                "padded",
                output.clone(),
                along(last, &|d| Index::Add(boxed(d), boxed(Index::Constant(-2)))),
                OutOfBounds::Fill(7.0),
            ),
            ("halved", halved, along(0, &|d| Index::FloorDiv(boxed(d), 2)), OutOfBounds::InBounds),
            (
                "rolled",
                output.clone(),
                along(last, &|d| Index::Mod(boxed(Index::Add(boxed(d), boxed(Index::Constant(-3)))), output[last].max(1) as i64)),
                OutOfBounds::InBounds,
            ),
        ];
        let mut out = Vec::new();
        for (kind, shape, index, oob) in kinds {
            let mut graph = Graph::new(format!("{} probe", self.template.name));
            let x = add_input(&mut graph, "x", &shape, Role::Activation);
            let reads = vec![Access { input: 0, index, oob }];
            let map = Map { label: kind.to_owned(), dims: output.clone(), reads, body: linear_body(&output, &[DType::F32]) };
            let ty = TensorType { dtype: DType::F32, shape: output.clone() };
            let node = graph.add_node(Op::Map(map), &[Some(x)], vec![("y".to_owned(), ty)], Vec::new());
            let y = graph.node(node).outputs[0];
            graph.set_outputs(vec![y]);
            let name = format!("{} {}: {kind}", self.template.name, display(&output));
            let (cluster, probed) = (Cluster::of(node), Probed::Body);
            out.push(Probe { name, graph, cluster, probed, moved: None, exact: true });
        }
        if let Some(first) = out.first().cloned() {
            let moved = Some(first.cluster.output(&first.graph));
            out.push(Probe { name: format!("{}, apart", first.name), probed: Probed::Store, moved, ..first });
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
