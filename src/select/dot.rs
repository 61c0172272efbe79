//! A plan as a Graphviz drawing: launches as boxes, values as edges between them.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::plan::{Plan, Slot};
use crate::shape::display;
use crate::template::OperandAccess;

/// The drawing; feed it to `dot -Tsvg`.
pub fn dot(plan: &Plan) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(plan, &mut out);
    out
}

fn write(plan: &Plan, out: &mut String) -> std::fmt::Result {
    writeln!(out, "digraph plan {{\n  rankdir=TB;\n  node [shape=box, fontname=monospace];")?;
    let mut makers: BTreeMap<Slot, String> = BTreeMap::new();
    for (position, &input) in plan.graph.inputs().iter().enumerate() {
        writeln!(out, "  in{position} [shape=ellipse, label={}];", quoted(&plan.graph.value(input).name))?;
        makers.insert(Slot::Input(position), format!("in{position}"));
    }
    for (i, launch) in plan.launches.iter().enumerate() {
        let kernel = &plan.kernels[launch.kernel];
        writeln!(out, "  l{i} [label={}];", quoted(&format!("{}\n{}__{}", launch.layer, kernel.template, kernel.key)))?;
        let outside = kernel.operands.iter().filter(|o| o.access != OperandAccess::Scratch);
        for (operand, &(slot, _)) in outside.zip(&launch.operands) {
            match (operand.access, makers.get(&slot)) {
                (OperandAccess::Read, Some(maker)) => {
                    writeln!(out, "  {maker} -> l{i} [label={}];", quoted(&display(&operand.layout.shape)))?
                }
                (OperandAccess::Write, _) => drop(makers.insert(slot, format!("l{i}"))),
                (OperandAccess::Read | OperandAccess::Scratch, _) => {}
            }
        }
    }
    for (position, &output) in plan.graph.outputs().iter().enumerate() {
        writeln!(out, "  out{position} [shape=ellipse, label={}];", quoted(&plan.graph.value(output).name))?;
        let slot = plan.layouts.iter().find(|(value, _, _)| *value == output).map(|(_, slot, _)| slot);
        if let Some(maker) = slot.and_then(|slot| makers.get(slot)) {
            writeln!(out, "  {maker} -> out{position};")?;
        }
    }
    writeln!(out, "}}")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
