//! The part of a verification that runs on a user's own arrays, beside the one on generated inputs.
//!
//! With `--only` they are one kernel's operands, else the whole model's inputs and outputs. Their verdict is
//! never kept: the files may be other ones the next time.
//!
//! Not caught: of launches that share the named kernel only the first runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::conform::execute::Executor;
use crate::conform::given::{self, Array, Data, OnData};
use crate::conform::subject::{Given, Subject};
use crate::conform::{chain, given::of_chain};
use crate::diag::{Diagnostic, Result, codes};
use crate::source::files;

use super::Cancel;

/// A file in numpy's format, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenFile {
    /// An operand, input or output; `None` where there is only one.
    pub name: Option<String>,
    pub path: PathBuf,
}

/// A user's arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenFiles {
    pub inputs: Vec<GivenFile>,
    pub expected: Vec<GivenFile>,
}

/// What runs on them: a launch of the suite, or the whole model.
pub(super) struct Asked {
    launch: Option<usize>,
    given: Given,
    notes: Vec<String>,
}

/// Reads the files and finds what each is for; `None` when there are none.
pub(super) fn read(subject: &Subject, files: &GivenFiles, only: Option<&str>, selected: &[bool]) -> Result<Option<Asked>> {
    if *files == GivenFiles::default() {
        return Ok(None);
    }
    let data = Data { inputs: arrays(&files.inputs)?, expected: arrays(&files.expected)? };
    let launch = match only {
        Some(filter) => Some(only_kernel(subject, filter, selected)?),
        None if subject.manifest.missing.is_empty() => None,
        None => {
            let missing = subject.manifest.missing.join(", ");
            let what = format!("the model cannot be run on given data: no kernel computes {missing}");
            let help = "name one kernel with --only, and give its operands";
            return Err(Box::new(Diagnostic::new(&codes::USAGE, what).help(help)));
        }
    };
    let (given, notes) = match launch {
        Some(launch) => given::for_kernel(subject, &subject.launches[launch], &data)?,
        None => given::for_model(subject, &data)?,
    };
    Ok(Some(Asked { launch, given, notes }))
}

/// Runs it. `failed` as in [`chain::verify`].
pub(super) fn run(
    subject: &mut Subject,
    executor: &Executor,
    asked: Asked,
    failed: &BTreeSet<usize>,
    cancel: &Cancel,
) -> Result<OnData> {
    let Asked { launch, given, notes } = asked;
    let found = match launch {
        Some(launch) => given::kernel(subject, executor, &subject.launches[launch], &given, notes),
        None => {
            subject.given = given;
            let chain = chain::verify(subject, executor, failed, &|_| cancel.check());
            subject.given = Given::default();
            of_chain(chain?, notes)
        }
    };
    cancel.check()?;
    Ok(found)
}

fn arrays(files: &[GivenFile]) -> Result<Vec<Array>> {
    let read = |file: &GivenFile| {
        let name = file.path.display().to_string();
        if name.is_empty() {
            let what = format!("{}= names no file", file.name.as_deref().unwrap_or_default());
            return Err(Box::new(Diagnostic::new(&codes::USAGE, what).help("write the name and the file: --input x=x.npy")));
        }
        match files::bytes(&file.path, u64::MAX) {
            Ok(bytes) => Ok(Array { name: file.name.clone(), file: name, bytes }),
            Err(error) => {
                let absent = error.kind() == std::io::ErrorKind::NotFound;
                let what = if absent { "there is no such file".to_owned() } else { error.to_string() };
                Err(Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, what).in_file(name).help("name a .npy file")))
            }
        }
    };
    files.iter().map(read).collect()
}

/// The launch that stands for the only kernel that a filter names.
fn only_kernel(subject: &Subject, filter: &str, selected: &[bool]) -> Result<usize> {
    let launches: Vec<usize> = (0..selected.len()).filter(|&at| selected[at]).collect();
    let kernel = |at: usize| subject.launches[at].kernel;
    let named: BTreeSet<&str> = launches.iter().map(|&at| subject.manifest.kernels[kernel(at)].file.as_str()).collect();
    match launches.first() {
        Some(&first) if named.len() == 1 => Ok(first),
        Some(_) | None => {
            let what = format!("--only `{filter}` names {} kernels, and data can be given to one", named.len());
            let known = named.into_iter().collect::<Vec<_>>().join(", ");
            Err(Box::new(Diagnostic::new(&codes::USAGE, what).help(format!("name one of: {known}"))))
        }
    }
}
