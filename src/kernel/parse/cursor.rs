//! The text under the parser: blanks, words, numbers, strings, attributes.

use std::collections::HashMap;

use super::Parser;
use crate::diag::{Diagnostic, Result, codes};
use crate::source::Span;

impl<'t> Parser<'t> {
    pub(super) fn span_from(&self, start: usize) -> Span {
        // Looking for attributes steps over blanks.
        let read = self.text.get(start..self.at).unwrap_or("");
        Span::new(start, start + read.trim_end().len())
    }

    pub(super) fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        let end = self.text[self.at..].find(char::is_whitespace).map_or(self.text.len(), |i| self.at + i);
        Err(Box::new(Diagnostic::new(&codes::IR_SYNTAX, message).at(self.file, Span::new(self.at, end.max(self.at)))))
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Steps over blanks and comments.
    pub(super) fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    pub(super) fn peek(&mut self, token: &str) -> bool {
        self.skip();
        self.rest().starts_with(token)
    }

    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.peek(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(super) fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { self.error(format!("expected `{token}`")) }
    }

    /// A run of identifier characters, dots included.
    pub(super) fn word(&mut self) -> &'t str {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'))).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    pub(super) fn int(&mut self) -> Result<i64> {
        self.skip();
        let rest = self.rest();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()) + (rest.len() - digits.len());
        match rest[..end].parse() {
            Ok(int) => {
                self.at += end;
                Ok(int)
            }
            Err(_) => self.error("expected an integer of at most 64 bits"),
        }
    }

    /// Steps over a bracketed text, brackets and strings inside it included.
    pub(super) fn skip_balanced(&mut self, open: char, close: char) -> Result<()> {
        let mut depth = 0usize;
        let mut quoted = false;
        let mut escaped = false;
        for (i, c) in self.rest().char_indices() {
            if quoted {
                match c {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    '"' => quoted = false,
                    _ => {}
                }
            } else if c == '"' {
                quoted = true;
            } else if c == open {
                depth += 1;
            } else if c == close {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    self.at += i + c.len_utf8();
                    return Ok(());
                }
            }
        }
        self.error(format!("`{open}` without `{close}`"))
    }

    /// `loc(…)`, if there is one.
    pub(super) fn skip_location(&mut self) -> Result<()> {
        if self.peek("loc(") {
            self.at += 3;
            self.skip_balanced('(', ')')?;
        }
        Ok(())
    }

    pub(super) fn string(&mut self) -> Result<String> {
        self.expect("\"")?;
        match unquoted(self.rest()) {
            Ok((text, length)) => {
                self.at += length;
                Ok(text)
            }
            Err(why) => self.error(why),
        }
    }

    /// Attributes that change nothing: `{…}`, `overflow<…>`, `fastmath<…>`, `cacheModifier = ca`.
    pub(super) fn skip_attributes(&mut self) -> Result<()> {
        loop {
            if self.peek("{") {
                let start = self.at;
                self.skip_balanced('{', '}')?;
                self.note(start)?;
            } else if self.eat("overflow") || self.eat("fastmath") {
                self.skip();
                self.skip_balanced('<', '>')?;
            } else if self.eat("cacheModifier") || self.eat("evictionPolicy") || self.eat("cache") || self.eat("evict") {
                self.expect("=")?;
                self.word();
            } else if !(self.eat("allow_reorder") || self.eat("efficient_layout")) {
                return Ok(());
            }
        }
    }

    /// The text of `key = …` in the attribute dictionary that follows; the dictionary is consumed.
    pub(super) fn attributes(&mut self) -> Result<HashMap<&'t str, &'t str>> {
        let mut map = HashMap::new();
        self.skip();
        let open = self.at;
        self.expect("{")?;
        while !self.eat("}") {
            if !map.is_empty() {
                self.expect(",")?;
            }
            let key = self.word();
            if !self.eat("=") {
                map.insert(key, "");
                continue;
            }
            self.skip();
            let start = self.at;
            let mut depth = 0;
            let (mut quoted, mut escaped) = (false, false);
            for (i, c) in self.rest().char_indices() {
                match c {
                    _ if escaped => escaped = false,
                    '\\' if quoted => escaped = true,
                    '"' => quoted = !quoted,
                    _ if quoted => {}
                    '<' | '(' | '[' => depth += 1,
                    '>' | ')' | ']' => depth -= 1,
                    ',' | '}' if depth == 0 => {
                        self.at += i;
                        break;
                    }
                    _ => {}
                }
            }
            if key.is_empty() || self.at == start {
                return self.error("expected an attribute");
            }
            map.insert(key, self.text[start..self.at].trim());
        }
        self.note(open)?;
        Ok(map)
    }

    /// An integer attribute such as `axis = 1 : i32`.
    pub(super) fn int_attribute(&self, map: &HashMap<&str, &str>, key: &str) -> Result<i64> {
        let text = map.get(key).map(|text| text.split(':').next().unwrap_or("").trim());
        match text.and_then(|text| text.parse().ok()) {
            Some(int) => Ok(int),
            None => self.error(format!("expected the attribute `{key}`")),
        }
    }

    /// A string attribute such as `symbol = "__nv_expf"`.
    pub(super) fn text_attribute(&self, map: &HashMap<&str, &str>, key: &str) -> Result<String> {
        let Some(text) = map.get(key) else { return self.error(format!("expected the attribute `{key}`")) };
        match text.strip_prefix('"').map(unquoted) {
            Some(Ok((decoded, length))) if length + 1 == text.len() => Ok(decoded),
            Some(Err(why)) => self.error(why),
            Some(Ok(_)) | None => self.error(format!("`{key}` is no string")),
        }
    }

    pub(super) fn axis_attribute(&self, map: &HashMap<&str, &str>, key: &str) -> Result<u8> {
        match u8::try_from(self.int_attribute(map, key)?) {
            Ok(axis) => Ok(axis),
            Err(_) => self.error(format!("`{key}` is no axis")),
        }
    }
}

/// What a string behind its opening quote says, and how long it is with its closing one.
fn unquoted(text: &str) -> std::result::Result<(String, usize), &'static str> {
    const OPEN: &str = "a string without end";
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    loop {
        match rest.next().ok_or(OPEN)? {
            b'"' => break,
            b'\\' => match rest.next().ok_or(OPEN)? {
                c @ (b'"' | b'\\') => bytes.push(c),
                high => {
                    let pair = [high, rest.next().ok_or(OPEN)?];
                    let digits = std::str::from_utf8(&pair).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok());
                    bytes.push(digits.ok_or("an escape other than two hex digits")?);
                }
            },
            other => bytes.push(other),
        }
    }
    Ok((String::from_utf8_lossy(&bytes).into_owned(), text.len() - rest.len()))
}
