//! The honesty of a verification's checks: suites that were broken on purpose
//! (`tests/verify/fail/<check>/*.txt`), what is said of each, and that it is no longer said as before when the
//! check that the folder names is off, while everything else still is.
//!
//! A file is lines of
//! `# …`                      what is wrong;
//! `fuse: none`, `precision: tf32`   when other than basic and ieee;
//! `edit FILE`, `- text`, `+ text`   a text of the emitted file that is there once, and what it becomes; a
//! kernel goes by its template (`edit relu`);
//! `remove FILE`;
//! `without CHECK: CODE …`    the codes that are found when a check is off, where that is not nothing (of the
//! folder's own check) or all that is blessed (of every other);
//! and the model as `graph "…"`. What is said lies beside it (`.stderr`, keys of kernels left out); bless with
//! UPDATE_EXPECT=1. All numbers in it are exact, because no emulated float is blessed: integers, copies and
//! comparisons only.
//!
//! What it does not show: that a check finds all that it should (that is what mutation testing measures).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::conform::checks::{self, Check, Checks};
use crate::diag::{Class, codes, render::render};
use crate::emit::{self, EmitOptions, Files};
use crate::emulate::check as emulator;
use crate::fuse::{self, Level};
use crate::graph::text;
use crate::lint;
use crate::pipeline::verdicts::Known;
use crate::pipeline::verify::all_of;
use crate::pipeline::{Cancel, Silent, Verification};
use crate::select::{self, Served};
use crate::source::SourceFile;
use crate::target::{self, Target};
use crate::template::{BindOptions, Library};
use crate::tolerance::Precision;

/// Codes of faults that no check with a switch reports, and why there is none.
const WITHOUT: &[(&str, &str)] = &[
    ("S001", "text that cannot be read cannot be run"),
    ("K002", "what Triton does not compile cannot be run"),
    ("K003", "without types nothing can be run"),
    ("H002", "the wrapper itself refuses"),
    ("H003", "arguments without a parameter have no meaning"),
    ("H005", "Python itself would stop here"),
    ("H007", "a module that is constructed otherwise has other parameters, and nothing can be compared"),
    ("T002", "the verdict of `template check`, which does nothing else"),
];

/// Checks that say more about what another one finds, and find nothing alone.
const AIDS: &[&str] = &["grid"];

/// One broken suite.
struct Case {
    path: PathBuf,
    check: &'static Check,
    before: Files,
    after: Files,
    /// What is found without a check, by its name.
    without: BTreeMap<String, Vec<String>>,
}

fn read(check: &'static Check, path: &Path) -> Case {
    let text = std::fs::read_to_string(path).unwrap();
    let at = text.find("graph \"").unwrap_or_else(|| panic!("{} has no graph", path.display()));
    let (head, graph) = text.split_at(at);
    let said = |key: &str| head.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let level = said("fuse:").map_or(Level::Basic, |name| Level::from_name(name).unwrap());
    let before = suite(graph, level, said("precision:").unwrap_or("ieee"));
    let mut after = before.clone();
    let mut lines = head.lines().peekable();
    let mut file = String::new();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("edit ") {
            let kernel = format!("kernels/{name}__");
            let found: Vec<&String> = after.keys().filter(|path| *path == name || path.starts_with(&kernel)).collect();
            assert_eq!(found.len(), 1, "{}: files of `{name}` among {:?}", path.display(), after.keys());
            file = found[0].clone();
        } else if let Some(name) = line.strip_prefix("remove ") {
            assert!(after.remove(name).is_some(), "{}: no {name}", path.display());
        } else if let Some(from) = line.strip_prefix("- ") {
            let to = lines.next_if(|line| line.starts_with('+')).map_or("", |line| line[1..].trim_start_matches(' '));
            let text = String::from_utf8(after[&file].clone()).unwrap();
            assert_eq!(text.matches(from).count(), 1, "{}: `{from}` in {file}", path.display());
            after.insert(file.clone(), text.replacen(from, to, 1).into_bytes());
        } else {
            let known = ["# ", "fuse: ", "precision: ", "without "].iter().any(|key| line.starts_with(key));
            assert!(line.is_empty() || known, "{}: {line}", path.display());
        }
    }
    let listed = head.lines().filter_map(|line| line.strip_prefix("without ")?.split_once(':'));
    let without = listed.map(|(name, codes)| (name.to_owned(), codes.split_whitespace().map(str::to_owned).collect()));
    let without: BTreeMap<String, Vec<String>> = without.collect();
    for name in without.keys() {
        let mut checks = checks::ALL.iter().map(|check| check.name).chain(emulator::ALL.iter().map(|check| check.name));
        assert!(checks.any(|check| check == name), "{}: no check is called {name}", path.display());
    }
    Case { path: path.to_owned(), check, before, after, without }
}

/// The files of a model given as graph text.
pub fn suite(graph: &str, level: Level, precision: &str) -> Files {
    let graph = text::parse(&SourceFile::new("model", graph)).unwrap_or_else(|error| panic!("{}", render(&error, false)));
    let library = Library::embedded().unwrap();
    let target = Target::find(target::DEFAULT).unwrap();
    let rewritten = fuse::rewrite(&graph, level).unwrap();
    let clusters = fuse::cluster(&rewritten, level, &Served { library: &library, target }).unwrap();
    let options = BindOptions { precision: Precision::from_name(precision).unwrap() };
    let planned = select::plan("model", Arc::new(graph), &rewritten, clusters, &library, target, options).unwrap();
    assert!(planned.missing.is_empty());
    let settings = [("fuse", level.name()), ("precision", precision), ("target", target::DEFAULT)];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let options = EmitOptions { seed: 0, always_seeded: false, settings, missing: Vec::new(), refused: Vec::new() };
    emit::suite(&planned.plan, &options).unwrap()
}

/// What is said of files: the codes, and the whole text.
fn said(files: &Files, checks: Checks) -> (Vec<&'static str>, String) {
    let asked = Verification { checks, mends: false, ..Verification::default() };
    let report = all_of("suite", files, &asked, &Known::default(), &Silent, &Cancel::default());
    let report = report.unwrap_or_else(|refused| panic!("{}", render(&refused, false)));
    let text: String = report.diagnostics().map(|found| render(found, false) + "\n").collect();
    (report.diagnostics().map(|found| found.code.id).collect(), without_keys(&text))
}

/// The text with `relu__24988a32b152.py` as `relu__KEY.py`: keys change with every template.
fn without_keys(text: &str) -> String {
    let mut parts = text.split("__");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let key = part.len() >= 12 && part.as_bytes()[..12].iter().all(u8::is_ascii_hexdigit);
        out += if key { "__KEY" } else { "__" };
        out += if key { &part[12..] } else { part };
    }
    out
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/fail");
    let entries =
        |folder: &Path| -> BTreeSet<PathBuf> { std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let folders = entries(&root);
    let named: BTreeSet<PathBuf> = checks::ALL.iter().map(|check| root.join(check.name)).collect();
    assert_eq!(folders, named, "folders, and names of checks");
    let files = checks::ALL.iter().flat_map(|check| entries(&root.join(check.name)).into_iter().map(move |path| (check, path)));
    let (files, said): (Vec<_>, Vec<_>) = files.partition(|(_, path)| path.extension().is_some_and(|e| e == "txt"));
    for (_, path) in said {
        assert!(path.with_extension("txt").exists(), "{} is said of nothing", path.display());
    }
    files.par_iter().map(|(check, path)| read(check, path)).collect()
}

#[test]
fn every_broken_suite_is_told_as_blessed() {
    let told: BTreeMap<&str, BTreeSet<&str>> = cases().iter().fold(BTreeMap::new(), |mut told, case| {
        let name = case.path.display();
        if case.before != case.after {
            assert_eq!(said(&case.before, Checks::default()).0, Vec::<&str>::new(), "{name}: before the edit");
        }
        let (codes, text) = said(&case.after, Checks::default());
        assert!(codes.iter().any(|code| case.check.codes.iter().any(|own| own.id == *code)), "{name}: {codes:?}\n{text}");
        expect_test::expect_file![case.path.with_extension("stderr")].assert_eq(&text);
        told.entry(case.check.name).or_default().extend(codes);
        told
    });
    for check in checks::ALL.iter().filter(|check| check.codes.len() < 3) {
        let missed: Vec<&str> = check.codes.iter().map(|code| code.id).filter(|id| !told[check.name].contains(id)).collect();
        assert!(missed.is_empty(), "{}: no fail test gives {missed:?}", check.name);
    }
    // Of codes that several checks share one of them must show each.
    let all: BTreeSet<&str> = told.values().flatten().copied().collect();
    for code in checks::ALL.iter().flat_map(|check| check.codes) {
        assert!(all.contains(code.id), "no fail test gives {}", code.id);
    }
}

#[test]
fn without_a_check_its_suites_and_only_its_pass() {
    let cases = cases();
    let off = |change: &dyn Fn(&mut Checks)| {
        let mut checks = Checks::default();
        change(&mut checks);
        checks
    };
    let own = checks::ALL.iter().map(|check| (check.name, off(&check.off)));
    // Limits are options, not checks.
    let below = emulator::ALL.iter().map(|check| {
        let mut options = crate::emulate::Options::default();
        (check.off)(&mut options);
        (check.name, off(&|checks| checks.emulator = options.checks))
    });
    let switched: Vec<(&str, Checks)> = own.chain(below).filter(|(_, checks)| *checks != Checks::default()).collect();
    let pairs: Vec<(&Case, &(&str, Checks))> =
        cases.iter().flat_map(|case| switched.iter().map(move |off| (case, off))).collect();
    let wrong = pairs.par_iter().filter_map(|(case, (name, checks))| {
        let (codes, text) = said(&case.after, *checks);
        let fine = match case.without.get(*name) {
            Some(listed) => codes == *listed,
            None if *name == case.check.name => codes.is_empty(),
            None => text == std::fs::read_to_string(case.path.with_extension("stderr")).unwrap(),
        };
        (!fine).then(|| format!("without {name}, {}: {codes:?}\n{text}", case.path.display()))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A check all of whose finds something else makes anyway could be left out unnoticed.
#[test]
fn every_check_finds_something_alone() {
    let cases = cases();
    for check in checks::ALL {
        let alone = cases.iter().any(|case| case.check.name == check.name && !case.without.contains_key(check.name));
        assert!(alone != AIDS.contains(&check.name), "{}", check.name);
    }
}

#[test]
fn every_fault_has_a_check_or_a_reason() {
    let emulated = emulator::ALL.iter().flat_map(|check| check.codes);
    let owned: BTreeSet<&str> = checks::ALL.iter().flat_map(|check| check.codes).chain(emulated).map(|code| code.id).collect();
    let excused: BTreeSet<&str> = WITHOUT.iter().map(|(id, _)| *id).collect();
    assert!(owned.is_disjoint(&excused));
    // Static rules look at text alone; `lint` has broken kernels for each.
    let banned = lint::ban::RULES.iter().map(|rule| rule.code.id);
    let rules: BTreeSet<&str> = lint::all().map(|rule| rule.code.id).chain(banned).collect();
    let faults = codes::ALL.iter().filter(|code| matches!(code.class, Class::Bug | Class::Limit)).map(|code| code.id);
    let faults = faults.filter(|id| !rules.contains(id));
    let both: BTreeSet<&str> = owned.union(&excused).copied().collect();
    assert_eq!(faults.collect::<BTreeSet<_>>(), both, "faults and limits, and codes of checks");
}
