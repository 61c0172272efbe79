//! Runs `tools/export_task.py` in a Python process of its own: the only code that ever runs a task's.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::diag::{Diagnostic, Result, codes};

/// The exporter, which needs torch and nothing else.
const EXPORTER: &str = include_str!("../../../tools/export_task.py");

/// Writes a task's archive, and its document beside that.
///
/// # Errors
/// U002 where no interpreter starts, U010 with what the exporter says of the task.
pub fn export(python: &Path, task: &Path, archive: &Path, reduce: Option<i64>) -> Result<()> {
    let name = task.display().to_string();
    let mut command = Command::new(python);
    command.arg("-").arg(task).arg("-o").arg(archive).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.args(reduce.map(|most| format!("--reduce={most}")));
    let help =
        "name an interpreter that has torch with --python, or export the task elsewhere: python tools/export_task.py TASK.py";
    let not_started = |cause: std::io::Error| {
        let message = format!("`{}` cannot be started to export it: {cause}", python.display());
        Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, message).in_file(&name).help(help))
    };
    let mut child = command.spawn().map_err(not_started)?;
    if let Some(mut input) = child.stdin.take() {
        // An interpreter that ends before it has read its program says why itself.
        let _ = input.write_all(EXPORTER.as_bytes());
    }
    let output = child.wait_with_output().map_err(not_started)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // A signal has no status: out of memory, or killed.
    let silent = match output.status.code() {
        Some(status) => format!("the exporter ends with status {status} and says nothing"),
        None => "the exporter was killed, as when memory runs out".to_owned(),
    };
    let last = said.lines().rfind(|line| !line.trim().is_empty()).map_or(silent.as_str(), str::trim);
    let told = last.strip_prefix(&format!("{name}: ")).unwrap_or(last);
    let diagnostic = Diagnostic::new(&codes::TASK_INVALID, told).in_file(&name);
    Err(Box::new(if last.contains("torch cannot be imported") { diagnostic.help(help) } else { diagnostic }))
}
