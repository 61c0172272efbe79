//! Results as files: `y=out.npy`, `all.safetensors`, or a folder with a `.npy` file a tensor.
//!
//! Of several runs, files in a folder carry the run's number in front.

use std::path::{Path, PathBuf};

use super::Report;
use crate::diag::{Diagnostic, Result, codes};
use crate::tensor::{Tensor, npy, stored};

/// Where results go, as the command line says it.
#[derive(Clone, Debug, PartialEq)]
pub enum Save {
    /// One tensor into one file.
    Tensor(String, PathBuf),
    /// Every output, by name.
    All(PathBuf),
}

/// Reads `y=out.npy`, `out.safetensors` or `folder`.
pub fn read(text: &str) -> Save {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !name.contains(['/', '.']) => {
            Save::Tensor(name.to_owned(), PathBuf::from(path))
        }
        Some(_) | None => Save::All(PathBuf::from(text)),
    }
}

/// Writes what is asked for; the paths that were written.
///
/// # Errors
/// U001 for a tensor that no run gives, U004 where a file cannot be written.
pub fn save(report: &Report, saves: &[Save]) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for save in saves {
        match save {
            Save::Tensor(name, path) => {
                let last = report.runs.iter().rev().find_map(|run| run.outputs.iter().find(|(known, _)| known == name));
                let Some((_, tensor)) = last else {
                    let known: Vec<&str> = report.runs.iter().flat_map(|run| &run.outputs).map(|(n, _)| n.as_str()).collect();
                    let error = Diagnostic::new(&codes::USAGE, format!("no run stores to a tensor `{name}`"));
                    return Err(Box::new(error.note(format!("stored to: {}", known.join(", ")))));
                };
                let bytes = match is_stored(path) {
                    true => stored::write(&[(name.clone(), tensor)]).map_err(|what| failed(path, what))?,
                    false => npy::write(tensor),
                };
                write(path, &bytes)?;
                written.push(path.clone());
            }
            Save::All(path) if is_stored(path) => {
                let bytes = stored::write(&named(report, ".")).map_err(|what| failed(path, what))?;
                write(path, &bytes)?;
                written.push(path.clone());
            }
            Save::All(folder) => {
                std::fs::create_dir_all(folder).map_err(|e| failed(folder, e.to_string()))?;
                for (name, tensor) in named(report, "_") {
                    let path = folder.join(format!("{name}.npy"));
                    write(&path, &npy::write(tensor))?;
                    written.push(path);
                }
            }
        }
    }
    Ok(written)
}

fn is_stored(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "safetensors")
}

/// All outputs; with the run's number where there are several runs.
fn named<'r>(report: &'r Report, between: &str) -> Vec<(String, &'r Tensor)> {
    let several = report.runs.len() > 1;
    let runs = report.runs.iter().enumerate();
    runs.flat_map(|(at, run)| {
        run.outputs
            .iter()
            .map(move |(name, tensor)| (if several { format!("{}{between}{name}", at + 1) } else { name.clone() }, tensor))
    })
    .collect()
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|e| failed(path, e.to_string()))
}

fn failed(path: &Path, what: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::OUTPUT_NOT_WRITABLE, what).in_file(path.display().to_string()))
}
