//! A report as one JSON document.

use serde_json::{Value, json};

use crate::conform::verdict::Verdict;
use crate::diag::{Diagnostic, Place, Severity};
use crate::pipeline::Report;

/// Raised when a reader of the old form would misread the new one.
pub(super) const VERSION: u32 = 1;

/// The document, with a line break at its end.
pub fn report(report: &Report) -> String {
    format!("{:#}\n", document(report))
}

pub fn document(report: &Report) -> Value {
    let layers: Vec<Value> = report
        .layers
        .iter()
        .filter(|layer| layer.asked)
        .map(|layer| {
            let sources: Vec<Value> = layer.sources.iter().map(|(node, op)| json!({"node": node, "operator": op})).collect();
            json!({
                "layer": layer.layer, "sources": sources, "template": layer.template, "kernel": layer.kernel,
                "shape": layer.shape, "grid": layer.grid, "verdict": verdict(&report.verdicts[layer.verdict]),
            })
        })
        .collect();
    let chain = report.chain.as_ref().map(|chain| {
        json!({
            "verdict": chain.word.as_str(), "max_abs_err": chain.max_abs_err, "allowed": chain.allowed,
            "launches": chain.launches, "unchanged": chain.known, "seed": chain.seed,
            "emulation_wall_seconds": chain.cost.wall_seconds, "emulation_cpu_seconds": chain.cost.cpu_seconds,
            "outputs": chain.outputs.iter().map(|(name, head)| json!({"name": name, "head": head})).collect::<Vec<_>>(),
        })
    });
    let on_data = report.on_data.as_ref().map(|data| {
        json!({
            "of": data.what, "verdict": data.word.as_str(), "error": data.error, "allowed": data.allowed,
            "expected_values": data.expected, "notes": data.notes,
        })
    });
    json!({
        "version": VERSION,
        "model": report.model,
        "suite": report.suite.as_ref().map(|p| p.display().to_string()),
        "fully_verified": report.fully_verified(),
        "seeds": {"first": report.seeds.first(), "count": report.seeds.count()},
        "kernels": report.kernels,
        "buffers": {"count": report.buffers.0, "bytes": report.buffers.1},
        "layers": layers,
        "chain": chain,
        "given_data": on_data,
        "problems": report.diagnostics().map(diagnostic).collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

/// What stands in the report's place when a run ends before it has one.
pub fn failure<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> String {
    format!("{:#}\n", failure_document(diagnostics))
}

pub fn failure_document<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Value {
    let problems: Vec<Value> = diagnostics.into_iter().map(diagnostic).collect();
    json!({"version": VERSION, "fully_verified": false, "problems": problems})
}

fn verdict(verdict: &Verdict) -> Value {
    let error = verdict.error.as_ref().map(|e| {
        json!({
            "max_abs_err": e.max_abs_err, "max_rel_err": e.max_rel_err, "worst_err": e.worst_err, "tolerance": e.tolerance,
            "over_tolerance": e.over_tolerance, "formula": e.formula,
        })
    });
    json!({
        "word": verdict.word.as_str(), "unchanged": verdict.known, "seed": verdict.seed,
        "bit_equal_on_integers": verdict.bit_equal, "error": error, "emulation_seconds": verdict.emulation_seconds,
        "programs": verdict.programs, "codes": verdict.diagnostics.iter().map(|d| d.code.id).collect::<Vec<_>>(),
    })
}

/// As a rendered message begins.
fn severity(diagnostic: &Diagnostic) -> &'static str {
    match diagnostic.severity {
        Severity::Advice => "advice",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

fn place(place: &Place) -> Value {
    match place {
        Place::Text { file, span } => {
            let at = file.position(span.start);
            json!({"file": file.name(), "line": at.line, "column": at.column})
        }
        Place::Node { file, node } => json!({"file": file, "node": node}),
        Place::File { file } => json!({"file": file}),
    }
}

pub(super) fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let related: Vec<Value> = diagnostic.related.iter().map(|(at, label)| json!({"place": place(at), "label": label})).collect();
    json!({
        "code": diagnostic.code.id, "severity": severity(diagnostic), "title": diagnostic.code.title, "message": diagnostic.message,
        "place": diagnostic.place.as_ref().map(place), "related": related, "notes": diagnostic.notes, "help": diagnostic.help,
    })
}
