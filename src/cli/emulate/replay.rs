//! `emulate --recording`: replays as a table with the distribution of error over bound, and as one JSON document.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::super::args::EmulateArgs;
use super::super::json::diagnostic;
use super::super::print::{count, distinct, grid};
use super::super::table::{Align, render};
use super::super::{Outcome, complain, exit, options, output_failed, print};
use crate::diag::Diagnostic;
use crate::pipeline::Cancel;
use crate::pipeline::replay::{self, Asked, Compared, Replay, Word};

/// Raised when a reader of the old form would misread the new one.
const VERSION: u32 = 1;

/// Where the classes of error over bound end.
const CLASSES: [(f64, &str); 6] = [
    (0.0, "0 (bit-equal)"),
    (0.01, "up to 0.01"),
    (0.1, "up to 0.1"),
    (0.5, "up to 0.5"),
    (1.0, "up to 1"),
    (f64::INFINITY, "above 1"),
];

pub fn run(args: &EmulateArgs, folder: &Path, cancel: &Cancel) -> Outcome {
    let threads = options::jobs(args.threads).map_err(|d| vec![*d])?;
    let asked = Asked { folder: folder.to_owned(), fuel: args.fuel, memory: args.memory, threads };
    let replays = replay::replay(&asked, cancel)?;
    let text = if args.output_form.json { document(&replays) } else { text(&replays, args.output_form.verbose > 0) };
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    let findings = || replays.iter().flat_map(|replay| &replay.findings);
    if !args.output_form.json {
        complain(distinct(findings()));
    }
    Ok(exit::combined(findings().filter(|finding: &&Diagnostic| finding.is_error())))
}

/// One row a recording, the distribution, and what it comes to.
fn text(replays: &[Replay], verbose: bool) -> String {
    let columns = [
        ("kernel", Align::Left),
        ("from", Align::Left),
        ("grid", Align::Right),
        ("tensor", Align::Left),
        ("elements", Align::Right),
        ("differ", Align::Right),
        ("error", Align::Right),
        ("bound", Align::Right),
        ("error/bound", Align::Right),
        ("findings", Align::Right),
        ("outcome", Align::Left),
    ];
    let mut text = render(&columns, &replays.iter().map(row).collect::<Vec<_>>());
    if verbose {
        for replay in replays {
            text.extend(replay.notes.iter().map(|note| format!("{}: {note}\n", replay.kernel)));
        }
    }
    text += "\nlargest error over bound, by recording:\n";
    for (class, number) in distribution(replays) {
        text += &format!("{class:>16}  {number}\n");
    }
    let words: Vec<String> = Word::ALL
        .iter()
        .map(|&word| (word, replays.iter().filter(|replay| replay.word == word).count()))
        .filter(|(_, number)| *number > 0)
        .map(|(word, number)| format!("{number} {}", word.as_str()))
        .collect();
    text += &format!("{}: {}\n", count(replays.len(), "recording", "recordings"), words.join(", "));
    text
}

fn row(replay: &Replay) -> Vec<String> {
    let worst = replay.worst();
    let figure = |of: fn(&replay::Worst) -> f64| {
        let worst = worst.and_then(|compared| compared.worst.as_ref());
        worst.map_or_else(|| "-".to_owned(), |worst| format!("{:.1e}", of(worst)))
    };
    vec![
        replay.kernel.clone(),
        replay.package.clone(),
        grid(replay.grid),
        worst.map_or_else(|| "-".to_owned(), |c| c.name.clone()),
        worst.map_or_else(|| "-".to_owned(), |c| c.elements.to_string()),
        worst.map_or_else(|| "-".to_owned(), |c| c.differ.to_string()),
        figure(|w| (w.emulated - w.recorded).abs()),
        figure(|w| w.bound),
        worst.map_or_else(|| "-".to_owned(), |c| format!("{:.3}", c.error_over_bound)),
        replay.findings.len().to_string(),
        replay.word.as_str().to_owned(),
    ]
}

/// How many recordings have their largest error over bound in each class; those that ran.
fn distribution(replays: &[Replay]) -> Vec<(&'static str, usize)> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for replay in replays.iter().filter(|replay| replay.word != Word::Refused) {
        let ratio = replay.worst().map_or(0.0, |compared| compared.error_over_bound);
        let class = CLASSES.iter().position(|(end, _)| ratio <= *end).unwrap_or(CLASSES.len() - 1);
        *counts.entry(class).or_default() += 1;
    }
    CLASSES.iter().enumerate().map(|(class, (_, name))| (*name, counts.get(&class).copied().unwrap_or(0))).collect()
}

fn document(replays: &[Replay]) -> String {
    let classes: Vec<Value> = distribution(replays)
        .into_iter()
        .map(|(class, number)| json!({"error_over_bound": class, "recordings": number}))
        .collect();
    let recordings: Vec<Value> = replays.iter().map(recording).collect();
    format!("{:#}\n", json!({"version": VERSION, "recordings": recordings, "distribution": classes}))
}

fn recording(replay: &Replay) -> Value {
    json!({
        "folder": replay.folder.display().to_string(), "kernel": replay.kernel, "function": replay.function, "package": replay.package,
        "grid": replay.grid, "outcome": replay.word.as_str(), "seconds": replay.seconds, "notes": replay.notes,
        "findings": replay.findings.iter().map(diagnostic).collect::<Vec<_>>(),
        "compared": replay.compared.iter().map(compared).collect::<Vec<_>>(),
    })
}

fn compared(compared: &Compared) -> Value {
    let number = |x: f64| if x.is_finite() { json!(x) } else { json!(x.to_string()) };
    let worst = compared.worst.as_ref().map(|w| {
        json!({"element": w.element, "emulated": number(w.emulated), "recorded": number(w.recorded), "bound": number(w.bound)})
    });
    json!({
        "tensor": compared.name, "dtype": compared.dtype.name(), "elements": compared.elements, "written": compared.written,
        "differ": compared.differ, "outside": compared.failures, "undecided": compared.undecided,
        "error_over_bound": number(compared.error_over_bound), "worst": worst,
    })
}
