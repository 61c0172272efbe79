//! ONNX files → [`Graph`](crate::graph::Graph), over the protobuf types of `tract_onnx::pb`.
//!
//! Stages: [`sniff`](super::sniff) says what a file is that is no model; [`decode`] turns bytes into
//! protobuf; [`structure`] checks names and orders the nodes; [`types`] binds the inputs' dimensions;
//! [`lower`] walks the nodes once, in topological order, through the functions of [`table`], folding
//! whatever is known (shapes) on the way. Spec: <https://onnx.ai/onnx/repo-docs/IR.html>.
//!
//! Tensors in other files are read by [`external`], from the model's folder alone.
//!
//! Not read: local functions, subgraphs, sparse tensors, sequences, training information. Each is
//! refused by name.

mod attributes;
mod decode;
mod external;
mod lower;
mod node;
mod ops;
mod report;
mod source;
mod structure;
mod table;
mod tensor;
mod types;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::build::shorten;
use super::{Binding, Imported, sniff};
use crate::diag::{Diagnostic, codes};
use crate::source::files;
use external::External;

/// IR versions that are read; the newest is that of onnx 1.23.
const IR_VERSIONS: std::ops::RangeInclusive<i64> = 3..=14;
/// Versions of the default operator set that are read.
const OPSETS: std::ops::RangeInclusive<i64> = 7..=28;

/// Whether an import rule serves an operator, named as in messages (`Conv`, `com.microsoft.Gelu`).
pub fn serves(operator: &str) -> bool {
    let (domain, op_type) = operator.rsplit_once('.').unwrap_or(("", operator));
    table::find(domain, op_type).is_some()
}

/// Reads a model file. Every error found is returned, not just the first.
pub fn load(path: &Path, binding: &Binding) -> Result<Imported, Vec<Diagnostic>> {
    let name = path.display().to_string();
    let bytes = files::bytes(path, u64::MAX).map_err(|error| {
        let (cause, help) = if path.is_dir() {
            ("it is a folder".to_owned(), "name the .onnx file inside it; a suite is verified by `decompose verify DIR`")
        } else {
            (error.to_string(), "check the path and its permissions")
        };
        vec![Diagnostic::new(&codes::FILE_UNREADABLE, format!("cannot be read: {cause}")).in_file(&name).help(help)]
    })?;
    read(&name, &bytes, &External::beside(path), binding)
}

/// Reads a model from memory; `name` is the file's name for messages. It cannot have other files.
pub fn from_bytes(name: &str, bytes: &[u8], binding: &Binding) -> Result<Imported, Vec<Diagnostic>> {
    read(name, bytes, &External::default(), binding)
}

fn read(name: &str, bytes: &[u8], external: &External, binding: &Binding) -> Result<Imported, Vec<Diagnostic>> {
    if let Some(refusal) = sniff::refuse(name, bytes) {
        return Err(vec![refusal]);
    }
    let shorten = |all: Vec<Diagnostic>| all.into_iter().map(shorten).collect::<Vec<_>>();
    let model = decode::decode(name, bytes).map_err(|d| vec![*d])?;
    let imported = lower::lower(name, &model, external, binding).map_err(shorten)?;
    Ok(Imported { unsupported: shorten(imported.unsupported), ..imported })
}
