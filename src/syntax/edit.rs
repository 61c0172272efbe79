//! Edits of a text by span, applied at once: whatever no edit touches stays as its author wrote it.

use crate::source::Span;

/// Replacements of one text; insertions at one place keep their order. Spans do not overlap, those
/// excepted that are only taken out.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    list: Vec<(Span, String)>,
}

impl Edits {
    pub fn replace(&mut self, span: Span, text: impl Into<String>) {
        self.list.push((span, text.into()));
    }

    pub fn insert(&mut self, at: u32, text: impl Into<String>) {
        self.list.push((Span { start: at, end: at }, text.into()));
    }

    /// The part of `text` under `range`, edited.
    pub fn apply(&self, text: &str, range: Span) -> String {
        let mut inside: Vec<&(Span, String)> =
            self.list.iter().filter(|(span, _)| range.start <= span.start && span.end <= range.end).collect();
        inside.sort_by_key(|(span, _)| (span.start, span.end));
        let mut out = String::new();
        let mut at = range.start as usize;
        for (span, replacement) in inside {
            if (span.start as usize) < at {
                if replacement.is_empty() {
                    at = at.max(span.end as usize);
                }
                continue;
            }
            out.push_str(&text[at..span.start as usize]);
            out.push_str(replacement);
            at = span.end as usize;
        }
        out.push_str(&text[at..range.end as usize]);
        out
    }
}

impl Edits {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The whole text, edited.
    pub fn apply_all(&self, text: &str) -> String {
        self.apply(text, Span::new(0, text.len()))
    }
}
