//! Mends what is mechanical: the edits that findings carry, applied to the text.
//!
//! A finding is mended whole or not at all: one whose edits overlap those of an earlier finding waits for the
//! next round. Comments and layout stay, as nothing is printed anew.

use super::Finding;
use crate::source::Span;
use crate::syntax::edit::Edits;

/// The mended text and how many findings that mended; `None` when nothing can be mended.
pub fn apply(text: &str, findings: &[Finding]) -> Option<(String, usize)> {
    let mut edits = Edits::default();
    let mut taken: Vec<Span> = Vec::new();
    let mut mended = 0;
    for finding in findings.iter().filter(|finding| !finding.fix.is_empty()) {
        let free = |span: &Span| taken.iter().all(|other| span.end <= other.start || other.end <= span.start);
        if !finding.fix.iter().all(|(span, _)| free(span)) {
            continue;
        }
        mended += 1;
        for (span, replacement) in &finding.fix {
            taken.push(*span);
            edits.replace(*span, replacement.clone());
        }
    }
    (mended > 0).then(|| (edits.apply_all(text), mended))
}
