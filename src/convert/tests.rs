//! Conversions of files. `tests/convert/triton/*.py` have their other form beside them (`.emulator`) and what becomes
//! of that when it is converted back (`.triton`); `tests/convert/emulator/*.py` have theirs (`.triton`);
//! `tests/convert/refuse/*.py` (header `# convert: FORM`) the messages. Where a file says how its kernel is launched
//! (`# compile:`, `# buffer:`, `# launch:`), all forms of it must compute the same. Bless with UPDATE_EXPECT=1.

use std::path::{Path, PathBuf};

use super::*;
use crate::diag::render::render;
use crate::lint::tests::emulated;
use crate::source::SourceFile;
use crate::syntax::parse_module;

fn files(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/convert").join(name);
    let all = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = all.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "py")).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

fn rendered(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|d| render(d, false) + "\n").collect()
}

fn converted(path: &Path, text: &str, to: Form) -> String {
    let module = parse_module(&SourceFile::new(name(path), text)).unwrap_or_else(|e| panic!("{}\n{text}", render(&e, false)));
    convert(&module, to).unwrap_or_else(|refused| panic!("{}\n{}", path.display(), rendered(&refused))).text
}

/// Both compute the same, element by element, bit by bit.
fn assert_same(path: &Path, a: &str, b: &str) {
    if !a.contains("# launch: ") {
        return;
    }
    let [a, b] = [a, b].map(|text| emulated(name(path), text));
    assert_eq!(format!("{a:?}"), format!("{b:?}"), "{}", path.display());
    let moved = a.iter().any(|(_, values)| values.iter().any(|v| *v != 0.0));
    assert!(moved, "{} computes nothing", path.display());
}

#[test]
fn triton_becomes_the_dialect_and_triton_again() {
    for path in files("triton") {
        let text = std::fs::read_to_string(&path).unwrap();
        let emulator = converted(&path, &text, Form::Emulator);
        expect_test::expect_file![path.with_extension("emulator")].assert_eq(&emulator);
        let back = converted(&path, &emulator, Form::Triton);
        expect_test::expect_file![path.with_extension("triton")].assert_eq(&back);
        assert_same(&path, &text, &emulator);
        assert_same(&path, &text, &back);
        // Converted once more, nothing changes any more.
        assert_eq!(converted(&path, &back, Form::Emulator), emulator, "{}", path.display());
    }
}

#[test]
fn the_dialect_becomes_triton() {
    for path in files("emulator") {
        let text = std::fs::read_to_string(&path).unwrap();
        let triton = converted(&path, &text, Form::Triton);
        expect_test::expect_file![path.with_extension("triton")].assert_eq(&triton);
        assert_same(&path, &text, &triton);
    }
}

#[test]
fn comments_stay() {
    for path in files("triton").into_iter().chain(files("emulator")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let to = if path.parent().unwrap().ends_with("triton") { Form::Emulator } else { Form::Triton };
        let other = converted(&path, &text, to);
        let comments = |text: &str| {
            let module = parse_module(&SourceFile::new("a.py", text)).unwrap();
            module.comments.iter().map(|c| module.file.slice(c.span).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(comments(&text), comments(&other), "{}", path.display());
    }
}

#[test]
fn what_has_no_counterpart_is_refused_by_name() {
    for path in files("refuse") {
        let text = std::fs::read_to_string(&path).unwrap();
        let to = match text.lines().next().unwrap().strip_prefix("# convert: ").unwrap() {
            "triton" => Form::Triton,
            "emulator" => Form::Emulator,
            other => panic!("{other}"),
        };
        let module = parse_module(&SourceFile::new(name(&path), text)).unwrap();
        let refused = convert(&module, to).expect_err(name(&path));
        expect_test::expect_file![path.with_extension("stderr")].assert_eq(&rendered(&refused));
    }
}
