//! Clusters against a sketch, before they are bound: each of its kernels is one cluster, and they stand in its order.

use std::collections::BTreeMap;

use super::{Constraint, listed, node_name};
use crate::diag::{Diagnostic, Result};
use crate::fuse::Why;
use crate::fuse::why::Stop;
use crate::graph::{Cluster, Graph, NodeId, Op, ValueId};
use crate::select::views::Resolved;

impl Constraint<'_> {
    /// Puts clusters into the order of the sketch.
    ///
    /// Errors: U012 where a kernel of it is no cluster, or stands before one whose output it reads. Clusters that it does not name
    /// go last: either no template serves them, or [`Constraint::check`] tells of them.
    pub fn arrange(&self, resolved: &mut Resolved, why: &Why) -> Result<()> {
        let mut pieces: BTreeMap<usize, Vec<&Cluster>> = BTreeMap::new();
        for cluster in &resolved.clusters {
            if let Some(kernel) = self.entry_of(&covers(&resolved.graph, cluster)) {
                pieces.entry(kernel).or_default().push(cluster);
            }
        }
        for (kernel, entry) in self.sketch.kernels.iter().enumerate() {
            let of_entry = pieces.get(&kernel).map_or(&[][..], Vec::as_slice);
            let computed: Vec<NodeId> =
                of_entry.iter().flat_map(|cluster| listed(self.imported, &covers(&resolved.graph, cluster))).collect();
            for name in &entry.nodes {
                let node = self.imported.find(&name.value).and_then(|value| crate::fuse::pattern::producer(self.imported, value));
                if let Some(node) = node.filter(|node| !computed.contains(node)) {
                    let error = self.sketch.refused(name.span, self.not_computed(node));
                    return Err(Box::new(error.help("take it out of the sketch")));
                }
            }
            if let [first, second, ..] = of_entry {
                return Err(self.not_fused(resolved, why, kernel, (first, second), of_entry));
            }
        }
        let position = |cluster: &Cluster| self.entry_of(&covers(&resolved.graph, cluster)).unwrap_or(usize::MAX);
        let mut clusters = resolved.clusters.clone();
        clusters.sort_by_key(position);
        self.operands_first(resolved, &clusters)?;
        resolved.clusters = clusters;
        Ok(())
    }

    /// Why no kernel computes a node of the model.
    fn not_computed(&self, node: NodeId) -> String {
        let name = node_name(self.imported, node);
        match self.imported.node(node).op {
            _ if self.imported.is_prepared(self.imported.node(node).outputs[0]) => {
                format!("node `{name}` depends on weights alone: it is computed once, before any launch")
            }
            Op::View(_) => format!("node `{name}` is a view that strides express: no kernel computes it"),
            _ => format!("no kernel computes node `{name}`"),
        }
    }

    fn not_fused(
        &self,
        resolved: &Resolved,
        why: &Why,
        kernel: usize,
        (first, second): (&Cluster, &Cluster),
        pieces: &[&Cluster],
    ) -> Box<Diagnostic> {
        let graph = &resolved.graph;
        let name = |node: NodeId| crate::fuse::why::name(graph, node);
        let stop = why.stops.get(&first.anchor);
        let reason = stop.map_or_else(|| "a view is copied by a kernel of its own".to_owned(), |stop| stop.describe(graph));
        let last = first.epilogues.last().copied().unwrap_or(first.anchor);
        let message =
            format!("no rule fuses {} and {} of {}: {reason}", name(last), name(second.anchor), self.sketch.called(kernel));
        let each: Vec<String> = pieces.iter().map(|cluster| format!("[{}]", self.names(graph, cluster))).collect();
        let help = match stop {
            Some(Stop::Level) => "sketch the model with --fuse basic".to_owned(),
            Some(_) | None => format!("give each a kernel: nodes {}", each.join(", ")),
        };
        Box::new(self.sketch.refused(self.sketch.kernels[kernel].span, message).help(help))
    }

    fn names(&self, graph: &Graph, cluster: &Cluster) -> String {
        let nodes = listed(self.imported, &covers(graph, cluster));
        nodes.into_iter().map(|node| node_name(self.imported, node)).collect::<Vec<_>>().join(", ")
    }

    /// Errors where a cluster reads what a later one makes.
    fn operands_first(&self, resolved: &Resolved, clusters: &[Cluster]) -> Result<()> {
        let graph = &resolved.graph;
        let made: BTreeMap<ValueId, usize> = clusters.iter().enumerate().map(|(i, cluster)| (cluster.output(graph), i)).collect();
        for (position, reader) in clusters.iter().enumerate() {
            for value in reader.inputs(graph) {
                let Some(&maker) = made.get(&resolved.place(value).0) else { continue };
                let entries = self.entry_of(&covers(graph, reader)).zip(self.entry_of(&covers(graph, &clusters[maker])));
                let Some((later, earlier)) = entries.filter(|_| maker > position) else { continue };
                let (sketch, place) = (self.sketch, self.sketch.kernels[later].span);
                let line = sketch.line(sketch.kernels[earlier].span);
                let message = format!(
                    "{} stands before {} (line {line}), whose output it reads",
                    sketch.called(later),
                    sketch.called(earlier)
                );
                let help = format!("put it behind {}", sketch.called(earlier));
                return Err(Box::new(sketch.refused(place, message).help(help)));
            }
        }
        Ok(())
    }
}

/// Nodes of the imported graph that a cluster covers.
pub fn covers(graph: &Graph, cluster: &Cluster) -> Vec<NodeId> {
    cluster.nodes().into_iter().flat_map(|node| graph.node(node).covers.clone()).collect()
}
