//! A plan as JSON for programs. `version` changes when a key changes its meaning or goes.

use serde_json::{Value, json};

use super::plan::{Plan, Slot};
use crate::graph::{NodeId, ValueId};
use crate::template::{ArgumentValue, BoundKernel, OperandAccess};

/// Of the format below.
pub const VERSION: u32 = 1;

/// The whole plan. Strides, offsets and lengths count elements.
pub fn json(plan: &Plan) -> Value {
    let name = |v: ValueId| plan.graph.value(v).name.clone();
    let source = |n: &NodeId| plan.imported.node(*n).sources.first().map(|s| s.node.clone());
    let slot = |slot: &Slot| match slot {
        Slot::Input(position) => json!({"input": position}),
        Slot::Weight(value) => json!({"weight": name(*value)}),
        Slot::Buffer(b) => json!({"buffer": b}),
    };
    let launches: Vec<Value> = plan
        .launches
        .iter()
        .map(|launch| {
            let operands: Vec<Value> = launch.operands.iter().map(|(s, v)| json!({"value": name(*v), "in": slot(s)})).collect();
            let covers: Vec<_> = launch.covers.iter().filter_map(source).collect();
            json!({"layer": launch.layer, "kernel": launch.kernel, "operands": operands, "covers": covers})
        })
        .collect();
    let layouts: Vec<Value> = plan
        .layouts
        .iter()
        .map(|(value, s, layout)| {
            json!({
                "value": name(*value),
                "in": slot(s),
                "dtype": plan.graph.dtype(*value).name(),
                "shape": layout.shape.as_slice(),
                "strides": layout.strides.as_slice(),
                "offset": layout.offset,
            })
        })
        .collect();
    let buffers: Vec<Value> =
        plan.buffers.iter().map(|b| json!({"dtype": b.dtype.name(), "len": b.len, "live": [b.live.0, b.live.1]})).collect();
    let preparation: Vec<Value> = plan
        .preparation
        .iter()
        .map(|&n| {
            let node = plan.graph.node(n);
            let inputs: Vec<_> = node.inputs.iter().flatten().map(|&v| name(v)).collect();
            json!({"value": name(node.outputs[0]), "operator": node.op.name(), "inputs": inputs})
        })
        .collect();
    json!({
        "version": VERSION,
        "name": plan.name,
        "kernels": plan.kernels.iter().map(|k| kernel(k)).collect::<Vec<_>>(),
        "launches": launches,
        "buffers": buffers,
        "layouts": layouts,
        "preparation": preparation,
        "inputs": plan.graph.inputs().iter().map(|&v| name(v)).collect::<Vec<_>>(),
        "outputs": plan.graph.outputs().iter().map(|&v| name(v)).collect::<Vec<_>>(),
    })
}

fn kernel(kernel: &BoundKernel) -> Value {
    let operands: Vec<Value> = kernel
        .operands
        .iter()
        .map(|o| {
            let access = match o.access {
                OperandAccess::Read => "read",
                OperandAccess::Write => "write",
                OperandAccess::Scratch => "scratch",
            };
            json!({"name": o.name, "dtype": o.dtype.name(), "shape": o.layout.shape.as_slice(),
                "strides": o.layout.strides.as_slice(), "access": access})
        })
        .collect();
    let launches: Vec<Value> = kernel
        .launches
        .iter()
        .map(|launch| {
            let mut constexprs = serde_json::Map::new();
            for argument in &launch.args {
                if let Some(value) = constexpr(&argument.value) {
                    constexprs.insert(argument.param.clone(), value);
                }
            }
            json!({
                "function": launch.function,
                "grid": launch.grid.iter().map(|g| g.value).collect::<Vec<_>>(),
                "constexprs": constexprs,
                "num_warps": launch.num_warps,
                "num_stages": launch.num_stages,
            })
        })
        .collect();
    json!({"template": kernel.template, "key": kernel.key, "operands": operands, "launches": launches})
}

/// The value of a compile-time argument.
fn constexpr(value: &ArgumentValue) -> Option<Value> {
    match value {
        ArgumentValue::Constexpr(int) => Some(json!(int.value)),
        ArgumentValue::ConstexprFloat(float) => Some(json!(float)),
        ArgumentValue::ConstexprStr(text) => Some(json!(text)),
        ArgumentValue::Pointer(_) | ArgumentValue::Int(_) => None,
    }
}
