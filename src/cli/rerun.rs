//! `decompose verify SUITE --rerun`: a round of verification after every save, until Ctrl-C.
//!
//! The folder is looked at five times a second ([`Snapshot`]); a round begins when something changed
//! and nothing changes any more. Verdicts are kept by the hash of what they judge, so a round runs what
//! changed and what does not hold. A file that cannot be read is reported like any other finding,
//! and watching goes on. Only a command line that makes no sense, or a folder that is no suite, ends it
//! at once.
//!
//! With `--json` each round is one document on one line.
//!
//! Not caught: a change during a round that is undone before its end; arrays of `--input` and `--expect`, which
//! lie outside the suite and are not watched.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::args::OutputArgs;
use super::{Outcome, bundle, complain, exit, json, output_failed, print, progress, say};
use crate::diag::{Class, Diagnostic, codes};
use crate::pipeline::{self, Cancel, Report, Snapshot, Verification};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// What one round found.
struct Round {
    number: usize,
    /// Files that changed since the round before.
    changed: Vec<String>,
    seconds: f64,
    outcome: Result<Report, Vec<Diagnostic>>,
}

/// Verifies until it is cancelled.
pub fn run(suite: &Path, asked: &Verification, form: &OutputArgs, cancel: &Cancel) -> Outcome {
    let mut seen = Snapshot::default().again(suite);
    let mut changed = Vec::new();
    for number in 1.. {
        let started = Instant::now();
        let observer = progress::bars(form.json);
        // What the first round ran has its verdict.
        let asked = Verification { all: asked.all && number == 1, ..asked.clone() };
        let outcome = pipeline::verify(suite, &asked, observer.as_ref(), cancel);
        observer.finish();
        match outcome {
            Err(found) if number == 1 && found.iter().all(|d| d.class() == Class::Usage) => return Err(found),
            Err(found) if found.iter().any(|d| d.code == &codes::INTERRUPTED) => break,
            outcome => show(&Round { number, changed, seconds: started.elapsed().as_secs_f64(), outcome }, form)?,
        }
        if number == 1 && !form.json {
            say(&format!("watching {}; Ctrl-C ends\n", suite.display()));
        }
        let Some(now) = next(suite, &seen, cancel) else { break };
        changed = now.changed(&seen);
        seen = now;
    }
    Ok(exit::INTERRUPTED)
}

/// Waits until files have changed and stand still; `None` once cancelled.
fn next(suite: &Path, seen: &Snapshot, cancel: &Cancel) -> Option<Snapshot> {
    let mut last = seen.clone();
    loop {
        std::thread::sleep(PAUSE);
        cancel.check().ok()?;
        let now = last.again(suite);
        if now == last && !now.changed(seen).is_empty() {
            return Some(now);
        }
        last = now;
    }
}

fn show(round: &Round, form: &OutputArgs) -> Outcome<()> {
    let text = if form.json { line(round) } else { text(round) };
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    let found: Vec<&Diagnostic> = match &round.outcome {
        Ok(report) => super::print::distinct(report.diagnostics()).collect(),
        Err(found) => found.iter().collect(),
    };
    if form.json {
        say(&bundle::left(found).unwrap_or_default());
    } else {
        complain(found);
    }
    Ok(())
}

/// One line that ends with a line break.
fn line(round: &Round) -> String {
    let document = match &round.outcome {
        Ok(report) => json::document(report),
        Err(found) => json::failure_document(found),
    };
    let Value::Object(own) = document else { return String::new() };
    let mut whole = serde_json::Map::new();
    whole.insert("round".to_owned(), json!(round.number));
    whole.insert("seconds".to_owned(), json!(round.seconds));
    whole.insert("changed".to_owned(), json!(round.changed));
    whole.extend(own);
    format!("{}\n", Value::Object(whole))
}

/// What ran, what it adds up to, and last what the round says in one line.
fn text(round: &Round) -> String {
    let (body, word) = match &round.outcome {
        Ok(report) if report.fully_verified() => (super::print::round(report), "verified"),
        Ok(report) if report.diagnostics().next().is_some() => (super::print::round(report), "failed"),
        Ok(report) => (super::print::round(report), "done"),
        Err(_) => (String::new(), "failed"),
    };
    let changed = match round.changed.as_slice() {
        [] => String::new(),
        [file] => format!("{file} changed, "),
        [file, rest @ ..] => format!("{file} and {} more changed, ", rest.len()),
    };
    format!("{body}round {}: {changed}{word} in {:.2} s\n", round.number, round.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(number: usize, changed: &[&str], outcome: Result<Report, Vec<Diagnostic>>) -> Round {
        Round { number, changed: changed.iter().map(|&c| c.to_owned()).collect(), seconds: 0.5, outcome }
    }

    #[test]
    fn a_round_is_one_line_of_json() {
        let found = Diagnostic::new(&codes::PYTHON_SYNTAX, "two\nlines");
        let text = line(&round(2, &["run.py"], Err(vec![found])));
        assert_eq!(text.matches('\n').count(), 1);
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&document["round"], &document["changed"][0]), (&json!(2), &json!("run.py")));
        assert_eq!((&document["problems"][0]["code"], &document["fully_verified"]), (&json!("S001"), &json!(false)));
    }

    #[test]
    fn the_last_line_says_what_changed_and_how_it_ended() {
        let problem = Report { problems: vec![Diagnostic::new(&codes::HOST_EDITED, "")], ..Report::default() };
        assert_eq!(text(&round(1, &[], Err(Vec::new()))), "round 1: failed in 0.50 s\n");
        assert!(text(&round(2, &["a", "b", "c"], Ok(problem))).ends_with("round 2: a and 2 more changed, failed in 0.50 s\n"));
        assert!(text(&round(3, &["a"], Ok(Report::default()))).ends_with("round 3: a changed, done in 0.50 s\n"));
    }
}
