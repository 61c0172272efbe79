//! An algorithm sketch as a constraint on the plan: which nodes are computed together, in which order, with which blocks.
//!
//! A sketch is a Markdown file whose YAML head is read ([`read`]); `emit::sketch` writes it. Its kernels become groups that fusion
//! may not leave ([`Constraint::groups`]); what came of them is compared with what it asks for before anything is bound
//! ([`arrange`]), and each kernel with its own entry while it is bound ([`blocks`]) and when the plan is there
//! ([`Constraint::check`]). What cannot be done is refused with the line: a sketch is obeyed whole or not at all.
//!
//! Does not catch: blocks that are slow. Whether a kernel with other blocks is right is for verification to say.

mod arrange;
mod blocks;
pub mod read;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diag::{Diagnostic, Result, codes};
use crate::fuse::Groups;
use crate::graph::{Graph, NodeId, Op, Producer};
use crate::source::{SourceFile, Span};
use crate::template::{Blocks, BoundKernel};

use super::build::Planned;

/// What `format` says in a sketch of ours.
pub const FORMAT: &str = "decompose-sketch";

/// Grows with every change that an old reader would misunderstand.
pub const VERSION: i64 = 1;

/// What a plan was made of, by the names of the sketch's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    pub model: String,
    pub target: String,
    pub precision: String,
    /// `as-is`, or what floats were converted to.
    pub dtype: String,
    pub fuse: String,
}

/// A word of the head and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    pub value: T,
    pub span: Span,
}

/// A head that was read.
#[derive(Clone, Debug)]
pub struct Sketch {
    pub file: Arc<SourceFile>,
    pub basis: Vec<(&'static str, At<String>)>,
    /// In the order of launches.
    pub kernels: Vec<Entry>,
    /// Of the list of kernels.
    pub span: Span,
}

/// One kernel of a head.
#[derive(Clone, Debug)]
pub struct Entry {
    pub span: Span,
    /// What messages call it.
    pub name: Option<String>,
    pub template: Option<At<String>>,
    pub nodes: Vec<At<String>>,
    /// What is not named is the schedule's to choose.
    pub blocks: Vec<(At<String>, At<i64>)>,
    pub grid: Option<At<Vec<i64>>>,
    pub work: Option<At<i64>>,
}

impl Sketch {
    /// U011: the sketch is of something else.
    fn other(&self, span: Span, message: String) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&codes::SKETCH_OTHER, message).at(&self.file, span))
    }

    /// U012: what it asks for cannot be done.
    fn refused(&self, span: Span, message: String) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&codes::SKETCH_REFUSED, message).at(&self.file, span))
    }

    fn line(&self, span: Span) -> usize {
        self.file.position(span.start).line
    }

    /// What an entry is called in messages.
    fn called(&self, kernel: usize) -> String {
        let entry = &self.kernels[kernel];
        let first = || entry.nodes.first().map_or("", |node| node.value.as_str());
        format!("`{}`", entry.name.as_deref().unwrap_or_else(first))
    }
}

/// A node's name in sketches: that of its first output, which no other value of the graph has.
pub fn node_name(graph: &Graph, node: NodeId) -> &str {
    &graph.value(graph.node(node).outputs[0]).name
}

/// The nodes of the imported graph by which a sketch names a kernel that covers some: those that compute, or the view that it
/// copies.
pub fn listed(imported: &Graph, covers: &[NodeId]) -> Vec<NodeId> {
    let computing: Vec<NodeId> = covers.iter().copied().filter(|&node| !matches!(imported.node(node).op, Op::View(_))).collect();
    if computing.is_empty() { covers.last().copied().into_iter().collect() } else { computing }
}

/// The tiles of a kernel's last launch.
pub fn work(kernel: &BoundKernel) -> i64 {
    kernel.launches.last().map_or(0, |launch| {
        let looped = launch.locals.iter().find(|(name, _)| name == "WORK").map(|(_, work)| work.value);
        looped.unwrap_or(launch.grid[0].value)
    })
}

/// What the schedule alone would have given a kernel.
#[derive(Clone, Debug)]
struct Own {
    grid: Vec<i64>,
    work: i64,
}

fn grid(kernel: &BoundKernel) -> Vec<i64> {
    kernel.launches.last().map_or_else(Vec::new, |launch| launch.grid.iter().map(|size| size.value).collect())
}

/// A sketch against the graph that it constrains.
pub struct Constraint<'s> {
    sketch: &'s Sketch,
    imported: &'s Graph,
    /// Entries by node of the imported graph.
    of: BTreeMap<NodeId, usize>,
    /// By entry; filled while kernels are bound.
    own: RefCell<BTreeMap<usize, Own>>,
}

impl<'s> Constraint<'s> {
    /// Errors: U011 where the sketch is of another run, or names a node that the model lacks or one twice.
    pub fn new(sketch: &'s Sketch, imported: &'s Graph, basis: &Basis) -> Result<Constraint<'s>> {
        let is = [
            ("model", &basis.model),
            ("target", &basis.target),
            ("precision", &basis.precision),
            ("dtype", &basis.dtype),
            ("fuse", &basis.fuse),
        ];
        for ((key, here), (_, said)) in is.into_iter().zip(&sketch.basis) {
            if said.value != *here {
                let help = match key {
                    "model" => format!("sketch this model: --emit sketch; or name the one that is meant, {}", said.value),
                    _ => format!("run it with --{key} {}, or sketch it again with --{key} {here}", said.value),
                };
                let message = format!("the sketch is of {key} {}, this run of {here}", said.value);
                return Err(Box::new(sketch.other(said.span, message).help(help)));
            }
        }
        let mut of: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut seen: BTreeMap<NodeId, Span> = BTreeMap::new();
        for (kernel, entry) in sketch.kernels.iter().enumerate() {
            for name in &entry.nodes {
                let node = imported.find(&name.value).and_then(|value| match imported.value(value).producer {
                    Producer::Node { node, .. } if node_name(imported, node) == name.value => Some(node),
                    Producer::Node { .. } | Producer::Input(_) | Producer::Weight(_) => None,
                });
                let Some(node) = node else {
                    let error = sketch.other(name.span, format!("the model has no node `{}`", name.value));
                    return Err(Box::new(error.help("a node goes by its first output, as `--emit sketch` names it")));
                };
                if let Some(first) = seen.insert(node, name.span) {
                    let message = format!("node `{}` is in two kernels, here and in line {}", name.value, sketch.line(first));
                    return Err(Box::new(sketch.other(name.span, message).help("leave it in one of them")));
                }
                of.insert(node, kernel);
            }
        }
        Ok(Constraint { sketch, imported, of, own: RefCell::default() })
    }

    /// What fusion may join.
    pub fn groups(&self) -> Groups {
        Groups::new(self.imported, self.of.clone())
    }

    /// The entry of what covers some nodes; `None` where the sketch names none of them.
    fn entry_of(&self, covers: &[NodeId]) -> Option<usize> {
        listed(self.imported, covers).iter().find_map(|node| self.of.get(node).copied())
    }

    /// Compares a plan with the sketch, one entry a launch.
    ///
    /// Errors: U011 where a launch computes what the sketch has in no kernel; U012 where a kernel became several launches, is of
    /// another template, or has another grid or work than its blocks give.
    pub fn check(&self, planned: &Planned) -> Result<()> {
        let mut launched: BTreeMap<usize, usize> = BTreeMap::new();
        for launch in &planned.plan.launches {
            let Some(kernel) = self.entry_of(&launch.covers) else {
                let names: Vec<&str> =
                    listed(self.imported, &launch.covers).into_iter().map(|node| node_name(self.imported, node)).collect();
                let message = format!("node `{}` of the model is in no kernel of the sketch", names.join("`, `"));
                let error = self.sketch.other(self.sketch.span, message);
                return Err(Box::new(error.help(format!("give it a kernel: `- nodes: [{}]`", names.join(", ")))));
            };
            if launched.insert(kernel, launch.kernel).is_some() {
                return Err(self.taken_apart(planned, kernel));
            }
        }
        for (kernel, number) in launched {
            self.check_entry(kernel, &planned.plan.kernels[number])?;
        }
        Ok(())
    }

    /// Fusion gave one cluster, and no template binds it whole.
    fn taken_apart(&self, planned: &Planned, kernel: usize) -> Box<Diagnostic> {
        let graph = &planned.plan.graph;
        let of_entry = |node: NodeId| self.entry_of(&graph.node(node).covers) == Some(kernel);
        let apart = planned.apart.iter().find(|apart| of_entry(apart.node));
        let reason = apart.map_or_else(String::new, |apart| {
            let name = crate::fuse::why::name(graph, apart.node);
            format!(": {name} comes off, as [{}] {}", apart.reason.code.id, apart.reason.message)
        });
        let message = format!("no template binds all nodes of {} in one kernel{reason}", self.sketch.called(kernel));
        let error = self.sketch.refused(self.sketch.kernels[kernel].span, message);
        Box::new(error.help("give that node a kernel of its own"))
    }

    fn check_entry(&self, kernel: usize, bound: &BoundKernel) -> Result<()> {
        let (sketch, entry) = (self.sketch, &self.sketch.kernels[kernel]);
        let called = sketch.called(kernel);
        if let Some(template) = entry.template.as_ref().filter(|template| template.value != bound.template) {
            let message = format!("template {} serves {called}, not {}", bound.template, template.value);
            let help = "leave `template` out: operators choose it; --templates DIR brings others";
            return Err(Box::new(sketch.refused(template.span, message).help(help)));
        }
        let own = self.own.borrow().get(&kernel).cloned();
        let (is, tiles) = (grid(bound), work(bound));
        let stale = |of: &dyn Fn(&Own) -> bool| own.as_ref().is_some_and(of);
        let help = "leave it out, or choose blocks that give it";
        if let Some(asked) = entry.grid.as_ref().filter(|asked| asked.value != is && !stale(&|own| own.grid == asked.value)) {
            let message = format!("the blocks of {called} give the grid {is:?}, not {:?}", asked.value);
            return Err(Box::new(sketch.refused(asked.span, message).help(help)));
        }
        if let Some(asked) = entry.work.as_ref().filter(|asked| asked.value != tiles && !stale(&|own| own.work == asked.value)) {
            let message = format!("the blocks of {called} give work of {tiles} tiles, not {}", asked.value);
            return Err(Box::new(sketch.refused(asked.span, message).help(help)));
        }
        Ok(())
    }

    /// Blocks that an entry asks for.
    fn asked(&self, kernel: usize) -> Blocks {
        self.sketch.kernels[kernel].blocks.iter().map(|(name, at)| (name.value.clone(), at.value)).collect()
    }
}
