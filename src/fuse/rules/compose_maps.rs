//! A Map read by one other Map becomes part of it: accesses and bodies are composed.
//!
//! Where the reader's access at output coordinate d finds inner element f(d), every access g of the
//! inner Map becomes g ∘ f and its body is inlined. Composed only when nothing else reads the inner
//! Map and no arithmetic is done more often than before: the reader finds the inner value through
//! one access and has no more elements or reads each at most once, or the inner Map only moves. An inner Map that could be the
//! epilogue of a convolution (or another operator with loops) is left to it unless the reader uses
//! the same coordinates. Where the reader fills out-of-bounds elements with c, the inner Map must
//! be a permuting read of one operand with body f and f(c) = c: then the fill moves inside.

use crate::expr::index::Index;
use crate::expr::proof::keeps;
use crate::expr::simplify::simplify;
use crate::expr::{Constant, Expr, ExprBuilder, ExprId, Node};
use crate::fuse::driver::{Operand, Patch, Rule};
use crate::fuse::pattern::{as_map, is_heavy, is_preparation, producer, sole_consumer};
use crate::graph::op::{Access, Map, OutOfBounds};
use crate::graph::{Graph, NodeId, Op, ValueId};
use crate::shape::numel;

pub const RULE: Rule = Rule { name: "compose_maps", apply };

/// Beyond these a kernel's signature or text becomes unwieldy.
const MOST_READS: usize = 24;
const MOST_NODES: usize = 256;
const LONGEST_LABEL: usize = 40;

fn apply(graph: &Graph, node: NodeId) -> Option<Patch> {
    let outer = as_map(graph, node)?;
    let inputs = &graph.node(node).inputs;
    inputs.iter().enumerate().find_map(|(position, &input)| {
        let inner_id = producer(graph, input?)?;
        let inner = as_map(graph, inner_id)?;
        let allowed = sole_consumer(graph, input?) == Some(node)
            && !is_preparation(graph, inner_id)
            && inputs.iter().filter(|i| **i == input).count() == 1
            && worthwhile(graph, inner_id, inner, outer, position);
        let (map, values) = allowed.then(|| compose(inner, &graph.node(inner_id).inputs, outer, inputs, position))??;
        let inputs = values.into_iter().map(|v| Some(Operand::Value(v))).collect();
        Some(Patch { added: Vec::new(), op: Op::Map(map), inputs, absorbed: vec![inner_id] })
    })
}

/// Whether joining saves a launch and repeats no arithmetic.
fn worthwhile(graph: &Graph, inner_id: NodeId, inner: &Map, outer: &Map, position: usize) -> bool {
    let accesses: Vec<&Access> = outer.reads.iter().filter(|a| a.input == position).collect();
    let moves = matches!(inner.body.nodes(), [(Node::Read(_), _)]);
    let once = accesses.iter().all(|a| *a == accesses[0])
        && (numel(&outer.dims) <= numel(&inner.dims) || injective(accesses[0], &outer.dims));
    let aligned = accesses.iter().all(|a| a.is_identity(outer.dims.len())) && outer.dims == inner.dims;
    let after_heavy =
        graph.node(inner_id).inputs.iter().flatten().any(|&v| {
            producer(graph, v).is_some_and(|n| is_heavy(&graph.node(n).op) && sole_consumer(graph, v) == Some(inner_id))
        });
    (moves || once) && (aligned || !after_heavy)
}

/// Whether different output coordinates read different elements: each coordinate of several values
/// is found in an axis of its own, with a factor and an offset at most.
fn injective(access: &Access, dims: &[usize]) -> bool {
    let mut found = vec![false; dims.len()];
    for index in &access.index {
        if let Some((coefficients, _)) = index.affine(dims) {
            let mut used = (0..dims.len()).filter(|&d| coefficients[d] != 0);
            if let (Some(d), None) = (used.next(), used.next()) {
                found[d] = true;
            }
        }
    }
    found.iter().zip(dims).all(|(found, &size)| *found || size <= 1)
}

/// The joined Map and its operands; `None` where a fill cannot move inside, an index is computed by
/// the inner Map, or the result would be unwieldy.
fn compose(
    inner: &Map,
    inner_inputs: &[Option<ValueId>],
    outer: &Map,
    outer_inputs: &[Option<ValueId>],
    position: usize,
) -> Option<(Map, Vec<ValueId>)> {
    let mut joined = Joined { dims: &outer.dims, reads: Vec::new(), values: Vec::new() };
    let mut b = ExprBuilder::new();
    let mut lanes: Vec<ExprId> = Vec::new();
    let types = read_types(outer);
    for (k, access) in outer.reads.iter().enumerate() {
        if access.index.iter().any(|index| reads_through(index, |k| outer.reads[k].input == position)) {
            return None;
        }
        if access.input != position {
            let index = access.index.iter().map(|i| joined.outer_index(i, outer, outer_inputs)).collect::<Option<_>>()?;
            let at = joined.add(outer_inputs[access.input]?, index, access.oob);
            // A read that only other accesses use has no lane.
            lanes.push(match types[k] {
                Some(dtype) => b.read(at, dtype),
                None => ExprId(0),
            });
            continue;
        }
        let coordinates: Vec<Index> =
            access.index.iter().map(|i| joined.outer_index(i, outer, outer_inputs)).collect::<Option<_>>()?;
        let fill = match access.oob {
            OutOfBounds::Fill(c) if !within(&coordinates, &inner.dims, joined.dims) => Some(fill_inside(inner, c)?),
            OutOfBounds::Fill(_) | OutOfBounds::InBounds => None,
        };
        lanes.push(joined.inline(inner, inner_inputs, &coordinates, fill, &mut b)?);
    }
    let root = b.inline(&outer.body, &lanes);
    let body = simplify(&b.finish(root));
    let label = match format!("{}_{}", inner.label, outer.label) {
        long if long.len() > LONGEST_LABEL => "map".to_owned(),
        label => label,
    };
    let (map, values) = joined.finish(label, body);
    (map.reads.len() <= MOST_READS && map.body.nodes().len() <= MOST_NODES).then_some((map, values))
}

/// The reads of the joined Map so far; `Access::input` counts in `values`.
struct Joined<'a> {
    dims: &'a [usize],
    reads: Vec<Access>,
    values: Vec<ValueId>,
}

impl Joined<'_> {
    /// The number of a read, shared by equal ones.
    fn add(&mut self, value: ValueId, index: Vec<Index>, oob: OutOfBounds) -> u32 {
        let input = self.values.iter().position(|v| *v == value).unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        });
        let access = Access { input, index: index.iter().map(|i| i.simplify(self.dims)).collect(), oob };
        let at = self.reads.iter().position(|a| *a == access).unwrap_or_else(|| {
            self.reads.push(access);
            self.reads.len() - 1
        });
        at as u32
    }

    /// An index of the outer Map, its index reads renumbered.
    fn outer_index(&mut self, index: &Index, outer: &Map, inputs: &[Option<ValueId>]) -> Option<Index> {
        let mut numbers = Vec::with_capacity(outer.reads.len());
        for (k, access) in outer.reads.iter().enumerate() {
            let needed = reads_through(index, |read| read == k);
            numbers.push(if needed {
                let inside: Vec<Index> =
                    access.index.iter().map(|i| self.outer_index(i, outer, inputs)).collect::<Option<_>>()?;
                self.add(inputs[access.input]?, inside, access.oob) as usize
            } else {
                usize::MAX
            });
        }
        Some(index.substitute(&Index::Dim, &|k| Index::Read(numbers[k])))
    }

    /// The inner Map's value at `coordinates`, as an expression of the joined Map.
    fn inline(
        &mut self,
        inner: &Map,
        inputs: &[Option<ValueId>],
        coordinates: &[Index],
        fill: Option<OutOfBounds>,
        b: &mut ExprBuilder,
    ) -> Option<ExprId> {
        let mut numbers: Vec<u32> = Vec::with_capacity(inner.reads.len());
        for access in &inner.reads {
            // An index read stands before the accesses that use it, as `verify` demands.
            let index: Vec<Index> = access
                .index
                .iter()
                .map(|i| i.substitute(&|d| coordinates[d].clone(), &|k| Index::Read(numbers[k] as usize)))
                .collect();
            numbers.push(self.add(inputs[access.input]?, index, fill.unwrap_or(access.oob)));
        }
        let mut lanes: Vec<ExprId> = Vec::with_capacity(inner.body.nodes().len());
        for &(node, dtype) in inner.body.nodes() {
            let lane = match node {
                Node::Read(k) => b.read(numbers[k as usize], dtype),
                Node::Coordinate(d) => b.index(&coordinates[d as usize], dtype)?,
                Node::Constant(_) | Node::Unary(..) | Node::Binary(..) | Node::Compare(..) | Node::Select(..) | Node::Cast(_) => {
                    b.node(node.with_operands(|id| lanes[id.0 as usize]), dtype)
                }
            };
            lanes.push(lane);
        }
        lanes.pop()
    }

    /// The Map with the reads and operands that are still used.
    fn finish(self, label: String, body: Expr) -> (Map, Vec<ValueId>) {
        let used_by_body = |k: usize| body.nodes().iter().any(|(node, _)| *node == Node::Read(k as u32));
        let mut keep: Vec<bool> = (0..self.reads.len()).map(used_by_body).collect();
        for k in (0..self.reads.len()).rev() {
            if keep[k] {
                for index in &self.reads[k].index {
                    for (read, kept) in keep.iter_mut().enumerate() {
                        *kept |= reads_through(index, |r| r == read);
                    }
                }
            }
        }
        let number = |k: usize| keep[..k].iter().filter(|kept| **kept).count();
        let mut values: Vec<ValueId> = Vec::new();
        let mut reads = Vec::new();
        for (access, _) in self.reads.iter().zip(&keep).filter(|(_, kept)| **kept) {
            let value = self.values[access.input];
            let input = values.iter().position(|v| *v == value).unwrap_or_else(|| {
                values.push(value);
                values.len() - 1
            });
            let index = access.index.iter().map(|i| i.substitute(&Index::Dim, &|k| Index::Read(number(k)))).collect();
            reads.push(Access { input, index, oob: access.oob });
        }
        let mut b = ExprBuilder::new();
        let mut lanes: Vec<ExprId> = Vec::new();
        for &(node, dtype) in body.nodes() {
            lanes.push(match node {
                Node::Read(k) => b.read(number(k as usize) as u32, dtype),
                Node::Coordinate(_)
                | Node::Constant(_)
                | Node::Unary(..)
                | Node::Binary(..)
                | Node::Compare(..)
                | Node::Select(..)
                | Node::Cast(_) => b.node(node.with_operands(|id| lanes[id.0 as usize]), dtype),
            });
        }
        let root = lanes[lanes.len() - 1];
        let dims = crate::shape::Shape::from_slice(self.dims);
        (Map { label, dims, reads, body: b.finish(root) }, values)
    }
}

/// The type at which the body uses each read, if it does.
fn read_types(map: &Map) -> Vec<Option<crate::dtype::DType>> {
    let of = |k: usize| map.body.nodes().iter().find(|(node, _)| *node == Node::Read(k as u32)).map(|(_, dtype)| *dtype);
    (0..map.reads.len()).map(of).collect()
}

/// Whether an index uses an index read that `which` accepts.
fn reads_through(index: &Index, which: impl Fn(usize) -> bool + Copy) -> bool {
    match index {
        Index::Read(k) => which(*k),
        Index::Dim(_) | Index::Constant(_) => false,
        Index::Add(a, b) => reads_through(a, which) || reads_through(b, which),
        Index::Mul(a, _) | Index::FloorDiv(a, _) | Index::Mod(a, _) => reads_through(a, which),
    }
}

/// Whether coordinates computed over `dims` stay inside `shape`.
fn within(coordinates: &[Index], shape: &[usize], dims: &[usize]) -> bool {
    let inside = |(index, &size): (&Index, &usize)| index.range(dims).is_some_and(|(low, high)| low >= 0 && high < size as i128);
    coordinates.iter().zip(shape).all(inside)
}

/// The fill of the inner Map's own read that gives `c` wherever its coordinates leave its dims.
fn fill_inside(inner: &Map, c: f64) -> Option<OutOfBounds> {
    let [access] = &inner.reads[..] else { return None };
    let mut seen = vec![false; inner.dims.len()];
    for index in &access.index {
        let Index::Dim(d) = index else { return None };
        if std::mem::replace(&mut seen[*d], true) {
            return None;
        }
    }
    let permutes = seen.iter().all(|s| *s) && access.oob == OutOfBounds::InBounds;
    let dtype = read_types(inner)[0]?;
    let fill = Constant::float(c);
    (permutes && dtype.is_float() && keeps(&inner.body, 0, fill)).then_some(OutOfBounds::Fill(c))
}
