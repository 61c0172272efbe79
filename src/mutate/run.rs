//! Runs all mutations of the chosen subjects, in parallel, with a result that does not depend on the
//! number of threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::cases::{self, Case, RUNNER};
use super::equivalent::Listed;
use super::generate;
use super::judge::{self, Fingerprint, Trial};
use super::mutation::{Key, Mutation};
use super::operators::{self, Operator};
use super::report::{Argument, Mutant, Outcome, Report};
use crate::diag::{Diagnostic, Result, codes};
use crate::source::SourceFile;
use crate::syntax::ast::Module;
use crate::template::Library;

/// What to run.
pub struct Selection<'a> {
    pub library: &'a Library,
    /// Template names or aliases, or `run.py`; empty: all.
    pub subjects: Vec<String>,
    pub operators: &'a [Operator],
    /// Every n-th mutation of each operator and subject; 1: all.
    pub every: usize,
    /// Worker threads.
    pub jobs: usize,
}

/// One case with its file parsed and what it does.
struct Ready {
    case: Case,
    file: Arc<SourceFile>,
    module: Module,
    fingerprint: Fingerprint,
}

/// Names of the subjects that a selection means.
///
/// # Errors
/// U001 for a name that no template has.
pub fn subjects(library: &Library, asked: &[String]) -> Result<Vec<String>> {
    if asked.is_empty() {
        return Ok(library.templates().iter().map(|t| t.name.clone()).chain([RUNNER.to_owned()]).collect());
    }
    let known = |name: &String| match library.find(name) {
        Some(template) => Ok(template.name.clone()),
        None if name == RUNNER => Ok(RUNNER.to_owned()),
        None => {
            let names: Vec<&str> = library.templates().iter().map(|t| t.name.as_str()).chain([RUNNER]).collect();
            let diagnostic = Diagnostic::new(&codes::USAGE, format!("there is no template `{name}`"));
            Err(Box::new(diagnostic.help(format!("name one of: {}", names.join(", ")))))
        }
    };
    asked.iter().map(known).collect()
}

/// Makes and judges every mutation. `step` is told each subject that is done.
///
/// # Errors
/// What emission refuses; X001 where a case without any edit is not verified.
pub fn run(selection: &Selection, step: &(dyn Fn(&str) + Sync)) -> Result<Report> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(selection.jobs).build();
    let pool = pool.map_err(|error| Box::new(Diagnostic::new(&codes::INTERNAL, format!("no threads: {error}"))))?;
    pool.install(|| {
        let listed = Listed::embedded();
        let mut report = Report::default();
        for subject in subjects(selection.library, &selection.subjects)? {
            let cases = ready(selection.library, &subject)?;
            let mutants = mutants(selection, &subject, &cases, &listed);
            report.cases.push((subject.clone(), cases.len()));
            report.mutants.extend(mutants);
            step(&subject);
        }
        Ok(report)
    })
}

/// The cases of a subject; each must be verified as it stands.
fn ready(library: &Library, subject: &str) -> Result<Vec<Ready>> {
    let cases = match library.find(subject) {
        Some(template) => cases::of_template(template, library)?,
        None => cases::of_runner(library)?,
    };
    cases
        .into_par_iter()
        .map(|case| {
            let module = judge::parsed(&case)?;
            if let Some(found) = judge::verified(&case, module.file.text())? {
                return Err(Box::new(found.note(format!("case, before any edit: {}", case.name))));
            }
            let fingerprint = judge::fingerprint(&case, None)?;
            Ok(Ready { case, file: module.file.clone(), module, fingerprint })
        })
        .collect()
}

/// The distinct mutations of a subject with the cases that they can be made in.
fn mutants(selection: &Selection, subject: &str, cases: &[Ready], listed: &Listed) -> Vec<Mutant> {
    let mut order: Vec<Key> = Vec::new();
    let mut places: BTreeMap<Key, Vec<(usize, Mutation)>> = BTreeMap::new();
    for (i, ready) in cases.iter().enumerate() {
        for mutation in generate::mutations(&ready.module, selection.operators) {
            if ready.case.source && !places.contains_key(&mutation.key) {
                order.push(mutation.key.clone());
                places.insert(mutation.key.clone(), Vec::new());
            }
            if let Some(at) = places.get_mut(&mutation.key) {
                at.push((i, mutation));
            }
        }
    }
    let mut seen: BTreeMap<&'static str, usize> = BTreeMap::new();
    order.retain(|key| {
        let count = seen.entry(key.operator).or_default();
        *count += 1;
        (*count - 1).is_multiple_of(selection.every.max(1))
    });
    let judged = order.into_par_iter().map(|key| {
        let outcome = outcome(subject, &key, &places[&key], cases, listed);
        Mutant { subject: subject.to_owned(), key, outcome }
    });
    let mut mutants: Vec<Mutant> = judged.collect();
    unobserved(&mut mutants);
    mutants
}

/// Loads whose masked lanes reach nothing: without `other` those lanes are undefined, and that none was
/// seen at a store, address or branch in any case shows that what stands in them does not matter.
fn unobserved(mutants: &mut [Mutant]) {
    let mut free: BTreeSet<(String, String, String, usize)> = BTreeSet::new();
    let place = |key: &Key, from: String| (key.function.clone(), key.line.clone(), from, key.ordinal);
    for mutant in mutants.iter_mut().filter(|m| m.key.operator == "other missing" && matches!(m.outcome, Outcome::Escaped)) {
        mutant.outcome = Outcome::Equivalent(Argument::Unobserved);
        // What is left out takes the comma behind it along.
        free.insert(place(&mutant.key, mutant.key.from.trim_end_matches(',').to_owned()));
    }
    for mutant in mutants.iter_mut().filter(|m| m.key.operator == "other value" && matches!(m.outcome, Outcome::Escaped)) {
        if free.contains(&place(&mutant.key, format!("other={}", mutant.key.from))) {
            mutant.outcome = Outcome::Equivalent(Argument::Unobserved);
        }
    }
}

/// Entries of the list that are no longer made in a subject, or that are caught.
///
/// # Errors
/// As [`run`].
pub fn stale(library: &Library, subject: &str, listed: &Listed) -> Result<Vec<String>> {
    let cases = ready(library, subject)?;
    let mut wanted: BTreeMap<String, bool> =
        listed.entries().filter(|(s, _, _)| *s == subject).map(|(_, key, _)| (key.to_owned(), false)).collect();
    for ready in &cases {
        for mutation in generate::mutations(&ready.module, operators::ALL) {
            if let Some(lives) = wanted.get_mut(&mutation.key.to_string()) {
                match judge::trial(&ready.case, &ready.file, &ready.fingerprint, &mutation) {
                    Trial::Same | Trial::Passed | Trial::SameRun => *lives = true,
                    Trial::Caught { .. } | Trial::Refused(_) | Trial::Broken(_) => {
                        wanted.remove(&mutation.key.to_string());
                    }
                }
            }
        }
    }
    let all = listed.entries().filter(|(s, _, _)| *s == subject);
    Ok(all.map(|(_, key, _)| key.to_owned()).filter(|key| wanted.get(key) != Some(&true)).collect())
}

/// Tries a mutation in its cases until one tells.
fn outcome(subject: &str, key: &Key, places: &[(usize, Mutation)], cases: &[Ready], listed: &Listed) -> Outcome {
    let (mut same, mut same_run) = (true, true);
    for (at, mutation) in places {
        let ready = &cases[*at];
        match judge::trial(&ready.case, &ready.file, &ready.fingerprint, mutation) {
            Trial::Same => {}
            Trial::SameRun => same = false,
            Trial::Passed => (same, same_run) = (false, false),
            Trial::Caught { code, named, message } => {
                return Outcome::Caught { case: ready.case.name.clone(), code, named, message };
            }
            Trial::Refused(diagnostic) => return Outcome::Refused(diagnostic),
            Trial::Broken(what) => return Outcome::Broken(what),
        }
    }
    match listed.argument(subject, key) {
        _ if same => Outcome::Equivalent(Argument::SameKernel),
        _ if same_run => Outcome::Equivalent(Argument::SameRun),
        Some(argument) => Outcome::Equivalent(Argument::Listed(argument.to_owned())),
        None => Outcome::Escaped,
    }
}
