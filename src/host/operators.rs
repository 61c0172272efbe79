//! Operators on integers and tuples, with Python's rules: `//` and `%` floor, up to 64 bits.

use super::eval::Evaluator;
use super::frame::Frame;
use super::value::Value;
use crate::diag;
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, CompareOp, Expr, UnaryOp};
use crate::syntax::constant::{binary_symbol, floor_div, floor_mod, unary_symbol};

impl<'m> Evaluator<'m> {
    pub fn unary(&mut self, frame: &mut Frame<'m>, op: UnaryOp, inner: &'m Expr, span: Span) -> diag::Result<Value<'m>> {
        let value = self.expr(frame, inner)?;
        match (op, &value) {
            (UnaryOp::Not, _) => Ok(Value::Bool(!self.truth(frame, span, &value)?)),
            (UnaryOp::Neg, Value::Int(v)) => {
                v.checked_neg().map(Value::Int).ok_or_else(|| frame.unsupported(span, "an integer beyond 64 bits"))
            }
            (UnaryOp::Neg, Value::Float(v)) => Ok(Value::Float(-v)),
            (UnaryOp::Neg | UnaryOp::Pos | UnaryOp::Invert, _) => {
                Err(frame.unsupported(span, &format!("`{}` on {}", unary_symbol(op), value.kind())))
            }
        }
    }

    pub fn binary(&mut self, frame: &Frame<'m>, op: BinaryOp, a: Value<'m>, b: Value<'m>, span: Span) -> diag::Result<Value<'m>> {
        let sign = binary_symbol(op);
        match (a, b) {
            (Value::Int(a), Value::Int(b)) => {
                let result = match op {
                    BinaryOp::Add => a.checked_add(b),
                    BinaryOp::Sub => a.checked_sub(b),
                    BinaryOp::Mul => a.checked_mul(b),
                    BinaryOp::FloorDiv | BinaryOp::Mod if b == 0 => {
                        return Err(frame.raises(span, "integer division by zero"));
                    }
                    BinaryOp::FloorDiv => floor_div(a, b),
                    BinaryOp::Mod => Some(floor_mod(a, b)),
                    BinaryOp::Div
                    | BinaryOp::Pow
                    | BinaryOp::MatMul
                    | BinaryOp::BitAnd
                    | BinaryOp::BitOr
                    | BinaryOp::BitXor
                    | BinaryOp::Shl
                    | BinaryOp::Shr => return Err(frame.unsupported(span, &format!("`{sign}` on integers"))),
                };
                result.map(Value::Int).ok_or_else(|| frame.unsupported(span, "an integer beyond 64 bits"))
            }
            (Value::Tuple(mut a), Value::Tuple(b)) if op == BinaryOp::Add => {
                a.extend(b);
                self.tuple(frame, a, span)
            }
            (a, b) if matches!(a, Value::Prepared(_)) || matches!(b, Value::Prepared(_)) => {
                self.prepared_binary(frame, op, a, b, span)
            }
            (a, b) if a.is_tensor() || b.is_tensor() => {
                let help = "compute it in a kernel";
                Err(Box::new((*frame.unsupported(span, &format!("`{sign}` on a tensor"))).help(help)))
            }
            // Python repeats and formats strings by `*` and `%`.
            (a, b) if a.no_number() != b.no_number() && !matches!(op, BinaryOp::Mul | BinaryOp::Mod) => {
                Err(frame.raises(span, format!("`{sign}` on {} and {}", a.kind(), b.kind())))
            }
            (a, b) => Err(frame.unsupported(span, &format!("`{sign}` on {} and {}", a.kind(), b.kind()))),
        }
    }

    pub fn compare(&mut self, frame: &mut Frame<'m>, left: &'m Expr, rest: &'m [(CompareOp, Expr)]) -> diag::Result<Value<'m>> {
        let mut a = self.expr(frame, left)?;
        for (op, right) in rest {
            let b = self.expr(frame, right)?;
            let span = left.span.to(right.span);
            let outside = || frame.unsupported(span, &format!("comparing {} with {}", a.kind(), b.kind()));
            let holds = match (op, &a, &b) {
                (CompareOp::Is, a, Value::None) => matches!(a, Value::None),
                (CompareOp::IsNot, a, Value::None) => !matches!(a, Value::None),
                (CompareOp::Eq, a, b) => a.equals(b).ok_or_else(outside)?,
                (CompareOp::Ne, a, b) => !a.equals(b).ok_or_else(outside)?,
                (CompareOp::Lt, Value::Int(a), Value::Int(b)) => a < b,
                (CompareOp::Le, Value::Int(a), Value::Int(b)) => a <= b,
                (CompareOp::Gt, Value::Int(a), Value::Int(b)) => a > b,
                (CompareOp::Ge, Value::Int(a), Value::Int(b)) => a >= b,
                (CompareOp::Is | CompareOp::IsNot, _, _) => {
                    return Err(frame.unsupported(span, "`is` with anything but None"));
                }
                (CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge, a, b) if a.no_number() != b.no_number() => {
                    return Err(frame.raises(span, format!("comparing {} with {}", a.kind(), b.kind())));
                }
                (CompareOp::In | CompareOp::NotIn, _, _) => return Err(frame.unsupported(span, "`in`")),
                (CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge, _, _) => return Err(outside()),
            };
            if !holds {
                return Ok(Value::Bool(false));
            }
            a = b;
        }
        Ok(Value::Bool(true))
    }
}
