//! What the tests of whole suites share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use decompose::fuse::Level;
use decompose::pipeline::{self, Cancel, Options, Report, Silent, Verification};
use decompose::registry::Size;

/// Options for the repository's ResNet-50.
pub fn options(size: Size, fuse: Level, output: &Path) -> Options {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/resnet50.onnx");
    Options { model, size, fuse, output: Some(output.to_owned()), jobs: 2, ..Options::default() }
}

/// A model of two kernels.
const SMALL: &str = r#"
<ir_version: 8, opset_import: ["" : 17]>
small (float[1,2,12,13] x, float[3,2,3,3] w) => (float[1,3,6,7] y) {
  c = Conv <pads = [1, 1, 1, 1]> (x, w)
  r = Relu (c)
  y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (r)
}
"#;

/// A model of one kernel.
pub const RELU: &str = r#"
<ir_version: 8, opset_import: ["" : 17]>
relu (float[4,100] x) => (float[4,100] y) { y = Relu (x) }
"#;

/// The suite of a model in ONNX's textual form, in a folder that lives as long as the guard.
pub fn suite_of(text: &str) -> (tempfile::TempDir, PathBuf) {
    let (folder, suite, _) = decomposed(text);
    (folder, suite)
}

/// The same, with what decomposing reported.
pub fn decomposed(text: &str) -> (tempfile::TempDir, PathBuf, Report) {
    let folder = tempfile::tempdir().unwrap();
    let (model, suite) = (folder.path().join("model.onnx"), folder.path().join("suite"));
    std::fs::write(&model, crate::pages::onnx_text::bytes(text)).unwrap();
    let report = decompose(&Options { model, output: Some(suite.clone()), jobs: 2, ..Options::default() });
    (folder, suite, report)
}

/// The suite of a model of two kernels: a convolution with its ReLU, and a pool.
pub fn small_suite() -> (tempfile::TempDir, PathBuf) {
    suite_of(SMALL)
}

/// The only kernel of a template.
pub fn kernel_file(suite: &Path, template: &str) -> PathBuf {
    let mut files = std::fs::read_dir(suite.join("kernels")).unwrap().map(|entry| entry.unwrap().path());
    let own = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&format!("{template}__"));
    files.find(own).unwrap_or_else(|| panic!("{} has no {template}", suite.display()))
}

/// Replaces one occurrence of a text that must be there.
pub fn edit(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{} has no `{from}`:\n{text}", file.display());
    std::fs::write(file, text.replacen(from, to, 1)).unwrap();
}

pub fn decompose(options: &Options) -> Report {
    pipeline::decompose(options, &Silent, &Cancel::default()).unwrap_or_else(|found| panic!("{}", found[0]))
}

/// Verifies a suite again, or the part of it that a filter names.
pub fn verification(suite: &Path, only: Option<&str>) -> pipeline::Outcome<Report> {
    let asked = Verification { only: only.map(str::to_owned), jobs: 2, mends: false, ..Verification::default() };
    pipeline::verify(suite, &asked, &Silent, &Cancel::default())
}

/// Verifies a suite again, as asked.
pub fn verified(suite: &Path, asked: &Verification) -> Report {
    pipeline::verify(suite, asked, &Silent, &Cancel::default()).unwrap_or_else(|found| panic!("{}", found[0]))
}

/// Verifies a suite again; the codes of everything that was found.
pub fn verify(suite: &Path) -> (Report, Vec<&'static str>) {
    let report = verification(suite, None).unwrap();
    let codes = report.diagnostics().map(|d| d.code.id).collect();
    (report, codes)
}

/// Every file below a folder.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}
