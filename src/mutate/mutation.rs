//! One broken kernel: an edit of an emitted file, with a name that is stable across cases.
//!
//! An edit replaces one span of one statement and leaves all other bytes alone. Its [`Key`] holds
//! text only (function, operator, the source line, what became what), so that the same slip in two
//! emitted files of one template is the same mutation, and a list of equivalent ones survives
//! unrelated changes of a template.

use std::fmt;

use crate::source::{SourceFile, Span};

/// A replacement in one statement, as an operator proposes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

impl Edit {
    pub fn new(span: Span, text: impl Into<String>) -> Edit {
        Edit { span, text: text.into() }
    }

    /// The file with the edit made.
    pub fn apply(&self, file: &SourceFile) -> String {
        let text = file.text();
        format!("{}{}{}", &text[..self.span.start as usize], self.text, &text[self.span.end as usize..])
    }
}

/// What a mutation is, whatever case it is made in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// `relu_tile`, `launch`, `forward`.
    pub function: String,
    /// [`super::operators::Operator::name`].
    pub operator: &'static str,
    /// The line on which the edit begins, without surrounding blanks.
    pub line: String,
    /// What stood there, blanks joined.
    pub from: String,
    pub to: String,
    /// Tells equal edits of equal lines of one function apart.
    pub ordinal: usize,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &str| if text.is_empty() { "nothing".to_owned() } else { format!("`{text}`") };
        write!(f, "{} | {} | {} | {} → {}", self.function, self.operator, self.line, shown(&self.from), shown(&self.to))?;
        if self.ordinal > 0 { write!(f, " | {}", self.ordinal + 1) } else { Ok(()) }
    }
}

/// An edit of one file of one case.
#[derive(Clone, Debug)]
pub struct Mutation {
    pub key: Key,
    pub edit: Edit,
    /// The statement that is edited, in the unedited file; of a compound statement its header.
    pub statement: Span,
}

impl Mutation {
    /// The edited statement's span in the edited file.
    pub fn statement_after(&self) -> Span {
        let grown = self.edit.text.len() as i64 - i64::from(self.edit.span.end - self.edit.span.start);
        Span { start: self.statement.start, end: (i64::from(self.statement.end) + grown).max(0) as u32 }
    }
}

/// Blanks and line breaks joined into single blanks.
pub fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_leaves_all_other_bytes_alone() {
        let file = SourceFile::new("k.py", "a = b  # why\nc = d\n");
        let edit = Edit::new(Span::new(4, 5), "bee");
        assert_eq!(edit.apply(&file), "a = bee  # why\nc = d\n");
        let key =
            Key { function: "f".into(), operator: "name", line: "a = b".into(), from: "b".into(), to: String::new(), ordinal: 1 };
        assert_eq!(key.to_string(), "f | name | a = b | `b` → nothing | 2");
        let mutation = Mutation { key, edit, statement: Span::new(0, 5) };
        assert_eq!(mutation.statement_after(), Span::new(0, 7));
    }
}
