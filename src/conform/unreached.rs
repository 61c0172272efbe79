//! What no launch reaches is compared with what the manifest's graph gives: torch references, tests and
//! `main` of each Python file, and every other file of the suite as a whole.
//!
//! The imported graph is rewritten again, and the suite is emitted again from its manifest. Kernels,
//! `check`, `launch`, `prepare` and `forward` may be edited, because they are judged by running; of `run.py` and the
//! kernels' files all else must be what is emitted, statement by statement (H006, at the first line that differs).
//! Comments and blank lines between statements are free, and so are further definitions, unless the emitted functions use
//! their names. Other files must be equal to the last byte (H004), but for the README, which is for people.
//!
//! Not caught: what an added import does when it is imported. A suite of another version of the tool is
//! not compared ([`is_comparable`]): other versions emit other text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::consistent;
use super::sample;
use super::subject::Subject;
use crate::diag::{Diagnostic, Place, Result, codes};
use crate::emit::manifest::{GENERATOR, MANIFEST};
use crate::emit::{self, Files, README, STORED};
use crate::fuse::{self, Level};
use crate::graph::Weight;
use crate::host::modules::is_main_guard;
use crate::select::views;
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Module, Stmt, StmtKind};
use crate::syntax::parse_module;

/// Whether this version emits what the suite's own version emitted.
pub fn is_comparable(subject: &Subject) -> bool {
    subject.manifest.generator == GENERATOR
}

/// What differs in each file, by path.
pub fn differences(subject: &Subject, files: &Files) -> Result<BTreeMap<String, Vec<Diagnostic>>> {
    rewriting(subject)?;
    let mut found: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
    for (path, expected) in &emitted(subject)? {
        if path == MANIFEST {
            continue;
        }
        if !subject.manifest.files.contains_key(path) {
            return Err(consistent::invalid(&subject.name, format!("files: there is no hash of {path}")));
        }
        let Some(given) = files.get(path).filter(|_| path != STORED && path != README) else { continue };
        let name = format!("{}/{path}", subject.name);
        let (given, expected) = (String::from_utf8_lossy(given), String::from_utf8_lossy(expected));
        if given == expected {
            continue;
        }
        let judged: &[&str] = match path.as_str() {
            "run.py" => &["prepare", "forward"],
            kernel if kernel.starts_with("kernels/") => &["check", "launch"],
            _ => {
                found.insert(path.clone(), vec![whole(&SourceFile::new(name, given), &expected)]);
                continue;
            }
        };
        let ours = parse_module(&SourceFile::new(path.as_str(), expected))?;
        // What cannot be read is told where it would run.
        let Ok(theirs) = parse_module(&SourceFile::new(name, given)) else { continue };
        let differing = statements(&theirs, &ours, judged);
        if !differing.is_empty() {
            found.insert(path.clone(), differing);
        }
    }
    Ok(found)
}

/// Refuses a rewritten graph that the imported one does not become at the manifest's fusion level.
fn rewriting(subject: &Subject) -> Result<()> {
    let absent = || consistent::invalid(&subject.name, "settings: `fuse` is missing, so that nobody can rewrite the graph again");
    let level = subject.manifest.settings.get("fuse").ok_or_else(absent)?;
    let graph = fuse::rewrite(&subject.imported, Level::from_name(level)?)?;
    let rewritten = views::resolve(&graph, Vec::new())?.graph.to_string();
    let mut pairs = rewritten.lines().zip(&subject.manifest.rewritten).enumerate();
    let what = match pairs.find(|(_, (line, given))| !consistent::same_line(line, given)) {
        Some((i, (line, _))) => format!("rewritten[{i}] should be `{line}` under --fuse {level}"),
        None if rewritten.lines().count() == subject.manifest.rewritten.len() => return Ok(()),
        None => format!("rewritten has {} lines, not {}", subject.manifest.rewritten.len(), rewritten.lines().count()),
    };
    Err(consistent::invalid(&subject.name, what))
}

/// The suite as its manifest's graph gives it, kernels without text.
fn emitted(subject: &Subject) -> Result<Files> {
    let mut imported = subject.imported.clone();
    for (name, tensor) in subject.stored() {
        if let Some(value) = imported.find(name) {
            imported.set_weight(value, Weight::Data(Arc::new(tensor.clone())));
        }
    }
    let (plan, options) = emit::restore(&subject.manifest, &imported, &subject.rewritten)?;
    if !subject.manifest.files.keys().any(|path| path.starts_with("layers/")) {
        return emit::suite(&plan, &options);
    }
    let samples = sample::of_plan(&plan, options.seed, options.always_seeded)?;
    emit::suite_with_layers(&plan, &options, &samples)
}

fn edited(code: &'static crate::diag::Code, what: String) -> Diagnostic {
    Diagnostic::new(code, what).help("undo the change, or decompose the model again")
}

/// A file that nothing runs.
fn whole(file: &Arc<SourceFile>, expected: &str) -> Diagnostic {
    let all = Span::new(0, file.text().len());
    let (span, text) = first_difference(file, all, expected);
    edited(&codes::HOST_EDITED, format!("line {} differs, {text}", file.position(span.start).line)).at(file, span)
}

/// The first line under a span that differs from a text, and what should stand there.
fn first_difference(file: &SourceFile, span: Span, expected: &str) -> (Span, String) {
    let mut at = span.start as usize;
    let mut wanted = expected.split_inclusive('\n');
    for line in file.slice(span).split_inclusive('\n') {
        let should = wanted.next();
        if should.map(|line| line.trim_end_matches('\n')) != Some(line.trim_end_matches('\n')) {
            let should = should.map_or("nothing should stand here".to_owned(), |line| format!("it should be `{}`", line.trim()));
            return (Span::new(at, at + line.trim_end().len()), should);
        }
        at += line.len();
    }
    let should = wanted.next().map_or("a line break".to_owned(), |line| format!("`{}`", line.trim()));
    (Span::new(at, at), format!("{should} is missing after it"))
}

/// A statement's name, by which it is looked for in the other file.
fn title(module: &Module, stmt: &Stmt, first: bool) -> String {
    match &stmt.kind {
        StmtKind::Function(def) => def.name.clone(),
        StmtKind::Class { name, .. } => name.clone(),
        StmtKind::If { test, .. } if is_main_guard(test) => "main block".to_owned(),
        StmtKind::Expr(_) if first => "docstring".to_owned(),
        _ => module.file.slice(stmt.span).to_owned(),
    }
}

fn is_kernel(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Function(def) if !def.decorators.is_empty())
}

/// Statements of `ours` that are missing or other in `theirs`.
fn statements(theirs: &Module, ours: &Module, judged: &[&str]) -> Vec<Diagnostic> {
    let file = &theirs.file;
    let titled = |module: &Module| -> Vec<(String, Span)> {
        let all = module.body.iter().enumerate().filter(|(_, stmt)| !is_kernel(stmt));
        all.map(|(i, stmt)| (title(module, stmt, i == 0), stmt.span)).collect()
    };
    let (given, expected) = (titled(theirs), titled(ours));
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    for (title, span) in expected.iter().filter(|(title, _)| !judged.contains(&title.as_str())) {
        let text = ours.file.slice(*span);
        used.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_'));
        match given.iter().find(|(other, _)| other == title) {
            Some((_, own)) if file.slice(*own) == text => {}
            Some((_, own)) => {
                let (line, should) = first_difference(file, *own, text);
                let what = format!("`{title}` differs from what the manifest's graph gives: {should}");
                found.push(edited(&codes::FUNCTION_EDITED, what).at(file, line));
            }
            None => {
                let diagnostic = edited(&codes::FUNCTION_EDITED, format!("`{title}` is missing"));
                found.push(Diagnostic { place: Some(Place::File { file: file.name().to_owned() }), ..diagnostic });
            }
        }
    }
    for (title, span) in given.iter().filter(|(title, _)| !expected.iter().any(|(other, _)| other == title)) {
        let words = title.split(|c: char| !c.is_alphanumeric() && c != '_');
        // An import or assignment binds some of its words; a function its name.
        if words.into_iter().any(|word| !word.is_empty() && binds(theirs, *span, word) && used.contains(word)) {
            let what = format!("`{title}` changes what the emitted functions mean");
            found.push(edited(&codes::FUNCTION_EDITED, what).at(file, *span));
        }
    }
    found
}

/// Whether the statement at a span gives `word` a meaning.
fn binds(module: &Module, span: Span, word: &str) -> bool {
    let Some(stmt) = module.body.iter().find(|stmt| stmt.span == span) else { return false };
    match &stmt.kind {
        StmtKind::Function(def) => def.name == word,
        StmtKind::Class { name, .. } => name == word,
        StmtKind::Import(list) => {
            list.iter().any(|(path, alias)| alias.as_deref().unwrap_or_else(|| path.split('.').next().unwrap_or(path)) == word)
        }
        StmtKind::ImportFrom { names, .. } => names.iter().any(|(name, alias)| alias.as_ref().unwrap_or(name) == word),
        StmtKind::Assign { targets, .. } => targets.iter().any(|target| target.as_name() == Some(word)),
        _ => false,
    }
}
