//! `verdicts.json`: how each kernel of a suite was verified, and the hash of the file that was.
//!
//! A later verification trusts a verdict when the same version of the tool gave it, the manifest is
//! the same (another graph is another truth), and the file has the same hash; the chain's, when no
//! file at all changed. Only *verified* is trusted; everything else runs again. The document holds
//! no timings, so that equal suites have equal verdicts. A verdict holds for the seeds that it was reached
//! with; further seeds are added to it.
//!
//! Not caught: a manifest and verdicts that were forged together.

use serde::{Deserialize, Serialize};

use crate::conform::chain::{ChainReport, share};
use crate::conform::verdict::{Error, Verdict, Word};
use crate::emit::{self, Files, MANIFEST};

use super::Report;
use super::seeds::Seeds;

/// The file's name in a suite.
pub const VERDICTS: &str = "verdicts.json";

const VERSION: u32 = 3;

/// Raised with every change of a check, of the reference or of a bound: verdicts of before are not
/// trusted after it.
const JUDGEMENT: u32 = 8;

#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    tool: String,
    /// Hash of the manifest that the verdicts belong to.
    manifest: String,
    kernels: Vec<Entry>,
    chain: Option<ChainEntry>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    file: String,
    sha256: String,
    verdict: String,
    codes: Vec<String>,
    /// Seeds of the inputs on which it is *verified*.
    seeds: Vec<Seeds>,
    /// Whether the structure pass asked for bit-equality.
    bit_equal_on_integers: Option<bool>,
    /// Of the numerics pass, when the verdict is *verified*: the trial that comes closest to its tolerance.
    error: Option<ErrorEntry>,
}

#[derive(Clone, Serialize, Deserialize)]
struct ErrorEntry {
    max_abs_err: f64,
    max_rel_err: f64,
    over_tolerance: f64,
    worst_err: f64,
    tolerance: f64,
    formula: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct ChainEntry {
    verdict: String,
    codes: Vec<String>,
    /// As a kernel's.
    seeds: Vec<Seeds>,
    /// Of the model's outputs, when the verdict is *verified*.
    max_abs_err: Option<f64>,
    allowed: Option<f64>,
    /// Hash over all files that the suite was emitted with.
    files: String,
}

/// What was verified before and still holds.
#[derive(Default)]
pub struct Known {
    kernels: Vec<Entry>,
    chain: Option<ChainEntry>,
}

impl Known {
    /// What the suite's own `verdicts.json` says of its files as they are now.
    pub fn of(files: &Files) -> Known {
        let Some(document) = files.get(VERDICTS).and_then(|bytes| serde_json::from_slice::<Document>(bytes).ok()) else {
            return Known::default();
        };
        let manifest = files.get(MANIFEST).map(|bytes| emit::digest(bytes));
        if document.version != VERSION || document.tool != tool() || manifest.as_ref() != Some(&document.manifest) {
            return Known::default();
        }
        let verified = |verdict: &str| verdict == Word::Verified.as_str();
        let holds = |entry: &Entry| files.get(&entry.file).is_some_and(|bytes| emit::digest(bytes) == entry.sha256);
        let chain = document.chain.filter(|chain| verified(&chain.verdict) && chain.files == digest_of_all(files));
        let kernels = document.kernels.into_iter().filter(|entry| verified(&entry.verdict) && holds(entry));
        Known { kernels: kernels.collect(), chain }
    }

    fn entry(&self, file: &str) -> Option<&Entry> {
        self.kernels.iter().find(|known| known.file == file)
    }

    /// The verdict of a kernel's file, when it is known for these seeds.
    pub fn kernel(&self, file: &str, seeds: Seeds) -> Option<Verdict> {
        self.entry(file).filter(|entry| seeds.within(&entry.seeds)).map(Entry::verdict)
    }

    /// The chain's, when no file changed.
    pub fn chain(&self, seeds: Seeds) -> Option<ChainReport> {
        let entry = self.chain.as_ref().filter(|entry| seeds.within(&entry.seeds))?;
        let (max_abs_err, allowed) = (entry.max_abs_err?, entry.allowed?);
        Some(ChainReport { known: true, max_abs_err, allowed, ..ChainReport::of_nothing() })
    }
}

impl Entry {
    /// What a known entry says.
    fn verdict(&self) -> Verdict {
        let entry = self;
        let error = entry.error.as_ref().map(|e| Error {
            max_abs_err: e.max_abs_err,
            max_rel_err: e.max_rel_err,
            over_tolerance: e.over_tolerance,
            worst_err: e.worst_err,
            tolerance: e.tolerance,
            formula: e.formula.clone(),
        });
        let bit_equal = entry.bit_equal_on_integers;
        Verdict { word: Word::Verified, known: true, error, bit_equal, ..Verdict::not_verified() }
    }

    /// Adds what an earlier run found on the same bytes.
    fn add(&mut self, known: &Entry) {
        self.seeds = known.seeds.iter().fold(std::mem::take(&mut self.seeds), |all, &seeds| seeds.joined(&all));
        self.bit_equal_on_integers = self.bit_equal_on_integers.zip(known.bit_equal_on_integers).map(|(a, b)| a && b);
        let distance = |error: &Option<ErrorEntry>| error.as_ref().map_or(0.0, |e| e.over_tolerance);
        if distance(&known.error) > distance(&self.error) {
            self.error = known.error.clone();
        }
    }
}

fn tool() -> String {
    format!("decompose {} judgement {JUDGEMENT}", env!("CARGO_PKG_VERSION"))
}

/// A hash over every file but the verdicts.
fn digest_of_all(files: &Files) -> String {
    let lines: String = files
        .iter()
        .filter(|(path, _)| *path != VERDICTS)
        .map(|(path, bytes)| format!("{path} {}\n", emit::digest(bytes)))
        .collect();
    emit::digest(lines.as_bytes())
}

/// The document. Kernels that this run did not verify keep what is `known` of their files.
pub fn text(report: &Report, files: &Files, known: &Known) -> String {
    let mut kernels: Vec<Entry> = Vec::new();
    for layer in &report.layers {
        let entry = entry(&report.verdicts[layer.verdict], report.seeds, &layer.kernel, files, known);
        match kernels.iter_mut().find(|e| e.file == entry.file) {
            // Of several launches of one kernel, the first that does not hold stands.
            Some(known) if known.verdict == Word::Verified.as_str() => *known = entry,
            Some(_) => {}
            None => kernels.push(entry),
        }
    }
    let manifest = files.get(MANIFEST).map(|bytes| emit::digest(bytes)).unwrap_or_default();
    let chain = chain(report, digest_of_all(files), known);
    let document = Document { version: VERSION, tool: tool(), manifest, kernels, chain };
    serde_json::to_string_pretty(&document).expect("invariant: verdicts are strings and lists") + "\n"
}

fn entry(verdict: &Verdict, seeds: Seeds, file: &str, files: &Files, known: &Known) -> Entry {
    let known = known.entry(file);
    // Some programs say less than all of them did.
    let less = |known: &Entry| verdict.word == Word::Sampled && known.verdict == Word::Verified.as_str();
    if let Some(known) = known.filter(|known| verdict.known || verdict.word == Word::NotVerified || less(known)) {
        return known.clone();
    }
    let verified = verdict.word == Word::Verified;
    let mut entry = Entry {
        file: file.to_owned(),
        sha256: files.get(file).map(|bytes| emit::digest(bytes)).unwrap_or_default(),
        verdict: verdict.word.as_str().to_owned(),
        codes: verdict.diagnostics.iter().map(|d| d.code.id.to_owned()).collect(),
        seeds: if verified { vec![seeds] } else { Vec::new() },
        bit_equal_on_integers: verdict.bit_equal,
        error: verdict.error.as_ref().filter(|_| verified).map(|e| ErrorEntry {
            max_abs_err: e.max_abs_err,
            max_rel_err: e.max_rel_err,
            over_tolerance: e.over_tolerance,
            worst_err: e.worst_err,
            tolerance: e.tolerance,
            formula: e.formula.clone(),
        }),
    };
    if let Some(known) = known.filter(|_| verified) {
        entry.add(known);
    }
    entry
}

fn chain(report: &Report, files: String, known: &Known) -> Option<ChainEntry> {
    // What was not asked after still holds when no file changed.
    let Some(chain) = &report.chain else { return known.chain.clone() };
    let verified = chain.word == Word::Verified;
    let known = known.chain.as_ref().filter(|_| verified);
    let before = known.map(|entry| entry.seeds.as_slice()).unwrap_or_default();
    // The figures of the seed that comes closest to what is allowed.
    let figures = known.and_then(|entry| entry.max_abs_err.zip(entry.allowed));
    let (error, allowed) = figures
        .filter(|&(error, allowed)| share(error, allowed) > share(chain.max_abs_err, chain.allowed))
        .unwrap_or((chain.max_abs_err, chain.allowed));
    Some(ChainEntry {
        verdict: chain.word.as_str().to_owned(),
        codes: chain.diagnostics.iter().map(|d| d.code.id.to_owned()).collect(),
        seeds: if verified { report.seeds.joined(before) } else { Vec::new() },
        max_abs_err: verified.then_some(error),
        allowed: verified.then_some(allowed),
        files,
    })
}
