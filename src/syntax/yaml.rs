//! YAML with positions: the only file that knows serde_yaml.
//!
//! serde_yaml gives places for its own errors only, so its value tree is walked beside the text: the
//! scalars of a document stand in the text in the order of the tree, and a small scanner steps
//! over indicators and comments from one to the next. Anchors, aliases and tags would break that
//! correspondence and are refused. Every node then carries its span, and the typed accessors make
//! a U007 that names file, line and column.
//!
//! Does not catch: nothing is lost of the values; a span may be empty where a value is (`key:`).

use std::sync::Arc;

use super::ast::{Expr, ExprKind};
use super::parse::parse_expression_at;
use crate::diag::{Diagnostic, Result, codes};
use crate::source::{SourceFile, Span};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Yaml {
    pub kind: YamlKind,
    pub span: Span,
    pub file: Arc<SourceFile>,
}

#[derive(Clone, Debug)]
pub enum YamlKind {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    List(Vec<Yaml>),
    /// In the order of the text; keys are distinct.
    Map(Vec<Entry>),
}

/// `key: value`. Keys that are numbers or bools are kept as written by Rust's `Display`.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    pub key_span: Span,
    pub value: Yaml,
}

/// Parses a text of one document.
pub fn parse(file: &Arc<SourceFile>) -> Result<Yaml> {
    let value: serde_yaml::Value = serde_yaml::from_str(file.text()).map_err(|error| {
        let message = error.to_string();
        let message = message.rfind(" at line ").map_or(message.as_str(), |end| &message[..end]);
        let diagnostic = Diagnostic::new(&codes::YAML_INVALID, message);
        Box::new(match error.location() {
            Some(place) => {
                let at = offset_of(file.text(), place.line(), place.column());
                diagnostic.at(file, Span::new(at, at))
            }
            None => diagnostic.in_file(file.name()),
        })
    })?;
    Locator { file, text: file.text(), at: 0 }.node(&value)
}

/// The byte offset of a one-based line and column that counts characters.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = &text[start..];
    start + rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(i, _)| i)
}

impl Yaml {
    /// A U007 that points here.
    pub fn error(&self, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&codes::YAML_INVALID, message).at(&self.file, self.span))
    }

    fn expected(&self, what: &str) -> Box<Diagnostic> {
        self.error(format!("expected {what}, found {}", self.describe()))
    }

    fn describe(&self) -> String {
        match &self.kind {
            YamlKind::Null => "nothing".to_owned(),
            YamlKind::Bool(b) => format!("`{b}`"),
            YamlKind::Int(i) => format!("`{i}`"),
            YamlKind::Float(x) => format!("`{x}`"),
            YamlKind::Str(s) => format!("\"{s}\""),
            YamlKind::List(_) => "a list".to_owned(),
            YamlKind::Map(_) => "a mapping".to_owned(),
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.kind, YamlKind::Null)
    }

    pub fn as_str(&self) -> Result<&str> {
        match &self.kind {
            YamlKind::Str(s) => Ok(s),
            _ => Err(self.expected("a string")),
        }
    }

    pub fn as_int(&self) -> Result<i64> {
        match self.kind {
            YamlKind::Int(i) => Ok(i),
            _ => Err(self.expected("an integer")),
        }
    }

    /// A number that is not negative.
    pub fn as_usize(&self) -> Result<usize> {
        let int = self.as_int()?;
        usize::try_from(int).map_err(|_| self.expected("an integer that is not negative"))
    }

    /// An integer or a float.
    pub fn as_float(&self) -> Result<f64> {
        match self.kind {
            YamlKind::Float(x) => Ok(x),
            YamlKind::Int(i) => Ok(i as f64),
            _ => Err(self.expected("a number")),
        }
    }

    pub fn as_bool(&self) -> Result<bool> {
        match self.kind {
            YamlKind::Bool(b) => Ok(b),
            _ => Err(self.expected("true or false")),
        }
    }

    pub fn as_list(&self) -> Result<&[Yaml]> {
        match &self.kind {
            YamlKind::List(items) => Ok(items),
            _ => Err(self.expected("a list")),
        }
    }

    pub fn as_int_list(&self) -> Result<Vec<i64>> {
        let YamlKind::List(items) = &self.kind else { return Err(self.expected("a list of integers")) };
        items.iter().map(|item| item.as_int().map_err(|_| item.expected("an integer in a list of integers"))).collect()
    }

    pub fn as_str_list(&self) -> Result<Vec<&str>> {
        let YamlKind::List(items) = &self.kind else { return Err(self.expected("a list of strings")) };
        items.iter().map(|item| item.as_str().map_err(|_| item.expected("a string in a list of strings"))).collect()
    }

    pub fn as_map(&self) -> Result<&[Entry]> {
        match &self.kind {
            YamlKind::Map(entries) => Ok(entries),
            _ => Err(self.expected("a mapping")),
        }
    }

    /// The value of a key of a mapping, if it is there.
    pub fn get(&self, key: &str) -> Result<Option<&Yaml>> {
        Ok(self.as_map()?.iter().find(|entry| entry.key == key).map(|entry| &entry.value))
    }

    /// The value of a key that must be there.
    pub fn require(&self, key: &str) -> Result<&Yaml> {
        self.get(key)?.ok_or_else(|| self.error(format!("missing key `{key}`")))
    }

    /// Refuses keys outside a list.
    pub fn only_keys(&self, known: &[&str]) -> Result<()> {
        match self.as_map()?.iter().find(|entry| !known.contains(&entry.key.as_str())) {
            None => Ok(()),
            Some(entry) => Err(entry.key_error(&self.file, known)),
        }
    }

    /// The value as a Python expression: a string's text is parsed, a number or bool is itself.
    /// The file that goes with the expression's spans is this one where the string stands in it
    /// unescaped on one line, else a file of the expression alone.
    pub fn as_expression(&self) -> Result<(Arc<SourceFile>, Expr)> {
        let kind = match &self.kind {
            YamlKind::Bool(b) => ExprKind::Bool(*b),
            YamlKind::Int(i) => ExprKind::Int(*i),
            YamlKind::Float(x) => ExprKind::Float(*x),
            YamlKind::Str(text) => return self.parse_string(text),
            YamlKind::Null | YamlKind::List(_) | YamlKind::Map(_) => return Err(self.expected("a Python expression")),
        };
        Ok((self.file.clone(), Expr { kind, span: self.span }))
    }

    fn parse_string(&self, text: &str) -> Result<(Arc<SourceFile>, Expr)> {
        let raw = self.file.slice(self.span);
        let inset = usize::from(raw.starts_with(['"', '\'']));
        let inner = raw.get(inset..raw.len().saturating_sub(inset)).unwrap_or("");
        let start = self.span.start as usize + inset;
        if inner == text && !text.contains('\n') {
            return Ok((self.file.clone(), parse_expression_at(&self.file, Span::new(start, start + text.len()))?));
        }
        let place = self.file.position(self.span.start);
        let file = SourceFile::new(format!("{}:{}", self.file.name(), place.line), text);
        let expr = parse_expression_at(&file, Span::new(0, text.len()))?;
        Ok((file, expr))
    }
}

impl Entry {
    /// A U007 that names the key and those that are known.
    pub fn key_error(&self, file: &Arc<SourceFile>, known: &[&str]) -> Box<Diagnostic> {
        let message = format!("unknown key `{}`; known: {}", self.key, known.join(", "));
        Box::new(Diagnostic::new(&codes::YAML_INVALID, message).at(file, self.key_span))
    }
}

/// Steps through the text from scalar to scalar, in the order of the value tree.
struct Locator<'a> {
    file: &'a Arc<SourceFile>,
    text: &'a str,
    at: usize,
}

impl Locator<'_> {
    fn refuse(&self, at: usize, message: impl Into<String>) -> Box<Diagnostic> {
        let length = self.text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        Box::new(Diagnostic::new(&codes::YAML_INVALID, message).at(self.file, Span::new(at, at + length)))
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Steps over blanks, comments and indicators. Stops before `[` and `{` when `stop_at_open`.
    fn skip(&mut self, stop_at_open: bool) {
        loop {
            let rest = self.rest();
            let Some(first) = rest.chars().next() else { return };
            let blank_follows = rest[first.len_utf8()..].chars().next().is_none_or(char::is_whitespace);
            let starts_line = self.at == 0 || self.text.as_bytes()[self.at - 1] == b'\n';
            let step = match first {
                '#' => rest.find('\n').unwrap_or(rest.len()),
                '[' | '{' if stop_at_open => return,
                '[' | '{' | ']' | '}' | ',' => 1,
                // A `:` directly after a quoted key in a flow mapping needs no blank behind it.
                ':' => 1,
                '-' if starts_line && (rest.starts_with("---") || rest.starts_with("--- ")) => 3,
                '%' if starts_line => rest.find('\n').unwrap_or(rest.len()),
                '-' | '?' if blank_follows => 1,
                c if c.is_whitespace() || c == '\u{feff}' => c.len_utf8(),
                _ => return,
            };
            self.at += step;
        }
    }

    fn node(&mut self, value: &serde_yaml::Value) -> Result<Yaml> {
        use serde_yaml::Value;
        let (kind, span) = match value {
            Value::Sequence(items) => {
                let open = self.open();
                let list = items.iter().map(|item| self.node(item)).collect::<Result<Vec<_>>>()?;
                let span = self.cover(open, list.first().map(|item| item.span));
                (YamlKind::List(list), span)
            }
            Value::Mapping(map) => {
                let open = self.open();
                let mut entries = Vec::with_capacity(map.len());
                for (key, value) in map {
                    let (kind, key_span) = self.scalar(key)?;
                    let key = match kind {
                        YamlKind::Str(s) => s,
                        YamlKind::Null => "null".to_owned(),
                        YamlKind::Bool(b) => b.to_string(),
                        YamlKind::Int(i) => i.to_string(),
                        YamlKind::Float(x) => x.to_string(),
                        YamlKind::List(_) | YamlKind::Map(_) => {
                            return Err(self.refuse(key_span.start as usize, "a key is a string"));
                        }
                    };
                    entries.push(Entry { key, key_span, value: self.node(value)? });
                }
                let span = self.cover(open, entries.first().map(|entry| entry.key_span));
                (YamlKind::Map(entries), span)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Tagged(_) => self.scalar(value)?,
        };
        Ok(Yaml { kind, span, file: self.file.clone() })
    }

    /// Where a flow collection opens, if one does.
    fn open(&mut self) -> Option<usize> {
        let before = self.at;
        self.skip(true);
        if self.rest().starts_with(['[', '{']) {
            self.at += 1;
            return Some(self.at - 1);
        }
        self.at = before;
        None
    }

    /// A collection's span: from where it opens, or its first child, to where we are.
    fn cover(&mut self, open: Option<usize>, first: Option<Span>) -> Span {
        if open.is_some() {
            let close = self.rest().find([']', '}']);
            self.at += close.map_or(0, |i| i + 1);
        }
        let start = open.or(first.map(|span| span.start as usize)).unwrap_or(self.at);
        Span::new(start, self.at.max(start))
    }

    fn scalar(&mut self, value: &serde_yaml::Value) -> Result<(YamlKind, Span)> {
        use serde_yaml::Value;
        let before = self.at;
        self.skip(false);
        let start = self.at;
        if self.rest().starts_with(['&', '*', '!']) {
            return Err(self.refuse(start, "anchors, aliases and tags are not supported"));
        }
        let kind = match value {
            Value::Null => YamlKind::Null,
            Value::Bool(b) => YamlKind::Bool(*b),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(int), _) => YamlKind::Int(int),
                (None, Some(float)) if number.is_f64() => YamlKind::Float(float),
                _ => return Err(self.refuse(start, format!("{number} is beyond 64 bits"))),
            },
            Value::String(text) => YamlKind::Str(text.clone()),
            Value::Sequence(_) | Value::Mapping(_) => return Err(self.refuse(start, "a key is a string")),
            Value::Tagged(_) => return Err(self.refuse(start, "anchors, aliases and tags are not supported")),
        };
        let length = match &kind {
            YamlKind::Null => {
                let word = self.plain_word();
                if !matches!(&self.rest()[..word], "~" | "null" | "Null" | "NULL") {
                    // Nothing is written: `key:`. The next token belongs to the next node.
                    self.at = before;
                    return Ok((kind, Span::new(before, before)));
                }
                word
            }
            YamlKind::Str(text) => self.string_length(text),
            YamlKind::Bool(_) | YamlKind::Int(_) | YamlKind::Float(_) | YamlKind::List(_) | YamlKind::Map(_) => self.plain_word(),
        };
        self.at += length;
        Ok((kind, Span::new(start, self.at)))
    }

    /// Length of a plain scalar without blanks.
    fn plain_word(&self) -> usize {
        let rest = self.rest();
        let ends = |(i, c): &(usize, char)| {
            c.is_whitespace() || ",]}".contains(*c) || (*c == ':' && rest[i + 1..].chars().next().is_none_or(char::is_whitespace))
        };
        rest.char_indices().find(ends).map_or(rest.len(), |(i, _)| i)
    }

    /// Length of a string as written: quoted, a block, or plain (perhaps over several lines).
    fn string_length(&self, text: &str) -> usize {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        match bytes.first() {
            Some(b'"') => {
                let mut i = 1;
                while i < bytes.len() && bytes[i] != b'"' {
                    i += 1 + usize::from(bytes[i] == b'\\');
                }
                (i + 1).min(bytes.len())
            }
            Some(b'\'') => {
                let mut i = 1;
                while i < bytes.len() && (bytes[i] != b'\'' || bytes.get(i + 1) == Some(&b'\'')) {
                    i += 1 + usize::from(bytes[i] == b'\'');
                }
                (i + 1).min(bytes.len())
            }
            Some(b'|' | b'>') => block_length(rest),
            _ => {
                // Folding replaces line breaks and indentation by one blank: compare what is not blank.
                let mut written = rest.char_indices();
                for wanted in text.chars().filter(|c| !c.is_whitespace()) {
                    if written.by_ref().find(|(_, c)| !c.is_whitespace()).is_none_or(|(_, c)| c != wanted) {
                        return 0;
                    }
                }
                written.next().map_or(rest.len(), |(i, _)| i)
            }
        }
    }
}

/// Length of a `|` or `>` scalar: its header line and all lines that are blank or indented as the first.
fn block_length(rest: &str) -> usize {
    let mut length = 0;
    let mut indent = None;
    for (i, line) in rest.split_inclusive('\n').enumerate() {
        let blank = line.trim().is_empty();
        if i > 0 && !blank {
            let here = line.len() - line.trim_start_matches(' ').len();
            if here == 0 || here < *indent.get_or_insert(here) {
                break;
            }
        }
        length += line.len();
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::render::render;

    const TEXT: &str = "\
# registry
implements: MatMul   # comment
axes: {b: many, m: 1}
'quoted: key': [1, -2, \"x # y\", 3.5]
launches:
  - {when: \"SPLIT_K == 1\", kernel: matmul}
  - when: True
    work: cdiv(M, BM) *
      B
empty:
text: |
  a: 1
  b
last: ~
";

    fn walk<'a>(yaml: &'a Yaml, out: &mut Vec<&'a str>) {
        match &yaml.kind {
            YamlKind::List(items) => items.iter().for_each(|item| walk(item, out)),
            YamlKind::Map(entries) => {
                for entry in entries {
                    out.push(yaml.file.slice(entry.key_span));
                    walk(&entry.value, out);
                }
            }
            _ => out.push(yaml.file.slice(yaml.span)),
        }
    }

    #[test]
    fn every_node_knows_its_place() {
        let yaml = parse(&SourceFile::new("t.yaml", TEXT)).unwrap();
        let mut out = Vec::new();
        walk(&yaml, &mut out);
        assert_eq!(
            out,
            [
                "implements",
                "MatMul",
                "axes",
                "b",
                "many",
                "m",
                "1",
                "'quoted: key'",
                "1",
                "-2",
                "\"x # y\"",
                "3.5",
                "launches",
                "when",
                "\"SPLIT_K == 1\"",
                "kernel",
                "matmul",
                "when",
                "True",
                "work",
                "cdiv(M, BM) *\n      B",
                "empty",
                "",
                "text",
                "|\n  a: 1\n  b\n",
                "last",
                "~"
            ]
        );
        let axes = yaml.require("axes").unwrap();
        assert_eq!(yaml.file.slice(axes.span), "{b: many, m: 1}");
        let work = yaml.require("launches").unwrap().as_list().unwrap()[1].require("work").unwrap();
        assert_eq!(work.as_str().unwrap(), "cdiv(M, BM) * B");
    }

    #[test]
    fn errors_carry_file_line_and_column() {
        let yaml = parse(&SourceFile::new("t.yaml", TEXT)).unwrap();
        let launches = yaml.require("launches").unwrap().as_list().unwrap();
        expect_test::expect![[r#"
            error[U007]: unknown key `kernel`; known: when, work
             --> t.yaml:6:28
              |
            6 |   - {when: "SPLIT_K == 1", kernel: matmul}
              |                            ^^^^^^ invalid YAML"#]]
        .assert_eq(&render(&launches[0].only_keys(&["when", "work"]).unwrap_err(), false));
        let list = yaml.require("quoted: key").unwrap();
        let message = list.as_int_list().unwrap_err();
        assert_eq!(message.message, "expected an integer in a list of integers, found \"x # y\"");
        let (file, expr) = launches[0].require("when").unwrap().as_expression().unwrap();
        assert_eq!(file.slice(expr.span), "SPLIT_K == 1");
        assert_eq!(file.name(), "t.yaml");
    }

    #[test]
    fn bad_texts_are_refused_with_a_place() {
        for (text, message) in [
            ("a: [1, 2", "did not find expected ',' or ']'"),
            ("a: 1\na: 2\n", "duplicate entry with key \"a\""),
            ("# ç ç ç ç ç\nç: [ç", "did not find expected ',' or ']'"),
            ("? [ç, 1]\n: 2\n", "a key is a string"),
            ("a: &x 1\nb: *x\n", "anchors, aliases and tags are not supported"),
            ("a: !t 1\n", "anchors, aliases and tags are not supported"),
            ("a: 99999999999999999999\n", "99999999999999999999"),
        ] {
            let error = parse(&SourceFile::new("t.yaml", text)).unwrap_err();
            assert_eq!(error.code.id, "U007");
            assert!(error.message.contains(message), "{text}: {}", error.message);
            assert!(error.place.is_some());
        }
    }
}
