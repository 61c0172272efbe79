//! Computes an expression to a [`Constant`]: YAML `when` and `work` expressions, constexprs, host integers.
//!
//! The caller gives an [`Environment`]: names, attributes of names that are not constants themselves,
//! and functions. The functions of [`call_builtin`] (cdiv, min, max, next_power_of_2, len, abs, int,
//! float, bool) are there for everybody, under `tl.`, `triton.` and without prefix.
//! `and`, `or` and the conditional expression evaluate only what Python would.

use std::sync::Arc;

use super::ast::{BoolOp, Expr, ExprKind, FStringPart};
use super::constant::{Constant, ConstantError, floor_div};
use crate::diag::{Diagnostic, Result, codes};
use crate::source::{SourceFile, Span};

/// What names mean.
pub trait Environment {
    /// The value of a name; `None` when it is unknown.
    fn name(&self, name: &str) -> Option<Constant>;

    /// The value of `a.b` or `a.b.c`, given dotted; `None` when it is unknown.
    fn attribute(&self, _dotted: &str) -> Option<Constant> {
        None
    }

    /// A function of the caller's own; `None` when it is unknown. Tried before the builtins.
    fn call(&self, _function: &str, _args: &[Constant]) -> Option<std::result::Result<Constant, ConstantError>> {
        None
    }

    /// All names, for the message about an unknown one.
    fn known(&self) -> Vec<String>;
}

/// An environment of names alone.
impl Environment for [(&str, Constant)] {
    fn name(&self, name: &str) -> Option<Constant> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    fn known(&self) -> Vec<String> {
        self.iter().map(|(name, _)| (*name).to_owned()).collect()
    }
}

impl Environment for std::collections::BTreeMap<String, Constant> {
    fn name(&self, name: &str) -> Option<Constant> {
        self.get(name).cloned()
    }

    fn known(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }
}

/// Evaluates an expression of `file`; errors are S002 at the sub-expression that fails.
pub fn evaluate<E: Environment + ?Sized>(file: &Arc<SourceFile>, expr: &Expr, env: &E) -> Result<Constant> {
    Evaluator { file, env }.eval(expr)
}

struct Evaluator<'a, E: ?Sized> {
    file: &'a Arc<SourceFile>,
    env: &'a E,
}

impl<E: Environment + ?Sized> Evaluator<'_, E> {
    fn error(&self, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&codes::EXPRESSION, message).at(self.file, span))
    }

    fn lift<T>(&self, span: Span, result: std::result::Result<T, ConstantError>) -> Result<T> {
        result.map_err(|error| self.error(span, error.to_string()))
    }

    fn eval(&self, expr: &Expr) -> Result<Constant> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Name(name) => self.env.name(name).ok_or_else(|| self.unknown(span, "name", name)),
            ExprKind::Int(i) => Ok(Constant::Int(*i)),
            ExprKind::BigInt(text) => Err(self.error(span, format!("{text} is beyond 64 bits"))),
            ExprKind::Float(x) => Ok(Constant::Float(*x)),
            ExprKind::Str(s) => Ok(Constant::Str(s.clone())),
            ExprKind::Bool(b) => Ok(Constant::Bool(*b)),
            ExprKind::None => Ok(Constant::None),
            ExprKind::FString(parts) => {
                let mut text = String::new();
                for part in parts {
                    match part {
                        FStringPart::Literal(literal) => text.push_str(literal),
                        FStringPart::Expr(expr) => match self.eval(expr)? {
                            Constant::Str(s) => text.push_str(&s),
                            value => text.push_str(&value.to_string()),
                        },
                    }
                }
                Ok(Constant::Str(text))
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    match &item.kind {
                        ExprKind::Starred(inner) => match self.eval(inner)? {
                            Constant::Tuple(more) => values.extend(more),
                            other => return Err(self.error(inner.span, format!("cannot unpack {}", other.type_name()))),
                        },
                        _ => values.push(self.eval(item)?),
                    }
                }
                Ok(Constant::Tuple(values))
            }
            ExprKind::Unary(op, operand) => self.lift(span, self.eval(operand)?.unary(*op)),
            ExprKind::Binary(op, left, right) => self.lift(span, self.eval(left)?.binary(*op, &self.eval(right)?)),
            ExprKind::Compare { left, rest } => {
                let mut left = self.eval(left)?;
                for (op, right) in rest {
                    let right = self.eval(right)?;
                    if !self.lift(span, left.compare(*op, &right))? {
                        return Ok(Constant::Bool(false));
                    }
                    left = right;
                }
                Ok(Constant::Bool(true))
            }
            ExprKind::Logical(op, operands) => {
                let mut value = Constant::None;
                for operand in operands {
                    value = self.eval(operand)?;
                    if value.truthy() == (*op == BoolOp::Or) {
                        break;
                    }
                }
                Ok(value)
            }
            ExprKind::Conditional { test, then, other } => {
                if self.eval(test)?.truthy() {
                    self.eval(then)
                } else {
                    self.eval(other)
                }
            }
            ExprKind::Call { func, args, keywords } => {
                if let Some(keyword) = keywords.first() {
                    return Err(self.error(keyword.span, "keyword arguments are not supported here"));
                }
                let Some(name) = func.as_dotted() else {
                    return Err(self.error(func.span, "only named functions can be called"));
                };
                let args = args.iter().map(|arg| self.eval(arg)).collect::<Result<Vec<_>>>()?;
                if let Some(result) = self.env.call(&name, &args) {
                    return self.lift(span, result);
                }
                let bare = name.strip_prefix("tl.").or_else(|| name.strip_prefix("triton.")).unwrap_or(&name);
                match call_builtin(bare, &args) {
                    Some(result) => self.lift(span, result),
                    None => Err(self.error(func.span, format!("unknown function `{name}`"))),
                }
            }
            ExprKind::Attribute { .. } => {
                let Some(dotted) = expr.as_dotted() else { return Err(self.error(span, "attributes of names only")) };
                self.env.attribute(&dotted).ok_or_else(|| self.unknown(span, "attribute", &dotted))
            }
            ExprKind::Subscript { value, index } => {
                let Constant::Tuple(items) = self.eval(value)? else {
                    return Err(self.error(value.span, "only a tuple can be subscripted"));
                };
                let Some(at) = self.eval(index)?.as_int() else {
                    return Err(self.error(index.span, "an index is an integer"));
                };
                let wrapped = if at < 0 { at + items.len() as i64 } else { at };
                let item = usize::try_from(wrapped).ok().and_then(|i| items.get(i).cloned());
                item.ok_or_else(|| self.error(index.span, format!("index {at} of a tuple of {}", items.len())))
            }
            ExprKind::Ellipsis => Err(self.error(span, "`...` has no value here")),
            ExprKind::Dict(_) => Err(self.error(span, "a dict has no value here")),
            ExprKind::Slice { .. } => Err(self.error(span, "slices are not supported here")),
            ExprKind::Starred(_) => Err(self.error(span, "`*` is not supported here")),
            ExprKind::Lambda { .. } => Err(self.error(span, "lambda is not supported here")),
            ExprKind::Other(what) => Err(self.error(span, format!("{what} is not supported here"))),
        }
    }

    fn unknown(&self, span: Span, what: &str, name: &str) -> Box<Diagnostic> {
        let mut diagnostic = self.error(span, format!("unknown {what} `{name}`"));
        let known = self.env.known();
        if !known.is_empty() {
            diagnostic.notes.push(format!("known: {}", known.join(", ")));
        }
        diagnostic
    }
}

/// The functions that every constant expression may call; `None` for any other name.
pub fn call_builtin(name: &str, args: &[Constant]) -> Option<std::result::Result<Constant, ConstantError>> {
    let result = match name {
        "cdiv" => ints::<2>(name, args).and_then(|[a, b]| {
            if b == 0 {
                return Err(ConstantError::DivisionByZero);
            }
            // ⌈a / b⌉ = −⌊−a / b⌋
            let up = a.checked_neg().and_then(|n| floor_div(n, b)).and_then(i64::checked_neg);
            up.map(Constant::Int).ok_or_else(|| ConstantError::Overflow(format!("cdiv({a}, {b})")))
        }),
        "next_power_of_2" => ints::<1>(name, args).and_then(|[n]| {
            let power = u64::try_from(n.max(1)).ok().and_then(u64::checked_next_power_of_two);
            let power = power.and_then(|p| i64::try_from(p).ok());
            power.map(Constant::Int).ok_or_else(|| ConstantError::Overflow(format!("next_power_of_2({n})")))
        }),
        "min" => extreme(name, args, super::ast::CompareOp::Lt),
        "max" => extreme(name, args, super::ast::CompareOp::Gt),
        "len" => match args {
            [Constant::Tuple(items)] => Ok(Constant::Int(items.len() as i64)),
            [Constant::Str(text)] => Ok(Constant::Int(text.chars().count() as i64)),
            _ => Err(ConstantError::Value("len takes one tuple or string".to_owned())),
        },
        "abs" => match args {
            [Constant::Float(x)] => Ok(Constant::Float(x.abs())),
            _ => ints::<1>(name, args)
                .and_then(|[a]| a.checked_abs().map(Constant::Int).ok_or_else(|| ConstantError::Overflow(format!("abs({a})")))),
        },
        "int" => match args {
            [Constant::Float(x)] if x.is_finite() && x.abs() < 9.2e18 => Ok(Constant::Int(x.trunc() as i64)),
            [Constant::Float(x)] => Err(ConstantError::Overflow(format!("int({x})"))),
            _ => ints::<1>(name, args).map(|[a]| Constant::Int(a)),
        },
        "float" => match args {
            [Constant::Str(text)] => match text.trim().to_ascii_lowercase().as_str() {
                "inf" | "+inf" | "infinity" => Ok(Constant::Float(f64::INFINITY)),
                "-inf" | "-infinity" => Ok(Constant::Float(f64::NEG_INFINITY)),
                "nan" => Ok(Constant::Float(f64::NAN)),
                other => {
                    other.parse().map(Constant::Float).map_err(|_| ConstantError::Value(format!("float('{text}') is no number")))
                }
            },
            [value] if value.as_float().is_some() => Ok(Constant::Float(value.as_float().unwrap_or(f64::NAN))),
            _ => Err(ConstantError::Value("float takes one number or string".to_owned())),
        },
        "bool" => match args {
            [value] => Ok(Constant::Bool(value.truthy())),
            _ => Err(ConstantError::Value("bool takes one value".to_owned())),
        },
        _ => return None,
    };
    Some(result)
}

fn ints<const N: usize>(name: &str, args: &[Constant]) -> std::result::Result<[i64; N], ConstantError> {
    let values: Option<Vec<i64>> = args.iter().map(Constant::as_int).collect();
    let refused = || ConstantError::Value(format!("{name} takes {N} integer{}", if N == 1 { "" } else { "s" }));
    values.and_then(|v| v.try_into().ok()).ok_or_else(refused)
}

/// `min` and `max` of several numbers, or of one tuple; the first of equals, as Python.
fn extreme(name: &str, args: &[Constant], better: super::ast::CompareOp) -> std::result::Result<Constant, ConstantError> {
    let items = match args {
        [Constant::Tuple(items)] => items,
        _ => args,
    };
    let Some((first, rest)) = items.split_first() else {
        return Err(ConstantError::Value(format!("{name} of nothing")));
    };
    let mut best = first;
    for item in rest {
        if item.compare(better, best)? {
            best = item;
        }
    }
    Ok(best.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::render::render;
    use crate::syntax::parse_expression;

    fn eval(text: &str) -> Result<Constant> {
        let file = SourceFile::new("work", text);
        let shape = Constant::Tuple(vec![Constant::Int(2), Constant::Int(3)]);
        let env: &[(&str, Constant)] = &[("M", Constant::Int(100)), ("BM", Constant::Int(64)), ("shape", shape)];
        evaluate(&file, &parse_expression(&file)?, env)
    }

    #[test]
    fn expressions_of_templates() {
        for (text, value) in [
            ("cdiv(M, BM) * 3", Constant::Int(6)),
            ("triton.cdiv(-7, 2)", Constant::Int(-3)),
            ("M % BM == 36 and BM in (32, 64)", Constant::Bool(true)),
            ("shape[-1] if len(shape) == 2 else nothing", Constant::Int(3)),
            ("min(M, BM, 70)", Constant::Int(64)),
            ("max((1, 2.5))", Constant::Float(2.5)),
            ("next_power_of_2(65)", Constant::Int(128)),
            ("0 < M <= 100 < 7", Constant::Bool(false)),
            ("shape >= (2, 1) and (2, 3, 0) > shape and not shape < (2,)", Constant::Bool(true)),
            ("-float('inf')", Constant::Float(f64::NEG_INFINITY)),
            ("(1, *shape)[2]", Constant::Int(3)),
        ] {
            assert_eq!(eval(text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn errors_point_at_the_part_that_fails() {
        expect_test::expect![[r#"
            error[S002]: unknown name `N`
             --> work:1:5
              |
            1 | M + N
              |     ^ invalid expression
              |
              = note: known: M, BM, shape"#]]
        .assert_eq(&render(&eval("M + N").unwrap_err(), false));
        assert_eq!(eval("1 // 0").unwrap_err().message, "division by zero");
        assert_eq!(eval("shape[2]").unwrap_err().message, "index 2 of a tuple of 2");
        assert_eq!(eval("M +").unwrap_err().code.id, "S001");
    }
}
