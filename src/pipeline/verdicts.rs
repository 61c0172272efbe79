//! `verdicts.json`: how each kernel of a suite was verified, and the hash of the file that was.
//!
//! A later verification trusts a verdict whose file has the same hash and was verified; everything
//! else runs again. The file holds no timings, so that equal suites have equal verdicts.

use serde::{Deserialize, Serialize};

use crate::conform::verdict::{Verdict, Word};
use crate::emit::{self, Files};

use super::Report;

/// The file's name in a suite.
pub const VERDICTS: &str = "verdicts.json";

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    /// Of the manifest that the verdicts belong to: another graph is another truth.
    manifest: String,
    kernels: Vec<Entry>,
    chain: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    file: String,
    sha256: String,
    verdict: String,
    codes: Vec<String>,
}

/// A kernel that was verified before.
pub struct Known {
    file: String,
    sha256: String,
    pub verdict: Verdict,
}

impl Known {
    /// Whether this is the verdict of a kernel's file as it is now.
    pub fn holds(&self, file: &str, files: &Files) -> bool {
        self.file == file && files.get(file).is_some_and(|bytes| emit::digest(bytes) == self.sha256)
    }
}

/// Verdicts of files that were verified, when they belong to the manifest that is there now.
pub fn known(files: &Files) -> Vec<Known> {
    let Some(document) = files.get(VERDICTS).and_then(|bytes| serde_json::from_slice::<Document>(bytes).ok()) else {
        return Vec::new();
    };
    let manifest = files.get(emit::MANIFEST).map(|bytes| emit::digest(bytes));
    if document.version != VERSION || manifest.as_ref() != Some(&document.manifest) {
        return Vec::new();
    }
    let verified = document.kernels.into_iter().filter(|entry| entry.verdict == Word::Verified.as_str());
    verified
        .map(|entry| Known {
            file: entry.file,
            sha256: entry.sha256,
            verdict: Verdict { word: Word::Verified, ..Verdict::not_verified() },
        })
        .collect()
}

/// The document. Kernels that this run did not verify keep what is `known` of their files.
pub fn text(report: &Report, files: &Files, known: &[Known]) -> String {
    let mut kernels: Vec<Entry> = Vec::new();
    for layer in &report.layers {
        let known = known.iter().find(|k| k.holds(&layer.kernel, files)).map(|k| &k.verdict);
        let verdict = match &report.verdicts[layer.verdict] {
            own if own.word == Word::NotVerified => known.unwrap_or(own),
            own => own,
        };
        let codes = verdict.diagnostics.iter().map(|d| d.code.id.to_owned()).collect();
        let entry = Entry {
            file: layer.kernel.clone(),
            sha256: files.get(&layer.kernel).map(|bytes| emit::digest(bytes)).unwrap_or_default(),
            verdict: verdict.word.as_str().to_owned(),
            codes,
        };
        match kernels.iter_mut().find(|e| e.file == entry.file) {
            // Of several launches of one kernel, the first that does not hold stands.
            Some(known) if known.verdict == Word::Verified.as_str() => *known = entry,
            Some(_) => {}
            None => kernels.push(entry),
        }
    }
    let document = Document {
        version: VERSION,
        manifest: files.get(emit::MANIFEST).map(|bytes| emit::digest(bytes)).unwrap_or_default(),
        kernels,
        chain: report.chain.as_ref().map(|c| c.word.as_str().to_owned()),
    };
    serde_json::to_string_pretty(&document).expect("invariant: verdicts are strings and lists") + "\n"
}
