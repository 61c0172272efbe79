//! A task in KernelBench's format: found or exported ([`source`], [`export`]), planned like any model, written as one file, and
//! that file judged ([`judge`]) as it stands, or at smaller sizes in its place ([`reduced`]).

mod export;
mod judge;
mod reduced;
mod source;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::diag::{Diagnostic, Result, codes};
use crate::emit::{self, modelnew};
use crate::graph::{Graph, TensorType, ValueId};
use crate::import::task::{Input, Task, archive_of};
use crate::import::{self, Binding, Imported};
use crate::shape::display;
use crate::source::files;
use crate::template::Library;

use super::{Cancel, Observer, Options, Outcome, Report, VerifyScope, library, load, one, planned};

pub use judge::Answered;
pub use source::Source;

/// What is done with a task.
#[derive(Clone, Debug)]
pub struct TaskOptions {
    pub source: Source,
    /// The file to write; `None` for `modelnew.py` in the working directory.
    pub output: Option<PathBuf>,
    /// What kernels' names begin with; `None`: after the task's file.
    pub op_name: Option<String>,
    pub init_seed: Option<u64>,
    /// Verify the file that the same task gets at smaller sizes ([`Source::reduce`]), in the place of the one that is written.
    pub reduced: Option<i64>,
    /// Of these what concerns the plan, verification, threads and `force`.
    pub options: Options,
}

const EXPORT_AGAIN: &str = "export the task again: python tools/export_task.py TASK.py";

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
    let document = source.document(observer, &mut notes)?;
    observer.stage("import", 0);
    let task = Task::load(&document).map_err(one)?;
    let archive = archive_of(&document);
    is_the_documents(&task, &archive)?;
    let binding = Binding { open_parameters: true, huge: true, ..Binding::default() };
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

/// Whether an archive is the one that was written with the document.
fn is_the_documents(task: &Task, archive: &Path) -> Outcome<()> {
    let name = archive.display().to_string();
    let unreadable = |cause: std::io::Error| {
        let message = format!("cannot be read: {cause}; {} needs the archive beside it", task.file);
        vec![Diagnostic::new(&codes::FILE_UNREADABLE, message).in_file(&name).help(EXPORT_AGAIN)]
    };
    if files::digest_of(archive).map_err(unreadable)? == task.archive {
        return Ok(());
    }
    let message = format!("{name} is not the archive that was written with it");
    Err(vec![Diagnostic::new(&codes::TASK_INVALID, message).in_file(&task.file).help(EXPORT_AGAIN)])
}

/// Whether the document says of the archive what is in it.
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
    Err(vec![Diagnostic::new(&codes::TASK_INVALID, message).in_file(&task.file).help(EXPORT_AGAIN)])
}

/// Writes a task's answer, and judges the file.
pub fn answer(asked: &TaskOptions, observer: &dyn Observer, cancel: &Cancel) -> Outcome<Report> {
    let mut options = asked.options.clone();
    let output = asked.output.clone().unwrap_or_else(|| PathBuf::from(modelnew::FILE));
    may_write(&output, options.force)?;
    let library = library(&options)?;
    let (read, text) = written(&asked.source, asked, &library, observer, cancel)?;
    if asked.reduced.is_some() {
        options.verify = VerifyScope::None;
    }
    let mut report = judged((&output, &text), &read, asked.init_seed, &options, observer, cancel)?;
    if let Some(most) = asked.reduced {
        let smaller = Source { reduce: Some(most), ..asked.source.clone() };
        let (read, smaller) = written(&smaller, asked, &library, observer, cancel)?;
        let name = PathBuf::from(format!("{} (at reduced sizes)", output.display()));
        let judged = judged((&name, &smaller), &read, asked.init_seed, &asked.options, observer, cancel)?;
        reduced::take(&mut report, judged, (&text, &smaller), (most, &read.task));
    }
    cancel.check().map_err(one)?;
    write(&output, &text)?;
    report.suite = Some(output);
    Ok(report)
}

/// The task of a source, and the text that answers it.
fn written(
    source: &Source,
    asked: &TaskOptions,
    library: &Library,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Outcome<(Read, String)> {
    let read = read(source, observer)?;
    let name = load::stem(Path::new(&read.task.task));
    let (planned, _, problems) = planned(&name, &read.imported, library, &asked.options, observer, cancel)?;
    if !problems.is_empty() {
        return Err(problems);
    }
    observer.stage("emit", 0);
    let form = modelnew::Form { op_name: asked.op_name.clone().unwrap_or_else(|| op_name(&name)), init_seed: asked.init_seed };
    let text = modelnew::text(&planned.plan, &read.task, &form).map_err(one)?;
    Ok((read, text))
}

/// Judges a file that answers a task, for a harness that seeds with `init_seed`.
pub fn verify(
    path: &Path,
    source: &Source,
    init_seed: Option<u64>,
    options: &Options,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Outcome<Report> {
    let text = files::text(path).map_err(|error| {
        vec![Diagnostic::new(&codes::FILE_UNREADABLE, format!("cannot be read: {error}")).in_file(path.display().to_string())]
    })?;
    let read = read(source, observer)?;
    if !read.imported.unsupported.is_empty() {
        return Err(read.imported.unsupported);
    }
    let report = judged((path, &text), &read, init_seed, options, observer, cancel)?;
    Ok(Report { suite: Some(path.to_owned()), ..report })
}

/// What is said of a file's text, behind what is said of the task.
fn judged(
    (path, text): (&Path, &str),
    read: &Read,
    init_seed: Option<u64>,
    options: &Options,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Outcome<Report> {
    let answered = Answered {
        name: path.display().to_string(),
        text,
        task: &read.task,
        graph: &read.imported.graph,
        precision: options.precision,
        target: &options.target,
        init_seed,
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
