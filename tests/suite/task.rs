//! `decompose task`, `verify FILE --task` and `--emit tasks` as a user types them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::run;
use crate::pages::onnx_text;
use crate::support::{RELU, edit};

fn task(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/task").join(name)
}

/// Status, standard output and standard error.
fn said(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = run(folder, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_task_is_answered_edited_and_judged_again() {
    let folder = tempfile::tempdir().unwrap();
    // Beside a text that they fit, the exported pair is taken, and no Python is started.
    for file in ["mlp.py", "mlp.json", "mlp.pt2"] {
        fs::copy(task(file), folder.path().join(file)).unwrap();
    }
    let (status, out, err) = said(folder.path(), &["task", "mlp.py", "--no-python", "--op-name", "net"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("note: not updated, as nothing returns them: blocks.1.running_mean, blocks.1.running_var"), "{out}");
    let text = fs::read_to_string(folder.path().join("modelnew.py")).unwrap();
    assert!(text.contains("def net_matmul_kernel("), "{text}");

    let (status, _, err) = said(folder.path(), &["task", "mlp.json"]);
    assert!(status == 2 && err.contains("error[U005]: modelnew.py: is there already"), "{err}");
    let (status, _, err) = said(folder.path(), &["verify", "modelnew.py"]);
    assert!(status == 2 && err.contains("--task TASK.py"), "{err}");

    let (status, out, err) = said(folder.path(), &["verify", "modelnew.py", "--task", "mlp.json", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}"));
    assert_eq!((status, document["fully_verified"].as_bool()), (0, Some(true)));

    edit(&folder.path().join("modelnew.py"), "residual * 0.5", "residual * 0.25");
    let (status, out, _) = said(folder.path(), &["verify", "modelnew.py", "--task", "mlp.json", "--json"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    let codes: Vec<&str> = document["problems"].as_array().unwrap().iter().filter_map(|p| p["code"].as_str()).collect();
    assert_eq!((status, codes.first()), (1, Some(&"C003")), "{codes:?}");

    // A text that was changed since is another task.
    let source = fs::read_to_string(folder.path().join("mlp.py")).unwrap();
    fs::write(folder.path().join("mlp.py"), source + "\n# changed\n").unwrap();
    let (status, _, err) = said(folder.path(), &["verify", "modelnew.py", "--task", "mlp.py", "--no-python"]);
    assert!(status == 2 && err.contains("no export of it lies beside it"), "{err}");
    let (status, _, err) = said(folder.path(), &["task", "mlp.py", "--python", "./no-such-python", "--force"]);
    assert!(status == 2 && err.contains("cannot be started to export it"), "{err}");
}

#[test]
fn each_layer_of_a_model_becomes_a_task() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("relu.onnx"), onnx_text::bytes(RELU)).unwrap();
    let (status, out, err) = said(folder.path(), &["relu.onnx", "--emit", "tasks"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert_eq!(out, "relu-tasks/001_y.py\n1 task of 1 launch, not verified: a task is a question\n");
    let text = fs::read_to_string(folder.path().join("relu-tasks/001_y.py")).unwrap();
    expect_test::expect![[r#"
        """y of relu: Relu."""

        import torch
        import torch.nn as nn


        class Model(nn.Module):
            def __init__(self):
                super().__init__()

            def forward(self, x):
                """Returns float32 [4, 100].

                x: float32 [4, 100]
                """
                y = torch.relu(x)
                return y


        def get_inputs():
            return [torch.randn((4, 100))]


        def get_init_inputs():
            return []
    "#]]
    .assert_eq(&text);
}
