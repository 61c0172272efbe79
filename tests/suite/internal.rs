//! What an internal error leaves: a bundle that replays.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::RELU;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_decompose"));
    command.args(arguments).env("SECRET_TOKEN", "hunter2").current_dir(folder).output().unwrap()
}

#[test]
fn a_panic_leaves_a_bundle_that_replays_it() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::create_dir(here.join("models")).unwrap();
    std::fs::write(here.join("models/relu.onnx"), crate::pages::onnx_text::bytes(RELU)).unwrap();
    let output = run(here, &["models/relu.onnx", "-o", "suite", "--inject-fault", "verify"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(70), "{said}");
    assert!(said.starts_with("internal error[X001]: panicked at src/cli/progress.rs:"), "{said}");
    assert!(said.contains(": injected fault in verify\n"), "{said}");
    let command = "decompose relu.onnx -o out --inject-fault verify";
    assert!(said.ends_with(&format!("to replay: cd decompose-bug-1 && {command}\n")), "{said}");
    assert!(!here.join("suite").exists(), "half a suite was left");

    let bundle = here.join("decompose-bug-1");
    let text = |name: &str| std::fs::read_to_string(bundle.join(name)).unwrap();
    assert_eq!(text("command.txt"), format!("{command}\n"));
    assert!(text("message.txt").contains("progress"), "no backtrace:\n{}", text("message.txt"));
    assert!(text("version.txt").starts_with(&format!("decompose {}", env!("CARGO_PKG_VERSION"))));
    for file in ["command.txt", "message.txt", "version.txt"] {
        assert!(!text(file).contains("hunter2"), "{file} holds the environment");
    }

    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let again = run(&bundle, &words);
    assert_eq!(again.status.code(), Some(70));
    assert!(String::from_utf8_lossy(&again.stderr).contains(": injected fault in verify\n"));
}

#[test]
fn no_bundle_is_left_by_other_errors() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), &["missing.onnx"]).status.code(), Some(2));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
