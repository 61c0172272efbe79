//! Sizes that follow from others: integer expressions over symbolic dimensions, as sympy's `srepr` writes them
//! (`Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(-1))`).
//!
//! Division without rest (`Mul` by a `Rational`) is not read; torch writes `FloorDiv`.

use std::collections::BTreeSet;

/// How deep an expression may be.
const DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub enum Symbol {
    Integer(i64),
    Named(String),
    Of(Function, Vec<Symbol>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Add,
    Mul,
    Pow,
    FloorDiv,
    CeilDiv,
    Mod,
    Max,
    Min,
}

const FUNCTIONS: [(&str, Function); 11] = [
    ("Add", Function::Add),
    ("Mul", Function::Mul),
    ("Pow", Function::Pow),
    ("PowByNatural", Function::Pow),
    ("FloorDiv", Function::FloorDiv),
    ("CleanDiv", Function::FloorDiv),
    ("CeilDiv", Function::CeilDiv),
    ("Mod", Function::Mod),
    ("PythonMod", Function::Mod),
    ("Max", Function::Max),
    ("Min", Function::Min),
];

impl Symbol {
    /// Reads sympy's text. The error is a phrase.
    pub fn parse(text: &str) -> Result<Symbol, String> {
        let mut parser = Parser { rest: text };
        let symbol = parser.expression(0)?;
        if parser.rest.trim().is_empty() { Ok(symbol) } else { Err(format!("`{}` stands behind the expression", parser.rest)) }
    }

    /// The value; `None` where a symbol has none, or for overflow and division by zero.
    pub fn evaluate(&self, value: &impl Fn(&str) -> Option<i64>) -> Option<i64> {
        match self {
            Symbol::Integer(i) => Some(*i),
            Symbol::Named(name) => value(name),
            Symbol::Of(function, operands) => {
                let operands: Vec<i64> = operands.iter().map(|o| o.evaluate(value)).collect::<Option<_>>()?;
                function.apply(&operands)
            }
        }
    }

    /// The symbols in it.
    pub fn names<'s>(&'s self, into: &mut BTreeSet<&'s str>) {
        match self {
            Symbol::Integer(_) => {}
            Symbol::Named(name) => drop(into.insert(name)),
            Symbol::Of(_, operands) => operands.iter().for_each(|operand| operand.names(into)),
        }
    }
}

impl std::fmt::Display for Symbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Symbol::Integer(i) => write!(f, "{i}"),
            Symbol::Named(name) => f.write_str(name),
            Symbol::Of(function, operands) => {
                let operands: Vec<String> = operands.iter().map(Symbol::to_string).collect();
                match function {
                    Function::Add => write!(f, "({})", operands.join(" + ")),
                    Function::Mul => write!(f, "{}", operands.join("·")),
                    Function::Pow => write!(f, "{}", operands.join("^")),
                    Function::FloorDiv => write!(f, "({})", operands.join(" // ")),
                    Function::CeilDiv => write!(f, "cdiv({})", operands.join(", ")),
                    Function::Mod => write!(f, "({})", operands.join(" % ")),
                    Function::Max => write!(f, "max({})", operands.join(", ")),
                    Function::Min => write!(f, "min({})", operands.join(", ")),
                }
            }
        }
    }
}

impl Function {
    fn apply(self, operands: &[i64]) -> Option<i64> {
        let two = || if let &[a, b] = operands { Some((a, b)) } else { None };
        let divided = |a: i64, b: i64| a.checked_div_euclid(b).filter(|_| b > 0);
        match self {
            Function::Add => operands.iter().try_fold(0i64, |sum, &v| sum.checked_add(v)),
            Function::Mul => operands.iter().try_fold(1i64, |product, &v| product.checked_mul(v)),
            Function::Pow => two().and_then(|(a, b)| a.checked_pow(u32::try_from(b).ok()?)),
            Function::FloorDiv => two().and_then(|(a, b)| divided(a, b)),
            Function::CeilDiv => two().and_then(|(a, b)| divided(a.checked_add(b)?.checked_sub(1)?, b)),
            Function::Mod => two().and_then(|(a, b)| a.checked_rem_euclid(b).filter(|_| b > 0)),
            Function::Max => operands.iter().copied().max(),
            Function::Min => operands.iter().copied().min(),
        }
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn expression(&mut self, depth: usize) -> Result<Symbol, String> {
        if depth > DEPTH {
            return Err("the expression is too deep".to_owned());
        }
        let name = self.word();
        self.expect('(')?;
        let read = match name {
            "Integer" => {
                let digits = self.until(')');
                let value = digits.trim().parse().map_err(|_| format!("`{digits}` is no integer"))?;
                Symbol::Integer(value)
            }
            "Symbol" => {
                let inside = self.until(')');
                let quoted = inside.trim_start().strip_prefix('\'').and_then(|rest| rest.split_once('\''));
                let (name, _) = quoted.ok_or_else(|| format!("`Symbol({inside})` has no name"))?;
                Symbol::Named(name.to_owned())
            }
            _ => {
                let function = FUNCTIONS.iter().find(|(n, _)| *n == name).map(|&(_, function)| function);
                let function = function.ok_or_else(|| format!("`{name}` in a size is not read"))?;
                let mut operands = vec![self.expression(depth + 1)?];
                while self.next_is(',') {
                    operands.push(self.expression(depth + 1)?);
                }
                Symbol::Of(function, operands)
            }
        };
        self.expect(')')?;
        Ok(read)
    }

    fn word(&mut self) -> &'t str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn until(&mut self, end: char) -> &'t str {
        let at = self.rest.find(end).unwrap_or(self.rest.len());
        let (before, rest) = self.rest.split_at(at);
        self.rest = rest;
        before
    }

    fn next_is(&mut self, c: char) -> bool {
        match self.rest.trim_start().strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.next_is(c) { Ok(()) } else { Err(format!("`{c}` is expected before `{}`", self.rest)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_and_computed() {
        let value = |name: &str| (name == "s77").then_some(5);
        let of = |text: &str| Symbol::parse(text).and_then(|s| s.evaluate(&value).ok_or_else(|| "no value".to_owned()));
        assert_eq!(of("Symbol('s77', positive=True, integer=True)"), Ok(5));
        assert_eq!(of("Add(Mul(Integer(2), Symbol('s77', integer=True)), Integer(-1))"), Ok(9));
        assert_eq!(of("FloorDiv(Add(Symbol('s77'), Integer(-8)), Integer(2))"), Ok(-2));
        assert_eq!(of("Mod(Symbol('s77'), Integer(3))"), Ok(2));
        assert_eq!(of("FloorDiv(Integer(1), Integer(0))"), Err("no value".to_owned()));
        assert_eq!(of("Symbol('s1')"), Err("no value".to_owned()));
        assert_eq!(of("Rational(1, 2)"), Err("`Rational` in a size is not read".to_owned()));
        assert!(of(&"Add(".repeat(1000)).is_err());
        assert!(of("Integer(99999999999999999999)").is_err());
        assert_eq!(Symbol::parse("FloorDiv(Symbol('a'), Integer(2))").unwrap().to_string(), "(a // 2)");
    }
}
