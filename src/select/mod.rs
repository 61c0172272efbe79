//! From clusters to a plan: choose a template and schedule for each, resolve views into layouts,
//! give values storage, deduplicate kernels.
//!
//! [`plan()`] is the stage, [`plan_sketched`] the same as a sketch says (`sketch`); `text`, `json` and `dot` show its result, `why` its reasons, and `map` says which templates
//! compute each node of the model's file.

pub mod build;
mod capabilities;
pub mod dot;
pub mod json;
pub mod layout;
pub mod map;
pub mod memory;
pub mod plan;
pub mod sketch;
pub mod text;
pub mod views;
pub mod why;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::diag::Result;
use crate::fuse::Why;
use crate::graph::{Cluster, Graph};
use crate::target::Target;
use crate::template::{BindOptions, Library, bind};

pub use build::{Apart, Planned};
pub use capabilities::Served;
pub use sketch::{Basis, Constraint, Sketch};

/// Plans a model. `imported` is the graph as read, `graph` the rewritten one, `clusters` those of
/// `graph`; `name` becomes the suite's name.
///
/// A cluster that no template serves is not fatal: [`Planned::missing`] says which and why, and the
/// plan covers the rest. Fails when the graph has a cycle, and when a template is wrong.
pub fn plan(
    name: &str,
    imported: Arc<Graph>,
    graph: &Graph,
    clusters: Vec<Cluster>,
    library: &Library,
    target: &Target,
    options: BindOptions,
) -> Result<Planned> {
    build::build(name, imported, graph, clusters, &|graph, cluster, layout_of| {
        bind(graph, cluster, layout_of, library, target, options)
    })
}

/// [`plan()`] with the kernels, blocks and order of a sketch; `why` tells what fusion did within its groups.
///
/// Fails with U011 and U012 where the sketch cannot be followed, too.
#[expect(clippy::too_many_arguments, reason = "those of `plan`, and the sketch with what fusion made of it")]
pub fn plan_sketched(
    name: &str,
    imported: Arc<Graph>,
    graph: &Graph,
    clusters: Vec<Cluster>,
    library: &Library,
    target: &'static Target,
    options: BindOptions,
    (constraint, why): (&Constraint, &Why),
) -> Result<Planned> {
    let bind: build::Bind = &|graph, cluster, layout_of| constraint.bind(graph, cluster, layout_of, library, target, options);
    let arrange: build::Arrange = &|resolved| constraint.arrange(resolved, why);
    let planned = build::build_arranged(name, imported, graph, clusters, bind, arrange)?;
    constraint.check(&planned)?;
    Ok(planned)
}
