//! Python statements as a person would lay them out: one line where it fits, else one argument a
//! line, and long sums broken before an operator.

use super::anchors::split;

/// The longest line.
pub const WIDTH: usize = 100;

/// `head(args)` at an indentation, without a line break at the end.
pub fn call(indent: usize, head: &str, args: &[String]) -> String {
    let pad = " ".repeat(indent);
    let line = format!("{pad}{head}({})", args.join(", "));
    if line.chars().count() <= WIDTH && !line.contains('\n') {
        return line;
    }
    let mut text = format!("{pad}{head}(\n");
    for arg in args {
        text.push_str(&broken(indent + 4, arg));
        text.push_str(",\n");
    }
    text + &pad + ")"
}

/// An expression inside brackets, broken before ` + ` and ` & ` outside further brackets where it is too long.
fn broken(indent: usize, text: &str) -> String {
    let pad = " ".repeat(indent);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if indent + flat.chars().count() < WIDTH {
        return pad + &flat;
    }
    let (mut out, mut line) = (String::new(), pad.clone());
    for (i, piece) in pieces(&flat).into_iter().enumerate() {
        if i > 0 && line.chars().count() + 1 + piece.chars().count() >= WIDTH {
            out.push_str(&line);
            out.push('\n');
            line = pad.clone() + piece;
        } else {
            if i > 0 {
                line.push(' ');
            }
            line.push_str(piece);
        }
    }
    out + &line
}

/// `a`, `+ b`, `& c`, …
fn pieces(text: &str) -> Vec<&str> {
    let mut cuts = vec![0];
    for operator in ['+', '&'] {
        let offsets = split(text, operator).into_iter().skip(1).map(|(at, _)| at - 1);
        cuts.extend(offsets.filter(|&at| text[..at].ends_with(' ') && text[at + 1..].starts_with(' ')));
    }
    cuts.sort_unstable();
    cuts.push(text.len());
    cuts.windows(2).map(|w| text[w[0]..w[1]].trim()).collect()
}

/// Groups of names as the lines of a parameter or argument list, each ended by `,` and a line break.
pub fn name_lines(indent: usize, groups: &[Vec<String>]) -> String {
    let pad = " ".repeat(indent);
    let mut out = String::new();
    for group in groups.iter().filter(|g| !g.is_empty()) {
        let mut line = pad.clone();
        for name in group {
            if line.len() > indent && line.len() + name.len() + 2 > WIDTH {
                out.push_str(line.trim_end());
                out.push('\n');
                line = pad.clone();
            }
            line.push_str(name);
            line.push_str(", ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_calls_break_at_operators() {
        assert_eq!(call(4, "x = tl.load", &["p + e".into(), "mask=e < E".into()]), "    x = tl.load(p + e, mask=e < E)");
        let sum = (0..9).map(|i| format!("coordinate{i} * stride{i}")).collect::<Vec<_>>().join(" + ");
        let lines = [
            "    y = tl.load(",
            "        coordinate0 * stride0 + coordinate1 * stride1 + coordinate2 * stride2",
            "        + coordinate3 * stride3 + coordinate4 * stride4 + coordinate5 * stride5",
            "        + coordinate6 * stride6 + coordinate7 * stride7 + coordinate8 * stride8,",
            "        other=0.0,",
            "    )",
        ];
        assert_eq!(call(4, "y = tl.load", &[sum, "other=0.0".into()]), lines.join("\n"));
        assert_eq!(name_lines(4, &[vec!["a_ptr".into(), "b".into()], vec![]]), "    a_ptr, b,\n");
    }
}
