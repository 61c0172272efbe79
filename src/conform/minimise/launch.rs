//! A failing launch of a suite at smaller shapes: a suite of that launch alone, whose kernel's file is the one
//! that was edited.
//!
//! The wrapper's calls of `check` name each tensor and its shape; these tuples are all that is exchanged.
//!
//! Not caught: that the edited kernel fails there for another reason than at its own shape, with the same code.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::resize::Resized;
use crate::conform::execute::Executor;
use crate::conform::kernel;
use crate::conform::mend;
use crate::conform::subject::{Launch, Operand, Subject, module_name};
use crate::conform::verdict::Verdict;
use crate::diag::{Diagnostic, Result};
use crate::emit::manifest::{AccessEntry, PRECISION};
use crate::emit::{self, EmitOptions, Files};
use crate::emulate;
use crate::fuse::{self, Level};
use crate::graph::Graph;
use crate::select::{self, Served};
use crate::shape::{self, Shape, display};
use crate::source::SourceFile;
use crate::syntax::ast::{ExprKind, Module, StmtKind};
use crate::syntax::parse_module;
use crate::target::Target;
use crate::template::{BindOptions, BoundKernel, Library};
use crate::tolerance::Precision;

/// Instructions that one program of a trial may execute.
const FUEL: u64 = 1 << 20;

/// The smallest shapes at which a launch's kernel fails alike: a note for its diagnostic, and the suite of it.
fn smallest(subject: &Subject, executor: &Executor, launch: &Launch, found: &Diagnostic) -> Option<(String, Subject)> {
    let entry = &subject.manifest.kernels[launch.kernel];
    let dense = |Operand { entry, .. }: &Operand| {
        let whole = entry.offset == 0 && shape::numel(&entry.shape) == Some(entry.storage);
        whole && shape::is_contiguous(&entry.shape, &entry.strides)
    };
    let scratch = entry.operands.iter().any(|operand| operand.access == AccessEntry::Scratch);
    // Host code fails at any shape.
    if !found.code.id.starts_with(['A', 'B', 'C'])
        || subject.is_pristine(&entry.file)
        || scratch
        || !launch.operands.iter().all(dense)
    {
        return None;
    }
    let graph = &subject.imported;
    let nodes = launch.nodes(graph);
    let planner = Planner::of(subject)?;
    let as_it_is = super::resize::resized(graph, &nodes, launch.output, &|value, _| Some(Shape::from_slice(graph.shape(value))))?;
    let (_, emitted) = planner.suite(&as_it_is.graph)?;
    if emitted.key != entry.key || emitted.template != entry.template {
        return None;
    }
    let emitted = parse_module(&SourceFile::new("emitted.py", emit::launch_module(&emitted))).ok()?;
    let edited = subject.modules.ast(&module_name(&entry.file))?;
    // The edited kernel's failure where it is the one that was found and the emitted kernel is right.
    let alike = |at: &Resized| {
        let (files, bound) = planner.suite(&at.graph)?;
        let fault = run(files.clone(), &bound, edited, executor)?.err().filter(|fault| fault.code == found.code)?;
        run(files, &bound, &emitted, executor)?.is_ok().then_some((fault, bound))
    };
    let smallest =
        super::smallest(graph, &nodes, launch.output, executor.cancel().map(Arc::as_ref), &mut |at| alike(at).is_some())?;
    let (fault, bound) = alike(&smallest)?;
    let shapes: Vec<String> = bound.operands.iter().map(|o| format!("{} {}", o.name, display(&o.layout.shape))).collect();
    let there = fault.notes.iter().find(|note| note.starts_with("worst at")).unwrap_or(&fault.message);
    let note = format!("smallest shapes that fail alike: {}; there: {there}", shapes.join(", "));
    let (files, _) = planner.suite(&smallest.graph)?;
    Some((note, of_one(files, &bound, edited)?.ok()?))
}

/// A verdict whose first finding says at which shapes it is found, too, and, where it shall, what mends it.
pub fn explained(subject: &Subject, executor: &Executor, launch: &Launch, mut verdict: Verdict, mends: bool) -> Verdict {
    if let Some(found) = verdict.diagnostics.first_mut() {
        let (note, small) = smallest(subject, executor, launch, found).unzip();
        found.notes.extend(note);
        if mends {
            *found = mend::explained(subject, executor, launch, small.as_ref(), found.clone());
        }
    }
    verdict
}

/// Plans and emits as the suite was.
struct Planner<'s> {
    subject: &'s Subject,
    library: Library,
    target: &'static Target,
    level: Level,
    precision: Precision,
}

impl<'s> Planner<'s> {
    fn of(subject: &'s Subject) -> Option<Planner<'s>> {
        let setting = |key: &str| subject.manifest.settings.get(key);
        Some(Planner {
            subject,
            library: Library::embedded().ok()?,
            target: Target::find(setting("target")?)?,
            level: Level::from_name(setting("fuse")?).ok()?,
            precision: Precision::from_name(setting(PRECISION)?)?,
        })
    }

    /// A suite of one kernel, and the kernel. `None` where planning takes several.
    fn suite(&self, graph: &Graph) -> Option<(Files, BoundKernel)> {
        let rewritten = fuse::rewrite(graph, self.level).ok()?;
        let clusters = fuse::cluster(&rewritten, self.level, &Served { library: &self.library, target: self.target }).ok()?;
        let options = BindOptions { precision: self.precision };
        let imported = Arc::new(graph.clone());
        let planned = select::plan("trial", imported, &rewritten, clusters, &self.library, self.target, options).ok()?;
        let ([kernel], [_], []) = (&planned.plan.kernels[..], &planned.plan.launches[..], &planned.missing[..]) else {
            return None;
        };
        let manifest = &self.subject.manifest;
        let options = EmitOptions {
            seed: manifest.seed,
            always_seeded: manifest.always_seeded,
            settings: manifest.settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            missing: Vec::new(),
            refused: Vec::new(),
        };
        Some((emit::suite(&planned.plan, &options).ok()?, kernel.as_ref().clone()))
    }
}

/// Judges the launch of a one-kernel suite whose kernel is `module`, at the suite's shapes, until `whole` is
/// cancelled. `None` where the module does not take other shapes.
fn run(files: Files, bound: &BoundKernel, module: &Module, whole: &Executor) -> Option<Result<()>> {
    let subject = match of_one(files, bound, module)? {
        Ok(subject) => subject,
        Err(refused) => return Some(Err(refused)),
    };
    let options = emulate::Options { fuel: FUEL, cancel: whole.cancel().cloned(), ..emulate::Options::default() };
    let executor = Executor::new(&subject.modules, options);
    Some(kernel::bare(&subject, &executor, subject.launches.first()?))
}

/// The one-kernel suite whose kernel is `module`. `None` where the module does not take other shapes.
fn of_one(mut files: Files, bound: &BoundKernel, module: &Module) -> Option<Result<Subject>> {
    let text = at_shapes(module, bound)?;
    files.insert(emit::kernel_path(bound), text.into_bytes());
    Some(Subject::of_kernels("trial", &files))
}

/// The module's text with the shapes that its `launch` demands exchanged for those of a kernel's operands; `None`
/// unless it demands one of each.
fn at_shapes(module: &Module, bound: &BoundKernel) -> Option<String> {
    let launch = module.body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Function(def) if def.name == "launch" => Some(def),
        _ => None,
    })?;
    let mut edits = Vec::new();
    for stmt in &launch.body {
        let StmtKind::Expr(expr) = &stmt.kind else { continue };
        let ExprKind::Call { func, args, keywords: _ } = &expr.kind else { continue };
        let (Some("check"), [name, _, shape, ..]) = (func.as_name(), &args[..]) else { continue };
        let (ExprKind::Str(name), ExprKind::Tuple(_)) = (&name.kind, &shape.kind) else { return None };
        edits.push((name.as_str(), shape.span));
    }
    let mut text = module.file.text().to_owned();
    if edits.len() != bound.operands.len() {
        return None;
    }
    edits.sort_by_key(|(_, span)| std::cmp::Reverse(span.start));
    let mut demanded = BTreeSet::new();
    for (name, span) in edits {
        let operand = bound.operands.iter().find(|o| o.name == name)?;
        demanded.insert(name);
        let layout = &operand.layout;
        if !shape::is_contiguous(&layout.shape, &layout.strides) || layout.offset != 0 {
            return None;
        }
        let sizes: String = layout.shape.iter().map(|size| format!("{size}, ")).collect();
        text.replace_range(span.start as usize..span.end as usize, &format!("({})", sizes.trim_end()));
    }
    (demanded.len() == bound.operands.len()).then_some(text)
}
