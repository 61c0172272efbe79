//! The command line as a user meets it: refusals, statuses, outputs.

use std::path::Path;
use std::process::{Command, Output};

use expect_test::{Expect, expect};

/// Runs the tool in a folder of its own.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_decompose")).args(arguments).current_dir(folder).output().unwrap()
}

/// The status and what stands on stderr.
fn refused(arguments: &[&str], expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty.onnx"), b"").unwrap();
    std::fs::write(folder.path().join("text.onnx"), b"hello, I am no model\n").unwrap();
    std::fs::write(folder.path().join("weights.pt"), b"PK\x03\x04rest").unwrap();
    std::fs::write(folder.path().join("kernel.py"), b"import triton\n\n@triton.jit\ndef k(x_ptr):\n    pass\n").unwrap();
    let output = run(folder.path(), arguments);
    let text = format!("exit {}\n{}", output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr));
    expected.assert_eq(&text);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 4, "something was left behind: {left:?}");
}

#[test]
fn nothing_gives_three_examples() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().filter(|l| l.starts_with("  decompose ")).count(), 3);
}

#[test]
fn bad_files_are_refused_by_name() {
    refused(
        &["missing.onnx"],
        expect![[r#"
        exit 2
        error[U002]: missing.onnx: there is no such file, and the registry has no model of this name
         |
         = help: name an .onnx file, or a model of the registry: resnet50, resnet50_operators
    "#]],
    );
    refused(
        &["empty.onnx"],
        expect![[r#"
        exit 2
        error[U003]: empty.onnx: is empty (0 bytes)
    "#]],
    );
    refused(
        &["text.onnx"],
        expect![[r#"
        exit 2
        error[U003]: text.onnx: is a text file, not an ONNX model; it begins with "hello, I am no model"
         |
         = help: pass the binary .onnx file
    "#]],
    );
    refused(
        &["weights.pt"],
        expect![[r#"
        exit 2
        error[U003]: weights.pt: is a PyTorch pickle; unpickling runs code from the file, so it is not read
         |
         = help: export the model where its Python code is: torch.onnx.export(model, (example_input,), "model.onnx", dynamo=True)
    "#]],
    );
    refused(
        &["kernel.py"],
        expect![[r#"
        exit 2
        error[U003]: kernel.py: is Python source, not a model file
         |
         = help: export the model where its Python code is: torch.onnx.export(model, (example_input,), "model.onnx", dynamo=True)
    "#]],
    );
}

#[test]
fn what_is_not_offered_yet_is_refused_by_name() {
    refused(
        &["resnet50.onnx", "--fuse", "full"],
        expect![[r#"
        exit 3
        unsupported[U006]: --fuse full is not offered yet
         |
         = help: use --fuse with one of: none, basic
    "#]],
    );
    refused(
        &["resnet50.onnx", "--precision", "tf32"],
        expect![[r#"
        exit 3
        unsupported[U006]: --precision tf32 is not offered yet
         |
         = help: use --precision with one of: ieee
    "#]],
    );
    refused(
        &["lint", "kernel.py"],
        expect![[r#"
        exit 3
        unsupported[U006]: `decompose lint` is not offered yet
    "#]],
    );
}

#[test]
fn wrong_words_are_refused() {
    refused(
        &["resnet50.onnx", "--fuse", "much"],
        expect![[r#"
        exit 2
        error[U001]: --fuse does not know `much`
         |
         = help: use one of: none, basic
    "#]],
    );
    refused(
        &["resnet50.onnx", "--shape", "x=1x"],
        expect![[r#"
        exit 2
        error[U001]: --shape cannot read `x=1x`
         |
         = help: write the input's name and its sizes: --shape x=1x3x224x224
    "#]],
    );
    refused(
        &["verify", "."],
        expect![[r#"
        exit 2
        error[U008]: .: this is not a suite: there is no manifest.json
         |
         = help: name the folder that `decompose MODEL` wrote
    "#]],
    );
    refused(
        &["resnet50.onnx", "-o", "empty.onnx"],
        expect![[r#"
        exit 2
        error[U005]: empty.onnx: this is in the way and not a folder
         |
         = help: name another folder with -o
    "#]],
    );
}

#[test]
fn a_bare_name_resolves_through_the_registry_from_any_folder() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["resnet50.onnx", "--shapes", "unit", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report["version"].as_u64(), report["fully_verified"].as_bool()), (Some(1), Some(true)));
    assert_eq!(report["layers"].as_array().unwrap().len(), 56);
    assert!(folder.path().join("resnet50-suite/kernels").is_dir());
}

#[test]
fn verification_can_be_left_out_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["resnet50.onnx", "--shapes", "unit", "--verify", "none"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("not fully verified"));
}
