//! `decompose mutate`: what a verdict on these templates is worth.

use super::args::MutateArgs;
use super::table::{Align, render};
use super::{Outcome, exit, options, output_failed, print, progress};
use crate::diag::{Class, Place};
use crate::mutate::report::Counts;
use crate::mutate::{self, Mutant, Report, Selection, judge::Named, report};
use crate::template::Library;

/// Raised when a reader of the old form would misread the new one.
const VERSION: u32 = 1;

pub fn run(args: MutateArgs) -> Outcome {
    let one = |d: Box<crate::diag::Diagnostic>| vec![*d];
    let mut library = Library::embedded().map_err(one)?;
    if let Some(folder) = &args.templates {
        library = library.with_folder(folder).map_err(one)?;
    }
    let jobs = options::jobs(args.jobs).map_err(one)?;
    let selection = Selection {
        library: &library,
        subjects: args.subjects.clone(),
        operators: mutate::operators::ALL,
        every: args.every.unwrap_or(1),
        jobs,
    };
    let observer = progress::bars(args.output_form.json);
    let subjects = mutate::subjects(&library, &args.subjects).map_err(one)?;
    observer.stage("mutate", subjects.len());
    observer.finish();
    let report = mutate::run::run(&selection, &|_| {}).map_err(one)?;
    let text = if args.output_form.json { json(&report) } else { tables(&report, args.output_form.verbose > 0) };
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    let total = report.total();
    Ok(match (total.broken, total.escaped) {
        (0, 0) => exit::OK,
        (0, _) => exit::status(Class::Bug),
        (_, _) => exit::status(Class::Internal),
    })
}

/// Two tables and what asks for a look; with `-v` every mutant.
fn tables(report: &Report, verbose: bool) -> String {
    let mut text = table("subject", report.by_subject(), Some(report.total()));
    text += "\n";
    text += &table("operator", report.by_operator(), None);
    let mut section = |title: &str, fits: &dyn Fn(&Mutant) -> bool| {
        let lines: Vec<String> = report.mutants.iter().filter(|m| fits(m)).map(line).collect();
        if !lines.is_empty() {
            text += &format!("\n{title}\n{}", lines.concat());
        }
    };
    section("broken:", &|m| matches!(m.outcome, report::Outcome::Broken(_)));
    section("escaped:", &|m| matches!(m.outcome, report::Outcome::Escaped));
    section("refused:", &|m| matches!(m.outcome, report::Outcome::Refused(_)));
    if verbose {
        section("equivalent:", &|m| matches!(m.outcome, report::Outcome::Equivalent(_)));
        section("caught:", &|m| matches!(m.outcome, report::Outcome::Caught { .. }));
    }
    text
}

fn table(of: &str, rows: Vec<(String, Counts)>, total: Option<Counts>) -> String {
    let percent =
        |part: usize, of: usize| if of == 0 { "-".to_owned() } else { format!("{:.1}", 100.0 * part as f64 / of as f64) };
    let row = |(name, c): (String, Counts)| {
        let numbers = [c.mutants, c.equivalent, c.refused, c.caught, c.escaped + c.broken];
        let mut row = vec![name];
        row.extend(numbers.map(|n| n.to_string()));
        row.push(percent(c.caught, c.mistakes()));
        row.push(c.named.to_string());
        row.push(percent(c.named, c.caught));
        row.push(format!("{}/{}", c.placed_right, c.placed));
        row.push(c.placed_ranked.to_string());
        row.push(format!("{}/{}", c.valued_right, c.valued));
        row
    };
    let mut columns = vec![(of, Align::Left)];
    let numbers = [
        "mutants",
        "equivalent",
        "refused",
        "caught",
        "escaped",
        "caught %",
        "named",
        "named %",
        "at its line",
        "near",
        "by values",
    ];
    columns.extend(numbers.map(|name| (name, Align::Right)));
    let total = total.map(|counts| ("all".to_owned(), counts));
    render(&columns, &rows.into_iter().chain(total).map(row).collect::<Vec<_>>())
}

fn line(mutant: &Mutant) -> String {
    let what = match &mutant.outcome {
        report::Outcome::Equivalent(argument) => format!("  {}", argued(argument)),
        report::Outcome::Caught { case, code, named, message } => {
            let named = match named {
                Named::Exact => "at its line".to_owned(),
                Named::Ranked(k) => format!("line to look at {k}"),
                Named::No => format!("not at its line, {}", place(message.place.as_ref())),
            };
            format!("  {code}, {named} ({case}): {}", message.message)
        }
        report::Outcome::Escaped => String::new(),
        report::Outcome::Refused(diagnostic) => format!("  {diagnostic}"),
        report::Outcome::Broken(what) => format!("  {what}"),
    };
    let what = if what.is_empty() { what } else { format!("{what}\n") };
    format!("{} | {}\n{what}", mutant.subject, mutant.key)
}

/// Why a mutation is no mistake.
fn argued(argument: &report::Argument) -> &str {
    match argument {
        report::Argument::SameKernel => "the same kernel and launch",
        report::Argument::Unobserved => "masked lanes reach no store, address or branch",
        report::Argument::SameRun => "the same bits at the one shape that the wrapper serves",
        report::Argument::Listed(argument) => argument,
    }
}

fn place(place: Option<&Place>) -> String {
    match place {
        Some(Place::Text { file, span }) => file.line(file.position(span.start).line).trim().to_owned(),
        Some(Place::Node { file: _, node }) => node.clone(),
        Some(Place::File { file }) => file.clone(),
        None => "nowhere".to_owned(),
    }
}

fn json(report: &Report) -> String {
    let counts = |c: &Counts| {
        serde_json::json!({
            "mutants": c.mutants, "equivalent": c.equivalent, "refused": c.refused, "caught": c.caught,
            "escaped": c.escaped, "broken": c.broken, "named": c.named,
        })
    };
    let rows = |rows: Vec<(String, Counts)>| -> Vec<_> {
        rows.iter().map(|(name, c)| serde_json::json!({"name": name, "counts": counts(c)})).collect()
    };
    let mutant = |m: &Mutant| {
        let key = &m.key;
        let (outcome, detail) = match &m.outcome {
            report::Outcome::Equivalent(argument) => ("equivalent", serde_json::json!(argued(argument))),
            report::Outcome::Caught { case, code, named, message: _ } => {
                let rank = match named {
                    Named::Exact => Some(0),
                    Named::Ranked(k) => Some(*k),
                    Named::No => None,
                };
                ("caught", serde_json::json!({"case": case, "code": code, "line_rank": rank, "right_line": m.named()}))
            }
            report::Outcome::Escaped => ("escaped", serde_json::Value::Null),
            report::Outcome::Refused(diagnostic) => ("refused", serde_json::json!(diagnostic.to_string())),
            report::Outcome::Broken(what) => ("broken", serde_json::json!(what)),
        };
        serde_json::json!({
            "subject": m.subject, "operator": key.operator, "function": key.function, "line": key.line,
            "from": key.from, "to": key.to, "ordinal": key.ordinal, "outcome": outcome, "detail": detail,
        })
    };
    let document = serde_json::json!({
        "version": VERSION,
        "subjects": rows(report.by_subject()),
        "operators": rows(report.by_operator()),
        "total": counts(&report.total()),
        "mutants": report.mutants.iter().map(mutant).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}
