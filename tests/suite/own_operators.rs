//! Operators of the user's own, from a template's formula to verified kernels; the tutorial shows the
//! usual way, this the odd ones.

use std::path::Path;

use decompose::conform::verdict::Word;
use decompose::fuse::Level;
use decompose::pipeline::{self, Cancel, Options, Report, Silent};
use decompose::template::{Library, new};

/// A model of one node of the operator, over two operands that broadcast.
fn model(folder: &Path, operator: &str) -> std::path::PathBuf {
    let text = format!(
        r#"<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
           own (float[4,1,6] x, float[5,1] b) => (float[4,5,6] y) {{ y = {operator} (x, b) }}"#
    );
    let path = folder.join("own.onnx");
    std::fs::write(&path, crate::pages::onnx_text::bytes(&text)).unwrap();
    path
}

/// `templates/gate` of a formula, with one change of its manifest.
fn template(folder: &Path, from: &str, to: &str) {
    let files = new::files("gate", "com.example.Gate", Some("X * sigmoid(B)"), &Library::embedded().unwrap()).unwrap();
    let own = folder.join("templates/gate");
    std::fs::create_dir_all(&own).unwrap();
    for (file, text) in files {
        let text = if file == "template.yaml" { text.replace(from, to) } else { text };
        std::fs::write(own.join(file), text).unwrap();
    }
}

fn run(folder: &Path, operator: &str) -> pipeline::Outcome<Report> {
    let options = Options {
        model: model(folder, operator),
        templates: Some(folder.join("templates")),
        output: Some(folder.join("suite")),
        fuse: Level::None,
        ..Options::default()
    };
    pipeline::decompose(&options, &Silent, &Cancel::default())
}

#[test]
fn its_own_template_serves_it_also_by_an_alias() {
    for operator in ["com.example.Gate", "com.example.Gate2"] {
        let folder = tempfile::tempdir().unwrap();
        template(folder.path(), "probe:", "aliases: [com.example.Gate2]\nprobe:");
        let report = run(folder.path(), operator).unwrap_or_else(|found| panic!("{}", found[0]));
        assert_eq!(report.layers[0].template, "gate");
        assert_eq!(report.verdicts[0].word, Word::Verified);
        assert!(report.fully_verified());
    }
}

#[test]
fn where_its_template_does_not_fit_the_map_of_its_formula_serves() {
    let folder = tempfile::tempdir().unwrap();
    template(folder.path(), "X.dtype == 'f32'", "X.dtype == 'f64'");
    let report = run(folder.path(), "com.example.Gate").unwrap_or_else(|found| panic!("{}", found[0]));
    assert_eq!(report.layers[0].template, "map");
    assert!(report.fully_verified());
}

#[test]
fn a_name_of_onnx_keeps_its_meaning() {
    let folder = tempfile::tempdir().unwrap();
    template(folder.path(), "com.example.Gate", "Mul");
    let found = run(folder.path(), "Mul").unwrap_err();
    assert_eq!((found[0].code.id, found.len()), ("T001", 1));
    assert_eq!(found[0].message, "Mul is an operator of ONNX, which has its meaning already");
}
