//! `plan --why`: for each launch, which rewrites made it, why its cluster ends where it does, and what
//! was taken off it because no template could bind it.

use std::fmt::Write;

use serde_json::{Value, json};

use super::build::{Apart, Planned};
use super::plan::Launch;
use crate::fuse::why::{Applied, Stop, Why, name};
use crate::graph::{Graph, NodeId};

/// What is known of one launch.
struct Reasons<'a> {
    nodes: Vec<NodeId>,
    applied: Vec<&'a Applied>,
    stop: Option<&'a Stop>,
    /// Taken off this launch's cluster, the last first.
    lost: Vec<&'a Apart>,
    /// This launch's own nodes, taken off another cluster.
    from: Option<&'a Apart>,
}

impl<'a> Reasons<'a> {
    fn of(planned: &'a Planned, why: &'a Why, launch: &Launch) -> Reasons<'a> {
        let anchor = launch.cluster.anchor;
        let nodes = launch.cluster.nodes();
        Reasons {
            applied: why.applied.iter().filter(|applied| nodes.contains(&applied.node)).collect(),
            stop: why.stops.get(&anchor),
            lost: planned.apart.iter().filter(|apart| apart.anchor == anchor).collect(),
            from: planned.apart.iter().find(|apart| apart.node == anchor),
            nodes,
        }
    }
}

fn names(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().map(|&node| name(graph, node)).collect()
}

/// Some lines a launch.
pub fn text(planned: &Planned, why: &Why) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(planned, why, &mut out);
    out
}

fn write(planned: &Planned, why: &Why, out: &mut String) -> std::fmt::Result {
    let (plan, graph) = (&planned.plan, &planned.plan.graph);
    for (i, launch) in plan.launches.iter().enumerate() {
        let reasons = Reasons::of(planned, why, launch);
        let template = &plan.kernels[launch.kernel].template;
        writeln!(out, "launch {i} {}: {template} computes {}", launch.layer, names(graph, &reasons.nodes).join(", "))?;
        for applied in reasons.applied {
            let absorbed = if applied.absorbed.is_empty() { "nothing".to_owned() } else { applied.absorbed.join(", ") };
            writeln!(out, "  rule {} at {} absorbed {absorbed}", applied.rule, name(graph, applied.node))?;
        }
        if let Some(apart) = reasons.from {
            writeln!(out, "  taken off {}", name(graph, apart.anchor))?;
        }
        for apart in &reasons.lost {
            let (code, message) = (apart.reason.code.id, &apart.reason.message);
            writeln!(out, "  lost {}: [{code}] {message}", name(graph, apart.node))?;
        }
        match reasons.stop {
            Some(stop) if reasons.lost.is_empty() => writeln!(out, "  stops here: {}", stop.describe(graph))?,
            Some(_) | None => {}
        }
    }
    for (cluster, reason) in &planned.missing {
        writeln!(out, "missing {}: [{}] {}", name(graph, cluster.anchor), reason.code.id, reason.message)?;
    }
    Ok(())
}

/// The same for programs: one entry a launch.
pub fn json(planned: &Planned, why: &Why) -> Value {
    let graph = &planned.plan.graph;
    let launches = planned.plan.launches.iter().map(|launch| {
        let reasons = Reasons::of(planned, why, launch);
        let applied: Vec<Value> = reasons
            .applied
            .iter()
            .map(|a| json!({"rule": a.rule, "node": name(graph, a.node), "absorbed": a.absorbed}))
            .collect();
        let lost: Vec<Value> = reasons
            .lost
            .iter()
            .map(|a| json!({"node": name(graph, a.node), "code": a.reason.code.id, "message": a.reason.message}))
            .collect();
        let stop = reasons.stop.map(|stop| json!({"reason": stop.word(), "text": stop.describe(graph)}));
        json!({
            "layer": launch.layer, "nodes": names(graph, &reasons.nodes), "rewrites": applied, "lost": lost,
            "taken_off": reasons.from.map(|apart| name(graph, apart.anchor)), "stop": stop,
        })
    });
    Value::Array(launches.collect())
}
