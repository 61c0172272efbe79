//! Bare kernels, run: a file, what its launches are described by, and for each run the verdict of the emulator and of the
//! comparison with what is expected.
//!
//! `asked` says which runs there are, `config` with which constexprs; `case` runs one; `compare` judges its values; `rounding` reads from the kernel what a
//! formula's bound depends on; `save` makes files of results;
//! `stats` counts what a run costs, `trace` watches it.
//!
//! A run that cannot be made says why and leaves the others alone; only a file that cannot be read ends all.

mod asked;
mod case;
mod compare;
mod config;
mod rounding;
pub mod save;
pub mod stats;
pub mod trace;

use std::path::PathBuf;

use super::{Cancel, Outcome};
use crate::conform::compare::Comparison;
use crate::conform::verdict::Word;
use crate::diag::{Class, Diagnostic, Result, Severity, codes};
use crate::emulate::observe::Go;
use crate::kernel::{Kernel, Verified};
use crate::lint;
use crate::target::Target;
use crate::tensor::Tensor;
pub(super) use config::not_specialised;
use config::{Case, Subject};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    pub file: PathBuf,
    /// Only this kernel.
    pub entry: Option<String>,
    /// A file of launch descriptions, in the place of the kernel file's comments.
    pub runs: Option<PathBuf>,
    /// `name=value` of an argument: said first, whatever descriptions say.
    pub args: Vec<(String, String)>,
    pub grid: Option<String>,
    /// `name=formula or file`.
    pub expect: Vec<(String, String)>,
    /// Which configurations of `@triton.autotune`.
    pub config: ConfigChoice,
    pub target: Option<&'static Target>,
    pub seed: u64,
    pub fuel: Option<u64>,
    /// Bytes of block values that one program may hold.
    pub memory: Option<usize>,
    pub threads: usize,
    pub dense: bool,
    /// Count what runs cost.
    pub stats: bool,
    /// Warnings of the emulator, too ([`crate::emulate::Checks::watchful`]).
    pub warnings: bool,
}

/// Which configurations of `@triton.autotune` a run takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConfigChoice {
    /// The first, where the description does not say what configurations say.
    #[default]
    First,
    Number(usize),
    All,
}

/// All runs, in order.
#[derive(Debug, Default)]
pub struct Report {
    pub runs: Vec<Run>,
    /// What holds of the file, however it is launched.
    pub remarks: Vec<Diagnostic>,
}

/// One run of one kernel.
#[derive(Debug)]
pub struct Run {
    pub name: String,
    pub kernel: String,
    pub config: Option<String>,
    pub grid: [u32; 3],
    pub programs: u64,
    pub instructions: u64,
    pub wall_seconds: f64,
    /// What is wrong, and what is worth a warning.
    pub findings: Vec<Diagnostic>,
    pub compared: Vec<Compared>,
    /// Performance facts, where they are asked for.
    pub stats: Option<stats::Facts>,
    /// What the tensors hold that the kernel stores to.
    pub outputs: Vec<(String, Tensor)>,
}

/// One tensor against what is expected of it.
#[derive(Clone, Debug)]
pub struct Compared {
    pub name: String,
    pub comparison: Comparison,
    /// What elements are held to, in words.
    pub tolerance: String,
}

impl Run {
    /// What it comes to; *not verified* where nothing is expected.
    pub fn word(&self) -> Word {
        let errors = || self.findings.iter().filter(|finding| finding.is_error());
        // A description that makes no sense says nothing of the kernel.
        let words: Vec<Word> = errors().filter(|e| e.class() != Class::Usage).map(|e| Word::of(e.class())).collect();
        for word in [Word::Failed, Word::Limit, Word::Unsupported] {
            if words.contains(&word) {
                return word;
            }
        }
        if self.compared.is_empty() || errors().next().is_some() { Word::NotVerified } else { Word::Verified }
    }
}

impl Report {
    pub fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.runs.iter().flat_map(|run| &run.findings).chain(&self.remarks)
    }

    /// Whether every run was compared with something, and nothing was found.
    pub fn fully_verified(&self) -> bool {
        self.findings().all(|finding| !finding.is_error()) && self.runs.iter().all(|run| run.word() == Word::Verified)
    }
}

/// Runs everything that is asked for.
///
/// # Errors
/// When the file, or what describes its launches, cannot be read; when nothing describes one.
pub fn emulate(asked: &Asked, cancel: &Cancel) -> Outcome<Report> {
    let (mut subject, cases) = cases(asked)?;
    let mut remarks = lint::npu_rules(&subject.module, asked.target);
    remarks.retain(|remark| asked.warnings || remark.severity == Severity::Error);
    let mut report = Report { remarks, ..Report::default() };
    for case in &cases {
        let mut run = case::run(asked, &mut subject, case, cancel);
        if asked.stats && run.programs > 0 {
            match stats::count(asked, &mut subject, case, cancel) {
                Ok(facts) => run.stats = Some(facts),
                Err(error) => run.findings.push(*error),
            }
        }
        let interrupted = run.findings.iter().find(|finding| finding.code == &codes::INTERRUPTED);
        if let Some(interrupted) = interrupted {
            return Err(vec![interrupted.clone()]);
        }
        report.runs.push(run);
    }
    Ok(report)
}

/// The file, and every run of it.
fn cases(asked: &Asked) -> Outcome<(Subject, Vec<Case>)> {
    let mut subject = Subject::open(&asked.file).map_err(super::one)?;
    let descriptions = asked::descriptions(asked, &subject).map_err(super::one)?;
    let mut cases = Vec::new();
    for description in descriptions {
        cases.extend(config::cases(&mut subject, description, asked.config).map_err(super::one)?);
    }
    Ok((subject, cases))
}

/// Watches the programs that `watched` names, run by run ([`trace::watch`]); a run begins with its name.
pub fn watch(
    asked: &Asked,
    cancel: &Cancel,
    watched: &dyn Fn([u32; 3]) -> bool,
    begin: &mut dyn FnMut(&str),
    tell: &mut dyn FnMut(trace::Event) -> Go,
) -> Outcome<()> {
    let (mut subject, cases) = cases(asked)?;
    for case in &cases {
        begin(&case.description.name);
        trace::watch(asked, &mut subject, case, cancel, watched, tell).map_err(super::one)?;
    }
    Ok(())
}

/// The lowered kernel of each run, with the run's name.
pub fn kernels(asked: &Asked) -> Outcome<Vec<(String, Verified<Kernel>)>> {
    let (mut subject, cases) = cases(asked)?;
    let mut kernel = |case: &Case| Ok((case.description.name.clone(), case::lowered(asked, &mut subject, case)?.1));
    cases.iter().map(&mut kernel).collect::<Result<_>>().map_err(super::one)
}

#[cfg(test)]
mod tests;
