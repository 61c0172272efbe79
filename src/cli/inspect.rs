//! `decompose inspect`: what a model holds, and which template serves what.

use super::args::InspectArgs;
use super::table::{Align, render};
use super::{Outcome, complain, exit, model_options, output_failed, print};
use crate::pipeline::{self, Cancel, PlanOutcome, Silent};
use crate::select::map::{Served, rows};
use crate::shape;

pub fn run(args: InspectArgs, cancel: &Cancel) -> Outcome {
    let options = model_options(args.model, &args.binding, &args.kernels).map_err(|d| vec![*d])?;
    let outcome = pipeline::plan(&options, &Silent, cancel)?;
    let text = match (args.map, args.output_form.json) {
        (true, false) => map(&outcome),
        (true, true) => return Err(vec![super::options::not_offered("inspect --map --json")]),
        (false, true) => format!("{:#}\n", serde_json::json!({"version": 1, "graph": outcome.imported.graph.to_string()})),
        (false, false) => nodes(&outcome),
    };
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    complain(&outcome.problems);
    Ok(exit::combined(&outcome.problems))
}

/// Source node → operator → template.
fn map(outcome: &PlanOutcome) -> String {
    let columns = [("node", Align::Left), ("source", Align::Left), ("operator", Align::Left), ("template", Align::Left)];
    let rows: Vec<Vec<String>> = rows(&outcome.planned.plan)
        .into_iter()
        .map(|row| vec![row.source.node, row.source.operator, row.operator, served(&row.served)])
        .collect();
    render(&columns, &rows)
}

fn served(served: &Served) -> String {
    match served {
        Served::Kernel { launch, template } => format!("{template} (launch {launch})"),
        Served::View => "a view".to_owned(),
        Served::Prepared => "weight preparation".to_owned(),
        Served::Missing => "none".to_owned(),
    }
}

/// One row a node of the graph.
fn nodes(outcome: &PlanOutcome) -> String {
    let graph = &outcome.imported.graph;
    let columns = [("node", Align::Left), ("operator", Align::Left), ("inputs", Align::Left), ("output", Align::Left)];
    let rows: Vec<Vec<String>> = graph
        .topological()
        .unwrap_or_default()
        .into_iter()
        .map(|id| {
            let node = graph.node(id);
            let source = node.sources.first();
            vec![
                source.map_or_else(String::new, |s| s.node.clone()),
                source.map_or_else(|| node.op.name().to_owned(), |s| s.operator.clone()),
                node.inputs.iter().flatten().map(|&v| shape::display(graph.shape(v))).collect::<Vec<_>>().join(", "),
                node.outputs.iter().map(|&v| shape::display(graph.shape(v))).collect::<Vec<_>>().join(", "),
            ]
        })
        .collect();
    render(&columns, &rows)
}
