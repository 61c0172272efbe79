//! Text files as the tool sees them: a name for messages, the text, and byte spans into it.
//!
//! Every later stage that reads text (Python kernels, YAML, TTIR) keeps `Span`s and never line
//! numbers; lines and columns are computed here, once, when a message is written.

pub mod files;

use std::fmt;
use std::sync::Arc;

/// A half-open range of byte offsets into one [`SourceFile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A text with a name. Shared as `Arc<SourceFile>` by everything that points into it.
///
/// A kernel may be written over several files: their texts, one behind the other, make one *joined*
/// file, so that one kind of span serves all of them. [`SourceFile::origin`] leads back.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceFile {
    name: String,
    text: String,
    line_starts: Vec<u32>,
    /// The files that this one was joined from, in order, with their offsets; empty for a plain file.
    parts: Vec<(u32, Arc<SourceFile>)>,
}

/// One-based line and column; the column counts Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    pub line: usize,
    pub column: usize,
}

impl SourceFile {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        let text = text.into();
        let line_starts =
            std::iter::once(0).chain(text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i as u32 + 1)).collect();
        Arc::new(SourceFile { name: name.into(), text, line_starts, parts: Vec::new() })
    }

    /// Several files as one, under the name of the first. A line break stands between two texts, so
    /// that each begins a line: part `i` starts at [`SourceFile::joined_length`] of those before it.
    pub fn join(files: &[Arc<SourceFile>]) -> Arc<Self> {
        let [first, rest @ ..] = files else { return SourceFile::new("", "") };
        if rest.is_empty() {
            return first.clone();
        }
        let mut text = String::new();
        let mut parts = Vec::with_capacity(files.len());
        for file in files {
            parts.push((text.len() as u32, file.clone()));
            text.push_str(&file.text);
            text.push('\n');
        }
        let joined = SourceFile::new(first.name.as_str(), text);
        let SourceFile { name, text, line_starts, parts: _ } = Arc::unwrap_or_clone(joined);
        Arc::new(SourceFile { name, text, line_starts, parts })
    }

    /// Where a file that is joined behind others begins.
    pub fn joined_length(files: &[Arc<SourceFile>]) -> usize {
        files.iter().map(|file| file.text.len() + 1).sum()
    }

    /// The file that a span of a joined file comes from, and the span in it.
    pub fn origin(self: &Arc<Self>, span: Span) -> (Arc<SourceFile>, Span) {
        let part = self.parts.partition_point(|(start, _)| *start <= span.start);
        match part.checked_sub(1).and_then(|i| self.parts.get(i)) {
            None => (self.clone(), span),
            Some((start, file)) => {
                let end = span.end.saturating_sub(*start).min(file.text.len() as u32);
                (file.clone(), Span { start: span.start - start, end })
            }
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text under a span; empty when the span lies outside the file.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    pub fn position(&self, offset: u32) -> LineColumn {
        let line = self.line_starts.partition_point(|&start| start <= offset).max(1);
        let start = self.line_starts[line - 1] as usize;
        let end = (offset as usize).min(self.text.len());
        let column = self.text.get(start..end).map_or(1, |s| s.chars().count() + 1);
        LineColumn { line, column }
    }

    /// The text of a one-based line, without its line break.
    pub fn line(&self, line: usize) -> &str {
        let Some(&start) = line.checked_sub(1).and_then(|i| self.line_starts.get(i)) else { return "" };
        let end = self.line_starts.get(line).map_or(self.text.len(), |&next| next as usize);
        self.text[start as usize..end].trim_end_matches(['\n', '\r'])
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceFile({}, {} bytes)", self.name, self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_one_based_and_count_characters() {
        let file = SourceFile::new("a.py", "ab\nçd\n");
        assert_eq!(file.position(0), LineColumn { line: 1, column: 1 });
        assert_eq!(file.position(3), LineColumn { line: 2, column: 1 });
        assert_eq!(file.position(5), LineColumn { line: 2, column: 2 });
        assert_eq!(file.line(2), "çd");
        assert_eq!(file.line(9), "");
        assert_eq!(file.slice(Span::new(0, 2)), "ab");
    }

    #[test]
    fn a_span_of_joined_files_leads_back_to_its_own() {
        let files = [SourceFile::new("a.py", "ab\nçd"), SourceFile::new("b.py", "x = 1\ny = 2\n")];
        let joined = SourceFile::join(&files);
        let base = SourceFile::joined_length(&files[..1]);
        let (file, span) = joined.origin(Span::new(base + 6, base + 7));
        assert_eq!((file.name(), file.slice(span), file.position(span.start).line), ("b.py", "y", 2));
        let (file, span) = joined.origin(Span::new(3, 5));
        assert_eq!((file.name(), file.slice(span)), ("a.py", "ç"));
        assert_eq!(joined.slice(Span::new(base, base + 5)), "x = 1");
    }
}
