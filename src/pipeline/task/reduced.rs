//! Verification of a task at smaller sizes, in the place of its own: the same task is exported, planned, written and judged
//! once more with lowered integers. What this says of the file for the task's own sizes: kernels whose text is the same were
//! verified as they stand, but for sizes, strides and grids, which launches hand over.

use std::collections::BTreeMap;

use crate::conform::verdict::Word;
use crate::import::task::{Input, Task};
use crate::pipeline::Report;
use crate::shape::display;
use crate::source::SourceFile;
use crate::syntax::ast::StmtKind;
use crate::syntax::parse_module;

/// Puts what was found at smaller sizes into the report of the file at its own.
pub fn take(report: &mut Report, smaller: Report, (own, other): (&str, &str), (most, task): (i64, &Task)) {
    let reduced = |word: Word| if word == Word::Verified { Word::Reduced } else { word };
    let inputs: Vec<String> = task
        .inputs
        .iter()
        .filter_map(|input| match input {
            Input::Tensor { name, ty } => Some(format!("{name} {}", display(&ty.shape))),
            Input::Value { .. } => None,
        })
        .collect();
    report.notes.push(format!("verified at smaller sizes (--reduce {most}): {}", inputs.join(", ")));
    report.notes.push(kernels_alike(own, other));
    report.notes.extend(smaller.notes.into_iter().filter(|note| !report.notes.contains(note)).collect::<Vec<_>>());
    report.verdicts = smaller.verdicts;
    report.verdicts.iter_mut().for_each(|verdict| verdict.word = reduced(verdict.word));
    for layer in &mut report.layers {
        layer.verdict = layer.verdict.min(report.verdicts.len().saturating_sub(1));
    }
    report.chain = smaller.chain.map(|mut chain| {
        chain.word = reduced(chain.word);
        chain
    });
}

/// Which kernels have the text that was verified.
fn kernels_alike(own: &str, other: &str) -> String {
    let (own, other) = (kernels(own), kernels(other));
    let differing: Vec<&str> =
        own.iter().filter(|(name, text)| other.get(*name) != Some(*text)).map(|(name, _)| name.as_str()).collect();
    let same = own.len() - differing.len();
    let told = format!("{same} of {} kernels have the text that was verified", own.len());
    if differing.is_empty() {
        told
    } else {
        format!("{told}; others, or other constants, at its own sizes: {}", differing.join(", "))
    }
}

/// The text of each decorated function.
fn kernels(text: &str) -> BTreeMap<String, String> {
    let Ok(module) = parse_module(&SourceFile::new(super::modelnew::FILE, text)) else { return BTreeMap::new() };
    let of = |stmt: &crate::syntax::ast::Stmt| match &stmt.kind {
        StmtKind::Function(def) if !def.decorators.is_empty() => {
            Some((def.name.clone(), module.file.slice(stmt.span).to_owned()))
        }
        _ => None,
    };
    module.body.iter().filter_map(of).collect()
}
