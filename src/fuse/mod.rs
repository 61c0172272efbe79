//! Rewrite rules on the graph, and the choice of which nodes one kernel computes.
//!
//! [`rewrite`] runs the rules of a [`Level`] to a fixed point; [`cluster()`] then groups the nodes
//! that are left. Both work on operators, shapes and accesses; of templates they know only what
//! [`Capabilities`] says, and nothing of how a kernel is written or run.

pub mod capabilities;
pub mod cluster;
pub mod driver;
pub mod groups;
pub mod pattern;
pub mod rules;
pub mod why;

use crate::diag::{Diagnostic, Result, codes};
use crate::graph::Graph;

pub use capabilities::Capabilities;
pub use cluster::{cluster, cluster_why};
pub use groups::Groups;
pub use why::Why;

/// How much is fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Level {
    /// Each source operator has the kernels of its own templates.
    None,
    /// Normalisations fold into convolutions, chains of Maps join, and Maps after an operator
    /// become its epilogue.
    #[default]
    Basic,
}

impl Level {
    /// Reads `none` or `basic`; `full` is refused as not offered yet.
    pub fn from_name(name: &str) -> Result<Level> {
        match name {
            "none" => Ok(Level::None),
            "basic" => Ok(Level::Basic),
            "full" => Err(Box::new(
                Diagnostic::new(&codes::NOT_OFFERED, "fusion level `full` is not offered yet").help("use `--fuse basic`"),
            )),
            _ => Err(Box::new(
                Diagnostic::new(&codes::USAGE, format!("unknown fusion level `{name}`")).help("use `none` or `basic`"),
            )),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Level::None => "none",
            Level::Basic => "basic",
        }
    }
}

/// The graph after the rules of a level: the same values, computed by fewer nodes. Values that
/// survive keep their ids and names. Fails with an Internal diagnostic that names the rule when a
/// rule gives a patch that does not fit.
pub fn rewrite(graph: &Graph, level: Level) -> Result<Graph> {
    rewrite_why(graph, level, &Groups::default(), &mut Why::default())
}

/// [`rewrite`], which joins nodes of one group alone and records what it applied.
pub fn rewrite_why(graph: &Graph, level: Level, groups: &Groups, why: &mut Why) -> Result<Graph> {
    let mut rewritten = graph.clone();
    match level {
        Level::None => {}
        Level::Basic => driver::run(&mut rewritten, rules::BASIC, groups, &mut why.applied)?,
    }
    Ok(rewritten)
}

#[cfg(test)]
mod tests;
