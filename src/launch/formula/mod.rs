//! Expected values as a formula: a Python expression over the tensors that a kernel is given, evaluated in f64, with what a kernel
//! that computes the same in its own types may be off by.
//!
//! `+ - * / // % ** @`, comparisons, `where`, functions (`exp`, `tanh`, …), reductions (`sum(x, axis=1, keepdims=True)`, `max`,
//! `mean`, `var`, `argmax`, `cumsum`, …), `softmax`, `matmul`, movement (`x.T`, `reshape`, `x[:, None]`, slices, `take`,
//! `concat`, …), casts (`x.to(f16)`). Methods are functions whose first argument stands in front: `x.sum(1)`.
//!
//! Each element carries an error bound, derived operator by operator ([`pointwise`], [`reduce`]); in the end half a unit in the
//! last place of the tensor's type is added. So no tolerance need be chosen, and one that is chosen replaces it.
//!
//! Does not catch: integers beyond 2⁵³ are rounded to f64; correlation between errors (bounds add).

mod array;
mod call;
mod index;
pub mod pointwise;
mod reduce;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use array::{Array, Kind};
use pointwise::Rounding;

use super::description::Expression;
use super::resolve::Scope;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::{Carrier, DType};
use crate::shape::Shape;
use crate::source::{SourceFile, Span};
use crate::syntax::Constant;
use crate::syntax::ast::{BoolOp, Expr, ExprKind, UnaryOp};
use crate::syntax::eval;
use crate::tensor::{Storage, Tensor};

/// What a formula may name.
pub struct Inputs<'a> {
    /// Tensors as they were before the launch.
    pub tensors: BTreeMap<String, Tensor>,
    pub scope: &'a Scope,
    pub rounding: Rounding,
}

/// Expected values and, for each, what the kernel may be off by.
#[derive(Clone, Debug)]
pub struct Truth {
    pub values: Tensor,
    pub bound: Vec<f64>,
}

/// A value of a subexpression.
#[derive(Clone, Debug)]
enum Value {
    Array(Array),
    Constant(Constant),
}

/// The names of tensors that an expression reads.
pub fn tensors_of(expression: &Expression, scope: &Scope) -> Vec<String> {
    let mut names = Vec::new();
    crate::syntax::walk::each_expr(&expression.expr, &mut |e| {
        names.extend(e.as_name().filter(|name| scope.operand(name).is_some()).map(str::to_owned));
    });
    names
}

/// Evaluates a formula for a tensor of a type and shape; a result that broadcasts to the shape fits.
///
/// # Errors
/// E003 at the part that has no value.
pub fn evaluate(expression: &Expression, inputs: &Inputs, dtype: DType, shape: &Shape) -> Result<Truth> {
    let evaluator = Evaluator { file: &expression.file, inputs };
    let value = evaluator.value(&expression.expr)?;
    let array = evaluator.array(expression.expr.span, value)?;
    let fits =
        array::common(&[&array, &Array::exact(Kind::Int, shape.to_vec(), Vec::new())]).is_ok_and(|met| met == shape.to_vec());
    let squeezed = |sizes: &[usize]| sizes.iter().copied().filter(|&n| n != 1).collect::<Vec<_>>();
    let array = if fits {
        array.broadcast(shape)
    } else if squeezed(&array.shape) == squeezed(shape) {
        Array { shape: shape.to_vec(), ..array }
    } else {
        let (found, want) = (crate::shape::display(&array.shape), crate::shape::display(shape));
        return Err(evaluator.error(expression.expr.span, format!("the formula gives {found}, and the tensor is {want}")));
    };
    let half = |v: f64| match dtype.format() {
        Some(format) if v.is_finite() => format.ulp(v) / 2.0,
        Some(_) | None => 0.0,
    };
    let bound = (0..array.value.len()).map(|i| array.error_at(i) + half(array.value[i])).collect();
    let values = Tensor::new(DType::F64, shape.clone(), Storage::F64(array.value));
    Ok(Truth { values, bound })
}

/// A tensor's elements, exact.
pub fn exact(tensor: &Tensor) -> Array {
    let kind = match tensor.dtype().carrier() {
        Carrier::F64 | Carrier::F32 => Kind::Float,
        Carrier::I64 => Kind::Int,
        Carrier::Bool => Kind::Bool,
    };
    let unsigned = |v: i64| if tensor.dtype() == DType::U64 { v as u64 as f64 } else { v as f64 };
    let value = match tensor.storage() {
        Storage::I64(lanes) => lanes.iter().map(|&v| unsigned(v)).collect(),
        other => (0..other.len()).map(|i| other.get_f64(i)).collect(),
    };
    Array::exact(kind, tensor.shape().to_vec(), value)
}

struct Evaluator<'a> {
    file: &'a Arc<SourceFile>,
    inputs: &'a Inputs<'a>,
}

impl Evaluator<'_> {
    fn error(&self, span: Span, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::new(&codes::LAUNCH_FORMULA, message).at(self.file, span))
    }

    fn lift<T>(&self, span: Span, result: array::Result<T>) -> Result<T> {
        result.map_err(|message| self.error(span, message))
    }

    fn array(&self, span: Span, value: Value) -> Result<Array> {
        match value {
            Value::Array(array) => Ok(array),
            Value::Constant(Constant::Bool(b)) => Ok(Array::scalar(Kind::Bool, f64::from(u8::from(b)))),
            Value::Constant(Constant::Int(i)) => Ok(Array::scalar(Kind::Int, i as f64)),
            Value::Constant(Constant::Float(x)) => Ok(Array::scalar(Kind::Float, x)),
            Value::Constant(Constant::Tuple(items)) => {
                let numbers = items.iter().map(Constant::as_float).collect::<Option<Vec<f64>>>();
                let numbers = numbers.ok_or_else(|| self.error(span, "a tuple of numbers is expected"))?;
                let kind = if items.iter().any(|i| matches!(i, Constant::Float(_))) { Kind::Float } else { Kind::Int };
                Ok(Array::exact(kind, vec![numbers.len()], numbers))
            }
            Value::Constant(other @ (Constant::Str(_) | Constant::None)) => {
                Err(self.error(span, format!("{} where a tensor is expected", other.type_name())))
            }
        }
    }

    fn array_of(&self, expr: &Expr) -> Result<Array> {
        let value = self.value(expr)?;
        self.array(expr.span, value)
    }

    /// Whether an expression reads no tensor's elements.
    fn is_constant(&self, expr: &Expr) -> bool {
        let mut constant = true;
        match &expr.kind {
            // `x.shape`, `x.stride(0)`
            ExprKind::Attribute { name, .. } if matches!(name.as_str(), "shape" | "ndim") => return true,
            ExprKind::Call { func, .. } => match &func.kind {
                ExprKind::Attribute { value, name } if value.as_name().is_some() => {
                    let of_shape = matches!(name.as_str(), "stride" | "size" | "numel" | "dim");
                    if of_shape {
                        return true;
                    }
                }
                _ => {}
            },
            ExprKind::Subscript { value, index } => return self.is_constant(value) && self.is_constant(index),
            _ => {}
        }
        crate::syntax::walk::each_expr(expr, &mut |e| {
            constant &= match &e.kind {
                ExprKind::Name(name) => !self.inputs.tensors.contains_key(name),
                ExprKind::Call { func, .. } => func.as_name().is_some_and(|name| BUILTINS.contains(&name)),
                ExprKind::Slice { .. } | ExprKind::Attribute { .. } => false,
                _ => true,
            };
        });
        constant
    }

    fn value(&self, expr: &Expr) -> Result<Value> {
        let span = expr.span;
        if self.is_constant(expr) {
            return Ok(Value::Constant(eval::evaluate(self.file, expr, self.inputs.scope)?));
        }
        let rounding = self.inputs.rounding;
        Ok(Value::Array(match &expr.kind {
            ExprKind::Name(name) => match self.inputs.tensors.get(name) {
                Some(tensor) => exact(tensor),
                None => return Err(self.error(span, format!("`{name}` has no elements here"))),
            },
            ExprKind::Unary(UnaryOp::Neg, a) => {
                let a = self.array_of(a)?;
                pointwise::unary("neg", &a, rounding).ok_or_else(|| self.error(span, "no negation"))?
            }
            ExprKind::Unary(UnaryOp::Pos, a) => self.array_of(a)?,
            ExprKind::Unary(UnaryOp::Invert | UnaryOp::Not, a) => {
                let a = self.array_of(a)?;
                let flip = |v: &f64| if a.kind == Kind::Bool { 1.0 - v } else { -v - 1.0 };
                Array { value: a.value.iter().map(flip).collect(), ..a }
            }
            ExprKind::Binary(crate::syntax::ast::BinaryOp::MatMul, a, b) => {
                self.lift(span, reduce::matmul(&self.array_of(a)?, &self.array_of(b)?, rounding))?
            }
            ExprKind::Binary(op, a, b) => {
                self.lift(span, pointwise::binary(*op, &self.array_of(a)?, &self.array_of(b)?, rounding))?
            }
            ExprKind::Compare { left, rest } => {
                let mut left = self.array_of(left)?;
                let mut all: Option<Array> = None;
                for (op, right) in rest {
                    let right = self.array_of(right)?;
                    let held = self.lift(span, pointwise::compare(*op, &left, &right))?;
                    all = Some(match all {
                        None => held,
                        Some(all) => {
                            let and = crate::syntax::ast::BinaryOp::BitAnd;
                            self.lift(span, pointwise::binary(and, &all, &held, rounding))?
                        }
                    });
                    left = right;
                }
                all.ok_or_else(|| self.error(span, "nothing is compared"))?
            }
            ExprKind::Logical(op, items) => {
                let op = match op {
                    BoolOp::And => crate::syntax::ast::BinaryOp::BitAnd,
                    BoolOp::Or => crate::syntax::ast::BinaryOp::BitOr,
                };
                let mut all: Option<Array> = None;
                for item in items {
                    let item = self.array_of(item)?;
                    all = Some(match all {
                        None => item,
                        Some(all) => self.lift(span, pointwise::binary(op, &all, &item, rounding))?,
                    });
                }
                all.ok_or_else(|| self.error(span, "nothing is combined"))?
            }
            ExprKind::Conditional { test, then, other } => {
                if !self.is_constant(test) {
                    return Err(*Box::new(self.error(test.span, "a condition on elements: write where(condition, a, b)")));
                }
                let holds = eval::evaluate(self.file, test, self.inputs.scope)?.truthy();
                return self.value(if holds { then } else { other });
            }
            ExprKind::Call { func, args, keywords } => return self.call(span, func, args, keywords),
            ExprKind::Attribute { value, name } => {
                let a = self.array_of(value)?;
                self.lift(span, index::attribute(&a, name))?
            }
            ExprKind::Subscript { value, index } => {
                let a = self.array_of(value)?;
                self.subscript(&a, index)?
            }
            ExprKind::Tuple(_) | ExprKind::List(_) => return Err(self.error(span, "a tuple of tensors has no value here")),
            ExprKind::Int(_)
            | ExprKind::BigInt(_)
            | ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Bool(_)
            | ExprKind::None
            | ExprKind::Ellipsis
            | ExprKind::FString(_)
            | ExprKind::Dict(_)
            | ExprKind::Slice { .. }
            | ExprKind::Starred(_)
            | ExprKind::Lambda { .. }
            | ExprKind::Other(_) => return Err(self.error(span, "this has no value in a formula")),
        }))
    }
}

/// Functions of [`eval::call_builtin`] that no tensor is handed to.
const BUILTINS: &[&str] = &["cdiv", "next_power_of_2", "min", "max", "len", "abs", "int", "float", "bool"];

#[cfg(test)]
mod tests;
