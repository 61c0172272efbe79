//! The smallest shapes at which a probe still fails: the template is bound anew for each, so that every trial
//! is what a model of that shape would get.
//!
//! Not caught: a fault with the same code and another reason counts as the same; attributes (strides, padding)
//! are never made smaller.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Expected, judged};
use crate::conform::inputs::Kind;
use crate::conform::minimise;
use crate::conform::minimise::resize::Resized;
use crate::diag::codes;
use crate::graph::{Cluster, NodeId};
use crate::shape::display;
use crate::target::Target;
use crate::template::check::{Probe, Probed};
use crate::template::manifest::Implements;
use crate::template::{BindOptions, Bound, Library, Template, bind};

/// What a template's kernels say on one probe for one target: a code of a fault, or C003.
fn failure(
    template: &Template,
    library: &Library,
    probe: &Probe,
    kind: Kind,
    target: &Target,
    cancel: &Arc<AtomicBool>,
) -> Option<(&'static str, String, Bound)> {
    let bound = bind(&probe.graph, &probe.cluster, &|v| probe.layout(v), library, target, BindOptions::default()).ok()?;
    if bound.kernel.template != template.name {
        return None;
    }
    let expected: Expected = super::expected(probe, kind).ok()?;
    let failure = judged(&bound, &expected, cancel)?;
    Some((failure.cause.map_or(codes::VALUE_MISMATCH.id, |cause| cause.code.id), failure.what, bound))
}

/// A note about a probe that failed for a target.
pub fn note(
    template: &Template,
    library: &Library,
    probe: &Probe,
    kind: Kind,
    target: &Target,
    cancel: &Arc<AtomicBool>,
) -> Option<String> {
    let (code, _, _) = failure(template, library, probe, kind, target, cancel)?;
    let alike = |trial: &Resized| {
        let small = at(probe, trial)?;
        failure(template, library, &small, kind, target, cancel).filter(|(found, _, _)| *found == code)
    };
    let output = probe.cluster.output(&probe.graph);
    let fails = &mut |trial: &Resized| alike(trial).is_some();
    let smallest = minimise::smallest(&probe.graph, &probe.cluster.nodes(), output, Some(cancel), fails)?;
    let (_, what, bound) = alike(&smallest)?;
    let shapes: Vec<String> = bound.kernel.operands.iter().map(|o| format!("{} {}", o.name, display(&o.layout.shape))).collect();
    let mut note = format!("smallest shapes that fail alike: {}; there: {what}", shapes.join(", "));
    if let Some(problem) = problem(template, probe, &smallest) {
        note += &format!("; a problem `{problem}` of `probe:`, attributes as they are, shows it");
    }
    Some(note)
}

/// The probe at other sizes.
fn at(probe: &Probe, trial: &Resized) -> Option<Probe> {
    let nodes: &HashMap<NodeId, NodeId> = &trial.nodes;
    let cluster = Cluster {
        anchor: *nodes.get(&probe.cluster.anchor)?,
        prologues: probe.cluster.prologues.iter().map(|(at, node)| Some((*at, *nodes.get(node)?))).collect::<Option<_>>()?,
        epilogues: probe.cluster.epilogues.iter().map(|node| nodes.get(node).copied()).collect::<Option<_>>()?,
    };
    let moved = match probe.moved {
        Some(value) => Some(*trial.values.get(&value)?),
        None => None,
    };
    Some(Probe { graph: trial.graph.clone(), cluster, moved, ..probe.clone() })
}

/// The shapes as a problem of the manifest, of a kernel that stands alone. Attributes stay as they are.
fn problem(template: &Template, probe: &Probe, trial: &Resized) -> Option<String> {
    let manifest = &template.manifest;
    if probe.probed != Probed::Alone || (manifest.implements == Implements::Map && manifest.label.is_none()) {
        return None;
    }
    let inputs = manifest.inputs().iter().map(|operand| (operand.name.as_str(), trial.graph.find(&operand.name)));
    let output = (manifest.output().name.as_str(), trial.graph.outputs().first().copied());
    let entry = |(name, value): (&str, Option<_>)| Some(format!("{name}: {:?}", trial.graph.shape(value?)));
    Some(inputs.chain([output]).map(entry).collect::<Option<Vec<_>>>()?.join(", "))
}
