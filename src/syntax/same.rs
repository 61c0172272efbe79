//! Whether two pieces of Python are the same but for layout, comments and the way that literals are written.

use ruff_python_ast::comparable::ComparableStmt;

use crate::source::{SourceFile, Span};

/// Whether the statements at two places are the same.
pub fn same_statements((a_file, a): (&SourceFile, Span), (b_file, b): (&SourceFile, Span)) -> bool {
    let (a, b) = (dedented(a_file, a), dedented(b_file, b));
    let parsed = (ruff_python_parser::parse_module(&a), ruff_python_parser::parse_module(&b));
    let (Ok(a), Ok(b)) = parsed else { return false };
    let (a, b) = (&a.syntax().body, &b.syntax().body);
    a.iter().map(ComparableStmt::from).eq(b.iter().map(ComparableStmt::from))
}

/// The text of statements, moved so that the first stands at the beginning of its line.
pub fn dedented(file: &SourceFile, span: Span) -> String {
    let indent = file.position(span.start).column - 1;
    let mut lines = file.slice(span).lines();
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        text + "\n" + &line[blank.min(indent)..]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_and_comments_make_no_difference_and_everything_else_does() {
        let whole = |text: &str| {
            let file = SourceFile::new("a.py", text);
            let start = text.len() - text.trim_start().len();
            (file, Span::new(start, text.len()))
        };
        let same = |a: &str, b: &str| {
            let ((a, x), (b, y)) = (whole(a), whole(b));
            same_statements((&a, x), (&b, y))
        };
        assert!(same("x = f(1,\n  'a')  # why", "    x = f(1, \"a\")"));
        assert!(same("    for i in r:\n        a(i)\n        b(i)", "for i in r:\n  a(i)\n  b(i)"));
        assert!(!same("for i in r:\n    a(i)\n    b(i)", "for i in r:\n    a(i)\nb(i)"));
        assert!(!same("x = 1", "x = 1.0"));
        assert!(!same("x = f(a, b)", "x = f(b, a)"));
    }
}
