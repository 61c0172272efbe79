//! Documents that name tests: each is there.

use std::path::Path;

/// What is wrong with the tests that a document names between backticks: `path`, or `path::function`.
fn missing(text: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let named = text.split('`').skip(1).step_by(2).filter(|name| name.starts_with("tests/") || name.starts_with("src/"));
    let mut complaints = Vec::new();
    for name in named {
        let (path, function) = name.split_once("::").map_or((name, None), |(path, function)| (path, Some(function)));
        match (read(path), function) {
            (None, _) => complaints.push(format!("{path} is not there")),
            (Some(text), Some(function)) if !text.contains(&format!("fn {function}()")) => {
                complaints.push(format!("{path} has no `{function}`"));
            }
            (Some(_), _) => {}
        }
    }
    complaints
}

#[test]
fn every_row_of_the_semantics_has_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/semantics.md")).expect("it is there");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert!(rows.len() > 20, "{} rows", rows.len());
    for row in rows {
        let tests = row.trim_end_matches('|').rsplit('|').next().unwrap_or("");
        assert!(tests.contains('`'), "no test: {row}");
    }
    let complaints = missing(&text, |path| std::fs::read_to_string(root.join(path)).ok());
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn missing_can_fail() {
    let read = |path: &str| (path == "src/a.rs").then(|| "fn there() {}".to_owned());
    assert_eq!(missing("`src/a.rs`, `src/a.rs::there`, `tl.dot`", read).len(), 0);
    assert_eq!(missing("`src/a.rs::gone`, `tests/b.py`", read), ["src/a.rs has no `gone`", "tests/b.py is not there"]);
}
