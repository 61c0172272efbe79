//! What runs of kernels came to: a table, and one JSON document.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::json::diagnostic;
use super::super::print::{count, grid};
use super::super::table::{Align, render};
use super::stats;
use crate::pipeline::emulate::{Compared, Report, Run};

/// Raised when a reader of the old form would misread the new one.
const VERSION: u32 = 1;

/// The column of configurations, which is left out where there are none.
const CONFIG: usize = 2;

/// One row a run.
pub fn text(report: &Report, written: &[PathBuf], verbose: bool) -> String {
    let configs = report.runs.iter().any(|run| run.config.is_some());
    let columns = [
        ("run", Align::Left),
        ("kernel", Align::Left),
        ("config", Align::Left),
        ("grid", Align::Right),
        ("instructions", Align::Right),
        ("emulated", Align::Right),
        ("findings", Align::Right),
        ("error", Align::Right),
        ("allowed", Align::Right),
        ("verdict", Align::Left),
    ];
    let mut columns = columns.to_vec();
    let mut rows: Vec<Vec<String>> = report.runs.iter().enumerate().map(|(at, run)| row(at, run)).collect();
    if !configs {
        columns.remove(CONFIG);
        rows.iter_mut().for_each(|row| drop(row.remove(CONFIG)));
    }
    let mut text = render(&columns, &rows);
    if verbose {
        for run in &report.runs {
            for compared in &run.compared {
                text += &format!("{}: {}: {}\n", title(0, run), compared.name, compared.tolerance);
            }
        }
    }
    for (at, run) in report.runs.iter().enumerate() {
        if let Some(facts) = &run.stats {
            text += &format!("\n{}\n{}", title(at, run), stats::text(facts));
        }
    }
    for path in written {
        text += &format!("written: {}\n", path.display());
    }
    let silent = report.runs.iter().filter(|run| run.compared.is_empty() && !run.findings.iter().any(|f| f.is_error())).count();
    if silent > 0 {
        text += &format!("not fully verified: {} nothing is expected of\n", count(silent, "run", "runs"));
    }
    text
}

fn title(at: usize, run: &Run) -> String {
    if run.name.is_empty() { format!("{}", at + 1) } else { run.name.clone() }
}

fn row(at: usize, run: &Run) -> Vec<String> {
    let worst = worst(run);
    let figure = |of: fn(&crate::conform::compare::Worst) -> f64| match worst {
        Some(Compared { comparison, .. }) => comparison.worst.as_ref().map_or("0".to_owned(), |w| format!("{:.1e}", of(w))),
        None => "-".to_owned(),
    };
    let ran = run.programs > 0;
    vec![
        title(at, run),
        run.kernel.clone(),
        run.config.clone().unwrap_or_else(|| "-".to_owned()),
        grid(run.grid),
        if ran { run.instructions.to_string() } else { "-".to_owned() },
        if ran { format!("{:.1} ms", run.wall_seconds * 1e3) } else { "-".to_owned() },
        run.findings.len().to_string(),
        figure(|w| (w.got - w.expected).abs()),
        figure(|w| w.bound),
        run.word().as_str().to_owned(),
    ]
}

/// The tensor that comes closest to what is allowed.
fn worst(run: &Run) -> Option<&Compared> {
    run.compared.iter().max_by(|a, b| a.comparison.error_over_bound.total_cmp(&b.comparison.error_over_bound))
}

/// The document, with a line break at its end.
pub fn json(report: &Report) -> String {
    let runs: Vec<Value> = report.runs.iter().map(run).collect();
    let remarks: Vec<Value> = report.remarks.iter().map(diagnostic).collect();
    format!("{:#}\n", json!({"version": VERSION, "fully_verified": report.fully_verified(), "runs": runs, "remarks": remarks}))
}

fn run(run: &Run) -> Value {
    let compared: Vec<Value> = run.compared.iter().map(compared).collect();
    json!({
        "name": run.name, "kernel": run.kernel, "config": run.config, "grid": run.grid, "verdict": run.word().as_str(), "programs": run.programs,
        "instructions": run.instructions, "emulation_seconds": run.wall_seconds,
        "findings": run.findings.iter().map(diagnostic).collect::<Vec<_>>(), "compared": compared,
        "stats": run.stats.as_ref().map(stats::json),
    })
}

fn compared(compared: &Compared) -> Value {
    let c = &compared.comparison;
    let worst =
        c.worst.as_ref().map(|w| json!({"index": w.index.as_slice(), "got": w.got, "expected": w.expected, "allowed": w.bound}));
    json!({
        "tensor": compared.name, "elements": c.elements, "differ": c.failures, "max_abs_err": c.max_abs_err,
        "max_rel_err": c.max_rel_err, "error_over_allowed": c.error_over_bound, "worst": worst, "tolerance": compared.tolerance,
    })
}
