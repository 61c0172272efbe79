//! What changed in a suite since it was written, by the hashes of its manifest.
//!
//! Files that a later verification or Python adds do not count, nor does what a process that was killed
//! has staged ([`super::write`]).
//!
//! Not caught: an edit whose hash somebody put into the manifest, too, and the manifest itself; that is left to
//! verification.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::Files;
use super::digest;
use super::manifest::{FORMAT, MANIFEST};
use super::write::{is_staging, paths};
use crate::source::files;

/// Files that may stand in a suite without being in its manifest: written later, or by Python.
const COMPANIONS: [&str; 2] = [MANIFEST, "verdicts.json"];

/// Folders of Python's and Triton's own.
const CACHES: [&str; 2] = ["__pycache__", ".pytest_cache"];

/// What happened to a file since its suite was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Edited,
    Added,
    Removed,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Change::Edited => "edited",
            Change::Added => "added",
            Change::Removed => "removed",
        })
    }
}

/// Files of a suite on disk that changed since it was written, by path; `None` when the folder is not
/// a suite of ours.
pub fn edited(suite: &Path) -> io::Result<Option<BTreeMap<String, Change>>> {
    use io::ErrorKind::{FileTooLarge, InvalidInput, NotADirectory, NotFound};
    let manifest = match files::bytes(&suite.join(MANIFEST), files::LARGEST_TEXT) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | InvalidInput | FileTooLarge) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(hashes) = hashes(&manifest) else { return Ok(None) };
    let found = paths(suite)?;
    let own = |path: &str| match files::bytes(&suite.join(path), u64::MAX) {
        Ok(bytes) => Ok(digest(&bytes)),
        // A pipe or a device has no content of ours.
        Err(error) if error.kind() == InvalidInput => Ok(String::new()),
        Err(error) => Err(error),
    };
    compare(&hashes, &found, own).map(Some)
}

/// The same for a suite's files in memory.
pub fn changes(files: &Files) -> Option<BTreeMap<String, Change>> {
    let hashes = hashes(files.get(MANIFEST)?)?;
    let found: Vec<String> = files.keys().cloned().collect();
    compare(&hashes, &found, |path| Ok(files.get(path).map(|bytes| digest(bytes)).unwrap_or_default())).ok()
}

/// The hashes in a manifest of ours, by path.
fn hashes(manifest: &[u8]) -> Option<BTreeMap<String, String>> {
    let manifest = serde_json::from_slice::<Value>(manifest).ok()?;
    if manifest.get("format").and_then(Value::as_str) != Some(FORMAT) {
        return None;
    }
    let hashes = manifest.get("files").and_then(Value::as_object)?;
    Some(hashes.iter().map(|(path, hash)| (path.clone(), hash.as_str().unwrap_or_default().to_owned())).collect())
}

fn compare(
    hashes: &BTreeMap<String, String>,
    found: &[String],
    own: impl Fn(&str) -> io::Result<String>,
) -> io::Result<BTreeMap<String, Change>> {
    let mut changed = BTreeMap::new();
    for path in found {
        match hashes.get(path) {
            Some(hash) if own(path)? != *hash => drop(changed.insert(path.clone(), Change::Edited)),
            Some(_) => {}
            None if COMPANIONS.contains(&path.as_str()) => {}
            None => drop(changed.insert(path.clone(), Change::Added)),
        }
    }
    changed.extend(hashes.keys().filter(|path| !found.contains(path)).map(|path| (path.clone(), Change::Removed)));
    Ok(changed)
}

/// Paths of all files below a folder, `/` between parts; without caches, and without what a process
/// that was killed has staged.
pub(super) fn list(root: &Path, below: &str, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if is_staging(&name) || CACHES.contains(&name.as_str()) {
            continue;
        }
        if !entry.file_type()?.is_dir() {
            found.push(path);
        } else {
            list(root, &path, found)?;
        }
    }
    Ok(())
}
