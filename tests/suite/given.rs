//! `--input` and `--expect`: a user's own arrays, for the whole model and for one kernel.

use std::path::{Path, PathBuf};
use std::process::Command;

use decompose::conform::verdict::Word;
use decompose::pipeline::{GivenFile, GivenFiles, Report, Verification};

use crate::support::{RELU, edit, kernel_file, small_suite, suite_of, verified};

/// Writes an array as numpy does.
fn npy(file: &Path, descr: &str, shape: &[usize], data: &[u8]) {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}\n");
    let length = (header.len() as u16).to_le_bytes();
    std::fs::write(file, [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()).unwrap();
}

pub fn floats(file: &Path, shape: &[usize], of: impl Fn(usize) -> f32) {
    let data: Vec<u8> = (0..shape.iter().product()).flat_map(|i| of(i).to_le_bytes()).collect();
    npy(file, "<f4", shape, &data);
}

fn given(arrays: &[(&str, &Path)]) -> Vec<GivenFile> {
    let name = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    arrays.iter().map(|&(of, path)| GivenFile { name: name(of), path: path.to_owned() }).collect()
}

fn verify(suite: &Path, only: Option<&str>, inputs: &[(&str, &Path)], expected: &[(&str, &Path)]) -> Report {
    let data = GivenFiles { inputs: given(inputs), expected: given(expected) };
    let asked = Verification { only: only.map(str::to_owned), data, ..Verification::default() };
    verified(suite, &asked)
}

fn codes(report: &Report) -> Vec<&str> {
    report.diagnostics().map(|d| d.code.id).collect()
}

/// Numbers of both signs, none of them small.
fn wave(i: usize) -> f32 {
    (i as f32 * 0.37).sin() * 3.0 + 0.001
}

#[test]
fn a_model_is_held_to_its_users_own_truth() {
    let (guard, suite) = suite_of(RELU);
    let [x, y] = ["x.npy", "y.npy"].map(|name| guard.path().join(name));
    floats(&x, &[4, 100], wave);
    floats(&y, &[4, 100], |i| wave(i).max(0.0));
    let report = verify(&suite, None, &[("", &x)], &[("", &y)]);
    let data = report.on_data.as_ref().unwrap();
    assert_eq!((data.word, data.error, data.expected), (Word::Verified, 0.0, true));
    assert!(report.fully_verified() && report.chain.as_ref().unwrap().known, "the suite's own verdicts hold besides");

    floats(&y, &[4, 100], |i| wave(i).max(0.0) + if i == 77 { 0.5 } else { 0.0 });
    let report = verify(&suite, None, &[("x", &x)], &[("y", &y)]);
    assert_eq!(codes(&report), ["C005"]);
    let found = report.diagnostics().next().unwrap();
    assert!(found.message.starts_with("output y is off by 5.000e-1 from the expected values"), "{found}");
    assert!(found.notes.iter().any(|note| note.starts_with("the reference is off by 5.000e-1 from them, too")));
    assert!(!report.fully_verified());
    // What fails on somebody's data is no verdict of the suite.
    assert!(verify(&suite, None, &[("x", &x)], &[]).fully_verified());
}

#[test]
fn a_kernel_that_is_wrong_on_these_data_alone_is_found() {
    let (guard, suite) = suite_of(RELU);
    edit(&kernel_file(&suite, "relu"), "tl.where(x < 0, 0, x)", "tl.where((x < 0) | ((x > 1e9) & (x < 1e12)), 0, x)");
    let x = guard.path().join("x.npy");
    for (largest, found) in [(9e8, vec![]), (2e9, vec!["C003"])] {
        floats(&x, &[4, 100], |i| if i == 123 { largest } else { wave(i) });
        let report = verify(&suite, Some("relu"), &[("", &x)], &[]);
        assert_eq!(codes(&report), found);
        assert_eq!(report.verdicts[0].word, Word::Verified);
    }
    let report = verify(&suite, None, &[("", &x)], &[]);
    assert!(codes(&report).contains(&"C003"), "the chain on the data: {:?}", codes(&report));
    assert_eq!(report.chain.as_ref().unwrap().word, Word::Verified);
}

#[test]
fn operands_are_given_by_name_and_the_rest_is_generated() {
    let (guard, suite) = small_suite();
    let [x, w, y] = ["x.npy", "w.npy", "y.npy"].map(|name| guard.path().join(name));
    floats(&x, &[1, 2, 12, 13], |i| wave(i) * 1e6);
    let report = verify(&suite, Some("conv2d_resnet"), &[("x", &x)], &[]);
    let data = report.on_data.as_ref().unwrap();
    assert_eq!(
        (data.word, data.notes.as_slice()),
        (Word::Verified, ["not given, and generated from seed 0: w".to_owned()].as_slice())
    );
    assert!(data.error > 1e-4 && data.allowed > data.error, "the cap scales: {} of {}", data.error, data.allowed);

    // One 1 among zeros in the middle of each window: the output is the first channel.
    floats(&w, &[3, 2, 3, 3], |i| if i % 18 == 4 { 1.0 } else { 0.0 });
    floats(&y, &[1, 3, 12, 13], |i| wave(i % 156).max(0.0));
    floats(&x, &[1, 2, 12, 13], wave);
    let report = verify(&suite, Some("conv2d_resnet"), &[("x", &x), ("w", &w)], &[("y", &y)]);
    assert_eq!(codes(&report), Vec::<&str>::new());
    assert_eq!(report.on_data.unwrap().notes, Vec::<String>::new());

    floats(&y, &[1, 3, 12, 13], |i| wave(i % 156));
    let report = verify(&suite, Some("conv2d_resnet"), &[("x", &x), ("w", &w)], &[("y", &y)]);
    assert_eq!(codes(&report), ["C003"]);
    let notes = &report.diagnostics().next().unwrap().notes;
    assert!(notes.contains(&"the kernel agrees with the reference on these inputs".to_owned()), "{notes:?}");

    // The whole model on the same arrays.
    let report = verify(&suite, None, &[("x", &x), ("w", &w)], &[]);
    assert!(report.fully_verified() && report.on_data.is_some_and(|data| data.what == "the model"));
}

/// The status and the message of a refusal.
fn refused(suite: &Path, arguments: &[&str], expected: expect_test::Expect) {
    let folder = suite.parent().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_decompose"));
    let output = command.args(["verify", "suite"]).args(arguments).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    expected.assert_eq(&format!("exit {}\n{said}", output.status.code().unwrap()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let (guard, suite) = small_suite();
    let file = |name: &str| -> PathBuf { guard.path().join(name) };
    floats(&file("x.npy"), &[1, 2, 12, 13], wave);
    floats(&file("flat.npy"), &[312], wave);
    npy(&file("wide.npy"), "<f8", &[1, 2, 12, 13], &[0; 312 * 8]);
    std::fs::write(file("text.npy"), "1, 2, 3").unwrap();
    refused(
        &suite,
        &["--input", "x=none.npy"],
        expect_test::expect![[r#"
            exit 2
            error[U002]: none.npy: there is no such file
             |
             = help: name a .npy file
            for more: decompose explain U002
        "#]],
    );
    refused(
        &suite,
        &["--input", "x=text.npy"],
        expect_test::expect![[r#"
        exit 2
        error[U001]: text.npy: --input x: it is no .npy file
        for more: decompose explain U001
    "#]],
    );
    refused(
        &suite,
        &["--input", "x=flat.npy"],
        expect_test::expect![[r#"
        exit 2
        error[U001]: flat.npy: --input x: it holds 312, but x is 1×2×12×13
         |
         = help: decompose the model at the shape of the data (--shape, --dim), or cut the data
        for more: decompose explain U001
    "#]],
    );
    refused(
        &suite,
        &["--input", "x=wide.npy"],
        expect_test::expect![[r#"
        exit 2
        error[U001]: wide.npy: --input x: it holds f64, but f32 is expected: convert it where it is made (x.astype)
        for more: decompose explain U001
    "#]],
    );
    refused(
        &suite,
        &["--input", "z=x.npy"],
        expect_test::expect![[r#"
        exit 2
        error[U001]: x.npy: --input z=: there is nothing of this name
         |
         = help: name one of: x, w
        for more: decompose explain U001
    "#]],
    );
    refused(
        &suite,
        &["--input", "x.npy"],
        expect_test::expect![[r#"
        exit 2
        error[U001]: x.npy: --input does not say which array this is
         |
         = help: write --input NAME=FILE, with one of: x, w
        for more: decompose explain U001
    "#]],
    );
    refused(
        &suite,
        &["--input", "x=x.npy", "--input", "x=x.npy"],
        expect_test::expect![[r#"
        exit 2
        error[U001]: x.npy: --input gives x twice
        for more: decompose explain U001
    "#]],
    );
    refused(
        &suite,
        &["--only", "c", "--input", "w=x.npy"],
        expect_test::expect![[r#"
        exit 2
        error[U001]: x.npy: --input w: it holds 1×2×12×13, but w is 3×2×3×3
         |
         = help: decompose the model at the shape of the data (--shape, --dim), or cut the data
        for more: decompose explain U001
    "#]],
    );
}
