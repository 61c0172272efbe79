//! F013: torch copies a tensor whose strides were permuted: `x.permute(…).reshape(…)`; under the lenient ban, also
//! `.contiguous()` and `.clone()` after a permute. An error under the strict ban, a note under the lenient one.

use super::events::{Kind, Walked};
use super::{Ban, Mode, report};
use crate::diag::Severity;
use crate::lint::rule::Found;

pub fn check(walked: &Walked<'_>, ban: &Ban, found: &mut Found<'_>) {
    for event in &walked.events {
        if let Kind::Copy(name) = &event.kind {
            let finding = report(event, format!("`{name}` after a permutation is a copy made by torch"), found);
            finding.help("give the kernel the strides");
            if ban.mode == Mode::Lenient {
                finding.diagnostic.severity = Severity::Advice;
            }
        }
    }
}
