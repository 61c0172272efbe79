//! Statements: assignments and conditions here, branches, helpers with early returns, and loops in
//! files of their own.
//!
//! A name first bound inside a loop, or in one branch only, is gone afterwards, as in Triton.

mod branch;
mod helper;
mod loops;

use std::sync::Arc;

use super::names::TRY;
use super::types::Scalar;
use super::value::{Tensor, Val};
use super::{Lower, shape_text};
use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ir::Terminator;
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Stmt, StmtKind};

/// Whether control goes on behind a list of statements.
pub enum Flow<'a> {
    Next,
    /// Every path has returned.
    Return(Val<'a>),
}

/// A condition that is known, or a run-time i1.
pub enum Condition {
    Known(bool),
    Runtime(Tensor),
}

impl<'a> Lower<'a, '_> {
    /// The body of the kernel, in top-level blocks.
    pub fn entry_body(&mut self, function: &'a FunctionDef) -> Result<()> {
        if let Flow::Return(value) = self.stmts(&function.body)?
            && !value.is_none()
        {
            return Err(self.rejected(function.name_span, "a kernel returns nothing"));
        }
        self.b.terminate(Terminator::Return);
        Ok(())
    }

    pub fn stmts(&mut self, stmts: &'a [Stmt]) -> Result<Flow<'a>> {
        for stmt in stmts {
            if let Flow::Return(value) = self.stmt(stmt)? {
                return Ok(Flow::Return(value));
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Result<Flow<'a>> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                let [target] = targets.as_slice() else {
                    if self.host {
                        let value = self.expr(value)?;
                        return targets.iter().try_fold(Flow::Next, |next, target| {
                            self.assign(target, value.clone(), span)?;
                            Ok(next)
                        });
                    }
                    return Err(self.rejected(span, "an assignment to several targets; assign one after the other"));
                };
                let value = self.expr(value)?;
                self.assign(target, value, span)?;
            }
            StmtKind::AnnAssign { target, annotation, value } => self.annotated(target, annotation, value.as_ref(), span)?,
            StmtKind::AugAssign { target, op, value } => {
                if target.as_name().is_none() {
                    return Err(self.rejected(target.span, "an assignment to something other than a name"));
                }
                let left = self.expr(target)?;
                let right = self.expr(value)?;
                self.b.span = span;
                let result = self.binary(span, *op, &left, &right)?;
                self.assign(target, result, span)?;
            }
            StmtKind::Expr(expr) => {
                // A docstring is the one bare string that is allowed.
                let said = matches!(expr.kind, ExprKind::Str(_));
                let appended = !said && self.host && self.host_append(expr)?;
                if !said && !appended {
                    self.expr(expr)?;
                }
            }
            StmtKind::If { test, body, orelse } if self.host && matches!(&test.kind, ExprKind::Other(what) if *what == TRY) => {
                return self.host_try(body, orelse);
            }
            StmtKind::If { test, body, orelse } => match self.condition(test)? {
                Condition::Known(true) => return self.stmts(body),
                Condition::Known(false) => return self.stmts(orelse),
                Condition::Runtime(condition) => {
                    if returns(body) || returns(orelse) {
                        if self.frame.loops > 0 || !self.frame.entry || self.b.in_region() {
                            return Err(self.rejected(span, "`return` inside a loop or a nested branch"));
                        }
                        return self.top_level_if(span, &condition, body, orelse);
                    }
                    self.structured_if(span, &condition, body, orelse)?;
                }
            },
            StmtKind::For { target, iter, body, orelse } => {
                if let Some(first) = orelse.first() {
                    return Err(self.rejected(first.span, "`else` behind a loop"));
                }
                if self.host {
                    return self.host_loop(target, iter, body);
                }
                return self.for_loop(span, target, iter, body);
            }
            StmtKind::While { test, body, orelse } => {
                if let Some(first) = orelse.first() {
                    return Err(self.rejected(first.span, "`else` behind a loop"));
                }
                self.while_loop(span, test, body)?;
            }
            StmtKind::Return(value) => {
                if self.frame.loops > 0 {
                    return Err(self.rejected(span, "`return` inside a loop"));
                }
                let value = match value {
                    Some(value) => self.expr(value)?,
                    None => Val::Const(Constant::None),
                };
                return Ok(Flow::Return(value));
            }
            StmtKind::Assert { test, message } => {
                let condition = self.expr(test)?;
                let message = match message {
                    Some(message) => self.expr(message)?.to_constant().and_then(|c| c.as_str().map(str::to_owned)),
                    None => None,
                };
                self.b.span = span;
                self.device_assert(span, &condition, message.as_deref().unwrap_or(""))?;
            }
            StmtKind::Pass => {}
            StmtKind::Break => return Err(self.rejected(span, "`break`; put the condition into a `while` or a mask")),
            StmtKind::Continue => return Err(self.rejected(span, "`continue`; put the rest of the body under an `if`")),
            StmtKind::Function(function) => {
                return Err(self.rejected(function.name_span, "a function inside a kernel; move it to module level"));
            }
            StmtKind::Import(_) | StmtKind::ImportFrom { .. } if self.host => self.host_import(stmt)?,
            StmtKind::Import(_) | StmtKind::ImportFrom { .. } => {
                return Err(self.rejected(span, "an import inside a kernel; move it to module level"));
            }
            StmtKind::Class { .. } => return Err(self.rejected(span, "a class inside a kernel")),
            StmtKind::Raise(_) => return Err(self.rejected(span, "`raise`; use tl.device_assert or tl.static_assert")),
            StmtKind::Other(what) => return Err(self.rejected(span, format!("`{what}` in a kernel"))),
        }
        Ok(Flow::Next)
    }

    fn annotated(&mut self, target: &'a Expr, annotation: &'a Expr, value: Option<&'a Expr>, span: Span) -> Result<()> {
        let Some(name) = target.as_name() else {
            return Err(self.rejected(target.span, "an annotated assignment to something other than a name"));
        };
        let constexpr = self.names().is_constexpr(annotation);
        let Some(value) = value else {
            if constexpr {
                self.pending.push(name.to_owned());
            }
            return Ok(());
        };
        let value = self.expr(value)?;
        if !constexpr {
            return self.assign(target, value, span);
        }
        if self.scope.get(name).is_some() {
            return Err(self.rejected(target.span, format!("`{name}` is already defined; a constexpr cannot be assigned again")));
        }
        self.bind(name, value);
        Ok(())
    }

    pub fn bind(&mut self, name: &str, value: Val<'a>) {
        for tensor in value.flattened() {
            self.b.name(tensor.value, name);
        }
        self.scope.set(name, value);
        if !self.defs.iter().any(|known| &**known == name) {
            self.defs.push(Arc::from(name));
        }
    }

    pub fn assign(&mut self, target: &'a Expr, value: Val<'a>, span: Span) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                if let Some(at) = self.pending.iter().position(|p| p == name) {
                    self.pending.remove(at);
                    self.bind(name, value);
                    return Ok(());
                }
                let value = if self.host { value } else { self.storable(span, value)? };
                self.bind(name, value);
                Ok(())
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                let Val::Tuple(values) = value else {
                    return Err(self.type_error(span, format!("cannot unpack {}", value.describe())));
                };
                if let Some(starred) = targets.iter().find(|t| matches!(t.kind, ExprKind::Starred(_))) {
                    return Err(self.rejected(starred.span, "a starred target"));
                }
                if values.len() != targets.len() {
                    let message = format!("{} values for {} targets", values.len(), targets.len());
                    return Err(self.type_error(span, message));
                }
                for (target, value) in targets.iter().zip(values) {
                    self.assign(target, value, span)?;
                }
                Ok(())
            }
            ExprKind::Subscript { .. } => {
                Err(self.rejected(target.span, "an assignment to an element of a block; use tl.where or tl.store"))
            }
            _ => Err(self.rejected(target.span, "an assignment to something other than a name")),
        }
    }

    /// What an assignment binds: a Python number becomes a run-time constant.
    fn storable(&mut self, span: Span, value: Val<'a>) -> Result<Val<'a>> {
        match value {
            Val::Const(Constant::Int(_) | Constant::Float(_) | Constant::Bool(_)) => {
                self.b.span = span;
                Ok(Val::Tensor(self.tensor_of(span, &value)?))
            }
            Val::Tuple(items) => Ok(Val::Tuple(items.into_iter().map(|item| self.storable(span, item)).collect::<Result<_>>()?)),
            Val::Const(Constant::None) | Val::Tensor(_) | Val::Type(_) | Val::BlockPtr(_) | Val::Descriptor(_) => Ok(value),
            other => {
                let message = format!("{} cannot be assigned to a variable; annotate it as tl.constexpr", other.describe());
                Err(self.rejected(span, message))
            }
        }
    }

    /// The condition of an `if`, `while` or conditional expression.
    pub fn condition(&mut self, test: &'a Expr) -> Result<Condition> {
        let value = self.expr(test)?;
        self.b.span = test.span;
        self.condition_of(test.span, &value)
    }

    fn condition_of(&mut self, span: Span, value: &Val<'a>) -> Result<Condition> {
        match value {
            Val::Tensor(tensor) => {
                if tensor.ty.is_block() {
                    let shape = shape_text(&tensor.ty.shape);
                    return Err(self.type_error(span, format!("a block of {shape} as a condition; reduce it to a scalar first")));
                }
                Ok(Condition::Runtime(self.cast(span, tensor, Scalar::Num(DType::Bool))?))
            }
            Val::Const(constant @ (Constant::Bool(_) | Constant::Int(_) | Constant::None)) => {
                Ok(Condition::Known(constant.truthy()))
            }
            Val::Const(constant) if self.host => Ok(Condition::Known(constant.truthy())),
            Val::Tuple(items) if self.host => Ok(Condition::Known(!items.is_empty())),
            other => {
                let message = format!("{} as a condition; only bool, int and None are allowed", other.describe());
                Err(self.rejected(span, message))
            }
        }
    }
}

/// Whether statements contain a `return`, at any depth.
fn returns(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::If { body, orelse, .. } | StmtKind::For { body, orelse, .. } | StmtKind::While { body, orelse, .. } => {
            returns(body) || returns(orelse)
        }
        StmtKind::Import(_)
        | StmtKind::ImportFrom { .. }
        | StmtKind::Function(_)
        | StmtKind::Class { .. }
        | StmtKind::Assign { .. }
        | StmtKind::AnnAssign { .. }
        | StmtKind::AugAssign { .. }
        | StmtKind::Expr(_)
        | StmtKind::Raise(_)
        | StmtKind::Assert { .. }
        | StmtKind::Pass
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Other(_) => false,
    })
}
