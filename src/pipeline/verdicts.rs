//! `verdicts.json`: how each kernel of a suite was verified, and the hash of the file that was.
//!
//! A later verification trusts a verdict when the same version of the tool gave it, the manifest is
//! the same (another graph is another truth), and the file has the same hash; the chain's, when no
//! file at all changed. Only *verified* is trusted; everything else runs again. The document holds
//! no timings, so that equal suites have equal verdicts.
//!
//! Not caught: a manifest and verdicts that were forged together.

use serde::{Deserialize, Serialize};

use crate::conform::chain::ChainReport;
use crate::conform::verdict::{Error, Verdict, Word};
use crate::emit::{self, Files, MANIFEST};

use super::Report;

/// The file's name in a suite.
pub const VERDICTS: &str = "verdicts.json";

const VERSION: u32 = 2;

/// Raised with every change of a check, of the reference or of a bound: verdicts of before are not
/// trusted after it.
const JUDGEMENT: u32 = 4;

#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    tool: String,
    /// Hash of the manifest that the verdicts belong to.
    manifest: String,
    kernels: Vec<Entry>,
    chain: Option<ChainEntry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    file: String,
    sha256: String,
    verdict: String,
    codes: Vec<String>,
    /// Whether the structure pass asked for bit-equality.
    bit_equal_on_integers: Option<bool>,
    /// Of the numerics pass, when the verdict is *verified*.
    error: Option<ErrorEntry>,
}

#[derive(Serialize, Deserialize)]
struct ErrorEntry {
    max_abs_err: f64,
    max_rel_err: f64,
    over_tolerance: f64,
    worst_err: f64,
    tolerance: f64,
    formula: String,
}

#[derive(Serialize, Deserialize)]
struct ChainEntry {
    verdict: String,
    codes: Vec<String>,
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

    /// The verdict of a kernel's file, when it is known.
    pub fn kernel(&self, file: &str) -> Option<Verdict> {
        let entry = self.kernels.iter().find(|known| known.file == file)?;
        let error = entry.error.as_ref().map(|e| Error {
            max_abs_err: e.max_abs_err,
            max_rel_err: e.max_rel_err,
            over_tolerance: e.over_tolerance,
            worst_err: e.worst_err,
            tolerance: e.tolerance,
            formula: e.formula.clone(),
        });
        let bit_equal = entry.bit_equal_on_integers;
        Some(Verdict { word: Word::Verified, known: true, error, bit_equal, ..Verdict::not_verified() })
    }

    /// The chain's, when no file changed.
    pub fn chain(&self) -> Option<ChainReport> {
        let entry = self.chain.as_ref()?;
        let (max_abs_err, allowed) = (entry.max_abs_err?, entry.allowed?);
        Some(ChainReport { known: true, max_abs_err, allowed, ..ChainReport::of_nothing() })
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
        let own = &report.verdicts[layer.verdict];
        let verdict = match known.kernel(&layer.kernel) {
            Some(known) if own.word == Word::NotVerified => known,
            Some(_) | None => own.clone(),
        };
        let entry = Entry {
            file: layer.kernel.clone(),
            sha256: files.get(&layer.kernel).map(|bytes| emit::digest(bytes)).unwrap_or_default(),
            verdict: verdict.word.as_str().to_owned(),
            codes: verdict.diagnostics.iter().map(|d| d.code.id.to_owned()).collect(),
            bit_equal_on_integers: verdict.bit_equal,
            error: verdict.error.filter(|_| verdict.word == Word::Verified).map(|e| ErrorEntry {
                max_abs_err: e.max_abs_err,
                max_rel_err: e.max_rel_err,
                over_tolerance: e.over_tolerance,
                worst_err: e.worst_err,
                tolerance: e.tolerance,
                formula: e.formula,
            }),
        };
        match kernels.iter_mut().find(|e| e.file == entry.file) {
            // Of several launches of one kernel, the first that does not hold stands.
            Some(known) if known.verdict == Word::Verified.as_str() => *known = entry,
            Some(_) => {}
            None => kernels.push(entry),
        }
    }
    let chain = report.chain.as_ref().map(|chain| ChainEntry {
        verdict: chain.word.as_str().to_owned(),
        codes: chain.diagnostics.iter().map(|d| d.code.id.to_owned()).collect(),
        max_abs_err: (chain.word == Word::Verified).then_some(chain.max_abs_err),
        allowed: (chain.word == Word::Verified).then_some(chain.allowed),
        files: digest_of_all(files),
    });
    let manifest = files.get(MANIFEST).map(|bytes| emit::digest(bytes)).unwrap_or_default();
    let document = Document { version: VERSION, tool: tool(), manifest, kernels, chain };
    serde_json::to_string_pretty(&document).expect("invariant: verdicts are strings and lists") + "\n"
}
