//! Edits of a template's text: [`Edits`], and names that leave lists.

use crate::source::Span;
pub use crate::syntax::edit::Edits;

/// The edit that takes a name out of a comma-separated list: with its comma, and with its line when
/// nothing else stands there.
pub fn without(text: &str, list: Span, name: &str) -> Option<Span> {
    let bytes = text.as_bytes();
    let word = |i: usize| bytes.get(i).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let mut from = list.start as usize;
    loop {
        let start = from + text[from..list.end as usize].find(name)?;
        let end = start + name.len();
        from = end;
        if (start > 0 && word(start - 1)) || word(end) || bytes.get(end) != Some(&b',') {
            continue;
        }
        let mut end = end + 1;
        let mut start = start;
        if bytes.get(end) == Some(&b' ') {
            end += 1;
        } else {
            let line = text[..start].rfind('\n').map_or(0, |i| i + 1);
            if text[line..start].trim().is_empty() && bytes.get(end) == Some(&b'\n') {
                return Some(Span::new(line, end + 1));
            }
            if start > 0 && bytes[start - 1] == b' ' {
                start -= 1;
            }
        }
        return Some(Span::new(start, end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_leave_lists_with_their_commas() {
        let text = "f(\n    a_b, b,\n    c,\n)";
        let all = Span::new(0, text.len());
        let drop = |name: &str| {
            let mut edits = Edits::default();
            edits.replace(without(text, all, name).unwrap(), "");
            edits.apply(text, all)
        };
        assert_eq!(drop("a_b"), "f(\n    b,\n    c,\n)");
        assert_eq!(drop("b"), "f(\n    a_b,\n    c,\n)");
        assert_eq!(drop("c"), "f(\n    a_b, b,\n)");
        assert!(without(text, all, "d").is_none());
    }

    #[test]
    fn neighbours_leave_a_list_together() {
        let text = "f(\n    a, b, c,\n)";
        let all = Span::new(0, text.len());
        let mut edits = Edits::default();
        ["b", "c"].iter().for_each(|name| edits.replace(without(text, all, name).unwrap(), ""));
        assert_eq!(edits.apply(text, all).replace(' ', ""), "f(\na,\n)");
    }
}
