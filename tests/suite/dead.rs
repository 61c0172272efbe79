//! Outputs without a signal: a fault of the chain, unless the model makes them so whatever goes in, or they come
//! alive on larger inputs.

use decompose::conform::verdict::Word;

use decompose::pipeline::{GivenFile, GivenFiles, Report, Verification};

use crate::given::floats;
use crate::support::{decomposed, edit, kernel_file, verified};

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

/// What is left of x above a threshold; generated inputs lie between -1 and 1.
fn above(threshold: f32) -> String {
    model_with("4,100", &format!("<float[1] k = {{{threshold:?}}}>"), "c = Sub (x, k)\n y = Relu (c)")
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.diagnostics().map(|d| d.code.id).collect()
}

#[test]
fn a_signal_that_larger_inputs_wake_is_alive() {
    // The first of 8 and 64 that is enough is taken.
    for (threshold, gain) in [(5.0, 8), (10.0, 64), (60.0, 64)] {
        let (_guard, suite, report) = decomposed(&above(threshold));
        for report in [&report, &verified(&suite, &Verification::default())] {
            assert_eq!((codes(report), report.fully_verified()), (vec![], true), "{threshold}");
        }
        let note =
            format!("the model ran on inputs {gain} times as large as those of weights.py, on which these carry no signal: ");
        let told: Vec<&str> = report.notes.iter().filter_map(|told| told.strip_prefix(&note)).collect();
        assert_eq!(told, ["c"], "{threshold}: {:?}", report.notes);
        assert_eq!(report.chain.as_ref().unwrap().word, Word::Verified);
    }
}

#[test]
fn a_signal_that_is_alive_at_once_is_left_as_it_is() {
    let (_guard, _, report) = decomposed(&above(0.5));
    assert!(report.fully_verified());
    assert_eq!(report.notes.iter().filter(|note| note.contains("times as large")).count(), 0, "{:?}", report.notes);
}

#[test]
fn a_signal_that_no_gain_wakes_is_dead_as_it_was() {
    // Just beyond what 64 times reaches.
    let (_guard, suite, report) = decomposed(&above(65.0));
    for report in [&report, &verified(&suite, &Verification::default())] {
        assert_eq!((codes(report), report.fully_verified()), (vec!["C004"], false));
        let found = report.diagnostics().next().unwrap();
        assert_eq!(found.message, "the output carries no signal: all elements are zero");
        assert!(report.notes.iter().all(|note| !note.contains("times as large")), "{:?}", report.notes);
    }
}

#[test]
fn larger_inputs_hide_no_fault() {
    let (_guard, suite, report) = decomposed(&above(10.0));
    assert!(report.fully_verified());
    edit(&kernel_file(&suite, "map"), "y, mask=e < E)", "tl.where(y > 3.0, 3.0, y), mask=e < E)");
    let edited = verified(&suite, &Verification::default());
    assert!(codes(&edited).contains(&"C003") && !edited.fully_verified(), "{:?}", codes(&edited));
}

#[test]
fn a_users_own_arrays_are_never_made_larger() {
    let (guard, suite, _) = decomposed(&above(5.0));
    let x = guard.path().join("x.npy");
    for (height, dead) in [(4.0, true), (30.0, false)] {
        floats(&x, &[4, 100], |i| height * (i as f32 * 0.37).sin());
        let data = GivenFiles { inputs: vec![GivenFile { name: None, path: x.clone() }], expected: Vec::new() };
        let report = verified(&suite, &Verification { data, ..Verification::default() });
        assert_eq!(codes(&report), Vec::<&str>::new(), "{height}");
        let told =
            report.on_data.as_ref().unwrap().notes.iter().any(|note| note.ends_with("all elements are zero on the given data"));
        assert_eq!(told, dead, "{height}: {:?}", report.notes);
    }
}
