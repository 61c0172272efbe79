//! Findings as SARIF 2.1.0, which code hosts and editors read.
//!
//! One run with the rules that spoke, a result a finding, and the edits of mechanical fixes. Columns count Unicode
//! code points, as the document says of itself.

use serde_json::{Value, json};

use super::rule::Finding;
use crate::diag::{Place, Severity};
use crate::source::{SourceFile, Span};

/// The document, with a line break at its end.
pub fn document(findings: &[Finding]) -> String {
    let mut rules: Vec<&'static crate::diag::Code> = findings.iter().map(|f| f.diagnostic.code).collect();
    rules.sort_by_key(|code| code.id);
    rules.dedup_by_key(|code| code.id);
    let index = |id: &str| rules.iter().position(|code| code.id == id);
    let results: Vec<Value> = findings.iter().map(|finding| result(finding, index(finding.diagnostic.code.id))).collect();
    let described: Vec<Value> = rules
        .iter()
        .map(|code| json!({"id": code.id, "shortDescription": {"text": code.title}, "help": {"text": format!("decompose explain {}", code.id)}}))
        .collect();
    let driver = json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION"), "rules": described});
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    });
    format!("{document:#}\n")
}

fn result(finding: &Finding, rule: Option<usize>) -> Value {
    let diagnostic = &finding.diagnostic;
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice => "note",
    };
    let mut text = diagnostic.message.clone();
    for more in diagnostic.notes.iter().chain(&diagnostic.help) {
        text.push_str("; ");
        text.push_str(more);
    }
    let mut result = json!({"ruleId": diagnostic.code.id, "ruleIndex": rule, "level": level, "message": {"text": text}});
    if let Some(Place::Text { file, span }) = &diagnostic.place {
        let artifact = json!({"uri": uri(file.name())});
        result["locations"] = json!([{"physicalLocation": {"artifactLocation": artifact, "region": region(file, *span)}}]);
        if !finding.fix.is_empty() {
            let replacement =
                |(span, text): &(Span, String)| json!({"deletedRegion": region(file, *span), "insertedContent": {"text": text}});
            let replacements: Vec<Value> = finding.fix.iter().map(replacement).collect();
            let change = json!({"artifactLocation": artifact, "replacements": replacements});
            let description = diagnostic.help.clone().unwrap_or_else(|| diagnostic.code.title.to_owned());
            result["fixes"] = json!([{"description": {"text": description}, "artifactChanges": [change]}]);
        }
    } else if let Some(Place::File { file }) = &diagnostic.place {
        result["locations"] = json!([{"physicalLocation": {"artifactLocation": {"uri": uri(file)}}}]);
    }
    result
}

/// One-based; the end is the column behind the last character.
fn region(file: &SourceFile, span: Span) -> Value {
    let (start, end) = (file.position(span.start), file.position(span.end));
    json!({"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column})
}

/// A path as a relative reference: what is no plain character is percent-encoded.
fn uri(path: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'-' | b'_' | b'~');
    path.bytes().map(|b| if plain(b) { (b as char).to_string() } else { format!("%{b:02X}") }).collect()
}
