//! Texts damaged token by token, so that what comes out is nearly right.

use crate::choices::Choices;

/// Tokens that stand where others stood.
const TOKENS: [&str; 48] = [
    "0",
    "1",
    "-1",
    "2",
    "7",
    "16",
    "31",
    "32",
    "64",
    "1024",
    "2147483647",
    "-2147483648",
    "2147483648",
    "9223372036854775807",
    "1e300",
    "0.5",
    "float('nan')",
    "None",
    "True",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "=",
    "+",
    "*",
    "//",
    "%",
    "<<",
    "\n",
    "    ",
    "i1",
    "i64",
    "f32",
    "tensor<4xi32>",
    "tensor<0xf32>",
    "tensor<1048576x1048576xf32>",
    "!tt.ptr<f32>",
    "%0",
    "^bb1",
    "tl.float16",
    "tl.arange(0, 16)",
    "x_ptr",
    "\u{fffd}",
];

/// Damages a text in up to four places.
pub fn damaged(text: &str, choices: &mut Choices<'_>) -> String {
    let mut tokens: Vec<&str> = split(text);
    let edits = 1 + choices.below(4);
    for _ in 0..edits {
        if tokens.is_empty() {
            break;
        }
        let at = choices.below(tokens.len());
        let other = choices.below(tokens.len());
        match choices.below(8) {
            0 => drop(tokens.remove(at)),
            1 => tokens[at] = choices.of(&TOKENS),
            2 => tokens.insert(at, choices.of(&TOKENS)),
            3 => tokens.swap(at, other),
            4 => tokens[at] = tokens[other],
            5 => tokens.insert(at, tokens[other]),
            6 => {
                // A line away.
                let end = tokens[at..].iter().position(|t| *t == "\n").map_or(tokens.len(), |n| at + n + 1);
                tokens.drain(at..end);
            }
            _ => {
                // A stretch twice.
                let end = (at + 1 + choices.below(24)).min(tokens.len());
                let stretch: Vec<&str> = tokens[at..end].to_vec();
                tokens.splice(at..at, stretch);
            }
        }
    }
    tokens.concat()
}

/// Words, numbers, single other characters; nothing is lost.
fn split(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        tokens.push(&rest[..length]);
        rest = &rest[length..];
    }
    tokens
}

/// Damages bytes in up to four places.
pub fn damaged_bytes(bytes: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + choices.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = choices.below(bytes.len().min(65_536));
        match choices.below(4) {
            0 => bytes[at] = choices.below(256) as u8,
            1 => bytes.truncate(at),
            2 => drop(bytes.remove(at)),
            _ => bytes.insert(at, b"[]{}(),:#-'\"\n 0*9\xff"[choices.below(18)]),
        }
    }
    bytes
}
