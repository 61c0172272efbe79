//! Verdicts for a suite's files: every distinct kernel, or every launch, and the chain.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use crate::conform::chain::{self, ChainReport};
use crate::conform::execute::Executor;
use crate::conform::kernel;
use crate::conform::subject::Subject;
use crate::conform::unreached;
use crate::conform::verdict::{Verdict, Word};
use crate::diag::{Diagnostic, Result, codes};
use crate::emit::manifest::GENERATOR;
use crate::emit::{self, Change, Files};
use crate::emulate;

use super::verdicts::{self, Known};
use super::{Cancel, Layer, Observer, Outcome, Report, Verification, VerifyScope};

/// Instructions that one program of a kernel may execute. A program of a convolution needs thousands;
/// an endless one is found within seconds.
const FUEL: u64 = 1 << 26;

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
    let subject = Subject::read(name, files)?;
    let mut report = judge(&subject, asked, known, observer, cancel)?;
    let mut told = BTreeSet::new();
    if unreached::is_comparable(&subject) {
        for (path, differences) in unreached::differences(&subject, files)? {
            report.problems.extend(differences);
            told.insert(path);
        }
    } else {
        let generator = &subject.manifest.generator;
        report.notes.push(format!("emitted by `{generator}`, not `{GENERATOR}`: torch references and tests are not compared"));
    }
    let changes = emit::changes(files).unwrap_or_default();
    let untold = changes.iter().filter(|(path, _)| !told.contains(*path));
    report.problems.extend(untold.filter_map(|(path, change)| foreign(name, path, *change)));
    Ok(report)
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
    judge(&Subject::read(name, files)?, asked, known, observer, cancel)
}

fn judge(subject: &Subject, asked: &Verification, known: &Known, observer: &dyn Observer, cancel: &Cancel) -> Result<Report> {
    let emulating =
        emulate::Options { threads: asked.jobs, fuel: FUEL, cancel: Some(cancel.flag()), ..emulate::Options::default() };
    let executor = Executor::new(&subject.modules, emulating);
    let selected: Vec<bool> =
        subject.launches.iter().map(|l| asked.only.as_deref().is_none_or(|f| subject.matches(l, f))).collect();
    if let Some(filter) = asked.only.as_deref().filter(|_| !selected.contains(&true)) {
        let help = "name a kernel's file, a layer or a template of the table";
        return Err(Box::new(
            Diagnostic::new(&codes::USAGE, format!("--only `{filter}` matches nothing in {}", subject.name)).help(help),
        ));
    }
    let mut report =
        Report { model: subject.manifest.name.clone(), kernels: subject.manifest.kernels.len(), ..Report::default() };
    report.buffers = (subject.manifest.buffers.len(), buffer_bytes(subject));
    let mut by_kernel: HashMap<usize, usize> = HashMap::new();
    observer.stage("verify", selected.iter().filter(|&&s| s).count());
    for (launch, &selected) in subject.launches.iter().zip(&selected) {
        cancel.check()?;
        let entry = &subject.manifest.kernels[launch.kernel];
        let shared = by_kernel.get(&launch.kernel).copied().filter(|_| asked.scope != VerifyScope::All);
        let verdict = match shared {
            Some(at) => at,
            None => {
                let verdict = match asked.scope {
                    _ if !selected => Verdict::not_verified(),
                    VerifyScope::None => Verdict::not_verified(),
                    VerifyScope::Unique | VerifyScope::All => match known.kernel(&entry.file) {
                        Some(verdict) => verdict,
                        None => kernel::verify(subject, &executor, launch),
                    },
                };
                report.verdicts.push(verdict);
                if selected {
                    by_kernel.insert(launch.kernel, report.verdicts.len() - 1);
                }
                report.verdicts.len() - 1
            }
        };
        if selected {
            observer.step(&launch.layer);
        }
        report.layers.push(Layer { asked: selected, ..layer(subject, launch, verdict) });
    }
    // What a launch that was interrupted left behind is no verdict.
    cancel.check()?;
    report.missing = subject.manifest.refused.iter().chain(&subject.manifest.missing).cloned().collect();
    if !subject.manifest.missing.is_empty() {
        let missing = subject.manifest.missing.join(", ");
        report.notes.push(format!("no kernel computes {missing}, so the model as a whole is not run"));
    } else if asked.scope != VerifyScope::None && asked.only.is_none() {
        observer.stage("chain", subject.launches.len());
        let fails = |&(_, &verdict): &(&usize, &usize)| report.verdicts[verdict].word != Word::Verified;
        let failed: BTreeSet<usize> = by_kernel.iter().filter(fails).map(|(&kernel, _)| kernel).collect();
        let step = |layer: &str| {
            observer.step(layer);
            cancel.check()
        };
        let chain = match known.chain() {
            Some(chain) => Ok(ChainReport { launches: subject.launches.len(), ..chain }),
            None => chain::verify(subject, &executor, &failed, &step),
        };
        cancel.check()?;
        report.chain = Some(chain?);
    }
    Ok(report)
}

fn layer(subject: &Subject, launch: &crate::conform::subject::Launch, verdict: usize) -> Layer {
    let entry = &subject.manifest.kernels[launch.kernel];
    let graph = &subject.imported;
    let mut sources: Vec<(String, String)> = Vec::new();
    for source in launch.covers.iter().flat_map(|&n| &graph.node(n).sources) {
        let source = (source.node.clone(), source.operator.clone());
        // Several nodes of the graph may come from one of the model's (Gemm).
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    let grid = entry.launches.last().map(|l| l.grid.map(|g| u32::try_from(g).unwrap_or(u32::MAX)));
    Layer {
        layer: launch.layer.clone(),
        sources,
        template: entry.template.clone(),
        kernel: entry.file.clone(),
        shape: graph.shape(launch.output).to_vec(),
        grid,
        verdict,
        asked: true,
    }
}

fn buffer_bytes(subject: &Subject) -> u64 {
    // Sizes were checked when the suite was read.
    let size = |name: &str| crate::dtype::DType::from_name(name).map_or(0, crate::dtype::DType::size);
    subject.manifest.buffers.iter().map(|b| b.len as u64 * size(&b.dtype) as u64).sum()
}
