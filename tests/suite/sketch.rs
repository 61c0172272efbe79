//! Sketches as a user writes, edits and gives them back: `--emit sketch` and `--sketch FILE`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use decompose::target::Target;

use crate::cli::run;
use crate::pages::{Page, onnx_text};
use crate::support::files;

/// Two convolutions that are added, each of which may take the addition; and a branch of its own.
const NET: &str = r#"
<ir_version: 8, opset_import: ["" : 17]>
net (float[1,3,16,16] x, float[8,3,3,3] w, float[8,8,1,1] v, float[8,8,1,1] u) => (float[1,8,8,8] y, float[1,3,16,16] z) {
  c = Conv <pads = [1, 1, 1, 1]> (x, w)
  r = Relu (c)
  p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)
  d = Conv (p, v)
  f = Conv (p, u)
  a = Add (d, f)
  y = Relu (a)
  z = Sigmoid (x)
}
"#;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A folder with the model and its sketch, and the sketch's text.
fn sketched() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("net.onnx"), onnx_text::bytes(NET)).unwrap();
    let (status, out, err) = said(folder.path(), &["net.onnx", "--emit", "sketch"]);
    assert_eq!((status, out.as_str(), err.as_str()), (0, "sketch: sketch.md, 5 kernels\n", ""));
    let text = fs::read_to_string(folder.path().join("sketch.md")).unwrap();
    (folder, text)
}

/// Status, standard output and standard error.
fn said(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = run(folder, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "no `{from}` in\n{text}");
    text.replacen(from, to, 1)
}

/// The entry of a kernel in the head.
fn entry<'t>(text: &'t str, name: &str) -> &'t str {
    let start = text.find(&format!("  - name: {name}\n")).unwrap_or_else(|| panic!("no kernel {name}"));
    let rest = &text[start + 1..];
    let end = ["\n  - name: ", "\n---\n"].iter().filter_map(|end| rest.find(end)).min().unwrap();
    &text[start..start + 1 + end + 1]
}

/// The suite of an edited sketch, verified.
fn followed(folder: &Path, sketch: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    fs::write(folder.join("edited.md"), sketch).unwrap();
    let (status, out, err) = said(folder, &["net.onnx", "--sketch", "edited.md", "-o", "edited", "--force"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("chain: verified"), "{out}");
    files(&folder.join("edited"))
}

fn layers(suite: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let run = String::from_utf8_lossy(&suite[Path::new("run.py")]).into_owned();
    let forward = run.split("def forward(").nth(1).unwrap().to_owned();
    let layer = |line: &str| line.strip_prefix("    # ").map(str::to_owned);
    forward.lines().take_while(|line| !line.contains("return")).filter_map(layer).collect()
}

#[test]
fn an_unedited_sketch_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("net.onnx"), onnx_text::bytes(NET)).unwrap();
    let light = |name: &str| repository(&format!("tests/import/onnx_light/light_{name}.onnx"));
    let (small, large) = (folder.path().join("net.onnx"), repository("models/resnet50.onnx"));
    let runs: [(PathBuf, &[&str]); 8] = [
        (small.clone(), &[]),
        (small.clone(), &["--fuse", "none"]),
        (small.clone(), &["--dtype", "f16"]),
        (small, &["--target", "ascend910b4"]),
        (large.clone(), &["--shapes", "unit"]),
        (large, &["--shapes", "unit", "--fuse", "none"]),
        (light("densenet121"), &[]),
        (light("shufflenet"), &[]),
    ];
    for (model, extra) in runs {
        let model = model.to_str().unwrap();
        let same = |last: &[&str]| {
            let arguments: Vec<&str> = [model].iter().chain(extra).chain(last).copied().collect();
            let (status, _, err) = said(folder.path(), &arguments);
            assert_eq!(status, 0, "{arguments:?}: {err}");
        };
        same(&["--emit", "sketch", "--force"]);
        same(&["--verify", "none", "-o", "plain", "--force"]);
        same(&["--verify", "none", "-o", "again", "--force", "--sketch", "sketch.md"]);
        assert!(files(&folder.path().join("plain")) == files(&folder.path().join("again")), "{model} {extra:?}");
        let text = fs::read(folder.path().join("sketch.md")).unwrap();
        same(&["--emit", "sketch", "-o", "second.md", "--force", "--sketch", "sketch.md"]);
        assert!(text == fs::read(folder.path().join("second.md")).unwrap(), "the sketch of {model} {extra:?}");
    }
}

#[test]
fn a_task_has_a_sketch_too() {
    let folder = tempfile::tempdir().unwrap();
    let task = repository("tests/task/mlp.json");
    let task = task.to_str().unwrap();
    let at = |name: &str| folder.path().join(name);
    let ask = |last: &[&str]| {
        let (status, out, err) = said(folder.path(), &[&["task", task], last].concat());
        assert_eq!((status, err.as_str()), (0, ""), "{out}");
        out
    };
    assert_eq!(ask(&["--emit", "sketch"]), "sketch: sketch.md, 4 kernels\n");
    ask(&["-o", "plain.py", "--verify", "none"]);
    ask(&["-o", "again.py", "--verify", "none", "--sketch", "sketch.md"]);
    assert_eq!(fs::read(at("plain.py")).unwrap(), fs::read(at("again.py")).unwrap());

    let text = fs::read_to_string(at("sketch.md")).unwrap();
    let text = replaced(&text, "{BM: 16, BN: 16, BK: 16", "{BM: 32, BN: 16, BK: 32");
    let text = replaced(&text, "      - relu  # aten.relu.default\n", "");
    let text = replaced(&text, "  - name: blocks.1/", "  - nodes: [relu]\n  - name: blocks.1/");
    fs::write(at("edited.md"), text).unwrap();
    let out = ask(&["--sketch", "edited.md"]);
    assert!(out.contains("5 launches") && out.contains("kernels: 2 verified"), "{out}");
    let answer = fs::read_to_string(at("modelnew.py")).unwrap();
    assert!(answer.contains("BM = 32") || answer.contains("BM=32"), "{answer}");
}

#[test]
fn a_sketch_of_a_small_model() {
    let (_folder, text) = sketched();
    expect_test::expect_file![repository("tests/sketch/net.md")].assert_eq(&text);
}

#[test]
fn blocks_are_those_of_the_sketch() {
    let (folder, text) = sketched();
    let asked = "{BM: 32, BN: 16, BK: 16, num_warps: 2, num_stages: 2}";
    let (start, rest) = text.split_once("    blocks: {").unwrap();
    let (_, rest) = rest.split_once('}').unwrap();
    let suite = followed(folder.path(), &format!("{start}    blocks: {asked}{rest}"));
    let kernels = suite.iter().filter(|(path, _)| path.starts_with("kernels"));
    let with = kernels.filter(|(_, text)| {
        let text = String::from_utf8_lossy(text);
        text.contains("BM = 32") && text.contains("num_warps=2, num_stages=2")
    });
    assert_eq!(with.count(), 1);

    // A softmax in one block becomes one over several, where its block is shorter than the line.
    let softmax = r#"
<ir_version: 8, opset_import: ["" : 17]>
net (float[4,100] x) => (float[4,100] y) { y = Softmax <axis = 1> (x) }
"#;
    fs::write(folder.path().join("net.onnx"), onnx_text::bytes(softmax)).unwrap();
    let (status, _, err) = said(folder.path(), &["net.onnx", "--emit", "sketch", "--force"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let text = fs::read_to_string(folder.path().join("sketch.md")).unwrap();
    let suite = followed(folder.path(), &replaced(&text, "BLOCK: 128", "BLOCK: 32"));
    assert!(suite.values().any(|text| String::from_utf8_lossy(text).contains("softmax_long_kernel[")));
}

#[test]
fn groups_are_split_and_chosen() {
    let (folder, text) = sketched();
    assert_eq!(layers(&followed(folder.path(), &text)), ["c", "p", "d", "f", "z"]);

    // Convolution and Relu apart.
    let apart = replaced(&text, "      - r  # Relu\n", "");
    let apart = replaced(&apart, "  - name: p\n", "  - nodes: [r]\n  - name: p\n");
    assert_eq!(layers(&followed(folder.path(), &apart)), ["c", "r", "p", "d", "f", "z"]);

    // The addition goes to the other convolution, which then comes last.
    let (d, f) = (entry(&text, "d"), entry(&text, "f"));
    let added = "      - a  # Add\n      - \"y\"  # Relu\n";
    let swapped = replaced(
        &text,
        &format!("{d}{f}"),
        &format!("{}{}", replaced(f, added, ""), replaced(d, "# Conv\n", &format!("# Conv\n{added}"))),
    );
    assert_eq!(layers(&followed(folder.path(), &swapped)), ["c", "p", "f", "d", "z"]);
}

#[test]
fn launches_stand_in_the_order_of_the_sketch() {
    let (folder, text) = sketched();
    let (c, z) = (entry(&text, "c").to_owned(), entry(&text, "z").to_owned());
    let first = replaced(&replaced(&text, &z, ""), &c, &format!("{z}{c}"));
    assert_eq!(layers(&followed(folder.path(), &first)), ["z", "c", "p", "d", "f"]);
}

/// What is said of sketches that cannot be followed, in one blessed file: the edit, then the message.
#[test]
fn what_cannot_be_followed_is_refused() {
    let (folder, text) = sketched();
    let (c, p, d) = (entry(&text, "c").to_owned(), entry(&text, "p").to_owned(), entry(&text, "d").to_owned());
    let edited = |from: &str, to: &str| replaced(&text, from, to);
    let blocks = |to: &str| {
        let old = c.split_once("blocks: ").unwrap().1.split_once('\n').unwrap().0;
        edited(old, to)
    };
    let cases: Vec<(&str, String)> = vec![
        ("no head", "# Sketch\n".to_owned()),
        ("another format", edited("decompose-sketch", "sketch")),
        ("another version", edited("version: 1", "version: 9")),
        ("another model", edited("model: net", "model: resnet50")),
        ("another target", edited("target: sm_90", "target: gfx942")),
        ("another precision", edited("precision: ieee", "precision: tf32")),
        ("another type", edited("dtype: as-is", "dtype: f16")),
        ("another level", edited("fuse: basic", "fuse: none")),
        ("an unknown key", edited("    work:", "    tiles:")),
        ("a node that is not there", edited("- r  #", "- relu  #")),
        ("a node twice", edited("- p  #", "- r  #")),
        ("a node left out", edited("      - r  # Relu\n", "")),
        ("no node", edited("    nodes:\n      - p  # MaxPool\n", "    nodes: []\n")),
        ("what no rule fuses", edited(&p, "").replacen("      - r  # Relu\n", "      - r\n      - p\n", 1)),
        ("neighbours of no kind", edited(&d, "").replacen("      - r  # Relu\n", "      - r\n      - d\n", 1)),
        ("an order against operands", edited(&format!("{c}{p}"), &format!("{p}{c}"))),
        ("no power of two", blocks("{BM: 48}")),
        ("no size", blocks("{BM: 0}")),
        ("no block of the template", blocks("{BLOCK: 64}")),
        ("too large", blocks("{BM: 256, BN: 256, BK: 128}")),
        ("a dot too short", blocks("{BK: 8}")),
        ("too many warps", blocks("{num_warps: 64}")),
        ("another grid", edited("grid: [4, 1, 1]", "grid: [5, 1, 1]")),
        ("other work", edited("work: 4", "work: 5")),
        ("another template", edited("template: maxpool2d", "template: avgpool2d")),
    ];
    let mut all = String::new();
    for (what, sketch) in cases {
        fs::write(folder.path().join("edited.md"), sketch).unwrap();
        let (status, out, err) = said(folder.path(), &["net.onnx", "--sketch", "edited.md", "-o", "edited"]);
        assert_eq!((status, out.as_str()), (2, ""), "{what}: {err}");
        assert!(!folder.path().join("edited").exists());
        all += &format!("== {what}\n{err}\n");
    }
    let none = said(folder.path(), &["net.onnx", "--fuse", "none", "--emit", "sketch", "-o", "none.md"]);
    assert_eq!(none.0, 0, "{}", none.2);
    let text = fs::read_to_string(folder.path().join("none.md")).unwrap();
    let merged = replaced(&replaced(&text, entry(&text, "r"), ""), "      - c  # Conv\n", "      - c\n      - r\n");
    fs::write(folder.path().join("edited.md"), merged).unwrap();
    let (_, _, err) = said(folder.path(), &["net.onnx", "--fuse", "none", "--sketch", "edited.md", "-o", "edited"]);
    all += &format!("== fused where nothing is\n{err}\n");
    let (_, _, err) = said(folder.path(), &["net.onnx", "--sketch", "nowhere.md", "-o", "edited"]);
    all += &format!("== no file\n{err}\n");
    let (_, _, err) = said(folder.path(), &["net.onnx", "--emit", "sketch"]);
    all += &format!("== a sketch in the way\n{err}\n");
    expect_test::expect_file![repository("tests/sketch/refused.txt")].assert_eq(&all);
}

#[test]
fn every_target_has_sketches() {
    let (folder, _) = sketched();
    for target in Target::all() {
        let asked = ["net.onnx", "--target", target.name, "--emit", "sketch", "--force"];
        let (status, _, err) = said(folder.path(), &asked);
        let text = fs::read_to_string(folder.path().join("sketch.md")).unwrap();
        assert_eq!((status, err.as_str()), (0, ""));
        assert!(!text.contains("Not counted") && text.contains(&format!("of {}.", target.name)), "{text}");
    }
}

#[test]
fn the_page_about_sketches() {
    let said = Page::read(&repository("docs/sketch.md")).check();
    assert!(said.contains("[U012]") && said.contains("chain: verified"));
}
