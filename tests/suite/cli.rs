//! The command line as a user meets it: refusals, statuses, outputs.

use std::path::Path;
use std::process::{Command, Output};

use expect_test::{Expect, expect};

/// Runs the tool in a folder of its own.
pub fn run(folder: &Path, arguments: &[&str]) -> Output {
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
    let said = String::from_utf8_lossy(&output.stderr);
    // The last line points to the page of the code, for every refusal alike.
    let (said, pointer) = said.trim_end().rsplit_once('\n').unwrap();
    let code = said.split(['[', ']']).nth(1).unwrap();
    assert_eq!(pointer, format!("for more: decompose explain {code}"));
    expected.assert_eq(&format!("exit {}\n{said}\n", output.status.code().unwrap()));
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
         = help: name an .onnx or .pt2 file, or a model of the registry: resnet50, resnet50_operators
    "#]],
    );
    refused(
        &["empty.onnx"],
        expect![[r#"
            exit 2
            error[U003]: empty.onnx: is empty (0 bytes)
             |
             = help: name an .onnx or .pt2 file, or a model of shapes_registry.yaml such as resnet50.onnx
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
         = help: export the model where its Python code is: torch.export.save(torch.export.export(model, (example_input,)), "model.pt2")
    "#]],
    );
    refused(
        &["kernel.py"],
        expect![[r#"
            exit 2
            error[U003]: kernel.py: is Python source, not a model file
             |
             = help: it has kernels: decompose emulate kernel.py
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
        &["resnet50.onnx", "--precision", "fp16x3"],
        expect![[r#"
        exit 3
        unsupported[U006]: --precision fp16x3 is not offered yet
         |
         = help: use --precision with one of: ieee, tf32, tf32x3, bf16x6
    "#]],
    );
    refused(
        &["repair", "kernel.py"],
        expect![[r#"
        exit 3
        unsupported[U006]: `decompose repair` is not offered yet
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
        &["lint", "kernel.py", "--target", "sm_70"],
        expect![[r#"
            exit 2
            error[U001]: --target does not know `sm_70`
             |
             = help: use one of: sm_90, sm_80, gfx942, ascend910b1, ascend910b2, ascend910b2c, ascend910b3, ascend910b4, ascend910_9362, ascend910_9372, ascend910_9381, ascend910_9382, ascend910_9391, ascend910_9392
        "#]],
    );
    refused(
        &["lint", "kernel.py", "--constexpr", "BM"],
        expect![[r#"
            exit 2
            error[U001]: --constexpr cannot read `BM`
             |
             = help: write a name and a value: --constexpr BM=64
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

/// A mean over three axes that do not touch, of relu(x), which no template serves.
fn scattered_mean() -> Vec<u8> {
    crate::pages::onnx_text::bytes(
        r#"
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,5,3,4,3] x) => (float[1,5,1,4,1] y) {
  r = Relu (x)
  y = ReduceMean <axes = [0, 2, 4]> (r)
}
"#,
    )
}

/// A folder of one template, the embedded `relu` with another line in its template.yaml.
fn relu_with(folder: &Path, line: &str) {
    let (from, to) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("operator_templates/relu"), folder.join("mine/relu"));
    std::fs::create_dir_all(&to).unwrap();
    for file in ["kernel.py", "schedule.yaml", "template.yaml"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let text = std::fs::read_to_string(to.join("template.yaml")).unwrap();
    std::fs::write(to.join("template.yaml"), text + line).unwrap();
}

#[test]
fn a_template_that_is_wrong_ends_the_run_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mean.onnx"), scattered_mean()).unwrap();
    relu_with(folder.path(), "when: \"1 // (X.rank - X.rank)\"\n");
    let output = run(folder.path(), &["mean.onnx", "--templates", "mine"]);
    let text = format!("exit {}\n{}", output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr));
    expect![[r#"
        exit 2
        error[S002]: division by zero
          --> mine/relu/template.yaml:13:8
           |
        13 | when: "1 // (X.rank - X.rank)"
           |        ^^^^^^^^^^^^^^^^^^^^^^ invalid expression
        for more: decompose explain S002
    "#]]
    .assert_eq(&text);
    assert!(!folder.path().join("mean-suite").exists());
}

#[test]
fn a_node_without_a_template_is_named_and_the_rest_is_emitted_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mean.onnx"), scattered_mean()).unwrap();
    let output = run(folder.path(), &["mean.onnx", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let codes: Vec<&str> = report["problems"].as_array().unwrap().iter().map(|p| p["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["T003"]);
    let layers = report["layers"].as_array().unwrap();
    assert_eq!((layers.len(), layers[0]["verdict"]["word"].as_str()), (1, Some("verified")));
    assert!(report["chain"].is_null());
    assert!(folder.path().join("mean-suite/run.py").is_file());
}

#[test]
fn reasons_of_a_plan_are_told_a_launch() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mean.onnx"), scattered_mean()).unwrap();
    let output = run(folder.path(), &["plan", "mean.onnx", "--why"]);
    assert_eq!(output.status.code(), Some(3));
    expect![[r#"
        launch 0 r: relu computes r (relu)
          stops here: y (reduce_mean) reads its output and is no pointwise operator
        missing y (reduce_mean): [T003] no template serves `reduce_mean` of f32 2×5×3×4×3
    "#]]
    .assert_eq(&String::from_utf8_lossy(&output.stdout));
    let output = run(folder.path(), &["plan", "resnet50.onnx", "--why"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let launch = |n: usize| {
        let lines = text.lines().skip_while(|line| !line.starts_with(&format!("launch {n} ")));
        lines.take_while(|line| !line.starts_with(&format!("launch {} ", n + 1))).collect::<Vec<_>>().join("\n") + "\n"
    };
    let shown = [0, 1, 5, 55].map(launch).concat();
    expect![[r#"
        launch 0 conv1: conv2d_resnet computes bn1 (conv), relu (relu)
          rule fold_batchnorm at bn1 (conv) absorbed conv1 (conv)
          stops here: maxpool (max_pool) reads its output and is no pointwise operator
        launch 1 maxpool: maxpool2d computes maxpool (max_pool)
          stops here: 2 nodes read its output: layer1.0.bn1 (conv), layer1.0.downsample.1 (conv)
        launch 5 layer1.0.downsample.0: conv2d_resnet computes layer1.0.downsample.1 (conv), layer1.0.relu_2 (add_relu)
          rule fold_batchnorm at layer1.0.downsample.1 (conv) absorbed layer1.0.downsample.0 (conv)
          rule compose_maps at layer1.0.relu_2 (add_relu) absorbed layer1.0.add (add)
          stops here: 2 nodes read its output: layer1.1.bn1 (conv), layer1.1.relu_2 (add_relu)
        launch 55 fc: matmul computes fc (matmul), fc (add)
          stops here: the model returns its output
    "#]]
    .assert_eq(&shown);
    let output = run(folder.path(), &["plan", "resnet50.onnx", "--why", "--json"]);
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let why = plan["why"].as_array().unwrap();
    assert_eq!(why.len(), 56);
    assert_eq!((why[0]["layer"].as_str(), why[0]["stop"]["reason"].as_str()), (Some("conv1"), Some("no_map")));
}
