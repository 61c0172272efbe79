//! Which sizes of a group of nodes can be chosen freely, and what the others follow from.
//!
//! Every axis of a value that enters is a variable. Operators tie variables together (the channels of a
//! convolution and of its weight), pin them (a view's sizes, an index that is computed), or say that they follow
//! from what the nodes make (a residual is as large as the convolution's output). What is left is free. Ties
//! are a hint that makes the search short: a choice that operators refuse is refused by
//! [`super::resize`], which infers every shape anew.
//!
//! Not found: freedom behind general reshapes and grouped convolutions, whose sizes are pinned.

use std::collections::HashMap;

use crate::expr::index::Index;
use crate::graph::op::{Map, View};
use crate::graph::{Graph, NodeId, Op, ValueId};
use crate::shape::Shape;

/// Where a size comes from, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Free,
    /// An axis of a value that the nodes make.
    Made(ValueId, usize),
    Pinned,
}

/// A size of a value, inside or at the edge.
#[derive(Clone, Copy, Debug)]
enum Term {
    Class(usize),
    Made(ValueId, usize),
    Fixed,
}

/// The sizes of some nodes.
pub struct Sizes {
    /// Of each entering value, the class of each axis.
    axes: HashMap<ValueId, Vec<usize>>,
    /// Of each class, its size as it is and where it comes from.
    classes: Vec<(usize, Origin)>,
    /// Classes that can be chosen.
    free: Vec<usize>,
}

impl Sizes {
    /// Of nodes in topological order.
    pub fn of(graph: &Graph, nodes: &[NodeId]) -> Sizes {
        let mut ties = Ties::default();
        let mut terms: HashMap<ValueId, Vec<Term>> = HashMap::new();
        let mut axes: HashMap<ValueId, Vec<usize>> = HashMap::new();
        for value in graph.entering(nodes) {
            let classes: Vec<usize> = graph.shape(value).iter().map(|&size| ties.fresh(size)).collect();
            terms.insert(value, classes.iter().map(|&class| Term::Class(class)).collect());
            axes.insert(value, classes);
        }
        for &node in nodes {
            let node = graph.node(node);
            let output = node.outputs[0];
            let inputs: Vec<Vec<Term>> =
                node.inputs.iter().map(|input| input.and_then(|v| terms.get(&v).cloned()).unwrap_or_default()).collect();
            let shapes: Vec<&[usize]> = node.inputs.iter().map(|input| input.map_or(&[][..], |v| graph.shape(v))).collect();
            let made = ties.through(&node.op, &inputs, &shapes, output, graph.shape(output).len());
            terms.insert(output, made);
        }
        axes.values_mut().flatten().for_each(|class| *class = ties.root(*class));
        let roots = (0..ties.parent.len()).filter(|&class| ties.root(class) == class);
        let free = roots.filter(|&class| ties.classes[class].1 == Origin::Free).collect();
        Sizes { axes, classes: ties.classes, free }
    }

    /// The free sizes as they are.
    pub fn free(&self) -> Vec<usize> {
        self.free.iter().map(|&class| self.classes[class].0).collect()
    }

    /// The shape of an entering value when the free sizes are `chosen`; `made` gives shapes that are known by
    /// then. `None` where one that it follows from is not.
    pub fn shape(&self, value: ValueId, chosen: &[usize], made: &dyn Fn(ValueId) -> Option<Shape>) -> Option<Shape> {
        let size = |&class: &usize| match self.classes[class] {
            (_, Origin::Free) => self.free.iter().position(|&free| free == class).map(|at| chosen[at]),
            (_, Origin::Made(value, axis)) => made(value)?.get(axis).copied(),
            (size, Origin::Pinned) => Some(size),
        };
        self.axes.get(&value)?.iter().map(size).collect()
    }
}

/// Classes of equal sizes, by union and find.
#[derive(Default)]
struct Ties {
    parent: Vec<usize>,
    classes: Vec<(usize, Origin)>,
}

impl Ties {
    fn fresh(&mut self, size: usize) -> usize {
        self.parent.push(self.parent.len());
        self.classes.push((size, Origin::Free));
        self.parent.len() - 1
    }

    fn root(&self, mut class: usize) -> usize {
        while self.parent[class] != class {
            class = self.parent[class];
        }
        class
    }

    fn bind(&mut self, class: usize, origin: Origin) {
        let root = self.root(class);
        let strength = |origin: Origin| match origin {
            Origin::Free => 0,
            Origin::Made(..) => 1,
            Origin::Pinned => 2,
        };
        if strength(origin) > strength(self.classes[root].1) {
            self.classes[root].1 = origin;
        }
    }

    fn pin(&mut self, term: Term) {
        if let Term::Class(class) = term {
            self.bind(class, Origin::Pinned);
        }
    }

    fn tie(&mut self, a: Term, b: Term) {
        match (a, b) {
            (Term::Class(a), Term::Class(b)) => {
                let (a, b) = (self.root(a), self.root(b));
                if self.classes[a].0 != self.classes[b].0 {
                    self.bind(a, Origin::Pinned);
                    self.bind(b, Origin::Pinned);
                } else if a != b {
                    let (first, second) = (a.min(b), a.max(b));
                    self.parent[second] = first;
                    let origin = self.classes[second].1;
                    self.bind(first, origin);
                }
            }
            (Term::Class(class), Term::Made(value, axis)) | (Term::Made(value, axis), Term::Class(class)) => {
                self.bind(class, Origin::Made(value, axis));
            }
            (Term::Class(class), Term::Fixed) | (Term::Fixed, Term::Class(class)) => self.bind(class, Origin::Pinned),
            (Term::Made(..) | Term::Fixed, Term::Made(..) | Term::Fixed) => {}
        }
    }

    /// Ties what an operator's operands have in common; the sizes of its output.
    fn through(&mut self, op: &Op, inputs: &[Vec<Term>], shapes: &[&[usize]], output: ValueId, rank: usize) -> Vec<Term> {
        let made = |axis: usize| Term::Made(output, axis);
        let first = inputs.first().cloned().unwrap_or_default();
        match op {
            Op::Softmax { .. } | Op::Lrn(_) | Op::Scan(_) => first,
            Op::Reduce(reduce) => reduced(&first, &reduce.axes, reduce.keep),
            Op::ArgReduce(arg) => reduced(&first, &[arg.axis], arg.keep),
            Op::Norm(_) => {
                for (parameter, shape) in inputs[1..].iter().zip(&shapes[1..]) {
                    for (axis, &term) in parameter.iter().enumerate() {
                        if shape[axis] == shapes[0][axis] { self.tie(first[axis], term) } else { self.pin(term) }
                    }
                }
                first
            }
            Op::ConvTranspose(conv) => {
                let weight = &inputs[1];
                self.tie(first[1], weight[0]);
                if conv.groups > 1 {
                    [first[1], weight[1]].into_iter().for_each(|term| self.pin(term));
                }
                let bias = inputs.get(2).and_then(|terms| terms.first());
                if let Some(bias) = bias {
                    if conv.groups == 1 { self.tie(*bias, weight[1]) } else { self.pin(*bias) }
                }
                let filters = if conv.groups == 1 { weight[1] } else { Term::Fixed };
                [first[0], filters].into_iter().chain((2..rank).map(made)).collect()
            }
            Op::BatchNorm { .. } => {
                for parameter in inputs[1..].iter().filter_map(|terms| terms.first()) {
                    self.tie(first[1], *parameter);
                }
                first
            }
            Op::Pool(_) => [first[0], first[1]].into_iter().chain((2..rank).map(made)).collect(),
            Op::Conv(conv) => {
                let weight = &inputs[1];
                if conv.groups == 1 {
                    self.tie(first[1], weight[1]);
                } else {
                    [first[1], weight[0], weight[1]].into_iter().for_each(|term| self.pin(term));
                }
                if let Some(bias) = inputs.get(2).and_then(|terms| terms.first()) {
                    self.tie(*bias, weight[0]);
                }
                [first[0], weight[0]].into_iter().chain((2..rank).map(made)).collect()
            }
            Op::MatMul => self.matmul(inputs, shapes, rank),
            Op::Map(map) => self.map(map, inputs, shapes),
            Op::View(View::Transpose(order)) => order.iter().map(|&axis| first[axis]).collect(),
            Op::View(View::Reshape(target)) => {
                let kept = kept_axes(shapes[0], target);
                for (axis, term) in first.iter().enumerate() {
                    if kept.as_ref().is_none_or(|kept| !kept.contains(&Some(axis))) {
                        self.pin(*term);
                    }
                }
                let kept = kept.unwrap_or_else(|| vec![None; target.len()]);
                kept.into_iter().map(|axis| axis.map_or(Term::Fixed, |axis| first[axis])).collect()
            }
            Op::View(View::Broadcast(target)) => {
                first.iter().for_each(|term| self.pin(*term));
                vec![Term::Fixed; target.len()]
            }
        }
    }

    fn matmul(&mut self, inputs: &[Vec<Term>], shapes: &[&[usize]], rank: usize) -> Vec<Term> {
        let (a, b) = (&inputs[0], &inputs[1]);
        let (m, n) = (a.len() - 2, b.len() - 1);
        self.tie(a[m + 1], b[n - 1]);
        let mut out = Vec::new();
        for axis in 0..rank - 2 {
            // Batch axes are aligned to the right.
            let at = |terms: &[Term]| (axis + terms.len()).checked_sub(rank);
            match (at(a), at(b)) {
                (Some(i), Some(j)) if shapes[0][i] == shapes[1][j] => {
                    self.tie(a[i], b[j]);
                    out.push(a[i]);
                }
                (Some(i), Some(j)) => {
                    let (one, other) = if shapes[0][i] == 1 { (a[i], b[j]) } else { (b[j], a[i]) };
                    self.pin(one);
                    out.push(other);
                }
                (Some(i), None) => out.push(a[i]),
                (None, Some(j)) => out.push(b[j]),
                (None, None) => out.push(Term::Fixed),
            }
        }
        out.extend([a[m], b[n]]);
        out
    }

    fn map(&mut self, map: &Map, inputs: &[Vec<Term>], shapes: &[&[usize]]) -> Vec<Term> {
        // A dimension is what the first operand that is read along it has.
        let mut dims: Vec<Option<Term>> = vec![None; map.dims.len()];
        let mut bent = Vec::new();
        for read in &map.reads {
            for (axis, index) in read.index.iter().enumerate() {
                let term = inputs[read.input][axis];
                match index {
                    Index::Dim(d) if shapes[read.input][axis] == map.dims[*d] => match dims[*d] {
                        None => dims[*d] = Some(term),
                        Some(known) => self.tie(known, term),
                    },
                    Index::Dim(_)
                    | Index::Constant(_)
                    | Index::Add(_, _)
                    | Index::Mul(_, _)
                    | Index::FloorDiv(_, _)
                    | Index::Mod(_, _)
                    | Index::Read(_) => {
                        self.pin(term);
                        index.dims(&mut |d| bent.push(d));
                    }
                }
            }
        }
        for d in bent {
            dims[d].into_iter().for_each(|term| self.pin(term));
        }
        dims.into_iter().map(|term| term.unwrap_or(Term::Fixed)).collect()
    }
}

/// The sizes that a reduction leaves.
fn reduced(of: &[Term], axes: &[usize], keep: bool) -> Vec<Term> {
    let left = |(axis, &term): (usize, &Term)| if axes.contains(&axis) { keep.then_some(Term::Fixed) } else { Some(term) };
    of.iter().enumerate().filter_map(left).collect()
}

/// Which axis of the operand each axis of a reshape's result is, when it only adds or drops axes of size 1.
pub fn kept_axes(from: &[usize], to: &[usize]) -> Option<Vec<Option<usize>>> {
    let mut left = (0..from.len()).filter(|&axis| from[axis] != 1);
    let axes = to.iter().map(|&size| match size {
        1 => Some(None),
        _ => left.next().filter(|&axis| from[axis] == size).map(Some),
    });
    let axes: Vec<Option<usize>> = axes.collect::<Option<_>>()?;
    left.next().is_none().then_some(axes)
}
