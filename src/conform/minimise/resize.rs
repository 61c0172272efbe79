//! A few nodes of a graph as a graph of their own, at other sizes.
//!
//! Shapes of what enters are given, all others are inferred; sizes that an operator has written into itself (a Map's
//! dimensions, a view's target) become those of its operands where they were theirs, and must stay as they are
//! elsewhere. What does not fit is no graph, never another operator.

use std::collections::HashMap;

use super::sizes::kept_axes;
use crate::expr::index::Index;
use crate::graph::infer::infer;
use crate::graph::op::{Map, View};
use crate::graph::{Graph, NodeId, Op, Producer, Role, TensorType, ValueId, Weight};
use crate::shape::{Shape, numel};

/// The new graph, and what became of the old one's nodes and values.
pub struct Resized {
    pub graph: Graph,
    pub nodes: HashMap<NodeId, NodeId>,
    pub values: HashMap<ValueId, ValueId>,
}

/// Gives the shape of a value that enters, from those that are known before it is first read.
pub type ShapeOf<'a> = &'a dyn Fn(ValueId, &dyn Fn(ValueId) -> Option<Shape>) -> Option<Shape>;

/// `nodes`, in topological order, at the sizes that `shape_of` gives. `None` where an operator refuses them.
pub fn resized(graph: &Graph, nodes: &[NodeId], output: ValueId, shape_of: ShapeOf) -> Option<Resized> {
    let mut to = Resized { graph: Graph::new(graph.file.clone()), nodes: HashMap::new(), values: HashMap::new() };
    for &id in nodes {
        let node = graph.node(id);
        for &value in node.inputs.iter().flatten() {
            if !to.values.contains_key(&value) {
                let shape = shape_of(value, &|made| to.values.get(&made).map(|&v| Shape::from_slice(to.graph.shape(v))))?;
                let entered = enter(graph, &mut to.graph, value, shape)?;
                to.values.insert(value, entered);
            }
        }
        let inputs: Vec<Option<ValueId>> = node.inputs.iter().map(|input| input.map(|v| to.values[&v])).collect();
        let old: Vec<&[usize]> = node.inputs.iter().map(|input| input.map_or(&[][..], |v| graph.shape(v))).collect();
        let new: Vec<&[usize]> = inputs.iter().map(|input| input.map_or(&[][..], |v| to.graph.shape(v))).collect();
        let op = resized_op(&node.op, &old, &new)?;
        let types: Vec<Option<&TensorType>> = inputs.iter().map(|input| input.map(|v| to.graph.ty(v))).collect();
        let types = infer(&op, &types).ok()?;
        let outputs = node.outputs.iter().map(|&v| graph.value(v).name.clone()).zip(types).collect();
        let made = to.graph.add_node(op, &inputs, outputs, node.sources.clone());
        let values: Vec<ValueId> = to.graph.node(made).outputs.to_vec();
        to.values.extend(node.outputs.iter().copied().zip(values));
        to.nodes.insert(id, made);
    }
    to.graph.set_outputs(vec![*to.values.get(&output)?]);
    Some(to)
}

fn enter(from: &Graph, to: &mut Graph, value: ValueId, shape: Shape) -> Option<ValueId> {
    numel(&shape).filter(|&elements| elements > 0)?;
    let data = from.value(value);
    let same = shape == data.ty.shape;
    let ty = TensorType { dtype: data.ty.dtype, shape };
    match &data.producer {
        Producer::Weight(weight) if same => to.add_weight(&data.name, ty, data.role, weight.clone()).ok(),
        // Numbers that mean something by themselves are not made up.
        Producer::Weight(_) if data.role == Role::Exact => None,
        Producer::Weight(_) => to.add_weight(&data.name, ty, data.role, Weight::Missing).ok(),
        Producer::Input(_) | Producer::Node { .. } => to.add_input(&data.name, ty, data.role).ok(),
    }
}

fn resized_op(op: &Op, old: &[&[usize]], new: &[&[usize]]) -> Option<Op> {
    match op {
        Op::Map(map) => Some(Op::Map(Map { dims: dims(map, old, new)?, ..map.clone() })),
        Op::View(View::Reshape(target)) if old[0] != new[0] => {
            let kept = kept_axes(old[0], target)?;
            let lost = (0..old[0].len()).filter(|axis| !kept.contains(&Some(*axis)));
            lost.into_iter().all(|axis| new[0][axis] == 1).then_some(())?;
            Some(Op::View(View::Reshape(kept.iter().map(|axis| axis.map_or(1, |axis| new[0][axis])).collect())))
        }
        Op::View(View::Broadcast(_)) => (old[0] == new[0]).then(|| op.clone()),
        Op::View(View::Reshape(_) | View::Transpose(_))
        | Op::Conv(_)
        | Op::ConvTranspose(_)
        | Op::Pool(_)
        | Op::BatchNorm { .. }
        | Op::Norm(_)
        | Op::MatMul
        | Op::Softmax { .. }
        | Op::Reduce(_)
        | Op::ArgReduce(_)
        | Op::Scan(_)
        | Op::Lrn(_) => Some(op.clone()),
    }
}

/// A Map's dimensions when its operands have other sizes.
fn dims(map: &Map, old: &[&[usize]], new: &[&[usize]]) -> Option<Shape> {
    let mut dims: Vec<Option<usize>> = vec![None; map.dims.len()];
    let mut fixed = Vec::new();
    for read in &map.reads {
        for (axis, index) in read.index.iter().enumerate() {
            let (was, is) = (old[read.input][axis], new[read.input][axis]);
            match index {
                Index::Dim(d) if was == map.dims[*d] => match dims[*d] {
                    None => dims[*d] = Some(is),
                    Some(known) => (known == is).then_some(())?,
                },
                Index::Dim(_)
                | Index::Constant(_)
                | Index::Add(_, _)
                | Index::Mul(_, _)
                | Index::FloorDiv(_, _)
                | Index::Mod(_, _)
                | Index::Read(_) => {
                    (was == is).then_some(())?;
                    index.dims(&mut |d| fixed.push(d));
                }
            }
        }
    }
    let dims: Shape = dims.into_iter().zip(&map.dims).map(|(dim, &was)| dim.unwrap_or(was)).collect();
    fixed.into_iter().all(|d| dims[d] == map.dims[d]).then_some(dims)
}

/// What a trial costs: elements of all values, and products of contractions.
pub fn work(graph: &Graph) -> (usize, usize) {
    let elements = graph.values().map(|(value, _)| graph.shape(value).iter().product::<usize>()).sum();
    let products = graph.node_ids().map(|id| {
        let node = graph.node(id);
        let outputs: usize = graph.shape(node.outputs[0]).iter().product();
        let terms = match &node.op {
            Op::Conv(_) => node.inputs[1].map_or(1, |w| graph.shape(w)[1..].iter().product()),
            Op::MatMul => node.inputs[0].and_then(|a| graph.shape(a).last().copied()).unwrap_or(1),
            Op::Pool(pool) => pool.kernel.iter().product(),
            Op::ConvTranspose(conv) => node.inputs[1].map_or(1, |w| {
                let shape = graph.shape(w);
                shape[0] / conv.groups * shape[2..].iter().product::<usize>()
            }),
            Op::Reduce(reduce) => node.inputs[0].map_or(1, |x| reduce.terms(graph.shape(x))),
            Op::ArgReduce(arg) => node.inputs[0].map_or(1, |x| graph.shape(x)[arg.axis]),
            Op::Map(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::Softmax { .. } | Op::Lrn(_) | Op::Scan(_) | Op::View(_) => 1,
        };
        outputs.saturating_mul(terms)
    });
    (elements, products.fold(0, usize::saturating_add))
}
