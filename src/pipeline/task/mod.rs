//! A task in KernelBench's format: exported ([`export`]), planned like any model, written as one file, and that file
//! judged ([`judge`]) as it stands.

mod export;
mod judge;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::diag::{Diagnostic, Result, codes};
use crate::emit::{self, modelnew};
use crate::graph::{Graph, TensorType, ValueId};
use crate::import::task::{Input, Task, archive_of, document_of};
use crate::import::{self, Binding, Imported};
use crate::shape::display;
use crate::source::files;

use super::{Cancel, Observer, Options, Outcome, Report, VerifyScope, library, load, one, planned};

pub use judge::Answered;

/// How a task is read.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The task's text, or one of the two files of its export.
    pub path: PathBuf,
    /// The interpreter that exports; `None`: none is started.
    pub python: Option<PathBuf>,
    /// Module-level integers are lowered to this.
    pub reduce: Option<i64>,
}

/// What is done with a task.
#[derive(Clone, Debug)]
pub struct TaskOptions {
    pub source: Source,
    /// The file to write; `None` for `modelnew.py` in the working directory.
    pub output: Option<PathBuf>,
    /// What kernels' names begin with; `None`: after the task's file.
    pub op_name: Option<String>,
    pub init_seed: Option<u64>,
    /// Of these what concerns the plan, verification, threads and `force`.
    pub options: Options,
}

/// A task that was read.
pub struct Read {
    pub task: Task,
    /// What it returns, without the buffers that it updates.
    pub imported: Imported,
    pub notes: Vec<String>,
}

/// Exports where that is needed, and reads the pair.
pub fn read(source: &Source, observer: &dyn Observer) -> Outcome<Read> {
    let mut notes = Vec::new();
    let document = document(source, observer, &mut notes)?;
    observer.stage("import", 0);
    let task = Task::load(&document).map_err(one)?;
    let archive = archive_of(&document);
    let binding = Binding { open_parameters: true, ..Binding::default() };
    let mut imported = import::load(&archive, &binding)?;
    if !imported.mutates.is_empty() {
        let updated: Vec<&str> = imported.mutates.iter().map(|(_, name)| name.as_str()).collect();
        notes.push(format!("not updated, as nothing returns them: {}", updated.join(", ")));
        let mutated: Vec<_> = imported.mutates.drain(..).map(|(value, _)| value).collect();
        let kept = imported.graph.outputs().iter().copied().filter(|value| !mutated.contains(value)).collect();
        imported.graph.set_outputs(kept);
        imported.graph.remove_unneeded();
    }
    if imported.unsupported.is_empty() {
        let given: Vec<&TensorType> = task.inputs.iter().filter_map(Input::ty).collect();
        belongs(&task, "inputs", &given, &imported.graph, imported.graph.inputs())?;
        let returned: Vec<&TensorType> = task.outputs.iter().collect();
        belongs(&task, "outputs", &returned, &imported.graph, imported.graph.outputs())?;
    }
    Ok(Read { task, imported, notes })
}

/// Whether the document and the archive beside it are of one export.
fn belongs(task: &Task, what: &str, listed: &[&TensorType], graph: &Graph, values: &[ValueId]) -> Outcome<()> {
    let archive: Vec<&TensorType> = values.iter().map(|&value| graph.ty(value)).collect();
    if listed == archive.as_slice() {
        return Ok(());
    }
    let shown = |types: &[&TensorType]| {
        let each: Vec<String> = types.iter().map(|ty| format!("{} {}", ty.dtype, display(&ty.shape))).collect();
        if each.is_empty() { "none".to_owned() } else { each.join(", ") }
    };
    let message = format!("its {what} are {}, those of the archive beside it {}", shown(listed), shown(&archive));
    let help = "export the task again: python tools/export_task.py TASK.py";
    Err(vec![Diagnostic::new(&codes::TASK_INVALID, message).in_file(&task.file).help(help)])
}

/// The document of an export that fits the task: one that is there, or a new one.
fn document(source: &Source, observer: &dyn Observer, notes: &mut Vec<String>) -> Outcome<PathBuf> {
    let path = &source.path;
    let is = |extension: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension));
    if is("json") || is("pt2") {
        return Ok(document_of(path));
    }
    let text = files::bytes(path, files::LARGEST_TEXT).map_err(|error| {
        let message = format!("cannot be read: {error}");
        let help = "name a task (TASK.py), or the pair that it was exported to (TASK.pt2, TASK.json)";
        vec![Diagnostic::new(&codes::FILE_UNREADABLE, message).in_file(path.display().to_string()).help(help)]
    })?;
    let pair = document_of(path);
    let fits = |task: &Task| task.sha256 == files::digest(&text) && task.reduced == source.reduce;
    if pair.exists() && archive_of(&pair).exists() && Task::load(&pair).is_ok_and(|task| fits(&task)) {
        notes.push(format!("exported before: {}", archive_of(&pair).display()));
        return Ok(pair);
    }
    let Some(python) = &source.python else {
        let message = "no export of it lies beside it, and --no-python forbids to make one";
        let help = "where torch is: python tools/export_task.py TASK.py, which writes TASK.pt2 and TASK.json";
        return Err(vec![Diagnostic::new(&codes::FILE_UNREADABLE, message).in_file(path.display().to_string()).help(help)]);
    };
    observer.stage("export", 0);
    export::export(python, path, source.reduce).map_err(one)?;
    Ok(pair)
}

/// Writes a task's answer, and judges the file.
pub fn answer(asked: &TaskOptions, observer: &dyn Observer, cancel: &Cancel) -> Outcome<Report> {
    let options = &asked.options;
    let output = asked.output.clone().unwrap_or_else(|| PathBuf::from(modelnew::FILE));
    may_write(&output, options.force)?;
    let library = library(options)?;
    let read = read(&asked.source, observer)?;
    let Read { task, imported, .. } = &read;
    let name = load::stem(Path::new(&task.task));
    let (planned, _, problems) = planned(&name, imported, &library, options, observer, cancel)?;
    if !problems.is_empty() {
        return Err(problems);
    }
    observer.stage("emit", 0);
    let form = modelnew::Form { op_name: asked.op_name.clone().unwrap_or_else(|| op_name(&name)), init_seed: asked.init_seed };
    let text = modelnew::text(&planned.plan, task, &form).map_err(one)?;
    let mut report = judged(&output, &text, &read, options, observer, cancel)?;
    cancel.check().map_err(one)?;
    write(&output, &text)?;
    report.suite = Some(output);
    Ok(report)
}

/// Judges a file that answers a task.
pub fn verify(path: &Path, source: &Source, options: &Options, observer: &dyn Observer, cancel: &Cancel) -> Outcome<Report> {
    let text = files::text(path).map_err(|error| {
        vec![Diagnostic::new(&codes::FILE_UNREADABLE, format!("cannot be read: {error}")).in_file(path.display().to_string())]
    })?;
    let read = read(source, observer)?;
    if !read.imported.unsupported.is_empty() {
        return Err(read.imported.unsupported);
    }
    let report = judged(path, &text, &read, options, observer, cancel)?;
    Ok(Report { suite: Some(path.to_owned()), ..report })
}

/// What is said of a file's text, behind what is said of the task.
fn judged(path: &Path, text: &str, read: &Read, options: &Options, observer: &dyn Observer, cancel: &Cancel) -> Outcome<Report> {
    let answered = Answered {
        name: path.display().to_string(),
        text,
        task: &read.task,
        graph: &read.imported.graph,
        precision: options.precision,
        target: &options.target,
    };
    let mut report = judge::judge(&answered, &options.verification(), observer, cancel).map_err(one)?;
    report.notes.splice(0..0, read.notes.iter().cloned());
    Ok(report)
}

/// A task's file as the beginning of names: `1_Conv2D_ReLU.py` is `conv2d_relu`.
fn op_name(stem: &str) -> String {
    let lower: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    let parts: Vec<&str> = lower.split('_').filter(|part| !part.is_empty()).collect();
    let named = match parts.as_slice() {
        [number, rest @ ..] if !rest.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => rest,
        all => all,
    };
    let name = named.join("_");
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("op_{name}").trim_end_matches('_').to_owned() }
}

/// A file that is there is only replaced on demand.
pub(super) fn may_write(output: &Path, force: bool) -> Outcome<()> {
    if force || !output.exists() {
        return Ok(());
    }
    let message = "is there already";
    let help = "name another file with -o, or replace it with --force";
    Err(vec![Diagnostic::new(&codes::OUTPUT_IN_THE_WAY, message).in_file(output.display().to_string()).help(help)])
}

pub(super) fn write(output: &Path, text: &str) -> Outcome<()> {
    let folder = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = output.file_name().map_or_else(|| modelnew::FILE.to_owned(), |name| name.to_string_lossy().into_owned());
    emit::replace(folder, &name, text.as_bytes()).map_err(one)
}

/// What verification of a task may be asked for.
pub fn scope(scope: VerifyScope) -> Result<VerifyScope> {
    match scope {
        VerifyScope::Unique | VerifyScope::All | VerifyScope::None => Ok(scope),
        VerifyScope::Sampled => {
            let refused = Diagnostic::new(&codes::NOT_OFFERED, "--verify sampled of a task");
            Err(Box::new(refused.help("lower its sizes with --reduce")))
        }
    }
}
