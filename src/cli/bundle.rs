//! What an internal error leaves: a folder from which the run can be repeated.
//!
//! It holds the command, with every file and folder that it names copied in and renamed, the registry of
//! the working directory, the version, and the messages with the backtrace of a panic. The environment
//! is not stored. Files of 10 MB or more are not copied: their hash is, so that a reader can ask for the
//! right one. `docs/decisions/0005-a-bundle-replays-by-its-command.md` says why there is no replay flag.
//!
//! Not copied: a model that only a registry of the working directory names, and what lies behind links.

use std::backtrace::Backtrace;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::diag::{Class, Diagnostic, codes, render};
use crate::emit::digest;
use crate::pipeline::quoted;
use crate::registry;

/// Files from this size on are named by their hash.
const LARGEST: u64 = 10_000_000;

/// The place and backtrace of the last panic, which only the hook sees.
static PANIC: Mutex<Option<(String, String)>> = Mutex::new(None);

/// Runs `work`; a panic in it, on any thread that it waits for, becomes an X001.
pub fn guarded<T>(work: impl FnOnce() -> Result<T, Vec<Diagnostic>>) -> Result<T, Vec<Diagnostic>> {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        let what = info.payload_as_str().unwrap_or("no message");
        let panic = (format!("panicked{place}: {what}"), Backtrace::force_capture().to_string());
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
    }));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let panic = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        let what = panic.as_ref().map_or("panicked", |(what, _)| what);
        Err(vec![Diagnostic::new(&codes::INTERNAL, what)])
    })
}

/// What to tell after internal errors: where the bundle lies and how it replays. `None` when nothing is
/// internal.
pub fn left<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Option<String> {
    let internal: Vec<&Diagnostic> = diagnostics.into_iter().filter(|d| d.class() == Class::Internal).collect();
    if internal.is_empty() {
        return None;
    }
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut message = internal.iter().map(|d| render::render(d, false) + "\n").collect::<String>();
    if let Some((_, trace)) = PANIC.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
        message.push_str(&format!("\n{trace}"));
    }
    Some(match write(Path::new("."), &arguments, &message) {
        Ok((folder, command)) => format!(
            "this is a fault of decompose, not of your model; please report the folder {0}\nto replay: cd {0} && {command}\n",
            folder.display()
        ),
        Err(error) => format!("this is a fault of decompose, not of your model; no bundle could be written: {error}\n"),
    })
}

/// Writes a bundle below a folder; its path and the command that replays it.
fn write(below: &Path, arguments: &[OsString], message: &str) -> io::Result<(PathBuf, String)> {
    let folder = fresh(below)?;
    let mut words = vec!["decompose".to_owned()];
    let mut is_output = false;
    for argument in arguments {
        let text = argument.to_string_lossy();
        let (flag, value) = match text.split_once('=').filter(|(flag, _)| flag.starts_with("--")) {
            Some((flag, value)) => (format!("{flag}="), value.to_owned()),
            None => (String::new(), text.to_string()),
        };
        let writes = is_output || flag == "--output=";
        is_output = matches!(&*text, "-o" | "--output");
        let value = if writes {
            "out".to_owned()
        } else if !value.starts_with('-') && below.join(&value).exists() {
            copied(&below.join(&value), &folder)?
        } else {
            value
        };
        words.push(quoted(&format!("{flag}{value}")));
    }
    let command = words.join(" ");
    if below.join(registry::FILE).is_file() {
        fs::copy(below.join(registry::FILE), folder.join(registry::FILE))?;
    }
    let version = format!(
        "decompose {}, {} {}, {} threads\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    fs::write(folder.join("version.txt"), version)?;
    fs::write(folder.join("message.txt"), message)?;
    fs::write(folder.join("command.txt"), format!("{command}\n"))?;
    Ok((folder, command))
}

/// `decompose-bug-1`, or the next number that is free.
fn fresh(below: &Path) -> io::Result<PathBuf> {
    for number in 1.. {
        let name = format!("decompose-bug-{number}");
        let folder = if below == Path::new(".") { PathBuf::from(name) } else { below.join(name) };
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(io::Error::other("there is no free name"))
}

/// Copies a file or folder into the bundle; its name there.
fn copied(from: &Path, bundle: &Path) -> io::Result<String> {
    let name = from.canonicalize()?.file_name().map_or_else(|| "folder".to_owned(), |n| n.to_string_lossy().into_owned());
    let mut unique = name.clone();
    let mut number = 2;
    while bundle.join(&unique).exists() {
        unique = format!("{number}-{name}");
        number += 1;
    }
    copy(from, &bundle.join(&unique), bundle)?;
    Ok(unique)
}

fn copy(from: &Path, to: &Path, bundle: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let is_bundle = entry.path().canonicalize().ok() == bundle.canonicalize().ok();
            if !is_bundle && !entry.file_type()?.is_symlink() {
                copy(&entry.path(), &to.join(entry.file_name()), bundle)?;
            }
        }
        return Ok(());
    }
    let found = fs::metadata(from)?;
    if !found.is_file() {
        // A pipe would be waited for.
        return Ok(());
    }
    let size = found.len();
    if size < LARGEST {
        return fs::copy(from, to).map(drop);
    }
    let mut name = to.as_os_str().to_owned();
    name.push(".sha256");
    fs::write(name, format!("{}  {size} bytes\n", digest(&fs::read(from)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn files_that_the_command_names_travel_and_outputs_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        fs::create_dir_all(here.join("models/old")).unwrap();
        fs::create_dir_all(here.join("mine/relu")).unwrap();
        fs::create_dir(here.join("done")).unwrap();
        fs::write(here.join("models/a b.onnx"), "model").unwrap();
        fs::write(here.join("mine/relu/kernel.py"), "kernel").unwrap();
        fs::write(here.join(registry::FILE), "models: {}\n").unwrap();
        let words = arguments(&["models/a b.onnx", "--templates=mine", "-o", "done", "--dim", "batch=8"]);
        let (bundle, command) = write(here, &words, "what happened\n").unwrap();
        assert_eq!(command, "decompose 'a b.onnx' --templates=mine -o out --dim batch=8");
        assert_eq!(bundle, here.join("decompose-bug-1"));
        let text = |path: &str| fs::read_to_string(bundle.join(path)).unwrap();
        assert_eq!((text("a b.onnx"), text("mine/relu/kernel.py")), ("model".to_owned(), "kernel".to_owned()));
        assert_eq!((text(registry::FILE), text("message.txt")), ("models: {}\n".to_owned(), "what happened\n".to_owned()));
        assert_eq!(text("command.txt"), format!("{command}\n"));
        assert!(text("version.txt").starts_with("decompose "));
        assert_eq!(write(here, &words, "").unwrap().0, here.join("decompose-bug-2"));
    }

    #[test]
    fn a_folder_that_holds_the_bundle_is_copied_without_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("run.py"), "pass").unwrap();
        let (bundle, _) = write(folder.path(), &arguments(&["verify", "."]), "").unwrap();
        let name = folder.path().canonicalize().unwrap().file_name().unwrap().to_owned();
        assert!(bundle.join(&name).join("run.py").is_file());
        assert!(!bundle.join(&name).join("decompose-bug-1").exists());
    }

    #[test]
    fn a_large_file_is_named_by_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("big.onnx"), vec![7; LARGEST as usize]).unwrap();
        let (bundle, _) = write(folder.path(), &arguments(&["big.onnx"]), "").unwrap();
        assert!(!bundle.join("big.onnx").exists());
        assert!(fs::read_to_string(bundle.join("big.onnx.sha256")).unwrap().ends_with("  10000000 bytes\n"));
    }

    #[test]
    fn only_internal_errors_leave_a_bundle() {
        assert_eq!(left(&[Diagnostic::new(&codes::FUEL, "")]), None);
    }
}
