//! Plain text tables: columns as wide as their widest cell, numbers to the right.

/// How a column's cells lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// The rows under their headings; two blanks between columns, no trailing blanks.
pub fn render(columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).chain([columns[i].0.chars().count()]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let mut text = String::new();
        for (i, cell) in cells.into_iter().enumerate() {
            let pad = " ".repeat(widths[i] - cell.chars().count());
            if i > 0 {
                text.push_str("  ");
            }
            match columns[i].1 {
                Align::Left => text.extend([cell, &pad]),
                Align::Right => text.extend([pad.as_str(), cell]),
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    };
    let mut text = line(columns.iter().map(|c| c.0).collect());
    for row in rows {
        text.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let text = render(
            &[("layer", Align::Left), ("ms", Align::Right)],
            &[vec!["conv1".into(), "12.5".into()], vec!["fc×2".into(), "1".into()]],
        );
        expect_test::expect![[r#"
            layer    ms
            conv1  12.5
            fc×2      1
        "#]]
        .assert_eq(&text);
    }
}
