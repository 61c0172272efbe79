//! A plan as text for people and for snapshots: kernels, buffers, launches.

use std::fmt::Write;

use super::plan::{Plan, Slot};
use crate::graph::ValueId;
use crate::shape::display;
use crate::template::OperandAccess;

/// The whole plan, one line a kernel, buffer, prepared value and launch.
pub fn text(plan: &Plan) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(plan, &mut out);
    out
}

fn write(plan: &Plan, out: &mut String) -> std::fmt::Result {
    writeln!(out, "plan {}: {} launches of {} kernels", plan.name, plan.launches.len(), plan.kernels.len())?;
    for (k, kernel) in plan.kernels.iter().enumerate() {
        let users = plan.launches.iter().filter(|l| l.kernel == k).count();
        let operand = |o: &crate::template::Operand| {
            let mark = match o.access {
                OperandAccess::Read => "",
                OperandAccess::Write => " out",
                OperandAccess::Scratch => " scratch",
            };
            format!("{} {} {}{mark}", o.name, o.dtype, display(&o.layout.shape))
        };
        let operands: Vec<String> = kernel.operands.iter().map(operand).collect();
        writeln!(out, "kernel {k} {}__{} used {users}: {}", kernel.template, kernel.key, operands.join(", "))?;
    }
    for (b, buffer) in plan.buffers.iter().enumerate() {
        writeln!(out, "buffer {b}: {} x {}, launches {} to {}", buffer.len, buffer.dtype, buffer.live.0, buffer.live.1)?;
    }
    for &node in &plan.preparation {
        let node = plan.graph.node(node);
        let inputs: Vec<&str> = node.inputs.iter().flatten().map(|&v| name(plan, v)).collect();
        writeln!(out, "prepare {} = {}({})", name(plan, node.outputs[0]), node.op.name(), inputs.join(", "))?;
    }
    for (i, launch) in plan.launches.iter().enumerate() {
        let operands: Vec<String> =
            launch.operands.iter().map(|&(slot, value)| format!("{}@{}", name(plan, value), slot_text(plan, slot))).collect();
        writeln!(out, "launch {i} {}: kernel {} ({})", launch.layer, launch.kernel, operands.join(", "))?;
    }
    let outputs: Vec<&str> = plan.graph.outputs().iter().map(|&v| name(plan, v)).collect();
    writeln!(out, "return {}", outputs.join(", "))
}

fn name(plan: &Plan, value: ValueId) -> &str {
    &plan.graph.value(value).name
}

/// `b3`, `x` (a model input by name), `weight`.
pub fn slot_text(plan: &Plan, slot: Slot) -> String {
    match slot {
        Slot::Input(position) => name(plan, plan.graph.inputs()[position]).to_owned(),
        Slot::Weight(_) => "weight".to_owned(),
        Slot::Buffer(b) => format!("b{b}"),
    }
}
