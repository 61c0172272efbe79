//! `manifest.json`: what a suite says about itself, and all that verifying it again needs.
//!
//! A suite is verified from its files alone, moved or edited: the manifest holds the imported graph
//! (the truth), the weight preparation, and for every launch which nodes it computes and which
//! values stand for its operands. Values are named; a node is named by its first output value.
//!
//! Not in here: verdicts (`verdicts.json`, written by conform), dates, timings, absolute paths.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Raised when a reader of the old form would misread the new one.
pub const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub version: u32,
    /// The suite's name: the model file's stem.
    pub model: String,
    pub target: String,
    pub precision: String,
    pub fuse: String,
    /// Seed of generated weights and inputs.
    pub seed: u64,
    /// SHA-256 in hex of every emitted file but the manifest itself, by path relative to the suite.
    pub files: BTreeMap<String, String>,
    /// Graph text of the imported graph: the truth that kernels are verified against.
    pub imported: String,
    /// Graph text of the weight preparation: weights in, prepared values out. Empty without any.
    pub preparation: String,
    pub kernels: Vec<KernelEntry>,
    /// In launch order.
    pub launches: Vec<LaunchEntry>,
    /// Elements and dtype of each buffer of `run.py`.
    pub buffers: Vec<BufferEntry>,
    /// Names of the imported graph's inputs and outputs that the suite takes and returns.
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelEntry {
    /// `kernels/relu__0123456789ab.py`.
    pub file: String,
    pub template: String,
    pub key: String,
    /// The parameters of the wrapper's `launch`, in order (scratch excepted).
    pub operands: Vec<OperandEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperandEntry {
    pub name: String,
    /// [`crate::dtype::DType::name`].
    pub dtype: String,
    /// Whether the kernel writes it.
    pub written: bool,
    pub shape: Vec<usize>,
    pub strides: Vec<i64>,
    pub offset: i64,
    /// Elements of the whole storage. A contiguous operand is handed to `launch` as a tensor of
    /// `shape`, any other as its 1-D storage.
    pub storage: usize,
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
    /// What stands for each operand of the kernel.
    pub operands: Vec<OperandUse>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperandUse {
    pub slot: SlotEntry,
    /// For an input or buffer: the value of the *imported* graph that the operand holds.
    /// For a weight: the value of the imported graph or of the preparation.
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotEntry {
    /// By position in [`Manifest::inputs`].
    Input(usize),
    /// The base weight or prepared value that gives the storage (the operand may be a view of it).
    Weight(String),
    /// By position in [`Manifest::buffers`].
    Buffer(usize),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferEntry {
    pub dtype: String,
    pub len: usize,
}
