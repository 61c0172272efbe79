//! The ban over files. `tests/lint/ban/fail/<code>/*.py`: each line that breaks it says by which code (`#~ F004`), and the
//! rendered findings stand beside it; `tests/lint/ban/pass/*.py` hold. Header: `# ban: strict|lenient [task-computes]`.
//! Bless with UPDATE_EXPECT=1. And honesty: with a rule off, its findings, and only they, are gone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;
use crate::diag::render::render;
use crate::source::SourceFile;
use crate::syntax::parse_module;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint/ban").join(folder);
    let all = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = all.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "py")).collect();
    files.sort();
    assert!(!files.is_empty(), "{}", folder.display());
    files
}

fn case(path: &Path) -> (Module, Ban) {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let header = text.lines().find_map(|l| l.strip_prefix("# ban: ")).unwrap_or_else(|| panic!("{name} has no `# ban:`"));
    let mode = if header.starts_with("lenient") { Mode::Lenient } else { Mode::Strict };
    let ban = Ban { mode, task_computes: header.contains("task-computes"), ..Ban::default() };
    (parse_module(&SourceFile::new(name, text.clone())).unwrap(), ban)
}

fn fail_tests() -> Vec<(&'static str, PathBuf)> {
    RULES.iter().flat_map(|r| files(&format!("fail/{}", r.code.id)).into_iter().map(|path| (r.code.id, path))).collect()
}

fn rendered(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|f| render(&f.diagnostic, false) + "\n").collect()
}

#[test]
fn lint_ban_is_broken_where_the_file_says() {
    let mut wrong = String::new();
    for (id, path) in fail_tests() {
        let (module, ban) = case(&path);
        let lines = module.file.text().lines().enumerate();
        let expected: BTreeSet<(usize, String)> = lines
            .filter_map(|(i, line)| Some((i + 1, line.split_once("#~ ")?.1)))
            .flat_map(|(line, codes)| codes.split_whitespace().map(move |code| (line, code.to_owned())).collect::<Vec<_>>())
            .collect();
        assert!(expected.iter().any(|(_, code)| code == id), "{}: expects no {id}", path.display());
        let findings = check(&module, &ban);
        let line = |d: &crate::diag::Diagnostic| module.file.position(crate::lint::position(d).0).line;
        let found: BTreeSet<_> = findings.iter().map(|f| (line(&f.diagnostic), f.diagnostic.code.id.to_owned())).collect();
        let said = rendered(&findings).concat();
        if found != expected {
            wrong.push_str(&format!("{}\nfound    {found:?}\nexpected {expected:?}\n{said}", path.display()));
        }
        expect_test::expect_file![path.with_extension("stderr")].assert_eq(&said);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn lint_ban_without_a_rule_its_findings_and_only_they_are_gone() {
    for off in RULES {
        for (_, path) in fail_tests() {
            let (module, ban) = case(&path);
            let mut with = check(&module, &ban);
            with.retain(|f| f.diagnostic.code.id != off.code.id);
            let without = check(&module, &Ban { off: BTreeSet::from([off.code.id]), ..ban });
            assert_eq!(rendered(&with), rendered(&without), "{} without {}", path.display(), off.code.id);
        }
    }
}

#[test]
fn lint_ban_holds_for_clean_files() {
    for path in files("pass") {
        let (module, ban) = case(&path);
        let findings = check(&module, &ban);
        assert!(findings.is_empty(), "{}:\n{}", path.display(), rendered(&findings).concat());
    }
}
