//! A suite as conform sees it: emitted files read back, with the manifest's names resolved.
//!
//! The same for a suite that was just emitted (files in memory) and for one on disk that somebody
//! moved or edited: nothing but the files is consulted.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::conform::stored;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::emit::Files;
use crate::emit::manifest::{AccessEntry, FORMAT, LaunchEntry, MANIFEST, Manifest, OperandEntry, PRECISION, SlotEntry, VERSION};
use crate::graph::{Graph, NodeId, Producer, TensorType, ValueId, text, verify};
use crate::host::{HostArg, Modules};
use crate::reference::seeded;
use crate::shape::{self, Shape};
use crate::source::SourceFile;
use crate::syntax::parse_module;
use crate::tensor::Tensor;
use crate::tolerance::Precision;

/// One operand at one launch, with its names resolved.
#[derive(Clone, Debug)]
pub struct Operand {
    pub entry: OperandEntry,
    pub dtype: DType,
    pub slot: SlotEntry,
    /// In the imported graph; none for what is prepared from weights.
    pub imported: Option<ValueId>,
}

impl Operand {
    pub fn written(&self) -> bool {
        self.entry.access == AccessEntry::Write
    }

    /// The tensor that the wrapper takes for it.
    pub fn host_arg(&self) -> HostArg {
        let dense = self.entry.offset == 0
            && shape::numel(&self.entry.shape) == Some(self.entry.storage)
            && shape::is_contiguous(&self.entry.shape, &self.entry.strides);
        let shape = if dense { Shape::from_slice(&self.entry.shape) } else { Shape::from_slice(&[self.entry.storage]) };
        HostArg::Tensor(TensorType { dtype: self.dtype, shape })
    }
}

/// One launch of the suite.
#[derive(Clone, Debug)]
pub struct Launch {
    pub layer: String,
    /// Into the manifest's kernels.
    pub kernel: usize,
    /// Nodes of the imported graph, operands first.
    pub covers: Vec<NodeId>,
    /// Scratch excepted.
    pub operands: Vec<Operand>,
    /// What it computes, in the imported graph.
    pub output: ValueId,
}

/// Everything that verification reads.
pub struct Subject {
    /// For messages: the suite's folder or name.
    pub name: String,
    pub manifest: Manifest,
    pub imported: Graph,
    pub rewritten: Graph,
    pub launches: Vec<Launch>,
    /// The class that the manifest claims for contractions with fp32 operands: kernels are held to it,
    /// whatever their text says.
    pub precision: Precision,
    pub modules: Modules,
    stored: HashMap<String, Tensor>,
}

impl Subject {
    /// Reads a suite's files. `name` stands for the suite in messages.
    ///
    /// # Errors
    /// `SUITE_INVALID` where the manifest is missing, of another version, or names what is not there;
    /// syntax errors of the Python files, and host code outside the subset.
    pub fn read(name: &str, files: &Files) -> Result<Subject> {
        let invalid = |what: String| invalid(name, what);
        let bytes = files.get(MANIFEST).ok_or_else(|| invalid(format!("there is no {MANIFEST}")))?;
        let manifest: Manifest = serde_json::from_slice(bytes).map_err(|e| invalid(format!("{MANIFEST}: {e}")))?;
        if manifest.format != FORMAT || manifest.version != VERSION {
            return Err(invalid(format!(
                "{MANIFEST} is {} version {}, not {FORMAT} version {VERSION}",
                manifest.format, manifest.version
            )));
        }
        let graph = |part: &str, lines: &[String]| -> Result<Graph> {
            let graph = text::parse(&SourceFile::new(format!("{name}/{MANIFEST} ({part})"), lines.join("\n") + "\n"))?;
            match verify::violations(&graph).first() {
                None => Ok(graph),
                Some(violation) => Err(invalid(format!("{MANIFEST} ({part}): {}", violation.message))),
            }
        };
        let absent =
            manifest.kernels.iter().map(|k| k.file.as_str()).chain(["run.py", "weights.py"]).find(|f| !files.contains_key(*f));
        if let Some(file) = absent {
            return Err(invalid(format!("{file} is missing")));
        }
        let class = manifest.settings.get(PRECISION).map_or("none", String::as_str);
        let precision = Precision::from_name(class)
            .ok_or_else(|| invalid(format!("{MANIFEST}: `{PRECISION}` of its settings is {class}, which is no class")))?;
        let imported = graph("imported", &manifest.imported)?;
        let rewritten = graph("rewritten", &manifest.rewritten)?;
        let launches = manifest.launches.iter().map(|entry| resolve(name, &manifest, &imported, entry)).collect::<Result<_>>()?;
        let modules = modules(name, files)?;
        let stored = match files.get("weights.safetensors") {
            Some(bytes) => stored::read(bytes).map_err(|what| invalid(format!("weights.safetensors: {what}")))?,
            None => HashMap::new(),
        };
        Ok(Subject { name: name.to_owned(), manifest, imported, rewritten, launches, precision, modules, stored })
    }

    /// Elements of a weight of the imported graph: the file's own, or generated ones.
    pub fn weight(&self, value: ValueId) -> Result<Arc<Tensor>> {
        match self.stored.get(&self.imported.value(value).name) {
            Some(tensor) => Ok(Arc::new(tensor.clone())),
            None => Ok(seeded::weight(&self.imported, value, self.manifest.seed, self.manifest.always_seeded)?.tensor),
        }
    }

    /// Kernels whose launches a filter names: a kernel's file or key, a template, or a layer.
    pub fn matches(&self, launch: &Launch, filter: &str) -> bool {
        let kernel = &self.manifest.kernels[launch.kernel];
        let stem = kernel.file.trim_start_matches("kernels/").trim_end_matches(".py");
        [kernel.file.as_str(), stem, &kernel.key, &kernel.template, &launch.layer].contains(&filter)
    }
}

fn invalid(name: &str, what: String) -> Box<Diagnostic> {
    let help = "decompose the model again, with --force to replace the suite";
    Box::new(Diagnostic::new(&codes::SUITE_INVALID, what).in_file(name).help(help))
}

fn resolve(name: &str, manifest: &Manifest, imported: &Graph, entry: &LaunchEntry) -> Result<Launch> {
    let value =
        |v: &str| imported.find(v).ok_or_else(|| invalid(name, format!("{MANIFEST} names a value `{v}` that its graph lacks")));
    let layer = &entry.layer;
    let kernel = manifest
        .kernels
        .get(entry.kernel)
        .ok_or_else(|| invalid(name, format!("launch {layer} has no kernel {}", entry.kernel)))?;
    let taken: Vec<&OperandEntry> = kernel.operands.iter().filter(|o| o.access != AccessEntry::Scratch).collect();
    if taken.len() != entry.operands.len() {
        let what = format!("launch {layer} has {} operands, its kernel {}", entry.operands.len(), taken.len());
        return Err(invalid(name, what));
    }
    let covers = entry.covers.iter().map(|n| match imported.value(value(n)?).producer {
        Producer::Node { node, .. } => Ok(node),
        Producer::Input(_) | Producer::Weight(_) => Err(invalid(name, format!("`{n}` is no node's output"))),
    });
    let operands = entry.operands.iter().zip(taken).map(|(used, taken)| {
        let dtype =
            DType::from_name(&taken.dtype).ok_or_else(|| invalid(name, format!("there is no dtype `{}`", taken.dtype)))?;
        let imported = used.imported.as_deref().map(value).transpose()?;
        Ok(Operand { entry: taken.clone(), dtype, slot: used.slot.clone(), imported })
    });
    let operands: Vec<Operand> = operands.collect::<Result<_>>()?;
    for operand in &operands {
        fits(manifest, imported, operand)
            .map_err(|what| invalid(name, format!("launch {layer}, operand {}: {what}", operand.entry.name)))?;
    }
    let output = operands
        .iter()
        .find(|o| o.written())
        .and_then(|o| o.imported)
        .ok_or_else(|| invalid(name, format!("launch {layer} writes no value of the model")))?;
    Ok(Launch { layer: layer.clone(), kernel: entry.kernel, covers: covers.collect::<Result<_>>()?, operands, output })
}

/// Whether an operand's numbers belong together: later stages index with them.
fn fits(manifest: &Manifest, imported: &Graph, operand: &Operand) -> std::result::Result<(), String> {
    let entry = &operand.entry;
    if entry.shape.len() != entry.strides.len() {
        return Err(format!("{} sizes, but {} strides", entry.shape.len(), entry.strides.len()));
    }
    let elements = shape::numel(&entry.shape).ok_or("more elements than memory can have")?;
    let (mut low, mut high) = (i128::from(entry.offset), i128::from(entry.offset));
    for (&size, &stride) in entry.shape.iter().zip(&entry.strides) {
        let reach = i128::from(stride) * (size as i128 - 1).max(0);
        low += reach.min(0);
        high += reach.max(0);
    }
    if elements == 0 || low < 0 || high >= entry.storage as i128 {
        return Err(format!("elements {low} to {high} of a storage of {}", entry.storage));
    }
    match operand.slot {
        SlotEntry::Input(i) if i >= manifest.inputs.len() => return Err(format!("there is no input {i}")),
        SlotEntry::Buffer(i) if i >= manifest.buffers.len() => return Err(format!("there is no buffer {i}")),
        SlotEntry::Input(_) | SlotEntry::Buffer(_) | SlotEntry::Weight(_) => {}
    }
    match operand.imported.map(|value| imported.ty(value)) {
        Some(ty) if ty.dtype != operand.dtype => Err(format!("it is {}, its value {}", operand.dtype, ty.dtype)),
        Some(ty) if shape::numel(&ty.shape) != Some(elements) => {
            Err(format!("it has {elements} elements, its value is {}", shape::display(&ty.shape)))
        }
        Some(_) | None => Ok(()),
    }
}

/// The module that a Python file of a suite is: `kernels/relu__0123.py` is `kernels.relu__0123`.
pub fn module_name(file: &str) -> String {
    file.trim_end_matches(".py").replace('/', ".")
}

/// The files that host code reaches: kernels and `run.py`.
fn modules(name: &str, files: &Files) -> Result<Modules> {
    let mut modules = Modules::new();
    for (path, bytes) in
        files.iter().filter(|(path, _)| path.as_str() == "run.py" || (path.starts_with("kernels/") && path.ends_with(".py")))
    {
        let text = std::str::from_utf8(bytes).map_err(|e| invalid(name, format!("{path} is not UTF-8: {e}")))?;
        modules.add(&module_name(path), parse_module(&SourceFile::new(format!("{name}/{path}"), text))?)?;
    }
    Ok(modules)
}

/// Nodes that `wanted` needs, in topological order, stopping at the values of `given`.
pub fn upstream(graph: &Graph, wanted: &[ValueId], given: &BTreeSet<ValueId>) -> Vec<NodeId> {
    let mut needed = BTreeSet::new();
    let mut open: Vec<ValueId> = wanted.to_vec();
    while let Some(value) = open.pop() {
        if given.contains(&value) {
            continue;
        }
        if let Producer::Node { node, .. } = graph.value(value).producer
            && needed.insert(node)
        {
            open.extend(graph.node(node).inputs.iter().flatten());
        }
    }
    let order = graph.topological().unwrap_or_default();
    order.into_iter().filter(|node| needed.contains(node)).collect()
}
