//! Bare kernels, run: a file, what its launches are described by, and for each run the verdict of the emulator and of the
//! comparison with what is expected.
//!
//! `asked` says which runs there are; `case` runs one; `compare` judges its values; `rounding` reads from the kernel what a
//! formula's bound depends on; `save` makes files of results.
//!
//! A run that cannot be made says why and leaves the others alone; only a file that cannot be read ends all.

mod asked;
mod case;
mod compare;
mod rounding;
pub mod save;

use std::path::PathBuf;

use super::{Cancel, Outcome};
use crate::conform::compare::Comparison;
use crate::conform::verdict::Word;
use crate::diag::{Class, Diagnostic, Result, codes};
use crate::kernel::{Kernel, Verified};
use crate::launch::description::Description;
use crate::tensor::Tensor;

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
    pub seed: u64,
    pub fuel: Option<u64>,
    /// Bytes of block values that one program may hold.
    pub memory: Option<usize>,
    pub threads: usize,
    pub dense: bool,
}

/// All runs, in order.
#[derive(Debug, Default)]
pub struct Report {
    pub runs: Vec<Run>,
}

/// One run of one kernel.
#[derive(Debug)]
pub struct Run {
    pub name: String,
    pub kernel: String,
    pub grid: [u32; 3],
    pub programs: u64,
    pub instructions: u64,
    pub wall_seconds: f64,
    /// What is wrong, and what is worth a warning.
    pub findings: Vec<Diagnostic>,
    pub compared: Vec<Compared>,
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
        self.runs.iter().flat_map(|run| &run.findings)
    }

    /// Whether every run was compared with something, and nothing was found.
    pub fn fully_verified(&self) -> bool {
        self.runs.iter().all(|run| run.word() == Word::Verified)
    }
}

/// Runs everything that is asked for.
///
/// # Errors
/// When the file, or what describes its launches, cannot be read; when nothing describes one.
pub fn emulate(asked: &Asked, cancel: &Cancel) -> Outcome<Report> {
    let module = super::lower::read(&asked.file).map_err(super::one)?;
    let descriptions = asked::descriptions(asked, &module).map_err(super::one)?;
    let mut report = Report::default();
    for description in &descriptions {
        let run = case::run(asked, &module, description, cancel);
        let interrupted = run.findings.iter().find(|finding| finding.code == &codes::INTERRUPTED);
        if let Some(interrupted) = interrupted {
            return Err(vec![interrupted.clone()]);
        }
        report.runs.push(run);
    }
    Ok(report)
}

/// The lowered kernel of each run, with the run's name.
pub fn kernels(asked: &Asked) -> Outcome<Vec<(String, Verified<Kernel>)>> {
    let module = super::lower::read(&asked.file).map_err(super::one)?;
    let descriptions = asked::descriptions(asked, &module).map_err(super::one)?;
    let kernel = |description: &Description| Ok((description.name.clone(), case::lowered(&module, description)?.1));
    descriptions.iter().map(kernel).collect::<Result<_>>().map_err(super::one)
}

#[cfg(test)]
mod tests;
