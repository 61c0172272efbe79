//! Where a task's export lies: beside its text as TASK.pt2 and TASK.json, at smaller sizes as TASK.reduced32.pt2 and
//! TASK.reduced32.json. One that fits the text is taken, another is replaced where Python may be started.

use std::path::{Path, PathBuf};

use super::{EXPORT_AGAIN, export};
use crate::diag::{Diagnostic, codes};
use crate::import::task::{Task, archive_of, document_of};
use crate::pipeline::{Observer, Outcome, one};
use crate::source::files;

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

impl Source {
    /// The document of an export that fits the task: one that is there, or a new one.
    pub(super) fn document(&self, observer: &dyn Observer, notes: &mut Vec<String>) -> Outcome<PathBuf> {
        let path = &self.path;
        let is = |extension: &str| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension));
        if is("json") || is("pt2") {
            return self.exported_elsewhere(&document_of(path));
        }
        let text = files::bytes(path, files::LARGEST_TEXT).map_err(|error| {
            let message = format!("cannot be read: {error}");
            let help = "name a task (TASK.py), or the pair that it was exported to (TASK.pt2, TASK.json)";
            vec![Diagnostic::new(&codes::FILE_UNREADABLE, message).in_file(path.display().to_string()).help(help)]
        })?;
        let pair = self.pair();
        let fits = |task: &Task| task.sha256 == files::digest(&text) && task.reduced == self.reduce;
        if pair.exists() && archive_of(&pair).exists() && Task::load(&pair).is_ok_and(|task| fits(&task)) {
            notes.push(format!("exported before: {}", archive_of(&pair).display()));
            return Ok(pair);
        }
        let Some(python) = &self.python else {
            let message = "no export of it lies beside it, and --no-python forbids to make one";
            let help = format!("where torch is: python tools/export_task.py TASK.py{}", self.arguments());
            return Err(vec![Diagnostic::new(&codes::FILE_UNREADABLE, message).in_file(path.display().to_string()).help(help)]);
        };
        observer.stage("export", 0);
        export::export(python, path, &archive_of(&pair), self.reduce).map_err(one)?;
        Ok(pair)
    }

    /// Where the document for these sizes lies.
    fn pair(&self) -> PathBuf {
        match self.reduce {
            Some(most) => self.path.with_extension(format!("reduced{most}.json")),
            None => document_of(&self.path),
        }
    }

    /// What the exporter is given besides the task's text.
    fn arguments(&self) -> String {
        let name = archive_of(&self.pair()).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.reduce.map(|most| format!(" --reduce {most} -o {name}")).unwrap_or_default()
    }

    /// A document that the user names, or at smaller sizes the one that lies beside it.
    fn exported_elsewhere(&self, named: &Path) -> Outcome<PathBuf> {
        let Some(most) = self.reduce else { return Ok(named.to_owned()) };
        let is_reduced = |document: &Path| Task::load(document).is_ok_and(|task| task.reduced == Some(most));
        if is_reduced(named) {
            return Ok(named.to_owned());
        }
        let beside = self.pair();
        if is_reduced(&beside) {
            return Ok(beside);
        }
        let message = format!("it was not exported with --reduce {most}, and {} is not there", beside.display());
        let help = format!("{EXPORT_AGAIN}{}", self.arguments());
        Err(vec![Diagnostic::new(&codes::TASK_INVALID, message).in_file(named.display().to_string()).help(help)])
    }
}
