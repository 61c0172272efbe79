//! Whether the parts of a manifest belong together: later stages index with its numbers and believe
//! its names.
//!
//! The two graphs are the truth; everything else is derived from them again here and compared. The
//! document as a whole ([`document`]): model, inputs, outputs, settings, kernels, buffers. A launch
//! ([`launch`]): its operands are values of the rewritten graph that lie where the graph's views put
//! them, in storage of their size, and it covers the nodes between its operands and its output. All
//! launches together ([`coverage`]): each node is computed, or named as missing.
//!
//! A shape that contradicts the graph is a B001, everything else a U008 that names the key.
//!
//! Not caught here: what a kernel's file launches ([`super::planned`]), and parts that were forged
//! together so that they agree.

use std::collections::BTreeSet;

use super::diagnose::shape_mismatch;
use super::subject::{Launch, Operand};
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::emit::manifest::{AccessEntry, FORMAT, KernelEntry, MANIFEST, Manifest, OperandEntry, PRECISION, SlotEntry, VERSION};
use crate::fuse::Level;
use crate::graph::{Graph, NodeId, Op, Producer, ValueId};
use crate::select::layout::of_view;
use crate::shape::{self, Shape, display};
use crate::target::{Precision, Target};
use crate::template::Layout;

/// Why a part does not fit; the caller adds file and place.
type Fit = std::result::Result<(), String>;

/// A U008 about the manifest of the suite `name`.
pub fn invalid(name: &str, what: impl Into<String>) -> Box<Diagnostic> {
    let help = "decompose the model again, with --force to replace the suite";
    Box::new(Diagnostic::new(&codes::SUITE_INVALID, what).in_file(format!("{name}/{MANIFEST}")).help(help))
}

/// The format, before anything else of the document is believed.
pub fn format(manifest: &Manifest) -> Fit {
    if manifest.format != FORMAT || manifest.version != VERSION {
        return Err(format!("it is {} version {}, not {FORMAT} version {VERSION}", manifest.format, manifest.version));
    }
    Ok(())
}

/// Everything but the launches.
pub fn document(name: &str, manifest: &Manifest, imported: &Graph, rewritten: &Graph) -> Result<()> {
    settings(name, manifest)?;
    let fit = || -> Fit {
        graphs(manifest, imported, rewritten)?;
        for (i, kernel) in manifest.kernels.iter().enumerate() {
            kernel_fits(kernel).map_err(|what| format!("kernels[{i}] ({}): {what}", kernel.file))?;
            if manifest.kernels[..i].iter().any(|other| other.file == kernel.file) {
                return Err(format!("kernels[{i}]: {} is there twice", kernel.file));
            }
            if !manifest.launches.iter().any(|launch| launch.kernel == i) {
                return Err(format!("kernels[{i}]: {} is never launched", kernel.file));
            }
        }
        let mut bytes = 0usize;
        for (i, buffer) in manifest.buffers.iter().enumerate() {
            let dtype = DType::from_name(&buffer.dtype).ok_or_else(|| no_dtype(&format!("buffers[{i}]"), &buffer.dtype))?;
            let all = buffer.len.checked_mul(dtype.size()).and_then(|size| bytes.checked_add(size));
            bytes =
                all.filter(|&n| isize::try_from(n).is_ok()).ok_or_else(|| format!("buffers[{i}] does not fit into memory"))?;
        }
        prepared(manifest, rewritten)
    };
    fit().map_err(|what| invalid(name, what))
}

fn no_dtype(place: &str, dtype: &str) -> String {
    format!("{place}: there is no dtype `{dtype}`")
}

/// Settings must be ones that this version knows; which of them a suite was planned with changes no
/// verdict, but for the precision class.
fn settings(name: &str, manifest: &Manifest) -> Result<()> {
    for (key, value) in &manifest.settings {
        let known = match key.as_str() {
            "dtype" => value == "as-is" || DType::from_name(value).is_some_and(DType::is_float),
            "fuse" => Level::from_name(value).is_ok(),
            "target" => Target::find(value).is_some(),
            "precision" => Precision::from_name(value).is_some(),
            _ => return Err(invalid(name, format!("settings: there is no setting `{key}`"))),
        };
        if !known {
            return Err(invalid(name, format!("settings: {key} does not know `{value}`")));
        }
    }
    let class = manifest.settings.get(PRECISION).map_or("", String::as_str);
    for (i, launch) in manifest.kernels.iter().enumerate().flat_map(|(i, k)| k.launches.iter().map(move |l| (i, l))) {
        if let Some(own) = launch.args.get("PRECISION").filter(|own| own.as_str() != Some(class)) {
            return Err(invalid(name, format!("settings: {PRECISION} is {class}, but kernels[{i}] is launched with {own}")));
        }
    }
    Ok(())
}

/// Whether a graph's line reads back as `line`: weights whose elements lie in a file are read without.
pub fn same_line(line: &str, given: &str) -> bool {
    let read = given.strip_suffix(" = stored").map(|weight| format!("{weight} = missing"));
    line == read.as_deref().unwrap_or(given)
}

fn graphs(manifest: &Manifest, imported: &Graph, rewritten: &Graph) -> Fit {
    if manifest.model != imported.file || manifest.model != rewritten.file {
        return Err(format!("model is `{}`, the graphs are of `{}` and `{}`", manifest.model, imported.file, rewritten.file));
    }
    let names = |values: &[ValueId]| values.iter().map(|&v| imported.value(v).name.as_str()).collect::<Vec<_>>().join(", ");
    for (key, listed, values) in
        [("inputs", &manifest.inputs, imported.inputs()), ("outputs", &manifest.outputs, imported.outputs())]
    {
        if !listed.iter().eq(values.iter().map(|&v| &imported.value(v).name)) {
            return Err(format!("{key} are {}, those of the imported graph {}", listed.join(", "), names(values)));
        }
    }
    let printed = imported.to_string();
    let mut lines = printed.lines().zip(&manifest.imported).enumerate();
    if let Some((i, (line, _))) = lines.find(|(_, (line, given))| !same_line(line, given)) {
        return Err(format!("imported[{i}] is no line of a graph; `{line}` would be"));
    }
    if printed.lines().count() != manifest.imported.len() {
        return Err(format!("imported has {} lines, the graph in it {}", manifest.imported.len(), printed.lines().count()));
    }
    if imported.outputs().is_empty() && manifest.refused.is_empty() {
        return Err("imported: the graph has no output".to_owned());
    }
    // Rewriting leaves inputs, weights and outputs as they are, and identities of values rest on it.
    let edge = |line: &&String| ["input ", "weight ", "output "].iter().any(|word| line.starts_with(word));
    let mut pairs = (manifest.imported.iter().filter(edge), manifest.rewritten.iter().filter(edge));
    loop {
        match (pairs.0.next(), pairs.1.next()) {
            (None, None) => return Ok(()),
            (a, b) if a == b => {}
            (a, b) => {
                let shown = |line: Option<&String>| line.map_or("nothing".to_owned(), |line| format!("`{line}`"));
                return Err(format!("the imported graph has {} where the rewritten one has {}", shown(a), shown(b)));
            }
        }
    }
}

fn kernel_fits(kernel: &KernelEntry) -> Fit {
    let expected = format!("kernels/{}__{}.py", kernel.template, kernel.key);
    if kernel.file != expected {
        return Err(format!("template and key name the file {expected}"));
    }
    let mut names = BTreeSet::new();
    for operand in &kernel.operands {
        if !names.insert(operand.name.as_str()) {
            return Err(format!("two operands are called {}", operand.name));
        }
        // Other operands must lie where the graph's views put them.
        if operand.access == AccessEntry::Scratch {
            inside(operand).map_err(|what| format!("operand {}: {what}", operand.name))?;
        }
    }
    let written = kernel.operands.iter().filter(|o| o.access == AccessEntry::Write).count();
    if written != 1 {
        return Err(format!("{written} operands are written, not one"));
    }
    if kernel.launches.is_empty() {
        return Err("it launches nothing".to_owned());
    }
    match kernel.launches.iter().find(|l| l.grid.iter().any(|&size| u32::try_from(size).map_or(true, |size| size == 0))) {
        Some(launch) => Err(format!("{} has a grid {:?}", launch.function, launch.grid)),
        None => Ok(()),
    }
}

/// Whether a scratch operand's layout stays inside its storage.
fn inside(entry: &OperandEntry) -> Fit {
    let dtype = DType::from_name(&entry.dtype).ok_or_else(|| no_dtype("dtype", &entry.dtype))?;
    if entry.shape.len() != entry.strides.len() {
        return Err(format!("{} sizes, but {} strides", entry.shape.len(), entry.strides.len()));
    }
    let elements = shape::numel(&entry.shape).ok_or("more elements than memory can have")?;
    let storage = entry.storage.checked_mul(dtype.size()).filter(|&bytes| isize::try_from(bytes).is_ok());
    storage.ok_or("its storage does not fit into memory")?;
    let (mut low, mut high) = (i128::from(entry.offset), i128::from(entry.offset));
    for (&size, &stride) in entry.shape.iter().zip(&entry.strides) {
        let reach = i128::from(stride) * (size as i128 - 1).max(0);
        low += reach.min(0);
        high += reach.max(0);
    }
    if elements == 0 || low < 0 || high >= entry.storage as i128 {
        return Err(format!("elements {low} to {high} of a storage of {}", entry.storage));
    }
    Ok(())
}

/// What `prepare` returns is what launches take, in order of first use, then what the model returns.
fn prepared(manifest: &Manifest, rewritten: &Graph) -> Fit {
    let taken = manifest.launches.iter().flat_map(|launch| &launch.operands).filter_map(|used| match &used.slot {
        SlotEntry::Weight(base) => rewritten.find(base),
        SlotEntry::Input(_) | SlotEntry::Buffer(_) => None,
    });
    let returned = rewritten.outputs().iter().copied().filter(|&v| rewritten.is_prepared(v));
    let mut expected: Vec<&str> = Vec::new();
    for value in taken.chain(returned) {
        let data = rewritten.value(value);
        if matches!(data.producer, Producer::Node { .. }) && !expected.contains(&data.name.as_str()) {
            expected.push(&data.name);
        }
    }
    if manifest.prepared != expected {
        return Err(format!("prepared is {}, launches and outputs need {}", manifest.prepared.join(", "), expected.join(", ")));
    }
    Ok(())
}

/// The graphs that a launch is held against.
pub struct Truth<'a> {
    pub name: &'a str,
    pub manifest: &'a Manifest,
    pub imported: &'a Graph,
    pub rewritten: &'a Graph,
    /// Whether operands must lie where `run.py`'s buffers and the graph's views have them. Kernels that are
    /// judged one by one may lie anywhere.
    pub placed: bool,
}

impl Truth<'_> {
    /// One launch whose names were resolved; `values` names its operands in the rewritten graph.
    pub fn launch(&self, launch: &Launch, values: &[&str]) -> Result<()> {
        let layer = &launch.layer;
        for (operand, value) in launch.operands.iter().zip(values) {
            let at = |what: String| invalid(self.name, format!("launch {layer}, operand {}: {what}", operand.entry.name));
            let value = self.rewritten.find(value).ok_or_else(|| at(format!("the rewritten graph has no value `{value}`")))?;
            self.shape(launch, operand, value)?;
            self.operand(operand, value).map_err(at)?;
        }
        self.covers(launch).map_err(|what| invalid(self.name, format!("launch {layer}: {what}")))
    }

    /// B001 where an operand's shape is not its value's.
    fn shape(&self, launch: &Launch, operand: &Operand, value: ValueId) -> Result<()> {
        let (got, expected) = (operand.entry.shape.as_slice(), self.rewritten.shape(value));
        if got == expected {
            return Ok(());
        }
        let name = &operand.entry.name;
        let diagnostic = match self.rewritten.value(value).producer {
            Producer::Node { node, .. } if operand.written() => {
                let node = self.rewritten.node(node);
                let shapes: Vec<&[usize]> = node.inputs.iter().flatten().map(|&v| self.rewritten.shape(v)).collect();
                shape_mismatch(name, &node.op, &shapes, got, expected)
            }
            Producer::Node { .. } | Producer::Input(_) | Producer::Weight(_) => {
                let value = &self.rewritten.value(value).name;
                let what = format!("{name}: the operand is {}, its value {value} is {}", display(got), display(expected));
                Diagnostic::new(&codes::SHAPE_MISMATCH, what).help("decompose the model again, with --force to replace the suite")
            }
        };
        Err(Box::new(diagnostic.in_file(format!("{}/{MANIFEST}", self.name)).note(format!("layer: {}", launch.layer))))
    }

    /// Type, place and identity of an operand whose shape is right.
    fn operand(&self, operand: &Operand, value: ValueId) -> Fit {
        let (entry, graph) = (&operand.entry, self.rewritten);
        let name = |v: ValueId| &graph.value(v).name;
        if graph.dtype(value) != operand.dtype {
            return Err(format!("it is {}, its value {} is {}", operand.dtype, name(value), graph.dtype(value)));
        }
        let (root, layout) = lies(graph, value);
        let expected = self.counterpart(value);
        if operand.imported != expected {
            let shown = |v: Option<ValueId>| v.map_or("none", |v| self.imported.value(v).name.as_str());
            let (is, should) = (shown(operand.imported), shown(expected));
            return Err(format!("it stands for {is} of the imported graph, its value {} for {should}", name(value)));
        }
        if let Some(own) = operand.imported.map(|v| self.imported.ty(v))
            && (own.dtype != operand.dtype || shape::numel(&own.shape) != shape::numel(&entry.shape))
        {
            return Err(format!("its value is {} {} in the imported graph", own.dtype, display(&own.shape)));
        }
        if !self.placed {
            return Ok(());
        }
        let produced = matches!(graph.value(root).producer, Producer::Node { .. }) && !graph.is_prepared(root);
        let fits = match &operand.slot {
            SlotEntry::Input(i) => graph.inputs().get(*i) == Some(&root),
            SlotEntry::Weight(base) => graph.find(base) == Some(root) && graph.is_prepared(root),
            SlotEntry::Buffer(i) => {
                let buffer = self.manifest.buffers.get(*i).ok_or_else(|| format!("there is no buffer {i}"))?;
                if buffer.len != entry.storage || buffer.dtype != entry.dtype {
                    return Err(format!(
                        "a storage of {} {} in buffer {i}, which has {} {}",
                        entry.storage, entry.dtype, buffer.len, buffer.dtype
                    ));
                }
                produced
            }
        };
        if !fits || (operand.written() && !matches!(operand.slot, SlotEntry::Buffer(_))) {
            return Err(format!("{} does not lie in {:?}", name(value), operand.slot));
        }
        if layout.storage != entry.storage {
            return Err(format!("a storage of {}, that of {} has {}", entry.storage, name(root), layout.storage));
        }
        if layout.offset != entry.offset || layout.strides.as_slice() != entry.strides {
            return Err(format!(
                "strides {:?} and offset {}, the graph's views give {:?} and {}",
                entry.strides,
                entry.offset,
                layout.strides.as_slice(),
                layout.offset
            ));
        }
        Ok(())
    }

    /// The value of the imported graph that one of the rewritten graph stands for: rewriting keeps
    /// the names of all that it does not add.
    fn counterpart(&self, value: ValueId) -> Option<ValueId> {
        self.imported.find(&self.rewritten.value(value).name)
    }

    /// The nodes between a launch's operands and its output are those that it covers, views and weight
    /// preparation aside.
    fn covers(&self, launch: &Launch) -> Fit {
        let graph = self.imported;
        let computing = |nodes: &[NodeId]| nodes.iter().copied().filter(|&n| computes(graph, n)).collect::<BTreeSet<_>>();
        let between = computing(&launch.nodes(graph));
        let covered = computing(&launch.covers);
        let names = |nodes: &BTreeSet<NodeId>| {
            nodes.iter().map(|&n| graph.value(graph.node(n).outputs[0]).name.as_str()).collect::<Vec<_>>().join(", ")
        };
        if between != covered {
            return Err(format!(
                "it covers the nodes of {}, but between its operands and its output lie those of {}",
                names(&covered),
                names(&between)
            ));
        }
        let sources = launch.covers.iter().flat_map(|&n| {
            let node = graph.node(n);
            node.sources.iter().map(|s| s.node.as_str()).chain([node.op.name()])
        });
        if !sources.into_iter().any(|source| source == launch.layer) {
            return Err("no node that it covers has this name".to_owned());
        }
        Ok(())
    }
}

/// Whether a launch has to compute a node: it is no view, and depends on more than weights.
fn computes(graph: &Graph, node: NodeId) -> bool {
    !matches!(graph.node(node).op, Op::View(_)) && !graph.is_prepared(graph.node(node).outputs[0])
}

/// The value with storage that a value is, or is a view of, and how it lies there.
fn lies(graph: &Graph, value: ValueId) -> (ValueId, Layout) {
    let mut views = Vec::new();
    let mut root = value;
    while let Producer::Node { node, .. } = graph.value(root).producer
        && let Op::View(view) = &graph.node(node).op
        && let Some(source) = graph.node(node).inputs[0]
        && !graph.is_prepared(root)
    {
        views.push(view);
        root = source;
    }
    let base = Layout::contiguous(graph.shape(root));
    let step = |layout: Layout, view: &&crate::graph::op::View| of_view(&layout, view);
    // Views that strides cannot express are Maps in a rewritten graph; one that is not lies nowhere.
    let layout = views.iter().rev().try_fold(base, step);
    (root, layout.unwrap_or(Layout { shape: Shape::new(), strides: Default::default(), offset: -1, storage: 0 }))
}

/// Each node of the imported graph is computed by a launch, or belongs to what is named as missing.
pub fn coverage(name: &str, manifest: &Manifest, imported: &Graph, launches: &[Launch]) -> Result<()> {
    let covered: BTreeSet<NodeId> = launches.iter().flat_map(|launch| launch.covers.iter().copied()).collect();
    let left: Vec<NodeId> = imported.node_ids().filter(|&n| computes(imported, n) && !covered.contains(&n)).collect();
    let is_left = |missing: &String| {
        // A node without a name of its own goes by its number, which its text does not keep.
        missing.starts_with('#') || left.iter().any(|&n| imported.node(n).sources.iter().any(|s| s.node == *missing))
    };
    let what = match (left.first(), manifest.missing.iter().find(|missing| left.is_empty() || !is_left(missing))) {
        (_, Some(missing)) => format!("missing: `{missing}` is no node that no launch computes"),
        (Some(&node), None) if manifest.missing.is_empty() => {
            format!("no launch computes {}", imported.value(imported.node(node).outputs[0]).name)
        }
        (_, None) => return Ok(()),
    };
    Err(invalid(name, what))
}
