//! Verification of a suite's files: what runs ([`judge`]), what no launch reaches, and what was verified
//! before and still holds.

use std::collections::BTreeSet;
use std::path::Path;

use crate::conform::subject::Subject;
use crate::conform::unreached;
use crate::diag::{Diagnostic, Result, codes};
use crate::emit::manifest::GENERATOR;
use crate::emit::{self, Change, Files};
use crate::lint;
use crate::source::SourceFile;
use crate::syntax::parse_module;
use crate::target::Target;

use super::judge::judge;
use super::verdicts::{self, Known};
use super::{Cancel, Observer, Outcome, Report, Verification};

/// Verifies a suite on disk: what changed since its last verdicts, or all of it.
pub fn verify(suite: &Path, asked: &Verification, observer: &dyn Observer, cancel: &Cancel) -> Outcome<Report> {
    let files = emit::read(suite).map_err(super::one)?;
    let known = Known::of(&files);
    let nothing = Known::default();
    let trusted = if asked.all { &nothing } else { &known };
    let name = suite.display().to_string();
    let mut report = all_of(&name, &files, asked, trusted, observer, cancel).map_err(super::one)?;
    let help = "decompose the model again: it says why";
    report.problems.extend(report.missing.iter().map(|what| {
        Diagnostic::new(&codes::OP_UNSUPPORTED, format!("the suite does not compute all of the model: {what}"))
            .in_file(&name)
            .help(help)
    }));
    let text = verdicts::text(&report, &files, &known);
    if let Err(refused) = emit::replace(suite, verdicts::VERDICTS, text.as_bytes()) {
        report.notes.push(format!("the verdicts are not kept: {}", refused.message));
    }
    Ok(Report { suite: Some(suite.to_owned()), ..report })
}

/// What runs, and what no launch reaches.
pub(super) fn all_of(
    name: &str,
    files: &Files,
    asked: &Verification,
    known: &Known,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<Report> {
    let mut subject = Subject::read(name, files)?;
    let mut report = judge(&mut subject, asked, known, observer, cancel)?;
    let mut told = BTreeSet::new();
    if asked.checks.unreached && unreached::is_comparable(&subject) {
        for (path, differences) in unreached::differences(&subject, files)? {
            report.problems.extend(differences);
            told.insert(path);
        }
    } else if asked.checks.unreached {
        let generator = &subject.manifest.generator;
        report.notes.push(format!("emitted by `{generator}`, not `{GENERATOR}`: torch references and tests are not compared"));
    }
    report.problems.extend(coding_rules(name, files, &subject, &report));
    let changes = emit::changes(files).unwrap_or_default();
    if let Some(change) = changes.get(emit::README) {
        report.notes.push(format!("{} was {change} since the suite was written; nothing depends on it", emit::README));
    }
    let untold = changes.iter().filter(|(path, _)| asked.checks.hashes && !told.contains(*path) && *path != emit::README);
    report.problems.extend(untold.filter_map(|(path, change)| foreign(name, path, *change)));
    Ok(report)
}

/// The coding rules for NPUs, over the kernels that were asked about: warnings, errors under an Ascend target. A
/// file that cannot be parsed is told by its verdict.
fn coding_rules(name: &str, files: &Files, subject: &Subject, report: &Report) -> Vec<Diagnostic> {
    let target = subject.manifest.settings.get("target").and_then(|name| Target::find(name));
    let asked = |file: &str| report.layers.iter().any(|layer| layer.asked && layer.kernel == file);
    let kernels = subject.manifest.kernels.iter().filter(|kernel| asked(&kernel.file));
    let texts = kernels.filter_map(|kernel| Some((&kernel.file, std::str::from_utf8(files.get(&kernel.file)?).ok()?)));
    let modules = texts.filter_map(|(file, text)| parse_module(&SourceFile::new(format!("{name}/{file}"), text)).ok());
    modules.flat_map(|module| lint::npu_rules(&module, target)).collect()
}

/// A file that is not what was emitted and that no emulation judges. Kernels and `run.py` may be
/// edited: they are run.
fn foreign(name: &str, path: &str, change: Change) -> Option<Diagnostic> {
    let judged = path == "run.py" || path.starts_with("kernels/");
    match change {
        Change::Edited if judged => return None,
        Change::Added => return None,
        Change::Edited | Change::Removed => {}
    }
    let diagnostic = Diagnostic::new(&codes::HOST_EDITED, format!("{change} since the suite was written"));
    Some(diagnostic.in_file(format!("{name}/{path}")).help("undo the change, or decompose the model again"))
}

/// Verifies files. What is `known` holds already and is not run again.
pub fn run(
    name: &str,
    files: &Files,
    asked: &Verification,
    known: &Known,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<Report> {
    judge(&mut Subject::read(name, files)?, asked, known, observer, cancel)
}
