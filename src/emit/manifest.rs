//! `manifest.json`: what the suite is made of, for people and for `verify`.
//!
//! It holds a hash of every file but itself, the imported graph as text, and for each kernel and
//! launch the numbers that the files must give when they are read back. One entry a line, so that
//! two manifests can be compared line by line.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{EmitOptions, Files, kernel_path};
use crate::graph::{Graph, ValueId};
use crate::select::plan::{Launch, Plan, Slot};
use crate::template::{ArgumentValue, BoundKernel, OperandAccess};

/// The manifest's name in a suite.
pub const MANIFEST: &str = "manifest.json";

/// What `format` says in a manifest of ours.
pub const FORMAT: &str = "decompose-suite";

/// Grows with every change that an old reader would misunderstand.
pub const VERSION: u32 = 1;

/// The SHA-256 of a file's bytes, in hex.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The manifest of a suite whose other files are `files`.
pub fn text(plan: &Plan, options: &EmitOptions, files: &Files) -> String {
    let graph = &plan.imported;
    let types = |values: &[ValueId]| -> Value {
        values
            .iter()
            .map(|&v| json!({"name": graph.value(v).name, "dtype": graph.dtype(v).name(), "shape": graph.shape(v)}))
            .collect()
    };
    let hashes: Map<String, Value> = files.iter().map(|(path, bytes)| (path.clone(), json!(digest(bytes)))).collect();
    let kernels: Vec<Value> = (0..plan.kernels.len()).map(|index| kernel(plan, index)).collect();
    let buffers: Vec<Value> = plan
        .buffers
        .iter()
        .map(|buffer| json!({"dtype": buffer.dtype.name(), "len": buffer.len, "live": [buffer.live.0, buffer.live.1]}))
        .collect();
    let entries: [(&str, Value); 12] = [
        ("format", json!(FORMAT)),
        ("version", json!(VERSION)),
        ("generator", json!(concat!("decompose ", env!("CARGO_PKG_VERSION")))),
        ("name", json!(plan.name)),
        ("model", json!(graph.file)),
        ("seed", json!(options.seed)),
        ("inputs", types(graph.inputs())),
        ("outputs", types(graph.outputs())),
        ("files", Value::Object(hashes)),
        ("kernels", Value::Array(kernels)),
        ("buffers", Value::Array(buffers)),
        ("launches", plan.launches.iter().map(|launch| launch_entry(plan, launch)).collect()),
    ];
    let mut lines: Vec<String> = entries.iter().map(|(key, value)| format!("  {}: {}", json!(key), block(value))).collect();
    let graph_lines: Vec<Value> = graph.to_string().lines().map(|line| json!(line)).collect();
    lines.push(format!("  \"graph\": {}", block(&Value::Array(graph_lines))));
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// Lists and objects with an entry a line; the entries on one line each.
fn block(value: &Value) -> String {
    let lines: Vec<String> = match value {
        Value::Array(items) => items.iter().map(Value::to_string).collect(),
        Value::Object(items) => items.iter().map(|(key, value)| format!("{}: {value}", json!(key))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return value.to_string(),
    };
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    if lines.is_empty() {
        return format!("{open}{close}");
    }
    format!("{open}\n    {}\n  {close}", lines.join(",\n    "))
}

fn kernel(plan: &Plan, index: usize) -> Value {
    let kernel: &BoundKernel = &plan.kernels[index];
    let operands: Value = kernel
        .operands
        .iter()
        .map(|operand| {
            json!({
                "name": operand.name,
                "access": match operand.access {
                    OperandAccess::Read => "read",
                    OperandAccess::Write => "write",
                    OperandAccess::Scratch => "scratch",
                },
                "dtype": operand.dtype.name(),
                "shape": operand.layout.shape.as_slice(),
                "strides": operand.layout.strides.as_slice(),
                "offset": operand.layout.offset,
                "storage": operand.layout.storage,
            })
        })
        .collect();
    let launches: Value = kernel
        .launches
        .iter()
        .map(|launch| {
            let args: Map<String, Value> = launch
                .args
                .iter()
                .map(|argument| {
                    let value = match &argument.value {
                        ArgumentValue::Pointer(operand) => json!(kernel.operands[*operand].name),
                        ArgumentValue::Int(int) | ArgumentValue::Constexpr(int) => json!(int.value),
                        ArgumentValue::ConstexprFloat(value) => json!(value),
                        ArgumentValue::ConstexprStr(text) => json!(text),
                    };
                    (argument.param.clone(), value)
                })
                .collect();
            json!({
                "function": launch.function,
                "grid": launch.grid.iter().map(|size| size.value).collect::<Vec<_>>(),
                "args": args,
                "num_warps": launch.num_warps,
                "num_stages": launch.num_stages,
            })
        })
        .collect();
    json!({
        "file": kernel_path(kernel),
        "template": kernel.template,
        "key": kernel.key,
        "operands": operands,
        "launches": launches,
    })
}

fn launch_entry(plan: &Plan, launch: &Launch) -> Value {
    let graph: &Graph = &plan.graph;
    let operands: Value = launch
        .operands
        .iter()
        .map(|&(slot, value)| {
            let place = match slot {
                Slot::Input(i) => format!("input {i}"),
                Slot::Weight(value) => format!("weight {}", graph.value(value).name),
                Slot::Buffer(i) => format!("buffer {i}"),
            };
            // What it is in the imported graph; null for what is prepared from weights.
            let imported = plan.imported_value(value).map(|v| &plan.imported.value(v).name);
            json!({"value": graph.value(value).name, "in": place, "imported": imported})
        })
        .collect();
    // Node ids do not survive text: covered nodes are named by their outputs.
    let covers: Vec<&str> =
        launch.covers.iter().map(|&id| plan.imported.value(plan.imported.node(id).outputs[0]).name.as_str()).collect();
    json!({
        "kernel": launch.kernel,
        "layer": launch.layer,
        "covers": covers,
        "operands": operands,
    })
}
