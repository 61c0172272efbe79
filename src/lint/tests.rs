//! Rules over files. `tests/lint/fail/<code>/*.py`: each line with a finding says which (`#~ N002`), and the
//! rendered findings stand beside it; `tests/lint/pass/*.py` stay silent; `tests/lint/fix/*.py` have their mended
//! text beside them, which computes the same and has nothing left to mend.
//!
//! Header: `# lint: TARGET… [NAME=TYPE|VALUE …] [num_warps=N] [num_stages=N]`; `all` stands for every target,
//! `none` for no target. Bless with UPDATE_EXPECT=1. And honesty: with a rule off, its findings, and only they,
//! are gone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;
use crate::diag::render::render;
use crate::emulate::{Arg, BufferId, Memory, Options, Program, View, run};
use crate::kernel::{Specialization, compile};
use crate::launch::signature;
use crate::shape::{Shape, contiguous_strides};
use crate::syntax::parse_module;
use crate::target;
use crate::tensor::Storage;

/// A file with what it asks.
struct Case {
    path: PathBuf,
    module: Module,
    requests: Vec<Request>,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint").join(name)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = all.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "py")).collect();
    files.sort();
    assert!(!files.is_empty(), "{}", folder.display());
    files
}

fn case(path: PathBuf) -> Case {
    let text = std::fs::read_to_string(&path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let header = text.lines().find_map(|l| l.strip_prefix("# lint: ")).unwrap_or_else(|| panic!("{name} has no `# lint:`"));
    let (mut targets, mut request): (Vec<Option<&'static Target>>, Request) = (Vec::new(), Request::default());
    for word in header.split_whitespace() {
        match word.split_once('=') {
            None if word == "all" => targets.extend(target::ALL.iter().map(Some)),
            None if word == "none" => targets.push(None),
            None => targets.push(Some(Target::find(word).unwrap_or_else(|| panic!("{name}: no target {word}")))),
            Some(("num_warps", n)) => request.num_warps = n.parse().unwrap(),
            Some(("num_stages", n)) => request.num_stages = n.parse().unwrap(),
            Some((param, value)) => request.args.push((param.to_owned(), signature::argument(value).unwrap())),
        }
    }
    let module = parse_module(&SourceFile::new(name, text.clone())).unwrap();
    let requests = targets.into_iter().map(|target| Request { target, ..request.clone() }).collect();
    Case { path, module, requests }
}

/// Every code has a folder, and every folder a code.
fn fail_tests() -> Vec<(&'static str, Case)> {
    let found: BTreeSet<String> =
        std::fs::read_dir(folder("fail")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    let codes: BTreeSet<String> = all().map(|rule| rule.code.id.to_owned()).collect();
    assert_eq!(found, codes, "folders of fail tests, and codes of rules");
    all().flat_map(|rule| files(&folder("fail").join(rule.code.id)).into_iter().map(|path| (rule.code.id, case(path)))).collect()
}

fn rendered(findings: &[Finding]) -> String {
    findings.iter().map(|finding| render(&finding.diagnostic, false) + "\n").collect()
}

/// (line, code) of each finding.
fn places(module: &Module, findings: &[Finding]) -> BTreeSet<(usize, String)> {
    let line = |d: &Diagnostic| module.file.position(position(d).0).line;
    findings.iter().map(|f| (line(&f.diagnostic), f.diagnostic.code.id.to_owned())).collect()
}

#[test]
fn rules_have_distinct_codes_in_order() {
    let ids: Vec<&str> = all().map(|rule| rule.code.id).collect();
    for pair in ids.windows(2) {
        assert!(pair[0] < pair[1] || (pair[0].starts_with('N') && pair[1].starts_with('G')), "{pair:?}");
    }
}

#[test]
fn every_fault_is_found_where_the_file_says() {
    let mut wrong = String::new();
    for (id, case) in fail_tests() {
        let text = case.module.file.text();
        let expected: BTreeSet<(usize, String)> = text
            .lines()
            .enumerate()
            .filter_map(|(i, line)| Some((i + 1, line.split_once("#~ ")?.1)))
            .flat_map(|(line, codes)| codes.split_whitespace().map(move |code| (line, code.to_owned())).collect::<Vec<_>>())
            .collect();
        assert!(expected.iter().any(|(_, code)| code == id), "{}: expects no {id}", case.path.display());
        let mut said = String::new();
        for request in &case.requests {
            let findings = lint(&case.module, request);
            let found = places(&case.module, &findings);
            if found != expected {
                let path = case.path.display();
                wrong.push_str(&format!("{path}\nfound    {found:?}\nexpected {expected:?}\n{}", rendered(&findings)));
            }
            said.push_str(&rendered(&findings));
        }
        expect_test::expect_file![case.path.with_extension("stderr")].assert_eq(&said);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn without_a_rule_its_findings_and_only_they_are_gone() {
    let tests = fail_tests();
    for off in all() {
        for (_, case) in &tests {
            for request in &case.requests {
                let with: Vec<String> = lint(&case.module, request)
                    .iter()
                    .filter(|f| f.diagnostic.code.id != off.code.id)
                    .map(|f| render(&f.diagnostic, false))
                    .collect();
                let without = Request { off: BTreeSet::from([off.code.id]), ..request.clone() };
                let without: Vec<String> = lint(&case.module, &without).iter().map(|f| render(&f.diagnostic, false)).collect();
                assert_eq!(with, without, "{} without {}", case.path.display(), off.code.id);
            }
        }
    }
}

#[test]
fn clean_files_stay_silent() {
    for path in files(&folder("pass")) {
        let case = case(path);
        for request in &case.requests {
            let findings = lint(&case.module, request);
            let target = request.target.map_or("none", |t| t.name);
            assert!(findings.is_empty(), "{} for {target}:\n{}", case.path.display(), rendered(&findings));
        }
    }
}

/// The coding rules warn everywhere and are errors under an Ascend target; nothing else is said without one.
#[test]
fn the_three_coding_rules_hold_everywhere() {
    let of = |id: &str| fail_tests().into_iter().find(|(code, _)| *code == id).unwrap().1;
    for (id, target, severity) in [
        ("N001", None, Severity::Warning),
        ("N002", Target::find("sm_90"), Severity::Warning),
        ("N003", Target::find("gfx942"), Severity::Warning),
        ("N001", Target::find("ascend910b4"), Severity::Error),
        ("N002", Target::find("ascend910_9362"), Severity::Error),
        ("N003", Target::find("ascend910b1"), Severity::Error),
    ] {
        let found = npu_rules(&of(id).module, target);
        assert!(!found.is_empty() && found.iter().all(|d| d.code.id == id && d.severity == severity), "{id}");
    }
}

#[test]
fn what_is_mended_is_clean_and_computes_the_same() {
    for path in files(&folder("fix")) {
        let case = case(path);
        let request = &case.requests[0];
        let mut file = case.module.file.clone();
        let mut findings = lint(&case.module, request);
        let mut mended = 0;
        while let Some((text, count)) = fix::apply(file.text(), &findings) {
            file = SourceFile::new(file.name(), text);
            findings = lint(&parse_module(&file).unwrap(), request);
            mended += count;
            assert!(mended < 100, "{}: mending does not end", case.path.display());
        }
        assert!(mended > 0, "{}", case.path.display());
        expect_test::expect_file![case.path.with_extension("fixed")].assert_eq(file.text());
        let left: Vec<&str> = findings.iter().map(|f| f.diagnostic.code.id).collect();
        let expected: Vec<&str> =
            file.text().lines().filter_map(|l| l.split_once("#~ ")).flat_map(|(_, c)| c.split_whitespace()).collect();
        assert_eq!(left, expected, "{}", case.path.display());
        if case.module.file.text().contains("# compile: ") {
            let before = emulated(case.module.file.name(), case.module.file.text());
            assert_eq!(before, emulated(file.name(), file.text()), "{}", case.path.display());
        }
    }
}

/// What a kernel computes, by its header lines `# compile:`, `# buffer: NAME dtype[len]` (counting up) and
/// `# launch: GRID arg …`, as the fail tests of the emulator have them. Buffers afterwards, by name.
pub(crate) fn emulated(name: &str, text: &str) -> Vec<(String, Vec<f64>)> {
    let lines = |key: &str| -> Vec<String> {
        let key = format!("# {key}: ");
        text.lines().filter_map(|l| l.strip_prefix(&key)).map(str::to_owned).collect()
    };
    let module = parse_module(&SourceFile::new(name, text)).unwrap();
    let request = &lines("compile")[0];
    let mut words = request.split_whitespace();
    let entry = words.next().unwrap();
    let args = words.map(|w| w.split_once('=').unwrap()).map(|(n, v)| (n.to_owned(), signature::argument(v).unwrap())).collect();
    let kernel = compile(&module, entry, &Specialization { args, ..Specialization::default() });
    let kernel = kernel.unwrap_or_else(|error| panic!("{}", render(&error, false)));
    let program = Program::compile(&kernel).unwrap();
    let mut memory = Memory::default();
    for line in lines("buffer") {
        let (name, ty) = line.split_once(' ').unwrap();
        let (dtype, len) = ty.split_whitespace().next().unwrap().strip_suffix(']').unwrap().split_once('[').unwrap();
        let id = memory.allocate(name, crate::dtype::DType::from_name(dtype).unwrap(), len.parse().unwrap());
        memory.buffers[id.0].undefined = None;
        // Small numbers with both signs; sums of them are exact.
        let value = |i: usize| (i * 7 % 11) as f64 - 5.0;
        match &mut memory.buffers[id.0].lanes {
            Storage::F32(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i) as f32),
            Storage::F64(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i)),
            Storage::I64(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i) as i64),
            Storage::Bool(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = (i % 2) as u8),
        }
    }
    let launch = lines("launch")[0].clone();
    let mut words = launch.split_whitespace();
    let mut grid = [1; 3];
    words.next().unwrap().split(',').zip(&mut grid).for_each(|(n, g)| *g = n.parse().unwrap());
    let args: Vec<Arg> = words
        .map(|word| {
            if let Ok(value) = word.parse::<i64>() {
                return Arg::Int(value);
            }
            if let Ok(value) = word.parse::<f64>() {
                return Arg::Float(value);
            }
            let at = memory.buffers.iter().position(|b| b.name == word).unwrap_or_else(|| panic!("no buffer {word}"));
            let shape: Shape = [memory.buffers[at].lanes.len()].into_iter().collect();
            Arg::Pointer(View { buffer: BufferId(at), pointer: 0, strides: contiguous_strides(&shape), shape, origin: 0 })
        })
        .collect();
    let ran = run(&program, &mut memory, grid, &args, &Options::default());
    ran.unwrap_or_else(|error| panic!("{}", render(&error, false)));
    let values = |lanes: &Storage| match lanes {
        Storage::F32(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Storage::F64(v) => v.clone(),
        Storage::I64(v) => v.iter().map(|x| *x as f64).collect(),
        Storage::Bool(v) => v.iter().map(|x| f64::from(*x)).collect(),
    };
    memory.buffers.iter().map(|b| (b.name.clone(), values(&b.lanes))).collect()
}

/// The keys that the standard requires, and places that lie in the text.
#[test]
fn sarif_is_well_formed() {
    let mut results = 0;
    for (_, case) in fail_tests() {
        let findings = lint(&case.module, &case.requests[0]);
        let document: serde_json::Value = serde_json::from_str(&sarif::document(&findings)).unwrap();
        assert_eq!(document["version"], "2.1.0");
        assert!(document["$schema"].as_str().unwrap().ends_with("sarif-2.1.0.json"));
        let runs = document["runs"].as_array().unwrap();
        let driver = &runs[0]["tool"]["driver"];
        assert_eq!((runs.len(), &driver["name"]), (1, &serde_json::json!("decompose")));
        let rules = driver["rules"].as_array().unwrap();
        for result in runs[0]["results"].as_array().unwrap() {
            results += 1;
            let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
            assert_eq!(rule["id"], result["ruleId"]);
            assert!(rule["shortDescription"]["text"].is_string() && result["message"]["text"].is_string());
            assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
            let place = &result["locations"][0]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], case.module.file.name());
            region(&case, &place["region"]);
            for fix in result["fixes"].as_array().into_iter().flatten() {
                assert!(fix["description"]["text"].is_string());
                for replacement in fix["artifactChanges"][0]["replacements"].as_array().unwrap() {
                    region(&case, &replacement["deletedRegion"]);
                    assert!(replacement["insertedContent"]["text"].is_string());
                }
            }
        }
    }
    assert!(results > 30);
}

fn region(case: &Case, region: &serde_json::Value) {
    let [l0, c0, l1, c1] = ["startLine", "startColumn", "endLine", "endColumn"].map(|key| region[key].as_u64().unwrap() as usize);
    let lines = case.module.file.text().lines().count();
    assert!(l0 >= 1 && c0 >= 1 && (l0, c0) <= (l1, c1) && l1 <= lines + 1, "{region}");
}
