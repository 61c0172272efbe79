//! The plan: views resolved, every cluster bound, kernels shared by key, values given storage.
//!
//! Binding is handed in as a function, so that planning can be tested without templates. A fused
//! cluster that no template can bind is taken apart from its end, one epilogue at a time; what
//! cannot be bound alone is reported and left out, and the rest is planned as if it were there: its
//! output has storage that nothing writes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::memory::{Lifetime, assign};
use super::plan::{Launch, Plan, Slot};
use super::views::{Resolved, resolve};
use crate::diag::{Class, Diagnostic, Result};
use crate::graph::{Cluster, Graph, NodeId, Producer, ValueId};
use crate::shape::numel;
use crate::template::{Blocks, Bound, BoundKernel, Layout, OperandAccess};

/// Binds a cluster, given how the values that it reads and writes lie in their storage.
pub type Bind<'a> = &'a dyn Fn(&Graph, &Cluster, &dyn Fn(ValueId) -> Layout) -> Result<Bound>;

/// A plan, and what is not in it.
#[derive(Debug)]
pub struct Planned {
    pub plan: Plan,
    /// Clusters that no template serves, with the reason, in order.
    pub missing: Vec<(Cluster, Box<Diagnostic>)>,
    /// What was taken off clusters that no template could bind whole, in order.
    pub apart: Vec<Apart>,
    /// What each launch's schedule chose.
    pub blocks: Vec<Blocks>,
}

/// A Map that became a kernel of its own, because the cluster that ends with it cannot be bound.
#[derive(Debug)]
pub struct Apart {
    /// The cluster's anchor.
    pub anchor: NodeId,
    pub node: NodeId,
    pub reason: Box<Diagnostic>,
}

/// Plans a rewritten graph and its clusters. `name` becomes the suite's name.
///
/// Fails when the graph has a cycle, and when a template is wrong.
pub fn build(name: &str, imported: Arc<Graph>, graph: &Graph, clusters: Vec<Cluster>, bind: Bind) -> Result<Planned> {
    build_arranged(name, imported, graph, clusters, bind, &|_| Ok(()))
}

/// Puts what will be launched into an order of its own.
pub type Arrange<'a> = &'a dyn Fn(&mut Resolved) -> Result<()>;

/// [`build`] in another order of launches, in which operands still come first.
pub fn build_arranged(
    name: &str,
    imported: Arc<Graph>,
    graph: &Graph,
    clusters: Vec<Cluster>,
    bind: Bind,
    arrange: Arrange,
) -> Result<Planned> {
    let mut resolved = resolve(graph, clusters)?;
    arrange(&mut resolved)?;
    let AllBound { bound, missing, apart } = bind_all(&resolved, bind)?;
    let storage = Storage::of(&resolved, &bound, &missing);
    let mut kernels: Vec<Arc<BoundKernel>> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut launches = Vec::new();
    let mut chosen = Vec::new();
    for (cluster, Bound { kernel, values, blocks }) in bound {
        chosen.push(blocks);
        let key = format!("{}__{}", kernel.template, kernel.key);
        let number = *numbers.entry(key).or_insert_with(|| {
            kernels.push(Arc::new(kernel));
            kernels.len() - 1
        });
        let operands = values.into_iter().map(|v| (storage.slot(&resolved, v), v)).collect();
        let covers = covers(&resolved.graph, &cluster);
        let layer = layer(&resolved.graph, cluster.anchor);
        launches.push(Launch { kernel: number, operands, cluster, covers, layer });
    }
    let layouts = storage.layouts(&resolved);
    let used = launches.iter().flat_map(|launch: &Launch| launch.operands.iter().map(|&(_, value)| value));
    let used: Vec<ValueId> = used.chain(resolved.graph.outputs().iter().copied()).collect();
    let preparation = preparation(&resolved.graph, &used);
    let plan = Plan {
        name: name.to_owned(),
        imported,
        graph: Arc::new(resolved.graph),
        kernels,
        launches,
        buffers: storage.buffers,
        layouts,
        preparation,
    };
    Ok(Planned { plan, missing, apart, blocks: chosen })
}

type Missing = Vec<(Cluster, Box<Diagnostic>)>;

/// What binding gave.
struct AllBound {
    bound: Vec<(Cluster, Bound)>,
    missing: Missing,
    apart: Vec<Apart>,
}

/// Binds every cluster, taking apart those that cannot be bound whole: a Map that is taken off is
/// bound alone, behind what it was taken from.
///
/// Only what is not supported can be left out of a plan. A template that is wrong (an expression that
/// fails, an argument without a value) would leave a hole that nobody asked for: it ends planning.
fn bind_all(resolved: &Resolved, bind: Bind) -> Result<AllBound> {
    let mut all = AllBound { bound: Vec::new(), missing: Vec::new(), apart: Vec::new() };
    let mut faults = Vec::new();
    let layout = |value: ValueId| resolved.place(value).1;
    for whole in &resolved.clusters {
        let mut open = vec![whole.clone()];
        while let Some(mut cluster) = open.pop() {
            match bind(&resolved.graph, &cluster, &layout) {
                Ok(result) => all.bound.push((cluster, result)),
                Err(diagnostic) if diagnostic.class() != Class::Unsupported => faults.push(diagnostic),
                Err(diagnostic) => match cluster.epilogues.pop() {
                    Some(last) => {
                        all.apart.push(Apart { anchor: cluster.anchor, node: last, reason: diagnostic });
                        open.extend([Cluster::of(last), cluster]);
                    }
                    None => all.missing.push((cluster, diagnostic)),
                },
            }
        }
    }
    let mut faults = faults.into_iter();
    let Some(mut first) = faults.next() else { return Ok(all) };
    for other in faults {
        // One slip of a template shows at every node that it serves.
        if other.message != first.message && !first.notes.contains(&other.message) {
            first.notes.push(other.message);
        }
    }
    Err(first)
}

/// Where values live.
struct Storage {
    buffers: Vec<super::plan::Buffer>,
    /// Values that launches write, with their buffers.
    places: BTreeMap<ValueId, usize>,
    /// Weights and prepared values that launches read or the model returns.
    prepared: BTreeSet<ValueId>,
}

impl Storage {
    fn of(resolved: &Resolved, bound: &[(Cluster, Bound)], missing: &Missing) -> Storage {
        let graph = &resolved.graph;
        let mut lives: BTreeMap<ValueId, (usize, usize)> = BTreeMap::new();
        let mut prepared = BTreeSet::new();
        let mut touch = |value: ValueId, launch: usize| {
            let root = resolved.place(value).0;
            match graph.value(root).producer {
                Producer::Input(_) => {}
                _ if graph.is_prepared(root) => drop(prepared.insert(root)),
                Producer::Weight(_) | Producer::Node { .. } => {
                    let life = lives.entry(root).or_insert((launch, launch));
                    *life = (life.0.min(launch), life.1.max(launch));
                }
            }
        };
        for (cluster, _) in missing {
            touch(cluster.output(graph), 0);
        }
        for (position, (_, Bound { kernel, values, blocks: _ })) in bound.iter().enumerate() {
            let outside = kernel.operands.iter().filter(|o| o.access != OperandAccess::Scratch);
            for (_, &value) in outside.zip(values) {
                touch(value, position);
            }
        }
        for &output in graph.outputs() {
            touch(output, bound.len());
        }
        let returned: BTreeSet<ValueId> = graph.outputs().iter().map(|&v| resolved.place(v).0).collect();
        let values: Vec<Lifetime> = lives
            .iter()
            .map(|(&value, &(first, last))| Lifetime {
                dtype: graph.dtype(value),
                len: numel(graph.shape(value)).expect("invariant: sizes are checked at import"),
                first,
                last,
                returned: returned.contains(&value),
            })
            .collect();
        let (buffers, places) = assign(&values);
        Storage { buffers, places: lives.into_keys().zip(places).collect(), prepared }
    }

    fn slot(&self, resolved: &Resolved, value: ValueId) -> Slot {
        let root = resolved.place(value).0;
        match (self.places.get(&root), &resolved.graph.value(root).producer) {
            (Some(&buffer), _) => Slot::Buffer(buffer),
            (None, Producer::Input(position)) => Slot::Input(*position),
            (None, Producer::Weight(_) | Producer::Node { .. }) => Slot::Weight(root),
        }
    }

    /// Every value with storage and every view of one, by value.
    fn layouts(&self, resolved: &Resolved) -> Vec<(ValueId, Slot, Layout)> {
        let stored = self.places.keys().chain(&self.prepared).chain(resolved.graph.inputs());
        let stored: BTreeSet<ValueId> = stored.copied().collect();
        let views = resolved.views.iter().filter(|(_, (root, _))| stored.contains(root)).map(|(&view, _)| view);
        let all: BTreeSet<ValueId> = stored.iter().copied().chain(views).collect();
        all.into_iter().map(|v| (v, self.slot(resolved, v), resolved.place(v).1)).collect()
    }
}

/// Nodes of the imported graph that a cluster computes, operands first.
fn covers(graph: &Graph, cluster: &Cluster) -> Vec<NodeId> {
    let mut covers = Vec::new();
    for node in cluster.nodes() {
        for &cover in &graph.node(node).covers {
            if !covers.contains(&cover) {
                covers.push(cover);
            }
        }
    }
    covers
}

/// The name of a node's first source, or of its operator.
fn layer(graph: &Graph, node: NodeId) -> String {
    let node = graph.node(node);
    node.sources.first().map_or_else(|| node.op.name().to_owned(), |source| source.node.clone())
}

/// The nodes that compute what launches and the model's outputs need from weights: operands first,
/// those for an earlier launch before those for a later one.
fn preparation(graph: &Graph, uses: &[ValueId]) -> Vec<NodeId> {
    let order = graph.topological().expect("invariant: views were resolved in topological order");
    let rank: HashMap<NodeId, usize> = order.iter().enumerate().map(|(i, &node)| (node, i)).collect();
    let mut done: BTreeSet<NodeId> = BTreeSet::new();
    let mut preparation = Vec::new();
    for &value in uses.iter().filter(|&&v| graph.is_prepared(v)) {
        let (mut open, first) = (vec![value], preparation.len());
        while let Some(value) = open.pop() {
            if let Producer::Node { node, .. } = graph.value(value).producer
                && done.insert(node)
            {
                preparation.push(node);
                open.extend(graph.node(node).inputs.iter().flatten());
            }
        }
        preparation[first..].sort_by_key(|node| rank[node]);
    }
    preparation
}
