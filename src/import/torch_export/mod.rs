//! torch.export archives (`.pt2`) → [`Graph`](crate::graph::Graph).
//!
//! Stages: [`archive`] finds the entries of the container; [`program`] reads the program's JSON; [`types`] binds the
//! symbolic dimensions; [`payload`] gives parameters, buffers and constants from the mapped file; [`recompose`] puts
//! decomposed operators together again; [`lower`] walks the nodes once, through the functions of [`table`], with
//! [`alias`] making views and writes functional.
//!
//! Programs before and after `run_decompositions()` are read alike. Nothing of an archive is ever run, and what is
//! pickled in it stays closed. Not read: subgraphs (control flow), custom objects, tokens; each is refused by name.
//!
//! The format: `torch/export/pt2_archive/_package.py` and `torch/_export/serde/schema.py` of PyTorch.

mod alias;
mod archive;
mod arguments;
mod call;
mod dtypes;
mod labels;
mod lower;
mod numbers;
mod ops;
mod payload;
mod program;
mod promote;
mod recompose;
mod schema;
mod scope;
mod table;
mod types;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::Path;

use super::build::shorten;
use super::{Binding, Imported};
use crate::diag::{Diagnostic, codes};
use archive::{Archive, damaged};
use payload::Payload;
use program::{Program, Versioned};

/// The major version of the program's schema that is read.
const SCHEMA: i64 = 8;

/// Whether a lowering serves an operator, named as in messages (`aten.conv2d.default`).
pub fn serves(operator: &str) -> bool {
    let name = operator.strip_prefix("aten.");
    name.is_some_and(|name| table::find(name.strip_suffix(".default").unwrap_or(name)).is_some())
}

/// Reads an archive. Every error found is returned, not just the first.
///
/// The file is mapped into memory, so that weights are copied once, into the graph. Not caught: another process that
/// cuts the file short meanwhile ends this one.
pub fn load(path: &Path, binding: &Binding) -> Result<Imported, Vec<Diagnostic>> {
    let name = path.display().to_string();
    let unreadable = |cause: String| {
        vec![
            Diagnostic::new(&codes::FILE_UNREADABLE, format!("cannot be read: {cause}"))
                .in_file(&name)
                .help("check the path and its permissions"),
        ]
    };
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !metadata.is_file() {
        return Err(unreadable("it is no regular file".to_owned()));
    }
    if metadata.len() == 0 {
        return Err(vec![damaged(&name, "is empty (0 bytes)")]);
    }
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    // SAFETY: the map is only read, and lives as long as `file` is open here.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|error| unreadable(error.to_string()))?;
    from_bytes(&name, &map, binding)
}

/// Reads an archive from memory; `name` is the file's name for messages.
pub fn from_bytes(name: &str, bytes: &[u8], binding: &Binding) -> Result<Imported, Vec<Diagnostic>> {
    let all_short = |all: Vec<Diagnostic>| all.into_iter().map(shorten).collect::<Vec<_>>();
    let archive = Archive::open(name, bytes).map_err(|error| vec![shorten(*error)])?;
    let mut program = program(name, &archive).map_err(|error| vec![shorten(*error)])?;
    recompose::recompose(&mut program.graph_module.graph);
    let payload = Payload::open(name, &archive).map_err(|error| vec![shorten(*error)])?;
    let imported = lower::lower(name, &program, &payload, binding).map_err(all_short)?;
    Ok(Imported { unsupported: all_short(imported.unsupported), ..imported })
}

fn program(name: &str, archive: &Archive) -> Result<Program, Box<Diagnostic>> {
    const PATH: &str = "models/model.json";
    let text = archive.text(PATH)?;
    let invalid =
        |error: serde_json::Error| Box::new(damaged(name, format!("`{PATH}` is not what torch.export writes: {error}")));
    // The version first: another one may have other fields.
    let Versioned { schema_version: version, torch_version } = serde_json::from_str(text).map_err(invalid)?;
    if version.major != SCHEMA {
        let message = format!(
            "the program's schema is {}.{} (torch {torch_version}), version {SCHEMA} is read",
            version.major, version.minor
        );
        return Err(Box::new(
            Diagnostic::new(&codes::MODEL_VERSION, message).in_file(name).help("write it again with another version of torch"),
        ));
    }
    serde_json::from_str(text).map_err(invalid)
}
