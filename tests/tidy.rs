//! Keeps the house tidy: rules about the source text that the compiler does not check.
//!
//! The list of layers and the absences are those of ARCHITECTURE.md. A rule is one function from a
//! file to complaints, followed by a test that it can fail. What the rules do not catch: a layer
//! crossed by a re-export of a layer above, and anything that a macro hides.

#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/language.rs"]
mod language;
#[path = "tidy/scan.rs"]
mod scan;

use std::path::Path;

use scan::File;

/// Modules in the order of the data flow: a file imports only what stands before it.
const LAYERS: &[&str] = &[
    "source",
    "diag",
    "dtype",
    "shape",
    "syntax",
    "expr",
    "tensor",
    "rng",
    "tolerance",
    "target",
    "graph",
    "kernel",
    "registry",
    "import",
    "template",
    "reference",
    "emulate",
    "host",
    "launch",
    "lint",
    "convert",
    "fuse",
    "select",
    "emit",
    "conform",
    "mutate",
    "repair",
    "pipeline",
    "cli",
    "main",
];

/// Who never sees whom, although the order would allow it.
const ABSENCES: &[(&str, &[&str])] = &[
    ("kernel", &["graph"]),
    ("emulate", &["graph"]),
    ("lint", &["graph"]),
    ("import", &["registry", "template", "kernel"]),
    ("reference", &["kernel", "template", "emulate"]),
    ("fuse", &["emulate"]),
];

/// Crates that one place may name: (what its paths start with, prefix of the files that may).
const HOMES: &[(&str, &str)] =
    &[("petgraph", "src/graph/"), ("candle_", "src/reference/"), ("ruff_", "src/syntax/"), ("serde_yaml", "src/syntax/yaml.rs")];

/// What talks to the outside world: only `cli` and `main` may.
const OUTSIDE: &[&str] = &[
    "print!",
    "println!",
    "eprint!",
    "eprintln!",
    "dbg!",
    "env::var",
    "env::vars",
    "env::args",
    "env::current_dir",
    "process::exit",
];

const LONGEST: usize = 700;

/// Flat tables that may be longer: (path, reason).
const LONG: &[(&str, &str)] = &[];

/// A rule: complaints about one file.
type Rule = fn(&File) -> Vec<String>;

#[test]
fn source_files_obey() {
    let rules: &[Rule] = &[layers, homes, outside, header, short_main, no_unwrap, length];
    let files = scan::walk(Path::new(env!("CARGO_MANIFEST_DIR")), |path| path.starts_with("src/") && path.ends_with(".rs"));
    assert!(files.len() > 20, "the walk found only {} files", files.len());
    let complaints: Vec<String> = files.iter().flat_map(|file| rules.iter().flat_map(|rule| rule(file))).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn no_file_names_this_machine() {
    let files = scan::walk(Path::new(env!("CARGO_MANIFEST_DIR")), |_| true);
    let complaints: Vec<String> = files.iter().flat_map(machine_paths).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Imports go up the list, and never where an absence is stated.
fn layers(file: &File) -> Vec<String> {
    let from = file.module();
    if from == "lib" {
        return Vec::new();
    }
    let Some(rank) = LAYERS.iter().position(|layer| *layer == from) else {
        return vec![format!("{}: module `{from}` is not in the list of layers", file.path)];
    };
    let mut complaints = Vec::new();
    for (at, to) in imports(file) {
        let absent = ABSENCES.iter().any(|(who, whom)| *who == from && whom.contains(&to.as_str()));
        match LAYERS.iter().position(|layer| *layer == to) {
            Some(_) if absent => complaints.push(format!("{}: {from} never sees {to}", file.place(at))),
            Some(other) if other > rank => complaints.push(format!("{}: {from} stands above {to} in the list", file.place(at))),
            Some(_) => {}
            None => complaints.push(format!("{}: `{to}` is not in the list of layers", file.place(at))),
        }
    }
    complaints
}

/// First segments of all paths from the crate's root: `crate::a`, `crate::{a, b::c}`,
/// `decompose::a`, and `super::…` that climbs as far as the root.
fn imports(file: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut follow = |at: usize, rest: &str| {
        if let Some(group) = rest.strip_prefix('{') {
            found.extend(group_heads(group).into_iter().map(|head| (at, head)));
        } else {
            found.push((at, head(rest)));
        }
    };
    for root in ["crate::", "decompose::"] {
        for at in file.find(root) {
            follow(at, &file.code[at + root.len()..]);
        }
    }
    for at in file.find("super::") {
        if file.code[..at].ends_with("super::") {
            continue;
        }
        let rest = file.code[at..].trim_start_matches("super::");
        let climbed = (file.code.len() - at - rest.len()) / "super::".len();
        if climbed >= file.depth() + usize::from(file.is_test(at)) {
            follow(at, rest);
        }
    }
    found
}

/// The identifier at the start of a text.
fn head(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// First segments of the members of a `use` group, given what follows its brace.
fn group_heads(group: &str) -> Vec<String> {
    let (mut heads, mut depth, mut fresh) = (Vec::new(), 0, true);
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && (c.is_alphabetic() || c == '_') => {
                heads.push(head(&group[i..]));
                fresh = false;
            }
            _ => {}
        }
    }
    heads
}

#[test]
fn layers_can_fail() {
    let complain = |path: &str, text: &str| layers(&File::new(path, text)).len();
    assert_eq!(complain("src/graph/op.rs", "use crate::dtype::DType; use super::Graph;"), 0);
    assert_eq!(complain("src/graph/op.rs", "use crate::emit::Suite;"), 1);
    assert_eq!(complain("src/graph/op.rs", "use crate::{dtype::DType, emit::{a, b}, cli};"), 2);
    assert_eq!(complain("src/graph/mod.rs", "use super::cli;"), 1);
    assert_eq!(complain("src/graph/op.rs", "use super::super::cli;"), 1);
    assert_eq!(complain("src/graph/op.rs", "#[cfg(test)]\nmod tests { use super::super::Graph; }"), 0);
    assert_eq!(complain("src/rng.rs", "// crate::cli is fine in a comment\n"), 0);
    assert_eq!(complain("src/zoo.rs", ""), 1);
    assert_eq!(complain("src/cli/mod.rs", "fn f() { crate::zoo::g() }"), 1);
    for (who, whom) in ABSENCES {
        for whom in *whom {
            assert_eq!(complain(&format!("src/{who}/a.rs"), &format!("use crate::{whom}::X;")), 1, "{who} sees {whom}");
        }
    }
}

/// The list of modules in `lib.rs` has the order of the layers.
#[test]
fn lib_lists_the_layers() {
    let text = include_str!("../src/lib.rs");
    let modules: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let ordered: Vec<&str> = LAYERS.iter().copied().filter(|layer| modules.contains(layer)).collect();
    assert_eq!(modules, ordered);
}

/// Some crates are named in one place only.
fn homes(file: &File) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, home) in HOMES.iter().filter(|(_, home)| !file.path.starts_with(home)) {
        for (at, _) in file.code.match_indices(name) {
            let starts_a_word = !file.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let rest = &file.code[at..];
            if starts_a_word && rest[head(rest).len()..].starts_with("::") {
                complaints.push(format!("{}: {name} is named only in {home}", file.place(at)));
            }
        }
    }
    complaints
}

#[test]
fn homes_can_fail() {
    for (name, home) in HOMES {
        let text = format!("use {name}::X;");
        let complaints = homes(&File::new("src/cli/mod.rs", &text)).len();
        assert_eq!(complaints, 1, "{name}");
        assert_eq!(homes(&File::new(&format!("{home}mod.rs"), &text)).len(), 0);
    }
    assert_eq!(homes(&File::new("src/cli/mod.rs", "use candle_core::Tensor; let candle_like = 1;")).len(), 1);
}

/// Only the command line prints, reads the environment or exits.
fn outside(file: &File) -> Vec<String> {
    if matches!(file.module(), "cli" | "main") {
        return Vec::new();
    }
    let hits = OUTSIDE.iter().flat_map(|word| file.find(word).map(move |at| (at, word)));
    hits.filter(|&(at, _)| !file.is_test(at))
        .map(|(at, word)| format!("{}: {word} belongs to cli and main", file.place(at)))
        .collect()
}

#[test]
fn outside_can_fail() {
    for word in OUTSIDE {
        assert_eq!(outside(&File::new("src/emit/mod.rs", &format!("fn f() {{ std::{word}(\"x\") }}"))).len(), 1, "{word}");
        assert_eq!(outside(&File::new("src/cli/mod.rs", word)).len(), 0);
    }
    assert_eq!(outside(&File::new("src/emit/mod.rs", "#[cfg(test)]\nmod tests { fn f() { println!() } }")).len(), 0);
}

/// Every file says what it is.
fn header(file: &File) -> Vec<String> {
    if file.text.starts_with("//! ") { Vec::new() } else { vec![format!("{}: no `//!` header", file.path)] }
}

#[test]
fn header_can_fail() {
    assert_eq!(header(&File::new("src/a.rs", "use x;\n//! late")).len(), 1);
    assert_eq!(header(&File::new("src/a.rs", "//! What.\n")).len(), 0);
}

/// `main.rs` only calls.
fn short_main(file: &File) -> Vec<String> {
    let lines = file.text.lines().count();
    if file.path == "src/main.rs" && lines >= 40 {
        return vec![format!("{}: {lines} lines; under 40", file.path)];
    }
    Vec::new()
}

#[test]
fn short_main_can_fail() {
    assert_eq!(short_main(&File::new("src/main.rs", &"\n".repeat(40))).len(), 1);
    assert_eq!(short_main(&File::new("src/main.rs", &"\n".repeat(39))).len(), 0);
}

/// Bad input never panics: no `unwrap`, no stub, and `expect` only for invariants, outside tests.
/// (`self.expect(…)` is a parser's own method.)
fn no_unwrap(file: &File) -> Vec<String> {
    let mut complaints = Vec::new();
    for word in [".unwrap()", ".unwrap_err()", "todo!", "unimplemented!"] {
        complaints.extend(file.find(word).filter(|&at| !file.is_test(at)).map(|at| format!("{}: {word}", file.place(at))));
    }
    for at in file.find(".expect(").filter(|&at| !file.is_test(at)) {
        let message = file.text[at + ".expect(".len()..].trim_start();
        let own_method = file.code[..at].ends_with("self");
        if !own_method && !message.starts_with("\"invariant: ") {
            complaints.push(format!("{}: .expect( without \"invariant: …\"", file.place(at)));
        }
    }
    complaints
}

#[test]
fn no_unwrap_can_fail() {
    let complain = |text: &str| no_unwrap(&File::new("src/a.rs", text)).len();
    assert_eq!(complain("fn f() { x.unwrap() }"), 1);
    assert_eq!(complain("fn f() { x.expect(\"there\") }"), 1);
    assert_eq!(complain("fn f() { todo!() }"), 1);
    assert_eq!(complain("fn f() { x.expect(\"invariant: y\").unwrap_or(3); self.expect(b'(') }"), 0);
    assert_eq!(complain("fn f() { x.expect(\n        \"invariant: y\") }"), 0);
    assert_eq!(complain("#[cfg(test)]\nmod tests { fn f() { x.unwrap() } }"), 0);
}

/// One idea, one file.
fn length(file: &File) -> Vec<String> {
    let lines = file.text.lines().count();
    if lines > LONGEST && !LONG.iter().any(|(path, _)| *path == file.path) {
        return vec![format!("{}: {lines} lines; at most {LONGEST}, or a reason in tests/tidy.rs", file.path)];
    }
    Vec::new()
}

#[test]
fn length_can_fail() {
    assert_eq!(length(&File::new("src/a.rs", &"\n".repeat(LONGEST + 1))).len(), 1);
    assert_eq!(length(&File::new("src/a.rs", &"\n".repeat(LONGEST))).len(), 0);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(LONG.iter().all(|(path, reason)| root.join(path).exists() && !reason.is_empty()), "a stale entry of LONG");
}

/// A checkout works everywhere: no path of the machine where the text was written.
fn machine_paths(file: &File) -> Vec<String> {
    let local = ["/work", "/home", "/root", "/tmp/venv", "/Users"].map(|folder| format!("{folder}/"));
    let mut complaints = Vec::new();
    for path in &local {
        for (at, _) in file.text.match_indices(path.as_str()) {
            let absolute = !file.text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '}'));
            if absolute {
                complaints.push(format!("{}: names {path}", file.place(at)));
            }
        }
    }
    complaints
}

#[test]
fn machine_paths_can_fail() {
    let complain = |text: String| machine_paths(&File::new("README.md", &text)).len();
    assert_eq!(complain(format!("see {}/x.onnx", "/work")), 1);
    assert_eq!(complain(format!("python {}/bin/python", "/tmp/venv")), 1);
    assert_eq!(complain("see docs/work/x.md".into()), 0);
}
