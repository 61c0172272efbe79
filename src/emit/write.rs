//! Puts a suite on disk: whole or not at all.
//!
//! The files are written into a hidden folder beside the target, which is then renamed. A folder
//! that is in the way is replaced only when it is empty, or a suite of ours in which nobody edited,
//! added or removed a file since (by the hashes of its manifest); with `force` also an edited suite,
//! never another folder. A failed write removes what it made; [`abandon`] does so for a process that
//! is about to be ended from outside.
//!
//! Not atomic against other processes that write to the same folder, and a machine that loses power
//! between the two renames of a replacement leaves the old suite under its hidden name.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Files;
use super::changes::{edited, list};
use super::manifest::MANIFEST;
use super::weights::STORED;
use crate::diag::{self, Diagnostic, codes};
use crate::source::files;

/// Files and folders of writes that are in flight, and whether the process has given up.
struct InFlight {
    staging: Vec<PathBuf>,
    abandoned: bool,
}

static IN_FLIGHT: Mutex<InFlight> = Mutex::new(InFlight { staging: Vec::new(), abandoned: false });

fn in_flight() -> MutexGuard<'static, InFlight> {
    IN_FLIGHT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes everything that unfinished writes have made and lets no write finish any more: for the
/// thread that handles an interrupt, before the process exits.
pub fn abandon() {
    let mut state = in_flight();
    state.abandoned = true;
    for path in std::mem::take(&mut state.staging) {
        remove(&path);
    }
}

/// Removes a staged file or folder, as far as the disk lets us.
fn remove(path: &Path) {
    let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_file(path));
}

/// What a staged file or folder becomes: the new content, or the old one on its way out.
const USES: [&str; 2] = ["new", "old"];

/// Whether a name is one that [`Staging`] gives: `.NAME.new-PID`.
pub(super) fn is_staging(name: &str) -> bool {
    name.starts_with('.')
        && name.rsplit_once('.').and_then(|(_, end)| end.split_once('-')).is_some_and(|(use_as, process)| {
            USES.contains(&use_as) && !process.is_empty() && process.bytes().all(|b| b.is_ascii_digit())
        })
}

/// A hidden file or folder beside the target; removed when dropped while it is still in flight.
struct Staging {
    path: PathBuf,
}

impl Staging {
    /// Takes the name and makes, at its path, what `make` makes.
    fn create(target: &Path, use_as: &str, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<Staging> {
        let name = target.file_name().ok_or_else(|| io::Error::other("the path has no last part"))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{use_as}-{}", std::process::id()));
        let path = target.with_file_name(hidden);
        let mut state = in_flight();
        if state.abandoned {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            fs::create_dir_all(parent)?;
        }
        make(&path)?;
        state.staging.push(path.clone());
        Ok(Staging { path })
    }
}

impl InFlight {
    /// Forgets a path, which is then nobody's to remove; whether it was known.
    fn settle(&mut self, path: &Path) -> bool {
        let known = self.staging.len();
        self.staging.retain(|staged| staged != path);
        self.staging.len() < known
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let mut state = in_flight();
        if state.settle(&self.path) {
            remove(&self.path);
        }
    }
}

/// Whether a suite may be written to `target`: whether a folder is there that it would replace.
///
/// # Errors
/// U005 when something that is not ours, or an edited suite, is in the way; U004 when the disk refuses.
pub fn may_write(target: &Path, force: bool) -> diag::Result<bool> {
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(refused(target, &error)),
        Ok(meta) if !meta.is_dir() => {
            let message = "this is in the way and not a folder";
            let diagnostic = Diagnostic::new(&codes::OUTPUT_IN_THE_WAY, message).in_file(target.display().to_string());
            Err(Box::new(diagnostic.help("name another folder with -o")))
        }
        Ok(_) => {
            may_replace(target, force)?;
            Ok(true)
        }
    }
}

/// Writes a suite to `target`.
///
/// # Errors
/// As [`may_write`]; U009 after [`abandon`]. The target is untouched in each case.
pub fn write(files: &Files, target: &Path, force: bool) -> diag::Result<()> {
    let replaces = may_write(target, force)?;
    let staging = Staging::create(target, "new", |path| fs::create_dir(path)).map_err(|error| refused(target, &error))?;
    for (path, bytes) in files {
        let file = staging.path.join(path);
        put(&file, bytes).map_err(|error| refused(&target.join(path), &error))?;
    }
    publish(&staging, target, replaces, |from, to| fs::rename(from, to)).map_err(|error| refused(target, &error))
}

/// Every file of a suite on disk, caches excepted.
///
/// # Errors
/// U008 when the folder holds no manifest, U002 when a file cannot be read.
pub fn read(suite: &Path) -> diag::Result<Files> {
    if !suite.join(MANIFEST).is_file() {
        let message = format!("this is not a suite: there is no {MANIFEST}");
        let diagnostic = Diagnostic::new(&codes::SUITE_INVALID, message).in_file(suite.display().to_string());
        return Err(Box::new(diagnostic.help("name the folder that `decompose MODEL` wrote")));
    }
    let unreadable = |path: &Path, error: io::Error| {
        Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, error.to_string()).in_file(path.display().to_string()))
    };
    let found = paths(suite).map_err(|error| unreadable(suite, error))?;
    let content = |path: String| {
        let file = suite.join(&path);
        let limit = if path == STORED { u64::MAX } else { files::LARGEST_TEXT };
        Ok((path, files::bytes(&file, limit).map_err(|error| unreadable(&file, error))?))
    };
    found.into_iter().map(content).collect()
}

/// The paths of those files.
pub fn paths(suite: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    list(suite, "", &mut found)?;
    Ok(found)
}

/// Replaces one file of a suite, whole or not at all.
///
/// # Errors
/// U004 when the disk refuses, U009 after [`abandon`].
pub fn replace(suite: &Path, path: &str, bytes: &[u8]) -> diag::Result<()> {
    let target = suite.join(path);
    let write = || {
        let staged = Staging::create(&target, "new", |path| fs::File::create_new(path).map(drop))?;
        fill(fs::File::options().write(true).open(&staged.path)?, bytes)?;
        publish(&staged, &target, false, |from, to| fs::rename(from, to))
    };
    write().map_err(|error| refused(&target, &error))
}

fn put(file: &Path, bytes: &[u8]) -> io::Result<()> {
    // The lock: a file must not appear after `abandon` has removed its folder.
    let state = in_flight();
    if state.abandoned {
        return Err(io::ErrorKind::Interrupted.into());
    }
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    let out = fs::File::create_new(file)?;
    drop(state);
    fill(out, bytes)
}

fn fill(mut out: fs::File, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    // A full disk may show only when the data is flushed.
    out.sync_all()
}

/// Renames the finished folder to its place; an old one is moved aside first and comes back when
/// the second rename fails, or else stays where it is. The lock keeps [`abandon`] from looking in
/// between.
fn publish(staging: &Staging, target: &Path, replaces: bool, rename: impl Fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
    let old = if replaces { Some(Staging::create(target, "old", |path| fs::create_dir(path))?) } else { None };
    let mut state = in_flight();
    if state.abandoned {
        return Err(io::ErrorKind::Interrupted.into());
    }
    if let Some(old) = &old {
        let aside = old.path.join("suite");
        rename(target, &aside)?;
        if let Err(error) = rename(&staging.path, target) {
            if let Err(again) = rename(&aside, target) {
                state.settle(&old.path);
                let kept =
                    format!("{error}; the old suite is now {}, since putting it back failed, too: {again}", aside.display());
                return Err(io::Error::new(error.kind(), kept));
            }
            return Err(error);
        }
    } else {
        rename(&staging.path, target)?;
    }
    state.settle(&staging.path);
    Ok(())
}

/// Refuses a folder that a new suite must not replace.
fn may_replace(target: &Path, force: bool) -> diag::Result<()> {
    let empty = fs::read_dir(target).map_err(|error| refused(target, &error))?.next().is_none();
    if empty {
        return Ok(());
    }
    let in_the_way = |message: String| Diagnostic::new(&codes::OUTPUT_IN_THE_WAY, message).in_file(target.display().to_string());
    let Some(changed) = edited(target).map_err(|error| refused(target, &error))? else {
        let message = "this folder is not empty and not a suite".to_owned();
        return Err(Box::new(in_the_way(message).help("name another folder with -o, or remove this one")));
    };
    if changed.is_empty() || force {
        return Ok(());
    }
    let mut diagnostic = in_the_way(format!("{} of this suite's files changed since it was written", changed.len()));
    for (path, change) in &changed {
        diagnostic = diagnostic.note(format!("{path}: {change}"));
    }
    Err(Box::new(diagnostic.help("name another folder with -o, or lose the changes, added files too, with --force")))
}

fn refused(path: &Path, error: &io::Error) -> Box<Diagnostic> {
    let file = path.display().to_string();
    if error.kind() == io::ErrorKind::Interrupted {
        return Box::new(Diagnostic::new(&codes::INTERRUPTED, "writing was interrupted; nothing was left behind").in_file(file));
    }
    let help = match error.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
            "another run has made this folder meanwhile: name another one with -o, or run again"
        }
        io::ErrorKind::StorageFull => "free some space, or name a folder on another disk with -o",
        _ => "name a folder that can be written with -o",
    };
    Box::new(Diagnostic::new(&codes::OUTPUT_NOT_WRITABLE, format!("cannot be written: {error}")).in_file(file).help(help))
}

#[cfg(test)]
mod tests;
