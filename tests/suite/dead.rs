//! Outputs without a signal: a fault of the chain, unless the model makes them so whatever goes in.

use decompose::conform::verdict::Word;

use crate::support::decomposed;

fn model(shape: &str, nodes: &str) -> String {
    model_with(shape, "", nodes)
}

fn model_with(shape: &str, weights: &str, nodes: &str) -> String {
    format!("<ir_version: 8, opset_import: [\"\" : 17]>\nmodel (float[{shape}] x) => (float[{shape}] y) {weights} {{ {nodes} }}")
}

#[test]
fn a_constant_of_the_model_is_a_note() {
    for (shape, nodes) in [
        ("4,1", "y = Softmax <axis = 1> (x)"),
        ("4,25", "y = Sub (x, x)"),
        // The constant goes on.
        ("4,1", "s = Softmax <axis = 1> (x)\n t = Identity (s)\n y = Softmax <axis = 0> (t)"),
    ] {
        let (_guard, _, report) = decomposed(&model(shape, nodes));
        let found: Vec<String> = report.diagnostics().map(|d| d.to_string()).collect();
        assert_eq!((found.as_slice(), report.fully_verified()), ([].as_slice(), true), "{nodes}");
        let told = |note: &String| note.starts_with("y (") && note.ends_with("is the same whatever goes into the model");
        assert!(report.notes.iter().any(told), "{nodes}: {:?}", report.notes);
    }
}

#[test]
fn weights_that_make_an_output_constant_are_a_note() {
    for (weights, nodes) in [("", "y = Gemm <alpha = 0.0, transB = 1> (x, x)"), ("<float[1] k = {0.0}>", "y = Mul (x, k)")] {
        let shape = if nodes.contains("Gemm") { "25,25" } else { "4,25" };
        let (_guard, _, report) = decomposed(&model_with(shape, weights, nodes));
        let found: Vec<String> = report.diagnostics().map(|d| d.to_string()).collect();
        assert_eq!((found.as_slice(), report.fully_verified()), ([].as_slice(), true), "{nodes}");
        assert!(
            report.notes.iter().any(|note| note.ends_with("is the same whatever goes into the model")),
            "{nodes}: {:?}",
            report.notes
        );
    }
}

#[test]
fn a_signal_that_dies_of_its_size_is_a_fault() {
    let (_guard, _, report) = decomposed(
        "<ir_version: 8, opset_import: [\"\" : 17]>
        dead (float[4,100] x) => (float[4,100] y) <float[1] k = {1000.0}> {
          c = Sub (x, k)
          y = Relu (c)
        }",
    );
    assert!(report.verdicts.iter().all(|verdict| verdict.word == Word::Verified));
    assert_eq!(report.diagnostics().map(|d| d.code.id).collect::<Vec<_>>(), ["C004"]);
}
