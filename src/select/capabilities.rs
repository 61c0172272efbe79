//! What the templates of a library can take, for fusion.

use crate::fuse::Capabilities;
use crate::graph::{Graph, NodeId};
use crate::target::Target;
use crate::template::{Library, serving};

/// The answers of one library on one target.
pub struct Served<'a> {
    pub library: &'a Library,
    pub target: &'a Target,
}

impl Capabilities for Served<'_> {
    /// Of the template that would serve the node alone; no template takes nothing (the plan reports
    /// it when it binds the node).
    fn takes_epilogues(&self, graph: &Graph, anchor: NodeId) -> bool {
        serving(graph, anchor, self.library, self.target).is_ok_and(|template| template.takes_epilogues())
    }
}
