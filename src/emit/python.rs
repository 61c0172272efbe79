//! Pieces of Python text: literals, identifiers, calls that are folded at 100 columns.

use std::collections::BTreeSet;

use crate::dtype::DType;

/// Lines of emitted Python are at most this wide where they can be broken.
const WIDTH: usize = 100;

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
    "return", "try", "while", "with", "yield",
];

/// Names of one scope, each given once.
#[derive(Clone, Debug, Default)]
pub struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// A scope in which some names are spoken for.
    pub fn new(reserved: &[&str]) -> Names {
        Names { taken: reserved.iter().chain(&KEYWORDS).map(|&s| s.to_owned()).collect() }
    }

    /// Takes exactly this name, unless something else has it.
    pub fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// An identifier like `wanted` that nothing else has.
    pub fn fresh(&mut self, wanted: &str) -> String {
        let base = identifier(wanted);
        let mut name = base.clone();
        let mut n = 1;
        while !self.taken.insert(name.clone()) {
            n += 1;
            name = format!("{base}_{n}");
        }
        name
    }
}

/// A model's name as an identifier: `layer1.0/conv` is `layer1_0_conv`.
fn identifier(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        if !(c == '_' && text.ends_with('_')) {
            text.push(c);
        }
    }
    let trimmed = text.trim_matches('_');
    match trimmed.chars().next() {
        None => "value".to_owned(),
        Some(c) if c.is_ascii_digit() => format!("v{trimmed}"),
        Some(_) => trimmed.to_owned(),
    }
}

/// A string literal.
pub fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A name of the model as prose, for docstrings, comments and Markdown: what could end the text around
/// it (quotes, backslashes, backticks, line breaks and other control characters) becomes `_`.
pub fn prose(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || "\"\\`".contains(c) { '_' } else { c }).collect()
}

/// A float literal that reads back exactly.
pub fn float(value: f64) -> String {
    if value.is_nan() {
        "float(\"nan\")".to_owned()
    } else if value.is_infinite() {
        format!("float(\"{}inf\")", if value < 0.0 { "-" } else { "" })
    } else {
        format!("{value:?}")
    }
}

/// A float literal that gives the same number once it is rounded to `dtype`: `1e-5` where an f32 holds
/// 9.999999747378752e-6.
pub fn float_of(dtype: DType, value: f64) -> String {
    let narrow = value as f32;
    if dtype == DType::F32 && narrow.is_finite() && f64::from(narrow) == value { format!("{narrow:?}") } else { float(value) }
}

/// `(1, 64)`, `(1,)`, `()`.
pub fn tuple<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    let comma = if items.len() == 1 { "," } else { "" };
    format!("({}{comma})", items.join(", "))
}

/// `1, 64`.
pub fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// `torch.float32`.
pub fn dtype(dtype: DType) -> String {
    format!("torch.{}", dtype.torch_name())
}

/// `float32 [1, 64]`, for comments.
pub fn described(dtype: DType, shape: &[usize]) -> String {
    format!("{} {shape:?}", dtype.torch_name())
}

/// `head(a, b, c)` at an indent, on one line or filled over several: each inner list of `groups`
/// starts a line of its own then.
pub fn call(indent: usize, head: &str, groups: &[Vec<String>]) -> String {
    let pad = " ".repeat(indent);
    let flat: Vec<&str> = groups.iter().flatten().map(String::as_str).collect();
    let line = format!("{pad}{head}({})", flat.join(", "));
    if line.chars().count() <= WIDTH {
        return line + "\n";
    }
    let mut text = format!("{pad}{head}(\n");
    for group in groups.iter().filter(|g| !g.is_empty()) {
        text += &filled(indent + 4, group);
    }
    text + &format!("{pad})\n")
}

/// `head(a, b)tail`, over several lines when it is long; `head` begins with the indent.
pub fn statement_of_tuple(head: &str, items: &[String], tail: &str) -> String {
    let line = format!("{head}{}{tail}\n", tuple(items));
    let indent = head.len() - head.trim_start().len();
    if line.len() <= WIDTH + 1 {
        return line;
    }
    format!("{head}(\n{}{}){tail}\n", filled(indent + 4, items), " ".repeat(indent))
}

/// A statement at an indent, over several lines when it is long: a call is filled, a sum or product is
/// put in parentheses with an operand a line.
pub fn statement(indent: usize, text: &str) -> String {
    let pad = " ".repeat(indent);
    let line = format!("{pad}{text}\n");
    if line.chars().count() <= WIDTH + 1 {
        return line;
    }
    if let Some((head, args)) = outer_call(text) {
        return call(indent, head, &[args]);
    }
    let Some((target, value)) = text.split_once(" = ") else { return line };
    let operands = [[" + ", " - "], [" * ", " / "]].map(|signs| split_outside(value, &signs));
    match operands.into_iter().find(|operands| operands.len() > 1) {
        Some(operands) => {
            let lines: String = operands.iter().map(|operand| format!("{pad}    {operand}\n")).collect();
            format!("{pad}{target} = (\n{lines}{pad})\n")
        }
        None => line,
    }
}

/// Pieces of an expression cut before each of `signs` that stands outside brackets and strings; a
/// piece keeps its sign.
fn split_outside<'t>(text: &'t str, signs: &[&str]) -> Vec<&'t str> {
    let mut pieces = Vec::new();
    let mut depth = 0;
    let mut quoted = false;
    let mut start = 0;
    let mut escaped = false;
    for (i, c) in text.char_indices() {
        let literal = escaped;
        escaped = quoted && c == '\\' && !literal;
        match c {
            '"' if !literal => quoted = !quoted,
            '(' | '[' if !quoted => depth += 1,
            ')' | ']' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 && !quoted && signs.iter().any(|sign| text[i..].starts_with(sign)) {
            pieces.push(text[start..i].trim());
            start = i;
        }
    }
    pieces.push(text[start..].trim());
    pieces
}

/// `y = f(a, b)` as `y = f` and its arguments, when the statement's value is one call.
fn outer_call(text: &str) -> Option<(&str, Vec<String>)> {
    let (head, rest) = text.split_once('(')?;
    let function = head.split_once(" = ").map_or(head, |(_, value)| value).trim_start_matches("return ");
    if function.is_empty() || !function.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c)) {
        return None;
    }
    let inside = rest.strip_suffix(')')?;
    // The parenthesis that closes the first one must be the last.
    if split_outside(&text[head.len()..], &[")"]).len() != 2 {
        return None;
    }
    let args = split_outside(inside, &[", "]);
    Some((head, args.into_iter().map(|arg| arg.trim_start_matches(", ").to_owned()).collect()))
}

/// Items with a comma after each, filled into lines.
pub fn filled(indent: usize, items: &[String]) -> String {
    let pad = " ".repeat(indent);
    let mut text = String::new();
    let mut line = pad.clone();
    for item in items {
        let blank = usize::from(line.len() > indent);
        if blank == 1 && line.chars().count() + 2 + item.chars().count() > WIDTH {
            text += &line;
            text.push('\n');
            line = pad.clone();
        } else if blank == 1 {
            line.push(' ');
        }
        line += item;
        line.push(',');
    }
    text + &line + "\n"
}

/// Words of a paragraph, filled into lines.
pub fn paragraph(indent: usize, text: &str) -> String {
    let pad = " ".repeat(indent);
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            out += &format!("{pad}{line}\n");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    out + &format!("{pad}{line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_distinct() {
        let mut names = Names::new(&["torch"]);
        assert_eq!(names.fresh("layer1.0.conv1.weight"), "layer1_0_conv1_weight");
        assert_eq!(names.fresh("layer1_0/conv1:weight"), "layer1_0_conv1_weight_2");
        assert_eq!(names.fresh("torch"), "torch_2");
        assert_eq!(names.fresh("lambda"), "lambda_2");
        assert_eq!(names.fresh("495"), "v495");
        assert_eq!(names.fresh("é"), "value");
    }

    #[test]
    fn prose_ends_no_docstring_comment_or_code_span() {
        assert_eq!(prose("layer1.0/conv'é|"), "layer1.0/conv'é|");
        assert_eq!(prose("a\"\"\";print(1)\\\n\r\0`b\u{85}"), "a___;print(1)_____b_");
    }

    #[test]
    fn an_escaped_backslash_ends_no_string() {
        assert_eq!(split_outside("w[\"a\\\\\"] + w[\" + \"]", &[" + "]), ["w[\"a\\\\\"]", "+ w[\" + \"]"]);
    }

    #[test]
    fn literals_read_back() {
        assert_eq!(string("a\"b\\\n"), "\"a\\\"b\\\\\\n\"");
        assert_eq!(float(1e-5), "1e-5");
        assert_eq!(float(-0.0), "-0.0");
        assert_eq!(float(f64::NEG_INFINITY), "float(\"-inf\")");
        assert_eq!(float_of(DType::F32, f64::from(1e-5f32)), "1e-5");
        assert_eq!(float_of(DType::F64, f64::from(1e-5f32)), "9.999999747378752e-6");
        assert_eq!(tuple(&[1]), "(1,)");
    }

    #[test]
    fn long_calls_are_filled() {
        let args: Vec<String> = (0..30).map(|i| format!("argument_{i}")).collect();
        let text = call(4, "f", &[args, vec!["last=1".to_owned()]]);
        assert!(text.lines().all(|l| l.len() <= 100));
        assert!(text.ends_with(",\n        last=1,\n    )\n"));
        assert_eq!(call(0, "f", &[vec!["a".into()], vec!["b=1".into()]]), "f(a, b=1)\n");
        let name = "n".repeat(60);
        assert_eq!(statement(4, &format!("y = f({name}, g(a, b), w[\"(, \"])")).lines().count(), 1);
        let folded = statement(0, &format!("y = f({name}, g(a, b), w[\"(,\"], {name})"));
        assert_eq!(folded, format!("y = f(\n    {name}, g(a, b), w[\"(,\"],\n    {name},\n)\n"));
        assert!(outer_call("(a + b) * (c + d)").is_none());
        assert!(outer_call("y = f(a).reshape(3, 4)").is_none());
        let sum = statement(0, &format!("y = {name} * w[\" + \"] - f(a + {name})"));
        assert_eq!(sum, format!("y = (\n    {name} * w[\" + \"]\n    - f(a + {name})\n)\n"));
    }
}
