//! What the tests of whole suites share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use decompose::fuse::Level;
use decompose::pipeline::{self, Cancel, Options, Report, Silent};
use decompose::registry::Size;

/// Options for the repository's ResNet-50.
pub fn options(size: Size, fuse: Level, output: &Path) -> Options {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/resnet50.onnx");
    Options { model, size, fuse, output: Some(output.to_owned()), jobs: 2, ..Options::default() }
}

pub fn decompose(options: &Options) -> Report {
    pipeline::decompose(options, &Silent, &Cancel::default()).unwrap_or_else(|found| panic!("{}", found[0]))
}

/// Verifies a suite again; the codes of everything that was found.
pub fn verify(suite: &Path) -> (Report, Vec<&'static str>) {
    let report = pipeline::verify(suite, None, false, 2, &Silent, &Cancel::default()).unwrap();
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
