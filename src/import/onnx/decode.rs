//! Bytes → protobuf, and the versions that are read.

use prost::Message;
use tract_onnx::pb::ModelProto;

use super::{IR_VERSIONS, OPSETS};
use crate::diag::{Diagnostic, Result, codes};

const WHOLE: &str = "copy or download the file again, or export the model again";

/// The decoded model; it has a graph, a readable IR version and a readable opset.
pub(super) fn decode(file: &str, bytes: &[u8]) -> Result<ModelProto> {
    let model = ModelProto::decode(bytes).map_err(|error| Box::new(undecodable(file, bytes.len(), &error.to_string())))?;
    if model.ir_version == 0 || model.graph.is_none() {
        let missing = if model.ir_version == 0 { "an IR version" } else { "a graph" };
        return Err(Box::new(
            Diagnostic::new(&codes::FILE_NOT_A_MODEL, format!("is not an ONNX model: {missing} is missing"))
                .in_file(file)
                .help(WHOLE)
                .note(format!("the file has {} bytes; one that was cut off looks like this too", bytes.len())),
        ));
    }
    if !IR_VERSIONS.contains(&model.ir_version) {
        return Err(Box::new(version(
            file,
            "IR version",
            model.ir_version,
            &IR_VERSIONS,
            "export the model again with another version of onnx",
        )));
    }
    let opset = opset(&model).ok_or_else(|| {
        Box::new(
            Diagnostic::new(&codes::MODEL_INVALID, "no version of the default operator set is imported").in_file(file).note(
                "the field opset_import is missing or names other domains only; a file that was cut off looks like this too",
            ),
        )
    })?;
    if !OPSETS.contains(&opset) {
        return Err(Box::new(version(
            file,
            "opset",
            opset,
            &OPSETS,
            "convert the model: onnx.version_converter.convert_version(model, 17)",
        )));
    }
    Ok(model)
}

/// The version of the default operator set.
pub(super) fn opset(model: &ModelProto) -> Option<i64> {
    model.opset_import.iter().find(|o| matches!(o.domain.as_str(), "" | "ai.onnx")).map(|o| o.version)
}

fn version(file: &str, what: &str, found: i64, known: &std::ops::RangeInclusive<i64>, help: &str) -> Diagnostic {
    let (first, last) = (known.start(), known.end());
    Diagnostic::new(&codes::MODEL_VERSION, format!("{what} {found} is not supported: {first} to {last} are"))
        .in_file(file)
        .help(help)
}

/// prost names the path of messages inside out: `NodeProto.name: GraphProto.node: ModelProto.graph: …`.
fn undecodable(file: &str, len: usize, error: &str) -> Diagnostic {
    let detail = error.strip_prefix("failed to decode Protobuf message: ").unwrap_or(error);
    if detail.contains("UTF-8") {
        return Diagnostic::new(&codes::MODEL_INVALID, "a name or text in the file is not UTF-8").in_file(file).note(detail);
    }
    let diagnostic =
        Diagnostic::new(&codes::FILE_NOT_A_MODEL, "is not an ONNX model, or was cut off: its protobuf cannot be decoded");
    diagnostic.in_file(file).note(detail).note(format!("the file has {len} bytes")).help(WHOLE)
}
