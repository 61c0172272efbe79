//! A suite as conform sees it: emitted files read back, with the manifest's names resolved.
//!
//! The same for a suite that was just emitted (files in memory) and for one on disk that somebody
//! moved or edited: nothing but the files is consulted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::consistent::{self, Truth, invalid};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::emit::manifest::{AccessEntry, LaunchEntry, MANIFEST, Manifest, OperandEntry, PRECISION, SlotEntry};
use crate::emit::{self, Files, STORED};
use crate::graph::{Graph, NodeId, Producer, TensorType, ValueId, text, verify};
use crate::host::{HostArg, Modules};
use crate::reference::seeded;
use crate::shape::{self, Shape};
use crate::source::SourceFile;
use crate::syntax::parse_module;
use crate::tensor::{Tensor, stored};
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

    /// Whether it is an activation in a model input or buffer.
    pub fn in_memory(&self) -> bool {
        match self.slot {
            SlotEntry::Input(_) | SlotEntry::Buffer(_) => !self.written(),
            SlotEntry::Weight(_) => false,
        }
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

impl Launch {
    /// The activations that it reads from model inputs and buffers.
    pub fn held(&self) -> BTreeSet<ValueId> {
        self.operands.iter().filter(|operand| operand.in_memory()).filter_map(|operand| operand.imported).collect()
    }

    /// The imported nodes between those and its output, operands first.
    pub fn nodes(&self, imported: &Graph) -> Vec<NodeId> {
        upstream(imported, &[self.output], &self.held())
    }
}

/// A user's tensors, by the value of the imported graph that each is.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub inputs: HashMap<ValueId, Tensor>,
    pub expected: HashMap<ValueId, Tensor>,
}

impl Given {
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.expected.is_empty()
    }
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
    pub modules: Arc<Modules>,
    /// Python files that cannot be read as host code, by module: their kernels fail, others do not.
    pub unreadable: BTreeMap<String, Diagnostic>,
    /// What generated inputs are derived from: the manifest's seed, unless a trial asks for another. Weights
    /// are always the manifest's.
    pub seed: u64,
    /// How many times as large as `weights.py` has them the model's generated inputs are.
    pub gain: f64,
    /// A user's data for the whole model, in the place of generated inputs and beside the reference's outputs.
    pub given: Given,
    stored: HashMap<String, Tensor>,
    /// Files that are as they were emitted, by their hashes in the manifest.
    pristine: BTreeSet<String>,
}

impl Subject {
    /// Reads a suite's files. `name` stands for the suite in messages.
    ///
    /// # Errors
    /// U008 where the manifest is missing, of another version, or does not fit itself ([`consistent`]),
    /// B001 where a shape contradicts the graph; syntax errors of the graph text.
    pub fn read(name: &str, files: &Files) -> Result<Subject> {
        Subject::of(name, files, true)
    }

    /// Like [`Subject::read`], for kernels that are judged one by one: their operands may lie in storages
    /// that `run.py` does not have.
    pub fn of_kernels(name: &str, files: &Files) -> Result<Subject> {
        Subject::of(name, files, false)
    }

    fn of(name: &str, files: &Files, placed: bool) -> Result<Subject> {
        let absent = |file: &str| {
            let help = "decompose the model again, with --force to replace the suite";
            let diagnostic = Diagnostic::new(&codes::SUITE_INVALID, format!("{file} is missing"));
            Box::new(diagnostic.in_file(format!("{name}/{MANIFEST}")).help(help))
        };
        let bytes = files.get(MANIFEST).ok_or_else(|| absent(MANIFEST))?;
        let manifest: Manifest = serde_json::from_slice(bytes).map_err(|e| invalid(name, e.to_string()))?;
        consistent::format(&manifest).map_err(|what| invalid(name, what))?;
        let graph = |part: &str, lines: &[String]| -> Result<Graph> {
            let graph = text::parse(&SourceFile::new(format!("{name}/{MANIFEST} ({part})"), lines.join("\n") + "\n"))?;
            match verify::violations(&graph).first() {
                None => Ok(graph),
                Some(violation) => Err(invalid(name, format!("{part}: {}", violation.message))),
            }
        };
        let needed = manifest.kernels.iter().map(|k| k.file.as_str()).chain(["run.py", "weights.py"]);
        if let Some(file) = needed.into_iter().find(|file| !files.contains_key(*file)) {
            return Err(absent(file));
        }
        if manifest.files.contains_key(STORED) && !files.contains_key(STORED) {
            return Err(absent(STORED));
        }
        let class = manifest.settings.get(PRECISION).map_or("none", String::as_str);
        let precision = Precision::from_name(class)
            .ok_or_else(|| invalid(name, format!("`{PRECISION}` of its settings is {class}, which is no class")))?;
        let imported = graph("imported", &manifest.imported)?;
        let rewritten = graph("rewritten", &manifest.rewritten)?;
        consistent::document(name, &manifest, &imported, &rewritten)?;
        let truth = Truth { name, manifest: &manifest, imported: &imported, rewritten: &rewritten, placed };
        let launches = manifest.launches.iter().map(|entry| resolve(&truth, entry)).collect::<Result<Vec<Launch>>>()?;
        consistent::coverage(name, &manifest, &imported, &launches)?;
        let (modules, unreadable) = modules(name, files);
        let modules = Arc::new(modules);
        let stored = match files.get("weights.safetensors") {
            Some(bytes) => weights(name, bytes, &imported)?,
            None => HashMap::new(),
        };
        let hash = |file: &str| files.get(file).map(|bytes| emit::digest(bytes));
        let pristine = manifest.files.iter().filter(|(file, known)| hash(file).as_ref() == Some(*known));
        let pristine = pristine.map(|(file, _)| file.clone()).collect();
        let (name, seed) = (name.to_owned(), manifest.seed);
        Ok(Subject {
            name,
            manifest,
            imported,
            rewritten,
            launches,
            precision,
            modules,
            unreadable,
            seed,
            gain: 1.0,
            given: Given::default(),
            stored,
            pristine,
        })
    }

    /// Elements of a weight of the imported graph: the file's own, or generated ones.
    pub fn weight(&self, value: ValueId) -> Result<Arc<Tensor>> {
        match self.stored.get(&self.imported.value(value).name) {
            Some(tensor) => Ok(Arc::new(tensor.clone())),
            None => Ok(seeded::weight(&self.imported, value, self.manifest.seed, self.manifest.always_seeded)?.tensor()),
        }
    }

    /// Whether a launch's kernel is that of a module.
    pub fn is_of(&self, launch: &Launch, module: &str) -> bool {
        module_name(&self.manifest.kernels[launch.kernel].file) == module
    }

    /// What is wrong with the file of a launch's kernel, when it cannot be read.
    pub fn unreadable(&self, launch: &Launch) -> Option<&Diagnostic> {
        self.unreadable.get(&module_name(&self.manifest.kernels[launch.kernel].file))
    }

    /// Whether a file is as it was emitted, by its hash in the manifest.
    pub fn is_pristine(&self, file: &str) -> bool {
        self.pristine.contains(file)
    }

    /// Weights that the suite has in a file of its own, by name.
    pub fn stored(&self) -> &HashMap<String, Tensor> {
        &self.stored
    }
}

/// The model's own weights, which must be those of the graph.
fn weights(name: &str, bytes: &[u8], imported: &Graph) -> Result<HashMap<String, Tensor>> {
    let refuse = |what: String| {
        let help = "undo the change, or decompose the model again";
        Box::new(Diagnostic::new(&codes::SUITE_INVALID, what).in_file(format!("{name}/{STORED}")).help(help))
    };
    let tensors = stored::read(bytes).map_err(refuse)?;
    for (weight, tensor) in &tensors {
        let ty = imported.find(weight).map(|value| imported.ty(value));
        match ty {
            Some(ty) if ty.dtype == tensor.dtype() && ty.shape.as_slice() == tensor.shape() => {}
            Some(ty) => {
                let (own, graph) = (shape::display(tensor.shape()), shape::display(&ty.shape));
                return Err(refuse(format!("`{weight}` is {} {own}, in the graph {} {graph}", tensor.dtype(), ty.dtype)));
            }
            None => return Err(refuse(format!("the graph has no weight `{weight}`"))),
        }
    }
    Ok(tensors)
}

fn resolve(truth: &Truth, entry: &LaunchEntry) -> Result<Launch> {
    let (name, imported) = (truth.name, truth.imported);
    let value = |v: &str| imported.find(v).ok_or_else(|| invalid(name, format!("it names a value `{v}` that its graph lacks")));
    let layer = &entry.layer;
    let kernel = truth.manifest.kernels.get(entry.kernel);
    let kernel = kernel.ok_or_else(|| invalid(name, format!("launch {layer} has no kernel {}", entry.kernel)))?;
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
    let output = operands
        .iter()
        .find(|o| o.written())
        .and_then(|o| o.imported)
        .ok_or_else(|| invalid(name, format!("launch {layer} writes no value of the model")))?;
    let launch = Launch { layer: layer.clone(), kernel: entry.kernel, covers: covers.collect::<Result<_>>()?, operands, output };
    let values: Vec<&str> = entry.operands.iter().map(|used| used.value.as_str()).collect();
    truth.launch(&launch, &values)?;
    Ok(launch)
}

/// The module that a Python file of a suite is: `kernels/relu__0123.py` is `kernels.relu__0123`.
pub fn module_name(file: &str) -> String {
    file.trim_end_matches(".py").replace('/', ".")
}

/// The files that host code reaches, kernels and `run.py`; and what is wrong with those that cannot be read.
fn modules(name: &str, files: &Files) -> (Modules, BTreeMap<String, Diagnostic>) {
    let (mut modules, mut unreadable) = (Modules::new(), BTreeMap::new());
    for (path, bytes) in
        files.iter().filter(|(path, _)| path.as_str() == "run.py" || (path.starts_with("kernels/") && path.ends_with(".py")))
    {
        let text = std::str::from_utf8(bytes).map_err(|e| {
            let diagnostic = Diagnostic::new(&codes::SUITE_INVALID, format!("it is not UTF-8: {e}"));
            Box::new(diagnostic.in_file(format!("{name}/{path}")))
        });
        let module = module_name(path);
        let read = text.and_then(|text| parse_module(&SourceFile::new(format!("{name}/{path}"), text)));
        if let Err(error) = read.and_then(|parsed| modules.add(&module, parsed)) {
            unreadable.insert(module, *error);
        }
    }
    (modules, unreadable)
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
