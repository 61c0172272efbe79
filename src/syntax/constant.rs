//! Compile-time values and Python's arithmetic on them, shared by everyone who evaluates constants:
//! YAML expressions, constexprs of kernels, host code.
//!
//! Integers are i64 where Python's grow without bound: a result beyond i64 is refused by name.
//! Division and modulo floor, as Python's do (a kernel's run-time division truncates; that is not
//! here). `True` and `False` count as 1 and 0.

use std::cmp::Ordering;
use std::fmt;

use super::ast::{BinaryOp, CompareOp, UnaryOp};

/// A value known before anything runs.
#[derive(Clone, Debug)]
pub enum Constant {
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(String),
    None,
    /// A tuple or a list.
    Tuple(Vec<Constant>),
}

/// Why an operation has no value; a phrase that fits after "cannot evaluate: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstantError {
    #[error("{0} is beyond 64 bits")]
    Overflow(String),
    #[error("division by zero")]
    DivisionByZero,
    #[error("unsupported operand types for {op}: {left} and {right}")]
    Operands { op: &'static str, left: &'static str, right: &'static str },
    #[error("unsupported operand type for {op}: {operand}")]
    Operand { op: &'static str, operand: &'static str },
    #[error("{0}")]
    Value(String),
}

type Result<T> = std::result::Result<T, ConstantError>;

/// Two numbers brought to a common type.
enum Pair {
    Int(i64, i64),
    Float(f64, f64),
}

impl Constant {
    /// Python's name of the type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Constant::Int(_) => "int",
            Constant::Float(_) => "float",
            Constant::Bool(_) => "bool",
            Constant::Str(_) => "str",
            Constant::None => "None",
            Constant::Tuple(_) => "tuple",
        }
    }

    /// Python's truth: zero, empty and None are false.
    pub fn truthy(&self) -> bool {
        match self {
            Constant::Int(i) => *i != 0,
            Constant::Float(f) => *f != 0.0,
            Constant::Bool(b) => *b,
            Constant::Str(s) => !s.is_empty(),
            Constant::None => false,
            Constant::Tuple(items) => !items.is_empty(),
        }
    }

    /// The value of an int or a bool.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Constant::Int(i) => Some(*i),
            Constant::Bool(b) => Some(i64::from(*b)),
            Constant::Float(_) | Constant::Str(_) | Constant::None | Constant::Tuple(_) => None,
        }
    }

    /// The value of a number, as a float.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Constant::Float(f) => Some(*f),
            other => other.as_int().map(|i| i as f64),
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Constant::Str(s) => Some(s),
            _ => None,
        }
    }

    fn pair(&self, other: &Constant) -> Option<Pair> {
        if let (Some(a), Some(b)) = (self.as_int(), other.as_int()) {
            return Some(Pair::Int(a, b));
        }
        Some(Pair::Float(self.as_float()?, other.as_float()?))
    }

    /// `self op other`.
    pub fn binary(&self, op: BinaryOp, other: &Constant) -> Result<Constant> {
        let symbol = binary_symbol(op);
        match (self, op, other) {
            (Constant::Str(a), BinaryOp::Add, Constant::Str(b)) => return Ok(Constant::Str(format!("{a}{b}"))),
            (Constant::Tuple(a), BinaryOp::Add, Constant::Tuple(b)) => {
                return Ok(Constant::Tuple(a.iter().chain(b).cloned().collect()));
            }
            (Constant::Bool(a), BinaryOp::BitAnd, Constant::Bool(b)) => return Ok(Constant::Bool(*a & *b)),
            (Constant::Bool(a), BinaryOp::BitOr, Constant::Bool(b)) => return Ok(Constant::Bool(*a | *b)),
            (Constant::Bool(a), BinaryOp::BitXor, Constant::Bool(b)) => return Ok(Constant::Bool(*a ^ *b)),
            (Constant::Tuple(items), BinaryOp::Mul, count) | (count, BinaryOp::Mul, Constant::Tuple(items)) => {
                if let Some(count) = count.as_int() {
                    return repeat(items, count);
                }
            }
            _ => {}
        }
        let Some(pair) = self.pair(other) else {
            return Err(ConstantError::Operands { op: symbol, left: self.type_name(), right: other.type_name() });
        };
        match pair {
            Pair::Int(a, b) => int_binary(a, op, b),
            Pair::Float(a, b) => float_binary(a, op, b),
        }
    }

    /// `op self`.
    pub fn unary(&self, op: UnaryOp) -> Result<Constant> {
        match (op, self) {
            (UnaryOp::Not, value) => Ok(Constant::Bool(!value.truthy())),
            (UnaryOp::Neg, Constant::Float(f)) => Ok(Constant::Float(-f)),
            (UnaryOp::Pos, Constant::Float(f)) => Ok(Constant::Float(*f)),
            (op, value) => {
                let symbol = unary_symbol(op);
                let Some(int) = value.as_int() else {
                    return Err(ConstantError::Operand { op: symbol, operand: value.type_name() });
                };
                let result = match op {
                    UnaryOp::Neg => int.checked_neg().ok_or_else(|| ConstantError::Overflow(format!("-({int})")))?,
                    UnaryOp::Invert => !int,
                    UnaryOp::Pos | UnaryOp::Not => int,
                };
                Ok(Constant::Int(result))
            }
        }
    }

    /// `self op other` for one comparison of a chain. `is` compares None, bools, ints and strings by value.
    pub fn compare(&self, op: CompareOp, other: &Constant) -> Result<bool> {
        let order = |symbol| {
            let refused = || ConstantError::Operands { op: symbol, left: self.type_name(), right: other.type_name() };
            match (self, other) {
                (Constant::Str(a), Constant::Str(b)) => Ok(Some(a.cmp(b))),
                (Constant::Tuple(a), Constant::Tuple(b)) => order_of(a, b),
                _ => match self.pair(other).ok_or_else(refused)? {
                    Pair::Int(a, b) => Ok(Some(a.cmp(&b))),
                    Pair::Float(a, b) => Ok(a.partial_cmp(&b)),
                },
            }
        };
        let member = || match other {
            Constant::Tuple(items) => Ok(items.contains(self)),
            Constant::Str(text) if self.as_str().is_some() => Ok(self.as_str().is_some_and(|s| text.contains(s))),
            _ => Err(ConstantError::Operands { op: "in", left: self.type_name(), right: other.type_name() }),
        };
        match op {
            CompareOp::Eq | CompareOp::Is => Ok(self == other),
            CompareOp::Ne | CompareOp::IsNot => Ok(self != other),
            CompareOp::Lt => Ok(order("<")? == Some(Ordering::Less)),
            CompareOp::Le => Ok(matches!(order("<=")?, Some(Ordering::Less | Ordering::Equal))),
            CompareOp::Gt => Ok(order(">")? == Some(Ordering::Greater)),
            CompareOp::Ge => Ok(matches!(order(">=")?, Some(Ordering::Greater | Ordering::Equal))),
            CompareOp::In => member(),
            CompareOp::NotIn => Ok(!member()?),
        }
    }
}

/// The order of two tuples: that of the first items that differ, else of their lengths.
fn order_of(a: &[Constant], b: &[Constant]) -> Result<Option<Ordering>> {
    match a.iter().zip(b).find(|(x, y)| x != y) {
        None => Ok(Some(a.len().cmp(&b.len()))),
        Some((x, y)) if x.compare(CompareOp::Lt, y)? => Ok(Some(Ordering::Less)),
        Some((x, y)) if x.compare(CompareOp::Gt, y)? => Ok(Some(Ordering::Greater)),
        Some(_) => Ok(None),
    }
}

/// Python's `==`: numbers compare by value across types, NaN differs from itself.
impl PartialEq for Constant {
    fn eq(&self, other: &Constant) -> bool {
        match (self, other) {
            (Constant::Str(a), Constant::Str(b)) => a == b,
            (Constant::None, Constant::None) => true,
            (Constant::Tuple(a), Constant::Tuple(b)) => a == b,
            _ => match self.pair(other) {
                Some(Pair::Int(a, b)) => a == b,
                Some(Pair::Float(a, b)) => a == b,
                None => false,
            },
        }
    }
}

/// As Python's `repr`, except for the spelling of large and small floats.
impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::Int(i) => write!(f, "{i}"),
            Constant::Float(x) => write!(f, "{x:?}"),
            Constant::Bool(b) => f.write_str(if *b { "True" } else { "False" }),
            Constant::Str(s) => write!(f, "'{s}'"),
            Constant::None => f.write_str("None"),
            Constant::Tuple(items) => {
                f.write_str("(")?;
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}

/// Items that a tuple may have: a typo must not exhaust memory.
pub const MAX_TUPLE: usize = 1 << 16;

fn repeat(items: &[Constant], count: i64) -> Result<Constant> {
    let count = usize::try_from(count).unwrap_or(0);
    match items.len().checked_mul(count) {
        Some(n) if n <= MAX_TUPLE => Ok(Constant::Tuple(std::iter::repeat_n(items, count).flatten().cloned().collect())),
        _ => Err(ConstantError::Value(format!("a tuple of more than {MAX_TUPLE} items"))),
    }
}

/// Python's floor division; `None` when the quotient is beyond i64.
pub fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

/// Python's modulo: the result has the sign of `b`, which is not zero.
pub fn floor_mod(a: i64, b: i64) -> i64 {
    let rest = a.wrapping_rem(b);
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}

fn int_binary(a: i64, op: BinaryOp, b: i64) -> Result<Constant> {
    let symbol = binary_symbol(op);
    let overflow = || ConstantError::Overflow(format!("{a} {symbol} {b}"));
    let shift = || match u32::try_from(b) {
        Ok(shift) => Ok(shift),
        Err(_) if b < 0 => Err(ConstantError::Value("negative shift count".to_owned())),
        Err(_) => Ok(u32::MAX),
    };
    let result = match op {
        BinaryOp::Add => a.checked_add(b).ok_or_else(overflow)?,
        BinaryOp::Sub => a.checked_sub(b).ok_or_else(overflow)?,
        BinaryOp::Mul => a.checked_mul(b).ok_or_else(overflow)?,
        BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod if b == 0 => return Err(ConstantError::DivisionByZero),
        BinaryOp::Div => return Ok(Constant::Float(a as f64 / b as f64)),
        BinaryOp::FloorDiv => floor_div(a, b).ok_or_else(overflow)?,
        BinaryOp::Mod => floor_mod(a, b),
        BinaryOp::Pow if b < 0 => return float_binary(a as f64, op, b as f64),
        BinaryOp::Pow => match a {
            0 | 1 => a.pow(u32::from(b != 0)),
            -1 => 1 - 2 * (b & 1),
            _ => u32::try_from(b).ok().and_then(|e| a.checked_pow(e)).ok_or_else(overflow)?,
        },
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::Shl => {
            let shift = shift()?;
            let shifted = a.checked_shl(shift).unwrap_or(0);
            if a != 0 && (shift > 63 || shifted >> shift != a) {
                return Err(overflow());
            }
            shifted
        }
        BinaryOp::Shr => a >> shift()?.min(63),
        BinaryOp::MatMul => return Err(ConstantError::Operands { op: symbol, left: "int", right: "int" }),
    };
    Ok(Constant::Int(result))
}

fn float_binary(a: f64, op: BinaryOp, b: f64) -> Result<Constant> {
    let symbol = binary_symbol(op);
    let result = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod if b == 0.0 => return Err(ConstantError::DivisionByZero),
        BinaryOp::Div => a / b,
        BinaryOp::FloorDiv => (a / b).floor(),
        BinaryOp::Mod => {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        }
        BinaryOp::Pow if a == 0.0 && b < 0.0 => return Err(ConstantError::DivisionByZero),
        BinaryOp::Pow if a < 0.0 && b.fract() != 0.0 => {
            return Err(ConstantError::Value("a complex number".to_owned()));
        }
        BinaryOp::Pow => a.powf(b),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::MatMul => {
            return Err(ConstantError::Operands { op: symbol, left: "float", right: "float" });
        }
    };
    Ok(Constant::Float(result))
}

/// As written in Python.
pub fn binary_symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::FloorDiv => "//",
        BinaryOp::Mod => "%",
        BinaryOp::Pow => "**",
        BinaryOp::MatMul => "@",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
    }
}

/// As written in Python.
pub fn unary_symbol(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "-",
        UnaryOp::Pos => "+",
        UnaryOp::Invert => "~",
        UnaryOp::Not => "not",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(a: i64, op: BinaryOp, b: i64) -> Result<Constant> {
        Constant::Int(a).binary(op, &Constant::Int(b))
    }

    #[test]
    fn division_floors_as_python_does() {
        for (a, b, quotient, rest) in [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (-6, 2, -3, 0)] {
            assert_eq!(int(a, BinaryOp::FloorDiv, b), Ok(Constant::Int(quotient)), "{a} // {b}");
            assert_eq!(int(a, BinaryOp::Mod, b), Ok(Constant::Int(rest)), "{a} % {b}");
        }
        assert_eq!(int(1, BinaryOp::Mod, 0), Err(ConstantError::DivisionByZero));
        assert_eq!(int(i64::MIN, BinaryOp::Mod, -1), Ok(Constant::Int(0)));
        assert_eq!(int(7, BinaryOp::Div, 2), Ok(Constant::Float(3.5)));
    }

    #[test]
    fn overflow_is_refused_by_name() {
        let message = int(i64::MAX, BinaryOp::Add, 1).unwrap_err().to_string();
        assert_eq!(message, "9223372036854775807 + 1 is beyond 64 bits");
        assert!(int(i64::MIN, BinaryOp::FloorDiv, -1).is_err());
        assert!(int(1, BinaryOp::Shl, 63).is_err());
        assert_eq!(int(1, BinaryOp::Shl, 62), Ok(Constant::Int(1 << 62)));
        assert_eq!(int(0, BinaryOp::Shl, 1000), Ok(Constant::Int(0)));
        assert_eq!(int(-1, BinaryOp::Pow, 1001), Ok(Constant::Int(-1)));
        assert!(int(2, BinaryOp::Pow, 63).is_err());
    }

    #[test]
    fn mixed_types() {
        assert_eq!(Constant::Bool(true).binary(BinaryOp::Add, &Constant::Int(1)), Ok(Constant::Int(2)));
        assert_eq!(Constant::Int(2), Constant::Float(2.0));
        assert_eq!(Constant::Float(-7.5).binary(BinaryOp::Mod, &Constant::Int(2)), Ok(Constant::Float(0.5)));
        let message = Constant::None.binary(BinaryOp::Add, &Constant::Int(1)).unwrap_err().to_string();
        assert_eq!(message, "unsupported operand types for +: None and int");
        let pair = Constant::Tuple(vec![Constant::Int(1), Constant::Str("a".into())]);
        assert_eq!(Constant::Int(1).compare(CompareOp::In, &pair), Ok(true));
        assert_eq!(pair.to_string(), "(1, 'a')");
    }
}
