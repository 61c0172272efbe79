//! `manifest.json`: what a suite says about itself, and all that verifying it again needs.
//!
//! A suite is verified from its files alone, moved or edited: the manifest holds a hash of every
//! file but itself, the imported graph (the truth) and the rewritten one (for weight preparation)
//! as text, and for every launch which nodes it computes and which values stand for its operands.
//! Values are named; a node is named by its first output value, since ids do not survive text.
//! One entry a line, so that two manifests can be compared line by line.
//!
//! Not in here: verdicts (`verdicts.json`, written by conform), dates, timings, absolute paths.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::run::prepared_values;
use super::{EmitOptions, Files, kernel_path};
use crate::graph::{Graph, ValueId};
use crate::select::plan::{Launch, Plan, Slot};
use crate::template::{ArgumentValue, BoundKernel, Operand, OperandAccess};

/// The manifest's name in a suite.
pub const MANIFEST: &str = "manifest.json";

/// What `format` says in a manifest of ours.
pub const FORMAT: &str = "decompose-suite";

/// What `generator` says in a manifest of this version.
pub const GENERATOR: &str = concat!("decompose ", env!("CARGO_PKG_VERSION"));

/// Grows with every change that an old reader would misunderstand.
pub const VERSION: u32 = 1;

/// The setting that names the class of contractions with fp32 operands.
pub const PRECISION: &str = "precision";

/// The whole document, in the order of its keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub format: String,
    pub version: u32,
    pub generator: String,
    /// The suite's name: the model file's stem.
    pub name: String,
    /// The model file.
    pub model: String,
    /// Seed of generated weights and inputs.
    pub seed: u64,
    /// Whether weights that the model file has are generated, too.
    pub always_seeded: bool,
    /// How the plan was made (fusion level, target, precision, …), by name.
    pub settings: BTreeMap<String, String>,
    /// Nodes that no kernel computes, by their own names: the suite is not the whole model.
    pub missing: Vec<String>,
    /// What import could not take over: the imported graph is not the whole model.
    pub refused: Vec<String>,
    /// Names of the imported graph's inputs and outputs.
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    /// SHA-256 in hex of every emitted file but the manifest, by path relative to the suite.
    pub files: BTreeMap<String, String>,
    pub kernels: Vec<KernelEntry>,
    pub buffers: Vec<BufferEntry>,
    /// Values of the rewritten graph that `prepare` returns, in its order.
    pub prepared: Vec<String>,
    /// In launch order.
    pub launches: Vec<LaunchEntry>,
    /// Lines of the imported graph's text: what kernels are verified against.
    pub imported: Vec<String>,
    /// Lines of the rewritten graph's text: what kernels were made from.
    pub rewritten: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelEntry {
    /// `kernels/relu__0123456789ab.py`.
    pub file: String,
    pub template: String,
    pub key: String,
    /// Parameters of the wrapper's `launch` in order, and its scratch.
    pub operands: Vec<OperandEntry>,
    /// What the wrapper launches.
    pub launches: Vec<KernelLaunchEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperandEntry {
    pub name: String,
    pub access: AccessEntry,
    /// [`crate::dtype::DType::name`].
    pub dtype: String,
    pub shape: Vec<usize>,
    pub strides: Vec<i64>,
    pub offset: i64,
    /// Elements of the whole storage. A contiguous operand is handed to `launch` as a tensor of
    /// `shape`, any other as its 1-D storage.
    pub storage: usize,
}

impl OperandEntry {
    pub fn of(operand: &Operand) -> OperandEntry {
        OperandEntry {
            name: operand.name.clone(),
            access: match operand.access {
                OperandAccess::Read => AccessEntry::Read,
                OperandAccess::Write => AccessEntry::Write,
                OperandAccess::Scratch => AccessEntry::Scratch,
            },
            dtype: operand.dtype.name().to_owned(),
            shape: operand.layout.shape.to_vec(),
            strides: operand.layout.strides.to_vec(),
            offset: operand.layout.offset,
            storage: operand.layout.storage,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessEntry {
    Read,
    Write,
    Scratch,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelLaunchEntry {
    pub function: String,
    pub grid: [i64; 3],
    /// By parameter: an operand's name, a number, or a string.
    pub args: Map<String, Value>,
    pub num_warps: u32,
    pub num_stages: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferEntry {
    pub dtype: String,
    /// In elements.
    pub len: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchEntry {
    /// The layer's name for people.
    pub layer: String,
    /// Into [`Manifest::kernels`].
    pub kernel: usize,
    /// Nodes of the imported graph that it computes, operands first.
    pub covers: Vec<String>,
    /// What stands for each operand of the kernel, scratch excepted.
    pub operands: Vec<OperandUse>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperandUse {
    /// In the rewritten graph.
    pub value: String,
    pub slot: SlotEntry,
    /// In the imported graph; none for what is prepared from weights.
    #[serde(deserialize_with = "Option::deserialize")]
    pub imported: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotEntry {
    /// By position in [`Manifest::inputs`].
    Input(usize),
    /// The weight or prepared value of the rewritten graph that gives the storage (the operand may
    /// be a view of it).
    Weight(String),
    /// By position in [`Manifest::buffers`].
    Buffer(usize),
}

/// The manifest of a suite whose other files are `files`.
pub fn text(plan: &Plan, options: &EmitOptions, files: &Files) -> String {
    let names = |values: &[ValueId]| values.iter().map(|&v| plan.imported.value(v).name.clone()).collect();
    let lines = |graph: &Graph| graph.to_string().lines().map(str::to_owned).collect();
    render(&Manifest {
        format: FORMAT.to_owned(),
        version: VERSION,
        generator: GENERATOR.to_owned(),
        name: plan.name.clone(),
        model: plan.imported.file.clone(),
        seed: options.seed,
        always_seeded: options.always_seeded,
        settings: options.settings.iter().cloned().collect(),
        missing: options.missing.clone(),
        refused: options.refused.clone(),
        inputs: names(plan.imported.inputs()),
        outputs: names(plan.imported.outputs()),
        files: files.iter().map(|(path, bytes)| (path.clone(), super::digest(bytes))).collect(),
        kernels: plan.kernels.iter().map(|kernel| kernel_entry(kernel)).collect(),
        buffers: plan.buffers.iter().map(|b| BufferEntry { dtype: b.dtype.name().to_owned(), len: b.len }).collect(),
        prepared: prepared_values(plan).iter().map(|&v| plan.graph.value(v).name.clone()).collect(),
        launches: plan.launches.iter().map(|launch| launch_entry(plan, launch)).collect(),
        imported: lines(&plan.imported),
        rewritten: lines(&plan.graph),
    })
}

/// The document with one entry of each list or object a line.
fn render(manifest: &Manifest) -> String {
    let document = serde_json::to_value(manifest).expect("invariant: a manifest is numbers, strings, lists and maps");
    let Value::Object(entries) = document else { unreachable!("invariant: a struct serializes to an object") };
    object(entries)
}

/// An object with a key a line, and one entry of each list or object in it a line.
pub(super) fn object(entries: Map<String, Value>) -> String {
    let lines: Vec<String> = entries.iter().map(|(key, value)| format!("  {}: {}", json!(key), block(value))).collect();
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

fn kernel_entry(kernel: &BoundKernel) -> KernelEntry {
    let operands = kernel.operands.iter().map(OperandEntry::of);
    let launches = kernel.launches.iter().map(|launch| {
        let args = launch.args.iter().map(|argument| {
            let value = match &argument.value {
                ArgumentValue::Pointer(operand) => json!(kernel.operands[*operand].name),
                ArgumentValue::Int(int) | ArgumentValue::Constexpr(int) => json!(int.value),
                ArgumentValue::ConstexprFloat(value) => json!(value),
                ArgumentValue::ConstexprStr(text) => json!(text),
            };
            (argument.param.clone(), value)
        });
        KernelLaunchEntry {
            function: launch.function.clone(),
            grid: [launch.grid[0].value, launch.grid[1].value, launch.grid[2].value],
            args: args.collect(),
            num_warps: launch.num_warps,
            num_stages: launch.num_stages,
        }
    });
    KernelEntry {
        file: kernel_path(kernel),
        template: kernel.template.clone(),
        key: kernel.key.clone(),
        operands: operands.collect(),
        launches: launches.collect(),
    }
}

fn launch_entry(plan: &Plan, launch: &Launch) -> LaunchEntry {
    let operands = launch.operands.iter().map(|&(slot, value)| OperandUse {
        value: plan.graph.value(value).name.clone(),
        slot: match slot {
            Slot::Input(i) => SlotEntry::Input(i),
            Slot::Weight(base) => SlotEntry::Weight(plan.graph.value(base).name.clone()),
            Slot::Buffer(i) => SlotEntry::Buffer(i),
        },
        imported: plan.imported_value(value).map(|v| plan.imported.value(v).name.clone()),
    });
    LaunchEntry {
        layer: launch.layer.clone(),
        kernel: launch.kernel,
        covers: launch.covers.iter().map(|&n| plan.imported.value(plan.imported.node(n).outputs[0]).name.clone()).collect(),
        operands: operands.collect(),
    }
}
