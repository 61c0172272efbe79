//! The smallest shapes at which a failing kernel still fails.
//!
//! Only shapes change, never the text that is judged:
//!
//! 1. [`sizes`] finds which sizes of the computed nodes are free, [`resize`] makes the nodes at other ones, and
//!    [`search`] looks for the smallest that fail with the code that was found.
//! 2. A template ([`crate::conform::probe`]) is bound anew for each trial, as it would be for a model of that shape.
//! 3. A kernel of a suite ([`launch`]) takes its sizes from its tensors, so the same text runs at other shapes once
//!    the shapes that `check` demands of them are exchanged. Whether that text is honest there is tested and not
//!    assumed: the kernel as it was emitted, made again from the manifest's graph and recognised by its key, must
//!    be *right* at every shape that counts. So what fails is the edit, and not a size that the text bakes in.
//! 4. Nothing is said where this does not hold: kernels that nobody edited, templates of the user's own in a suite,
//!    operands with gaps or in other orders, scratch buffers (their sizes are numbers), and failures that need
//!    more than [`ELEMENTS`] elements or [`PRODUCTS`] products.

pub mod launch;
pub mod resize;
pub mod search;
pub mod sizes;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::graph::{Graph, NodeId, ValueId};
use resize::{Resized, resized};
use sizes::Sizes;

/// Elements of all values of one trial.
const ELEMENTS: usize = 1 << 20;
/// Products of contractions and windows in one trial.
const PRODUCTS: usize = 1 << 24;
/// The same of all trials together, so that a failing kernel costs about a second.
const TOTAL: usize = 1 << 26;

/// The nodes at the smallest sizes at which `fails` holds, when some below their own do. Once `cancel` is set no
/// further trial is made.
pub fn smallest(
    graph: &Graph,
    nodes: &[NodeId],
    output: ValueId,
    cancel: Option<&AtomicBool>,
    fails: &mut dyn FnMut(&Resized) -> bool,
) -> Option<Resized> {
    let sizes = Sizes::of(graph, nodes);
    let at = |chosen: &[usize]| resized(graph, nodes, output, &|value, made| sizes.shape(value, chosen, made));
    let mut left = TOTAL;
    let found = search::smallest(&sizes.free(), &mut |chosen| {
        if cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return false;
        }
        let Some(trial) = at(chosen) else { return false };
        let (elements, products) = resize::work(&trial.graph);
        if elements > ELEMENTS || products > PRODUCTS || elements + products > left {
            return false;
        }
        left -= elements + products;
        fails(&trial)
    })?;
    at(&found)
}

#[cfg(test)]
mod tests;
