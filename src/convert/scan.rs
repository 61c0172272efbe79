//! What stands between two expressions: commas, operators, parentheses, blanks, comments. Comments are skipped, so
//! that a comma inside one is none.

use crate::source::Span;

/// The first place of a character in a range, outside comments.
pub fn find(text: &str, start: u32, end: u32, wanted: char) -> Option<u32> {
    let mut comment = false;
    for (i, c) in text.get(start as usize..end as usize)?.char_indices() {
        match c {
            '#' => comment = true,
            '\n' => comment = false,
            c if c == wanted && !comment => return Some(start + i as u32),
            _ => {}
        }
    }
    None
}

/// A span with the parentheses around it, as far as they close inside the bounds.
pub fn outer(text: &str, span: Span, bounds: Span) -> Span {
    let (mut start, mut end) = (span.start as usize, span.end as usize);
    while let Some(before) = text.get(bounds.start as usize..start).map(str::trim_end) {
        let Some(behind) = text.get(end..bounds.end as usize) else { break };
        let trimmed = behind.trim_start();
        if !before.ends_with('(') || !trimmed.starts_with(')') {
            break;
        }
        start = bounds.start as usize + before.len() - 1;
        end += behind.len() - trimmed.len() + 1;
    }
    Span::new(start, end)
}

/// The whole lines of a span, with the last one's line break.
pub fn lines(text: &str, span: Span) -> Span {
    let start = text[..span.start as usize].rfind('\n').map_or(0, |i| i + 1);
    let end = text[span.end as usize..].find('\n').map_or(text.len(), |i| span.end as usize + i + 1);
    Span::new(start, end)
}

/// An argument with the comma that separates it: the one before it, or the one behind the first. Blanks between the
/// comma and the argument go, too.
pub fn argument(text: &str, span: Span, bounds: Span) -> Span {
    let before = text[bounds.start as usize..span.start as usize].trim_end();
    if before.ends_with(',') {
        return Span { start: bounds.start + before.len() as u32 - 1, end: span.end };
    }
    match find(text, span.end, bounds.end, ',') {
        Some(comma) => {
            let behind = &text[comma as usize + 1..bounds.end as usize];
            let blanks = behind.len() - behind.trim_start_matches([' ', '\t']).len();
            Span { start: span.start, end: comma + 1 + blanks as u32 }
        }
        None => span,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_and_commas() {
        let text = "f( ((a)), b, # c, d\n c)";
        let bounds = Span::new(2, text.len() - 1);
        let a = text.find('a').unwrap();
        assert_eq!(outer(text, Span::new(a, a + 1), bounds), Span::new(3, 8));
        assert_eq!(find(text, 8, bounds.end, ','), Some(8));
        assert_eq!(find(text, 12, bounds.end, ','), None);
        let b = text.find('b').unwrap();
        assert_eq!(argument(text, Span::new(b, b + 1), bounds), Span::new(8, b + 1));
        assert_eq!(argument(text, Span::new(3, 8), bounds), Span::new(3, 10));
        assert_eq!(lines("a\nbc\nd", Span::new(3, 4)), Span::new(2, 5));
    }
}
