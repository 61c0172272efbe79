//! Archives that are wrong, or ask for what is not offered, each built here.

use std::io::{Cursor, Write};

use expect_test::{Expect, expect};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

mod memory;

use super::from_bytes;
use crate::diag::render::render;
use crate::import::Binding;

/// An archive of these entries, stored.
fn archive(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(CompressionMethod::Stored)).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

const CONTAINER: [(&str, &str); 3] = [("m/archive_format", "pt2"), ("m/archive_version", "0"), ("m/byteorder", "little")];

/// An archive with a program.
fn program(model: &str) -> Vec<u8> {
    archive(&[CONTAINER.as_slice(), &[("m/models/model.json", model)]].concat())
}

/// y = target(x), x [s77, 4] with 2 ≤ s77 ≤ 64.
fn one_node(target: &str, inputs: &str) -> String {
    let size = r#"{"as_expr": {"expr_str": "Symbol('s77', integer=True)", "hint": {"as_int": 5}}}"#;
    let four = r#"{"as_int": 4}"#;
    let meta = format!(
        r#"{{"dtype": 7, "sizes": [{size}, {four}], "strides": [{four}, {{"as_int": 1}}], "storage_offset": {{"as_int": 0}}, "layout": 7}}"#
    );
    format!(
        r#"{{"schema_version": {{"major": 8, "minor": 20}}, "range_constraints": {{"s77": {{"min_val": 2, "max_val": 64}}}},
        "graph_module": {{
            "graph": {{
                "inputs": [{{"as_tensor": {{"name": "x"}}}}], "outputs": [{{"as_tensor": {{"name": "y"}}}}],
                "nodes": [{{"target": "{target}", "inputs": [{inputs}], "outputs": [{{"as_tensor": {{"name": "y"}}}}], "name": "y"}}],
                "tensor_values": {{"x": {meta}, "y": {meta}}}
            }},
            "signature": {{
                "input_specs": [{{"user_input": {{"arg": {{"as_tensor": {{"name": "x"}}}}}}}}],
                "output_specs": [{{"user_output": {{"arg": {{"as_tensor": {{"name": "y"}}}}}}}}]
            }}
        }}}}"#
    )
}

const X: &str = r#"{"name": "self", "arg": {"as_tensor": {"name": "x"}}}"#;

fn sized(size: usize) -> Binding {
    Binding { dims: [("s77".to_owned(), size)].into_iter().collect(), ..Binding::default() }
}

/// What is said of an archive: errors, or what is not supported.
fn said(bytes: &[u8], binding: &Binding, expected: Expect) {
    let all = match from_bytes("m.pt2", bytes, binding) {
        Ok(imported) => imported.unsupported,
        Err(errors) => errors,
    };
    expected.assert_eq(&all.iter().map(|d| render(d, false)).collect::<Vec<_>>().join("\n"));
}

#[test]
fn containers_that_are_wrong() {
    let none = Binding::default();
    said(
        b"PK\x03\x04",
        &none,
        expect![[r#"
        error[U003]: m.pt2: the archive cannot be read: invalid Zip archive: Could not find EOCD
         |
         = help: the file is cut or damaged: copy it again"#]],
    );
    said(
        &archive(&[("a/b", "c")]),
        &none,
        expect![[r#"
        error[U003]: m.pt2: is a zip archive, not one of torch.export
         |
         = note: no folder at its top has `archive_format`"#]],
    );
    said(
        &archive(&[("serialized_exported_program.json", "{}")]),
        &none,
        expect![[r#"
        unsupported[M011]: m.pt2: is a torch.export archive of an early version of torch
         |
         = help: write it again with torch 2.9 or later: torch.export.save(program, "model.pt2")"#]],
    );
    said(
        &archive(&[("m/archive_format", "pt2"), ("n/archive_format", "pt2")]),
        &none,
        expect!["error[U003]: m.pt2: the archive has several roots"],
    );
    let big = [("m/archive_format", "pt2"), ("m/archive_version", "0"), ("m/byteorder", "big")];
    said(&archive(&big), &none, expect![[r#"unsupported[U006]: m.pt2: `byteorder` is "big" in this archive, "little" is read"#]]);
    said(&archive(&CONTAINER), &none, expect!["error[U003]: m.pt2: `models/model.json` is missing in the archive"]);
}

#[test]
fn programs_that_are_wrong() {
    let none = Binding::default();
    said(
        &program("{"),
        &none,
        expect![
            "error[U003]: m.pt2: `models/model.json` is not what torch.export writes: EOF while parsing an object at line 1 column 1"
        ],
    );
    said(
        &program(r#"{"schema_version": {"major": 9, "minor": 1}, "torch_version": "3.0"}"#),
        &none,
        expect![[r#"
        unsupported[M011]: m.pt2: the program's schema is 9.1 (torch 3.0), version 8 is read
         |
         = help: write it again with another version of torch"#]],
    );
    let relu = one_node("torch.ops.aten.relu.default", X);
    said(
        &program(&relu.replace(r#""dtype": 7"#, r#""dtype": 99"#)),
        &sized(8),
        expect![[r#"
        unsupported[M009]: m.pt2: input `x` has the element type number 99
        unsupported[M008]: m.pt2: nodes behind input `x` cannot be decomposed
         |
         = note: 1 node: y"#]],
    );
    said(
        &program(&relu.replace("Symbol(", "Rational(")),
        &sized(8),
        expect!["error[M001]: m.pt2: tensor `x`: `Rational` in a size is not read"],
    );
    said(
        &program(&relu.replace(
            r#""outputs": [{"as_tensor": {"name": "y"}}], "name""#,
            r#""outputs": [{"as_tensor": {"name": "x"}}], "name""#,
        )),
        &sized(8),
        expect!["error[M001]: m.pt2: `x` is made twice"],
    );
    let parameter = r#"{"parameter": {"arg": {"name": "x"}, "parameter_name": "l.weight"}}"#;
    let specified = relu.replace(r#"{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}"#, parameter);
    said(&program(&specified), &none, expect!["error[M005]: m.pt2: tensor `l.weight`: the archive has no elements for it"]);
}

#[test]
fn symbolic_sizes_are_bound_within_their_range() {
    let relu = program(&one_node("torch.ops.aten.relu.default", X));
    said(
        &relu,
        &Binding::default(),
        expect![[r#"
        error[M006]: m.pt2: dimension `s77` has no size
         |
         = note: input `x` is s77×4
         = help: bind with --dim s77=N, or all open ones with --default-dim N"#]],
    );
    said(
        &relu,
        &sized(1),
        expect![[r#"
        error[M006]: m.pt2: dimension `s77` is 1, the file allows 2 to 64
         |
         = help: give another size: --dim s77=N"#]],
    );
    said(&relu, &sized(8), expect![[""]]);
    let other = Binding { dims: [("batch".to_owned(), 3)].into_iter().collect(), ..Binding::default() };
    said(
        &relu,
        &other,
        expect![[r#"
        error[U001]: m.pt2: a size is given for `batch`, which is no symbolic dimension of the model
         |
         = note: the model has: s77
        error[M006]: m.pt2: dimension `s77` has no size
         |
         = note: input `x` is s77×4
         = help: bind with --dim s77=N, or all open ones with --default-dim N"#]],
    );
}

#[test]
fn nodes_that_cannot_be_lowered() {
    let node = |target: &str, inputs: &str| program(&one_node(target, inputs));
    said(
        &node("torch.ops.aten.bincount.default", X),
        &sized(8),
        expect![[r#"
        unsupported[M008]: m.pt2: operator aten.bincount.default is not supported
         |
         = note: 1 node: y"#]],
    );
    said(
        &node("torch.ops.higher_order.cond", X),
        &sized(8),
        expect![[r#"
        unsupported[M008]: m.pt2: operator higher_order.cond is not supported
         |
         = note: 1 node: y"#]],
    );
    said(
        &node("torch.ops.aten.relu.default", r#"{"name": "self", "arg": {"as_custom_obj": {"name": "o"}}}"#),
        &sized(8),
        expect![[r#"
            unsupported[M008]: m.pt2: aten.relu.default: an argument is `as_custom_obj`
             |
             = note: 1 node: y"#]],
    );
    said(
        &node("torch.ops.aten.relu.default", r#"{"name": "other", "arg": {"as_int": 1}}"#),
        &sized(8),
        expect!["error[M001]: m.pt2: node y: `other` is no argument of relu"],
    );
    said(
        &node("torch.ops.aten.relu.default", r#"{"name": "self", "arg": {"as_tensor": {"name": "z"}}}"#),
        &sized(8),
        expect!["error[M001]: m.pt2: node y: `z` is read before it is made"],
    );
    said(
        &node("torch.ops.aten.sum.default", X),
        &sized(8),
        expect!["error[M004]: m.pt2: node y: `y` is scalar, the file declares s77×4"],
    );
    let random = [X, r#"{"name": "p", "arg": {"as_float": 0.5}}"#, r#"{"name": "train", "arg": {"as_bool": true}}"#].join(", ");
    let random = random.replacen("self", "input", 1);
    said(
        &node("torch.ops.aten.dropout.default", &random),
        &sized(8),
        expect![[r#"
        unsupported[M008]: m.pt2: aten.dropout.default: dropout with p = 0.5 in training, whose result is random
         |
         = note: 1 node: y"#]],
    );
}
