//! Pipes and devices where files should be: they are refused by name and neither waited for nor read.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use decompose::diag::render::render;
use decompose::fuse::Level;
use decompose::pipeline::{Cancel, Options, Silent, decompose};

use crate::pages::onnx_text;
use crate::support::{RELU, kernel_file, suite_of, verification};

fn pipe(at: &Path) {
    let _ = std::fs::remove_file(at);
    assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
}

fn endless(at: &Path) {
    let _ = std::fs::remove_file(at);
    std::os::unix::fs::symlink("/dev/zero", at).unwrap();
}

#[test]
fn a_suite_of_pipes_and_devices_is_refused_by_the_file() {
    let (guard, suite) = suite_of(RELU);
    let files = crate::support::files(&suite);
    let kernel = kernel_file(&suite, "relu").strip_prefix(&suite).unwrap().to_owned();
    let layer = files.keys().find(|path| path.starts_with("layers")).unwrap().clone();
    let named = ["run.py", "weights.py", "verdicts.json", "README.md", "notes"].map(Path::new);
    for path in named.into_iter().chain([kernel.as_path(), layer.as_path()]) {
        for make in [pipe, endless] {
            make(&suite.join(path));
            let found = verification(&suite, None).unwrap_err().remove(0);
            assert_eq!(found.code.id, "U002", "{found}");
            let told = render(&found, false);
            assert!(told.contains(path.to_str().unwrap()) && told.contains("it is no regular file"), "{told}");
        }
        std::fs::remove_file(suite.join(path)).unwrap();
        if let Some(content) = files.get(path) {
            std::fs::write(suite.join(path), content).unwrap();
        }
    }
    // The manifest itself: no suite.
    for make in [pipe, endless] {
        make(&suite.join("manifest.json"));
        assert_eq!(verification(&suite, None).unwrap_err()[0].code.id, "U008");
        let model = guard.path().join("model.onnx");
        let again = Options { model, output: Some(suite.clone()), ..Options::default() };
        let found = decompose(&again, &Silent, &Cancel::default()).unwrap_err().remove(0);
        assert_eq!(found.code.id, "U005", "{found}");
    }
}

#[test]
fn an_edited_suite_may_hold_a_pipe_when_it_is_replaced() {
    let (guard, suite) = suite_of(RELU);
    pipe(&suite.join("run.py"));
    let model = guard.path().join("model.onnx");
    let options = Options { model, output: Some(suite.clone()), ..Options::default() };
    let found = decompose(&options, &Silent, &Cancel::default()).unwrap_err().remove(0);
    assert!(found.code.id == "U005" && found.notes.contains(&"run.py: edited".to_owned()), "{found:?}");
    assert!(decompose(&Options { force: true, ..options }, &Silent, &Cancel::default()).unwrap().fully_verified());
}

#[test]
fn a_template_that_is_a_pipe_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (model, template) = (folder.path().join("model.onnx"), folder.path().join("templates/mine"));
    std::fs::write(&model, onnx_text::bytes(RELU)).unwrap();
    std::fs::create_dir_all(&template).unwrap();
    for file in ["kernel.py", "template.yaml", "schedule.yaml"] {
        std::fs::write(template.join(file), "").unwrap();
    }
    for make in [pipe, endless] {
        make(&template.join("kernel.py"));
        let templates = Some(folder.path().join("templates"));
        let output = Some(folder.path().join("suite"));
        let options = Options { model: model.clone(), templates, output, fuse: Level::None, ..Options::default() };
        let told = decompose(&options, &Silent, &Cancel::default()).unwrap_err().remove(0);
        let told = render(&told, false);
        assert!(told.contains("kernel.py") && told.contains("it is no regular file"), "{told}");
    }
}
