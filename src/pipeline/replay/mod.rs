//! Replay of recorded launches: what a kernel did on a GPU against what the emulator says that it does.
//!
//! `recording` reads a folder, `launch` makes of it what the emulator takes, `compare` judges memory. A replay runs with all checks;
//! where values differ, the launch runs once more under running error analysis ([`crate::emulate::running_error`]), which
//! says by how much each element may differ.
//!
//! Does not see: what the GPU wrote outside of the memory that the recording holds.

mod compare;
mod launch;
mod recording;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rayon::prelude::*;

use super::{Cancel, Outcome};
use crate::diag::{Class, Diagnostic, Result, codes};
use crate::emulate::running_error::{self, Bounds};
use crate::emulate::{self, BufferId, Checks, Memory, Options};
pub use compare::{Compared, Worst};
use launch::Prepared;
use recording::Recording;

/// How recordings are replayed.
#[derive(Clone, Debug)]
pub struct Asked {
    pub folder: PathBuf,
    pub fuel: Option<u64>,
    /// Bytes of block values that one program may hold.
    pub memory: Option<usize>,
    /// Recordings at a time.
    pub threads: usize,
}

/// What one replay came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// Bit by bit what the GPU wrote.
    Equal,
    /// Within the derived bounds.
    Within,
    /// Nothing is outside of its bound, but some elements that differ have none.
    Undecided,
    Differs,
    /// The kernel cannot be lowered or run.
    Refused,
}

impl Word {
    pub const ALL: [Word; 5] = [Word::Equal, Word::Within, Word::Undecided, Word::Differs, Word::Refused];

    pub fn as_str(self) -> &'static str {
        match self {
            Word::Equal => "equal",
            Word::Within => "within bounds",
            Word::Undecided => "undecided",
            Word::Differs => "differs",
            Word::Refused => "refused",
        }
    }
}

/// One recording.
#[derive(Debug)]
pub struct Replay {
    pub folder: PathBuf,
    pub kernel: String,
    pub function: String,
    pub package: String,
    pub grid: [u32; 3],
    pub word: Word,
    pub seconds: f64,
    /// What the checks found in the kernel, what refuses it, and values that differ.
    pub findings: Vec<Diagnostic>,
    pub compared: Vec<Compared>,
    /// Why elements are undecided.
    pub notes: Vec<String>,
}

impl Replay {
    /// The range with the largest error over its bound.
    pub fn worst(&self) -> Option<&Compared> {
        self.compared.iter().max_by(|a, b| a.error_over_bound.total_cmp(&b.error_over_bound))
    }
}

/// Replays everything that is in the folder, in the order of names.
///
/// # Errors
/// U002 when there is nothing; U009 when interrupted.
pub fn replay(asked: &Asked, cancel: &Cancel) -> Outcome<Vec<Replay>> {
    let folders = recording::find(&asked.folder).map_err(super::one)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(asked.threads).build();
    let pool = pool.map_err(|error| vec![Diagnostic::new(&codes::INTERNAL, format!("no threads: {error}"))])?;
    let replays: Vec<Replay> = pool.install(|| folders.par_iter().map(|folder| one(asked, folder, cancel)).collect());
    cancel.check().map_err(super::one)?;
    Ok(replays)
}

/// One recording; everything that goes wrong is among the findings.
fn one(asked: &Asked, folder: &Path, cancel: &Cancel) -> Replay {
    let mut replay = Replay {
        folder: folder.to_owned(),
        kernel: String::new(),
        function: String::new(),
        package: String::new(),
        grid: [0; 3],
        word: Word::Refused,
        seconds: 0.0,
        findings: Vec::new(),
        compared: Vec::new(),
        notes: Vec::new(),
    };
    let started = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| attempt(&mut replay, asked, folder, cancel)));
    let outcome = outcome.unwrap_or_else(|_| {
        let error = Diagnostic::new(&codes::INTERNAL, "the replay panics").in_file(folder.display().to_string());
        Err(Box::new(error))
    });
    if let Err(error) = outcome {
        replay.word = Word::Refused;
        replay.findings.push(*error);
    }
    replay.seconds = started.elapsed().as_secs_f64();
    replay
}

fn attempt(replay: &mut Replay, asked: &Asked, folder: &Path, cancel: &Cancel) -> Result<()> {
    cancel.check()?;
    let recording = recording::read(folder)?;
    (replay.kernel, replay.function) = (recording.kernel.clone(), recording.function.clone());
    (replay.package, replay.grid) = (recording.package.clone(), recording.grid);
    let prepared = launch::prepare(&recording)?;
    let options = options(asked, cancel);
    let memory = run(replay, &recording, &prepared, &options)?;
    judge(replay, &recording, &memory, None);
    if replay.word == Word::Equal {
        return Ok(());
    }
    match running_error::bounds(&prepared.program, &mut launch::memory(&recording), recording.grid, &prepared.args, &options) {
        Ok(bounds) => {
            judge(replay, &recording, &memory, Some(&bounds));
            replay.notes.extend(bounds.notes);
        }
        Err(error) => replay.notes.push(format!("no bound is derived: {}", error.message)),
    }
    if replay.word == Word::Differs {
        replay.findings.extend(replay.compared.iter().filter_map(|compared| differs(&recording, compared)));
    }
    Ok(())
}

fn options(asked: &Asked, cancel: &Cancel) -> Options {
    let plain = Options::default();
    Options {
        fuel: asked.fuel.unwrap_or(plain.fuel),
        memory: asked.memory.unwrap_or(plain.memory),
        cancel: Some(cancel.flag()),
        ..plain
    }
}

/// Memory after the launch. What the checks find is told, and then looked past: values are compared all the same.
fn run(replay: &mut Replay, recording: &Recording, prepared: &Prepared, options: &Options) -> Result<Memory> {
    let mut memory = launch::memory(recording);
    match emulate::run(&prepared.program, &mut memory, recording.grid, &prepared.args, options) {
        Ok(report) => replay.findings.extend(report.findings),
        Err(found) if found.class() == Class::Bug && found.code != &codes::HOST_LAUNCH => {
            replay.findings.push(*found);
            memory = launch::memory(recording);
            let blind = Options { checks: Checks::NONE, ..options.clone() };
            emulate::run(&prepared.program, &mut memory, recording.grid, &prepared.args, &blind)?;
        }
        Err(error) => return Err(error),
    }
    Ok(memory)
}

fn judge(replay: &mut Replay, recording: &Recording, memory: &Memory, bounds: Option<&Bounds>) {
    let ranges = recording.memory.iter().enumerate();
    replay.compared = ranges
        .map(|(number, range)| {
            let bounds = bounds.map_or(&[][..], |bounds| bounds.of(BufferId(number)));
            let after = range.after.as_ref().map(|tensor| tensor.storage());
            let name = launch::name(recording, number);
            compare::compare(&name, range.dtype, memory.lanes(BufferId(number)), range.before.storage(), after, bounds)
        })
        .collect();
    let any = |of: fn(&Compared) -> usize| replay.compared.iter().any(|compared| of(compared) > 0);
    replay.word = if any(|c| c.failures) {
        Word::Differs
    } else if any(|c| c.undecided) {
        Word::Undecided
    } else if any(|c| c.differ) {
        Word::Within
    } else {
        Word::Equal
    };
}

fn differs(recording: &Recording, compared: &Compared) -> Option<Diagnostic> {
    let worst = compared.worst.filter(|_| compared.failures > 0)?;
    let Worst { element, emulated, recorded, bound } = worst;
    let message = format!("`{}`, element {element}: {emulated:e} is emulated, {recorded:e} is recorded", compared.name);
    let error =
        Diagnostic::new(&codes::VALUE_MISMATCH, message).in_file(recording.folder.join("kernel.py").display().to_string());
    let error = error.note(format!("off by {:e}, {bound:e} is allowed", (emulated - recorded).abs()));
    Some(error.note(format!("{} of {} elements are outside of their bound", compared.failures, compared.elements)))
}

#[cfg(test)]
mod tests;
