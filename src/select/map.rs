//! Which templates compute each node of the model's file: the data of `inspect --map`.

use super::plan::Plan;
use crate::graph::{Op, Source};

/// One node of the imported graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub source: Source,
    /// The graph's operator.
    pub operator: String,
    /// What stands for it in the suite.
    pub served: Served,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Served {
    /// A launch (its position) of this template; with other nodes when fused.
    Kernel { launch: usize, template: String },
    /// Strides of another value.
    View,
    /// Computed once, before the first launch.
    Prepared,
    /// No template serves it.
    Missing,
}

/// A row for each node of the imported graph, in the file's order.
pub fn rows(plan: &Plan) -> Vec<Row> {
    let imported = &plan.imported;
    let mut rows = Vec::new();
    for id in imported.node_ids() {
        let node = imported.node(id);
        let launch = plan.launches.iter().position(|l| l.covers.contains(&id));
        let served = match launch {
            Some(launch) => Served::Kernel { launch, template: plan.kernels[plan.launches[launch].kernel].template.clone() },
            None if imported.is_prepared(node.outputs[0]) => Served::Prepared,
            None if matches!(node.op, Op::View(_)) => Served::View,
            None => Served::Missing,
        };
        for source in &node.sources {
            rows.push(Row { source: source.clone(), operator: node.op.name().to_owned(), served: served.clone() });
        }
    }
    rows
}
