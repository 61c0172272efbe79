//! Reads back what [`print`](super::print) writes.
//!
//! ```text
//! expr  = (NAME "=" term ";")* term
//! term  = NAME "(" term ("," term)* ")" | NAME (":" DTYPE)? | number (":" DTYPE)?
//! index = item (("+" | "-") item)*          item = atom (("*" | "//" | "%") integer)*
//! atom  = "d" digits | "r" digits | integer | "(" index ")"
//! ```
//!
//! Recursive descent; nesting beyond [`DEEPEST`] is refused, so that no text overflows the stack.

use std::collections::HashMap;
use std::fmt;

use super::index::Index;
use super::typing::complaint;
use super::{Binary, Compare, Constant, Expr, ExprBuilder, ExprId, Node, Unary};
use crate::dtype::DType;

/// Nesting of parentheses.
const DEEPEST: usize = 500;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Byte offset into the text.
    pub at: usize,
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.message, self.at)
    }
}

impl std::error::Error for ParseError {}

type Result<T> = std::result::Result<T, ParseError>;

/// Reads an expression whose k-th read has type `reads[k]`.
pub fn parse(text: &str, reads: &[DType]) -> Result<Expr> {
    let mut p = Parser { text, at: 0, depth: 0 };
    let mut builder = ExprBuilder::new();
    let mut names: HashMap<&str, ExprId> = HashMap::new();
    loop {
        let start = p.at;
        if let Some(name) = p.word().filter(|_| p.take("=")) {
            let id = p.term(&mut builder, reads, &names)?;
            names.insert(name, id);
            p.want(";")?;
            continue;
        }
        p.at = start;
        let root = p.term(&mut builder, reads, &names)?;
        p.end()?;
        return Ok(builder.finish(root));
    }
}

/// Reads an index expression.
pub fn parse_index(text: &str) -> Result<Index> {
    let mut p = Parser { text, at: 0, depth: 0 };
    let index = p.index()?;
    p.end()?;
    Ok(index)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(ParseError { at: self.at, message: message.into() })
    }

    /// What is left, after blanks.
    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn take(&mut self, token: &str) -> bool {
        let hit = self.rest().starts_with(token);
        if hit {
            self.at += token.len();
        }
        hit
    }

    fn want(&mut self, token: &str) -> Result<()> {
        if self.take(token) { Ok(()) } else { self.error(format!("`{token}` is missing")) }
    }

    fn end(&mut self) -> Result<()> {
        if self.rest().is_empty() { Ok(()) } else { self.error("text after the end of the expression") }
    }

    /// An identifier.
    fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if len == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += len;
        Some(&rest[..len])
    }

    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return self.error(format!("nesting deeper than {DEEPEST}"));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    fn term(&mut self, b: &mut ExprBuilder, reads: &[DType], names: &HashMap<&str, ExprId>) -> Result<ExprId> {
        self.rest();
        let start = self.at;
        if let Some(constant) = self.number()? {
            let default = match constant {
                Constant::Float(_) => DType::F32,
                Constant::Int(_) => DType::I64,
                Constant::Bool(_) => DType::Bool,
            };
            let dtype = self.annotation(default)?;
            return self.build(b, start, Node::Constant(constant), dtype);
        }
        let Some(word) = self.word() else { return self.error("an expression is missing") };
        if let Some(&id) = names.get(word) {
            return Ok(id);
        }
        if !self.take("(") {
            if let Some(k) = numbered(word, "r") {
                let Some(&dtype) = reads.get(k) else {
                    self.at = start;
                    return self.error(format!("r{k} where there are {} reads", reads.len()));
                };
                return Ok(b.read(k as u32, dtype));
            }
            if let Some(k) = numbered(word, "d") {
                let dtype = self.annotation(DType::I64)?;
                return self.build(b, start, Node::Coordinate(k as u32), dtype);
            }
            self.at = start;
            return self.error(format!("unknown name `{word}`"));
        }
        let mut args = Vec::new();
        loop {
            args.push(self.deeper(|p| p.term(b, reads, names))?);
            if !self.take(",") {
                break;
            }
        }
        self.want(")")?;
        let (node, dtype) = self.call(start, word, &args, b)?;
        self.build(b, start, node, dtype)
    }

    /// The node that a call means, with its result type.
    fn call(&mut self, start: usize, word: &str, args: &[ExprId], b: &ExprBuilder) -> Result<(Node, DType)> {
        let by_name = (
            Unary::ALL.iter().find(|op| op.name() == word),
            Binary::ALL.iter().find(|op| op.name() == word),
            Compare::ALL.iter().find(|op| op.name() == word),
            DType::from_name(word),
        );
        let arity = match by_name {
            (Some(_), _, _, _) | (_, _, _, Some(_)) => 1,
            (_, Some(_), _, _) | (_, _, Some(_), _) => 2,
            _ if word == "select" => 3,
            _ => {
                self.at = start;
                return self.error(format!("unknown operator `{word}`"));
            }
        };
        if args.len() != arity {
            self.at = start;
            return self.error(format!("`{word}` takes {arity} operands and has {}", args.len()));
        }
        Ok(match by_name {
            (Some(&op), _, _, _) => (Node::Unary(op, args[0]), b.dtype(args[0])),
            (_, Some(&op), _, _) => (Node::Binary(op, args[0], args[1]), b.dtype(args[0])),
            (_, _, Some(&op), _) => (Node::Compare(op, args[0], args[1]), DType::Bool),
            (_, _, _, Some(dtype)) => (Node::Cast(args[0]), dtype),
            _ => (Node::Select(args[0], args[1], args[2]), b.dtype(args[1])),
        })
    }

    fn build(&mut self, b: &mut ExprBuilder, start: usize, node: Node, dtype: DType) -> Result<ExprId> {
        if let Some(message) = complaint(node, dtype, |id| b.dtype(id)) {
            self.at = start;
            return self.error(message);
        }
        Ok(b.node(node, dtype))
    }

    /// A type after `:`, or the default.
    fn annotation(&mut self, default: DType) -> Result<DType> {
        if !self.take(":") {
            return Ok(default);
        }
        let start = self.at;
        match self.word().and_then(DType::from_name) {
            Some(dtype) => Ok(dtype),
            None => {
                self.at = start;
                self.error("an element type is missing after `:`")
            }
        }
    }

    /// A number, `true`, `false`, `nan`, `inf` or `-inf`.
    fn number(&mut self) -> Result<Option<Constant>> {
        let rest = self.rest();
        for (name, constant) in [
            ("true", Constant::Bool(true)),
            ("false", Constant::Bool(false)),
            ("nan", Constant::float(f64::NAN)),
            ("inf", Constant::float(f64::INFINITY)),
            ("-inf", Constant::float(f64::NEG_INFINITY)),
        ] {
            if rest.strip_prefix(name).is_some_and(|r| !r.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')) {
                self.at += name.len();
                return Ok(Some(constant));
            }
        }
        if !rest.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        let bytes = rest.as_bytes();
        let exponent_sign = |i: usize| i > 0 && matches!(bytes[i], b'+' | b'-') && bytes[i - 1] == b'e';
        let len = (1..bytes.len())
            .find(|&i| !(bytes[i].is_ascii_digit() || matches!(bytes[i], b'.' | b'e') || exponent_sign(i)))
            .unwrap_or(bytes.len());
        let token = &rest[..len];
        let constant = if token.contains(['.', 'e']) {
            token.parse().ok().map(Constant::float)
        } else {
            token.parse().ok().map(Constant::Int)
        };
        let Some(constant) = constant else { return self.error(format!("`{token}` is no number")) };
        self.at += len;
        Ok(Some(constant))
    }

    fn index(&mut self) -> Result<Index> {
        let mut sum = self.item()?;
        loop {
            if self.take("+") {
                sum = Index::Add(Box::new(sum), Box::new(self.item()?));
            } else if self.take("-") {
                let negative = match self.item()? {
                    Index::Constant(c) => Index::Constant(c.wrapping_neg()),
                    other @ (Index::Dim(_)
                    | Index::Read(_)
                    | Index::Add(..)
                    | Index::Mul(..)
                    | Index::FloorDiv(..)
                    | Index::Mod(..)) => Index::Mul(Box::new(other), -1),
                };
                sum = Index::Add(Box::new(sum), Box::new(negative));
            } else {
                return Ok(sum);
            }
        }
    }

    fn item(&mut self) -> Result<Index> {
        let mut item = if self.take("(") {
            let inside = self.deeper(|p| p.index())?;
            self.want(")")?;
            inside
        } else if let Some(word) = self.word() {
            match (numbered(word, "d"), numbered(word, "r")) {
                (Some(i), _) => Index::Dim(i),
                (_, Some(k)) => Index::Read(k),
                _ => {
                    self.at -= word.len();
                    return self.error(format!("unknown name `{word}`"));
                }
            }
        } else {
            Index::Constant(self.integer()?)
        };
        loop {
            if self.take("*") {
                item = Index::Mul(Box::new(item), self.integer()?);
            } else if self.take("//") {
                item = Index::FloorDiv(Box::new(item), self.positive()?);
            } else if self.take("%") {
                item = Index::Mod(Box::new(item), self.positive()?);
            } else {
                return Ok(item);
            }
        }
    }

    fn integer(&mut self) -> Result<i64> {
        match self.number()? {
            Some(Constant::Int(value)) => Ok(value),
            Some(Constant::Float(_) | Constant::Bool(_)) | None => self.error("an integer is missing"),
        }
    }

    fn positive(&mut self) -> Result<i64> {
        self.rest();
        let start = self.at;
        let value = self.integer()?;
        if value > 0 {
            return Ok(value);
        }
        self.at = start;
        self.error(format!("a divisor must be positive, not {value}"))
    }
}

/// The number after a one-letter prefix: `r12`.
fn numbered(word: &str, prefix: &str) -> Option<usize> {
    let digits = word.strip_prefix(prefix)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(text: &str, reads: &[DType]) {
        assert_eq!(parse(text, reads).map(|e| e.to_string()).as_deref(), Ok(text));
    }

    #[test]
    fn expressions_read_back() {
        same("select(lt(r0, 0.0), 0.0, r0)", &[DType::F32]);
        same("t0 = exp(r0); div(t0, add(t0, 1.0))", &[DType::F32]);
        same("add(f32(r0), r1)", &[DType::F16, DType::F32]);
        same("mul(r0, -1.5:f16)", &[DType::F16]);
        same("select(ge(d0, d1), r0, -inf)", &[DType::F32]);
        same("select(and(r0, not(false)), 1e-5, nan)", &[DType::Bool]);
        same("div_floor(add(r0, -7:i32), d2:i32)", &[DType::I32]);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let error = |text: &str| {
            let e = parse(text, &[DType::F32, DType::I64]).unwrap_err();
            (e.at, e.message)
        };
        assert_eq!(error("add(r0, r1)"), (0, "add of f32 and i64".into()));
        assert_eq!(error("add(r0, r7)"), (8, "r7 where there are 2 reads".into()));
        assert_eq!(error("add(r0)"), (0, "`add` takes 2 operands and has 1".into()));
        assert_eq!(error("foo(r0)"), (0, "unknown operator `foo`".into()));
        assert_eq!(error("add(r0, x)"), (8, "unknown name `x`".into()));
        assert_eq!(error("add(r0, 1.0"), (11, "`)` is missing".into()));
        assert_eq!(error("r0 r0"), (3, "text after the end of the expression".into()));
        assert_eq!(error(""), (0, "an expression is missing".into()));
        assert_eq!(error("1.0:f33"), (4, "an element type is missing after `:`".into()));
        assert_eq!(error("1.2.3"), (0, "`1.2.3` is no number".into()));
        let deep = "neg(".repeat(100_000);
        assert_eq!(error(&deep).1, "nesting deeper than 500");
    }

    #[test]
    fn index_expressions_read_back() {
        for text in ["d0", "d0*2 + d1 - 3", "(d0 + 1)//7", "d0//7%3", "r1*-4", "d0 + (d1 + d2)", "d0*2*3", "-5"] {
            assert_eq!(parse_index(text).map(|i| i.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(parse_index("d0 - d1").unwrap().to_string(), "d0 + d1*-1");
        assert_eq!(parse_index("d0//0").unwrap_err().message, "a divisor must be positive, not 0");
        assert_eq!(parse_index("e0").unwrap_err().message, "unknown name `e0`");
        assert_eq!(parse_index("(d0").unwrap_err().message, "`)` is missing");
    }
}
