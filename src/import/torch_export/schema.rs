//! The signatures of ATen operators: `schemas.txt`, one a line, as PyTorch's own registry prints them
//! (`str(schema)` of `torch._C._jit_get_all_schemas()`, without the namespace).
//!
//! A program leaves out trailing arguments that have their defaults, so the table says what they are. It also says
//! which result shares its operand's memory (`Tensor(a)`: a view) and which operand is written (`Tensor(a!)`).

use std::collections::HashMap;
use std::sync::LazyLock;

use super::arguments::Arg;

/// One operator's signature.
#[derive(Debug)]
pub struct Schema {
    /// `conv2d`, `add.Tensor`.
    pub name: &'static str,
    pub parameters: Vec<Parameter>,
}

#[derive(Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    /// How many entries a list has, where the type says so (`int[2]`).
    pub length: Option<usize>,
    /// The operator writes into it.
    pub written: bool,
    pub default: Option<Arg>,
}

/// What a parameter holds, `None` aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tensor,
    Tensors,
    Int,
    Ints,
    Float,
    Floats,
    Bool,
    Bools,
    /// A Python number of any kind.
    Scalar,
    Text,
    Dtype,
    /// Layout, device, memory format.
    Placement,
}

static SCHEMAS: LazyLock<HashMap<&'static str, Schema>> = LazyLock::new(|| {
    let lines = include_str!("schemas.txt").lines().filter(|line| !line.is_empty());
    lines.map(|line| schema(line).expect("invariant: the table of schemas is well formed")).map(|s| (s.name, s)).collect()
});

/// The signature of an operator, named as in the table.
pub fn find(name: &str) -> Option<&'static Schema> {
    SCHEMAS.get(name)
}

/// Names of all operators of the table.
#[cfg(test)]
pub fn names() -> impl Iterator<Item = &'static str> {
    SCHEMAS.keys().copied()
}

fn schema(line: &'static str) -> Option<Schema> {
    let (name, rest) = line.split_once('(')?;
    let (parameters, _) = rest.rsplit_once(") -> ")?;
    let parameters = pieces(parameters).into_iter().filter(|piece| *piece != "*").map(parameter).collect::<Option<_>>()?;
    Some(Schema { name, parameters })
}

/// The text between commas that stand in no bracket.
fn pieces(text: &'static str) -> Vec<&'static str> {
    let (mut pieces, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(text[start..].trim());
    pieces.into_iter().filter(|piece| !piece.is_empty()).collect()
}

fn parameter(text: &'static str) -> Option<Parameter> {
    let (declared, default) = match text.split_once('=') {
        Some((declared, default)) => (declared, Some(default)),
        None => (text, None),
    };
    let (ty, name) = declared.rsplit_once(' ')?;
    let written = ty.contains('!');
    let (base, brackets) = match ty.split_once('[') {
        Some((base, brackets)) => (base, Some(brackets)),
        None => (ty, None),
    };
    let base = base.split('(').next()?.trim_end_matches('?');
    let length = brackets.and_then(|brackets| brackets.split(']').next()?.parse().ok());
    let kind = match (base, brackets.is_some()) {
        ("Tensor", false) => Kind::Tensor,
        ("Tensor", true) => Kind::Tensors,
        ("int" | "SymInt", false) => Kind::Int,
        ("int" | "SymInt", true) => Kind::Ints,
        ("float", false) => Kind::Float,
        ("float", true) => Kind::Floats,
        ("bool", false) => Kind::Bool,
        ("bool", true) => Kind::Bools,
        ("Scalar", false) => Kind::Scalar,
        ("str", false) => Kind::Text,
        ("ScalarType", false) => Kind::Dtype,
        ("Layout" | "Device" | "MemoryFormat", false) => Kind::Placement,
        _ => return None,
    };
    let default = match default {
        Some(default) => Some(literal(default)?.fitted(kind, length)?),
        None => None,
    };
    Some(Parameter { name, kind, length, written, default })
}

fn literal(text: &str) -> Option<Arg> {
    if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let ints = inside.split(',').map(str::trim).filter(|i| !i.is_empty()).map(|i| i.parse().ok());
        return ints.collect::<Option<_>>().map(Arg::Ints);
    }
    if let Some(quoted) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return Some(Arg::Text(quoted.to_owned()));
    }
    match text {
        "None" => Some(Arg::None),
        "True" => Some(Arg::Bool(true)),
        "False" => Some(Arg::Bool(false)),
        number => number.parse().map(Arg::Int).or_else(|_| number.parse().map(Arg::Float)).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_read() {
        let conv = find("conv2d").unwrap();
        let stride = conv.parameters.iter().find(|p| p.name == "stride").unwrap();
        assert_eq!((stride.kind, stride.length, &stride.default), (Kind::Ints, Some(2), &Some(Arg::Ints(vec![1, 1]))));
        let add = find("add_.Tensor").unwrap();
        assert!(add.parameters[0].written && !add.parameters[1].written);
        assert_eq!(add.parameters[2].default, Some(Arg::Int(1)));
        let pool = find("max_pool2d").unwrap();
        assert_eq!(pool.parameters[3].default, Some(Arg::Ints(vec![0, 0])));
        let split = find("split.Tensor").unwrap();
        assert_eq!((split.parameters[0].kind, split.parameters[0].written), (Kind::Tensor, false));
        let pad = find("pad").unwrap();
        assert_eq!(pad.parameters[2].default, Some(Arg::Text("constant".to_owned())));
    }
}
