//! A report as text: one row a layer, then what it adds up to.

use std::collections::HashSet;

use super::table::{Align, render};
use crate::conform::verdict::{Verdict, Word};
use crate::diag::Diagnostic;
use crate::pipeline::{Layer, Report};
use crate::shape;

/// The table and the summary.
pub fn report(report: &Report, verbose: bool) -> String {
    let mut text = table(report, |layer| layer.asked);
    text.push('\n');
    for line in summary(report) {
        text.push_str(&line);
        text.push('\n');
    }
    if verbose {
        let mut formulas: Vec<&str> =
            report.verdicts.iter().filter_map(|v| v.error.as_ref()).map(|e| e.formula.as_str()).collect();
        formulas.sort_unstable();
        formulas.dedup();
        for formula in formulas {
            text.push_str(&format!("tolerance: {formula}\n"));
        }
    }
    text
}

/// A round of an edit loop: a row for each launch whose verdict is new, and the verdicts in all.
pub fn round(report: &Report) -> String {
    let is_new = |layer: &Layer| layer.asked && !report.verdicts[layer.verdict].known;
    let mut text = if report.layers.iter().any(is_new) { table(report, is_new) + "\n" } else { String::new() };
    for line in verdicts(report) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// One row a layer.
fn table(report: &Report, shown: impl Fn(&Layer) -> bool) -> String {
    let columns = [
        ("layer", Align::Left),
        ("source", Align::Left),
        ("template", Align::Left),
        ("shape", Align::Left),
        ("grid", Align::Right),
        ("emulated", Align::Right),
        ("error", Align::Right),
        ("tolerance", Align::Right),
        ("verdict", Align::Left),
    ];
    let rows: Vec<Vec<String>> = report
        .layers
        .iter()
        .filter(|layer| shown(layer))
        .map(|layer| {
            let verdict = &report.verdicts[layer.verdict];
            let error = verdict.error.as_ref();
            vec![
                layer.layer.clone(),
                layer.sources.iter().map(|s| s.1.as_str()).collect::<Vec<_>>().join("+"),
                layer.template.clone(),
                shape::display(&layer.shape),
                layer.grid.map_or("-".into(), grid),
                emulated(verdict),
                error.map_or("-".into(), |e| format!("{:.1e}", e.worst_err)),
                error.map_or("-".into(), |e| format!("{:.1e}", e.tolerance)),
                verdict.word.as_str().to_owned(),
            ]
        })
        .collect();
    render(&columns, &rows)
}

/// How long it took, when it ran.
fn emulated(verdict: &Verdict) -> String {
    match (verdict.known, verdict.programs) {
        (true, _) => "unchanged".to_owned(),
        (false, 0) => "-".to_owned(),
        (false, _) => format!("{:.1} ms", verdict.emulation_seconds * 1e3),
    }
}

/// `1 launch`, `2 launches`.
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `8×4`.
pub fn grid(grid: [u32; 3]) -> String {
    let used = grid.iter().rposition(|&g| g != 1).map_or(1, |i| i + 1);
    grid[..used].iter().map(u32::to_string).collect::<Vec<_>>().join("×")
}

fn summary(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let launches = report.layers.len();
    lines.push(format!(
        "{}: {} of {}, {}, {:.1} MB in all",
        report.model,
        count(launches, "launch", "launches"),
        count(report.kernels, "kernel", "kernels"),
        count(report.buffers.0, "buffer", "buffers"),
        report.buffers.1 as f64 / 1e6
    ));
    lines.extend(verdicts(report));
    lines.extend(report.notes.iter().map(|note| format!("note: {note}")));
    if let Some(suite) = &report.suite {
        let what = if suite.extension().is_some_and(|extension| extension == "py") { "file" } else { "suite" };
        lines.push(format!("{what}: {}", suite.display()));
    }
    let reasons = report.not_verified();
    if !reasons.is_empty() {
        lines.push(format!("not fully verified: {}", reasons.join("; ")));
    }
    lines
}

/// What was found out about the kernels and the chain, one line each.
fn verdicts(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let mut counts: Vec<(Word, usize)> = Vec::new();
    for verdict in &report.verdicts {
        match counts.iter_mut().find(|(word, _)| *word == verdict.word) {
            Some((_, n)) => *n += 1,
            None => counts.push((verdict.word, 1)),
        }
    }
    if report.layers.iter().any(|layer| !layer.asked) {
        counts.retain(|(word, _)| *word != Word::NotVerified);
    }
    let counts: Vec<String> = counts.into_iter().map(|(word, n)| format!("{n} {}", word.as_str())).collect();
    if !counts.is_empty() {
        let exact = report.verdicts.iter().filter(|v| v.word == Word::Verified && v.bit_equal == Some(true)).count();
        let exact = if exact > 0 { format!(" ({exact} bit-equal on integers)") } else { String::new() };
        lines.push(format!("kernels: {}{exact}", counts.join(", ")));
    }
    if let Some(chain) = &report.chain {
        lines.push(format!("chain: {}", chain.summary()));
    }
    if let Some(data) = &report.on_data {
        let against = if data.expected { ", against the expected values" } else { "" };
        let (word, what) = (data.word.as_str(), &data.what);
        lines.push(format!("given data: {word}, {what}, error {:.1e} of {:.1e} allowed{against}", data.error, data.allowed));
        lines.extend(data.notes.iter().map(|note| format!("given data: {note}")));
    }
    lines
}

/// The diagnostics without those that say the same at the same place.
pub fn distinct<'a>(diagnostics: impl Iterator<Item = &'a Diagnostic>) -> impl Iterator<Item = &'a Diagnostic> {
    let mut seen = HashSet::new();
    diagnostics.filter(move |d| seen.insert(format!("{d} {:?}", d.place)))
}
