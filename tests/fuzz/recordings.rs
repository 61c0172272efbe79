//! Recorded launches: `launch.json` by grammar, with the file of tensors that it names.

use std::path::Path;

use decompose::dtype::DType;
use decompose::pipeline::Cancel;
use decompose::pipeline::replay::{Asked, replay};
use decompose::shape::Shape;
use decompose::tensor::{Tensor, stored};

use crate::choices::Choices;
use crate::mutate::{damaged, damaged_bytes};
use crate::run::allow;

/// The text of `launch.json` and the bytes of `tensors.safetensors`.
pub fn recording(choices: &mut Choices<'_>) -> (String, Vec<u8>) {
    let elements = choices.of(&[16usize, 8, 0, 64]);
    let dtypes = [("float32", DType::F32), ("float32", DType::F32), ("int32", DType::I32), ("float16", DType::F16)];
    let mut storages = Vec::new();
    let mut tensors = Vec::new();
    for number in 0..3 {
        let (name, dtype) = choices.of(&dtypes);
        let said = if choices.one_in(12) { elements + 1 } else { elements };
        storages.push((name, format!("{{\"dtype\": \"{name}\", \"elements\": {said}}}")));
        for which in ["before", "after"] {
            if which == "before" && !choices.one_in(20) || choices.below(2) == 0 {
                tensors.push((format!("{number}.{which}"), Tensor::zeros(dtype, Shape::from_slice(&[elements]))));
            }
        }
    }
    let mut arguments: Vec<String> = ["x", "y", "z"]
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let (shape, strides) = choices.of(&[
                ("[8]", "[1]"),
                ("[8]", "[1]"),
                ("[2, 4]", "[4, 1]"),
                ("[0]", "[1]"),
                ("[1099511627776]", "[0]"),
                ("[4294967296, 4294967296]", "[0, 0]"),
                ("[18446744073709551615]", "[9223372036854775807]"),
                ("[4]", "[-1]"),
                ("[]", "[]"),
                ("[2, 0, 4294967296, 4294967296]", "[1, 1, 1, 1]"),
            ]);
            let offset = choices.of(&["0", "0", "3", "-1", "9223372036854775807"]);
            let storage = if choices.one_in(10) { 7 } else { number };
            let view = format!(
                "{{\"storage\": {storage}, \"dtype\": \"{}\", \"shape\": {shape}, \"strides\": {strides}, \"offset\": {offset}}}",
                storages[number].0
            );
            match choices.below(10) {
                0 => format!("\"{name}\": {{\"kind\": \"descriptor\", \"block\": [8, 4], \"view\": {view}}}"),
                1 => format!("\"{name}\": {{\"kind\": \"tuple\", \"items\": [{{\"kind\": \"tensor\", \"view\": {view}}}, {{\"kind\": \"none\"}}]}}"),
                _ => format!("\"{name}\": {{\"kind\": \"tensor\", \"view\": {view}}}"),
            }
        })
        .collect();
    let n = choices.of(&[
        r#"{"kind": "int", "value": 8}"#,
        r#"{"kind": "int", "value": 18446744073709551615}"#,
        r#"{"kind": "float", "value": "nan"}"#,
        r#"{"kind": "bool", "value": true}"#,
        r#"{"kind": "python", "value": "tl.float32"}"#,
        r#"{"kind": "python", "value": "(1,) * 10 ** 12"}"#,
        r#"{"kind": "function", "value": "k"}"#,
        r#"{"kind": "str", "value": "é"}"#,
        r#"{"kind": "none"}"#,
    ]);
    arguments.push(format!("\"n\": {n}"));
    arguments.push(format!("\"BLOCK\": {{\"kind\": \"int\", \"value\": {}}}", choices.of(&["8", "16", "7", "0", "1073741824"])));
    let grid = choices.of(&["[1, 1, 1]", "[2, 1, 1]", "[4294967295, 4294967295, 1]", "[0, 1, 1]", "[1, 1]"]);
    let said: Vec<&String> = storages.iter().map(|(_, text)| text).collect();
    let said = said.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "{{\"version\": 1, \"kernel\": \"k\", \"grid\": {grid}, \"storages\": [{said}], \"arguments\": {{{}}}}}",
        arguments.join(", ")
    );
    let text = if choices.one_in(4) { damaged(&text, choices) } else { text };
    let bytes = stored::write(&tensors).unwrap_or_default();
    (text, if choices.one_in(6) { damaged_bytes(&bytes, choices) } else { bytes })
}

/// Replays it.
pub fn play(folder: &Path, kernel: &str, launch: &[u8], tensors: &[u8]) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("the folder can be written");
    write("kernel.py", kernel.as_bytes());
    write("launch.json", launch);
    write("tensors.safetensors", tensors);
    let asked = Asked { folder: folder.to_owned(), fuel: Some(2000), memory: Some(16 << 20), threads: 1 };
    match replay(&asked, &Cancel::default()) {
        Ok(replays) => replays.iter().flat_map(|replay| &replay.findings).for_each(allow),
        Err(found) => found.iter().for_each(allow),
    }
}
