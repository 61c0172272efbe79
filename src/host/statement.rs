//! Statements of host code, on a budget that stands against loops which do not end.

use super::eval::Evaluator;
use super::frame::Frame;
use super::value::Value;
use crate::diag::{self, Diagnostic, codes};
use crate::syntax::ast::{Expr, ExprKind, FStringPart, Stmt, StmtKind};

/// Statements that one entry may execute.
pub(super) const STATEMENTS: u64 = 4_000_000;

/// What running a statement leads to.
enum Flow<'m> {
    Next,
    Return(Value<'m>),
}

impl<'m> Evaluator<'m> {
    /// Runs a function's body.
    pub fn run_body(&mut self, frame: &mut Frame<'m>) -> diag::Result<Value<'m>> {
        let body = match frame.def.body.as_slice() {
            [first, rest @ ..] if first.is_text() => rest,
            all => all,
        };
        match self.block(frame, body)? {
            Flow::Return(value) => Ok(value),
            Flow::Next => Ok(Value::None),
        }
    }

    /// Runs one statement of a function that is run piece by piece.
    pub fn one(&mut self, frame: &mut Frame<'m>, stmt: &'m Stmt) -> diag::Result<()> {
        match self.statement(frame, stmt)? {
            Flow::Next => Ok(()),
            Flow::Return(_) => Err(frame.unsupported(stmt.span, "a return here")),
        }
    }

    fn block(&mut self, frame: &mut Frame<'m>, body: &'m [Stmt]) -> diag::Result<Flow<'m>> {
        for stmt in body {
            if let Flow::Return(value) = self.statement(frame, stmt)? {
                return Ok(Flow::Return(value));
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, frame: &mut Frame<'m>, stmt: &'m Stmt) -> diag::Result<Flow<'m>> {
        self.budget = self
            .budget
            .checked_sub(1)
            .ok_or_else(|| frame.error(&codes::FUEL, stmt.span, format!("host code ran more than {STATEMENTS} statements")))?;
        let refused = match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                let value = self.expr(frame, value)?;
                for target in targets {
                    self.assign(frame, target, value.clone())?;
                }
                return Ok(Flow::Next);
            }
            StmtKind::AnnAssign { target, annotation: _, value: Some(value) } => {
                let value = self.expr(frame, value)?;
                self.assign(frame, target, value)?;
                return Ok(Flow::Next);
            }
            StmtKind::AugAssign { target, op, value } => {
                // In place on a tensor or an item of it; of numbers and tuples a new value for the name.
                let name = target.as_name().ok_or_else(|| frame.unsupported(target.span, "this augmented assignment"))?;
                let old = self.name(frame, name, target.span)?;
                let new = self.expr(frame, value)?;
                let value = self.binary(frame, *op, old, new, stmt.span)?;
                frame.locals.insert(name, value);
                return Ok(Flow::Next);
            }
            StmtKind::Assert { test, message: _ } => {
                let value = self.expr(frame, test)?;
                if !self.truth(frame, test.span, &value)? {
                    let what = format!("fails: assert {}", frame.module.ast.file.slice(test.span));
                    return Err(frame.error(&codes::HOST_RAISED, stmt.span, what));
                }
                return Ok(Flow::Next);
            }
            StmtKind::Expr(e) => {
                if !matches!(e.kind, ExprKind::Call { .. }) {
                    return Err(frame.unsupported(stmt.span, "an expression statement that is not a call"));
                }
                self.expr(frame, e)?;
                return Ok(Flow::Next);
            }
            StmtKind::If { test, body, orelse } => {
                let value = self.expr(frame, test)?;
                let branch = if self.truth(frame, test.span, &value)? { body } else { orelse };
                return self.block(frame, branch);
            }
            StmtKind::For { target, iter, body, orelse } => {
                let name = target.as_name().ok_or_else(|| frame.unsupported(target.span, "a loop target that is not a name"))?;
                if !orelse.is_empty() {
                    return Err(frame.unsupported(stmt.span, "for … else"));
                }
                let Value::Range(start, stop, step) = self.expr(frame, iter)? else {
                    return Err(frame.unsupported(iter.span, "a loop over anything but range(…)"));
                };
                let mut i = start;
                while if step > 0 { i < stop } else { i > stop } {
                    frame.locals.insert(name, Value::Int(i));
                    if let Flow::Return(value) = self.block(frame, body)? {
                        return Ok(Flow::Return(value));
                    }
                    let Some(next) = i.checked_add(step) else { break };
                    i = next;
                }
                return Ok(Flow::Next);
            }
            StmtKind::Return(value) => {
                return Ok(Flow::Return(value.as_ref().map_or(Ok(Value::None), |e| self.expr(frame, e))?));
            }
            StmtKind::Raise(Some(e)) => return Err(self.raised(frame, e)?),
            StmtKind::Raise(None) => "a bare raise",
            StmtKind::Import(_) | StmtKind::ImportFrom { .. } => "an import inside a function",
            StmtKind::Function(_) => "a function inside a function",
            StmtKind::Class { .. } => "a class inside a function",
            StmtKind::AnnAssign { .. } => "an annotation without a value",
            StmtKind::While { .. } => "while",
            StmtKind::Pass => "pass",
            StmtKind::Break => "break",
            StmtKind::Continue => "continue",
            StmtKind::Other(name) => name,
        };
        Err(frame.unsupported(stmt.span, refused))
    }

    /// `raise ValueError(f"…")` as a diagnostic; of another raise the statement itself is the message.
    fn raised(&mut self, frame: &mut Frame<'m>, e: &'m Expr) -> diag::Result<Box<Diagnostic>> {
        let raised = frame.error(&codes::HOST_RAISED, e.span, format!("raises {}", frame.module.ast.file.slice(e.span)));
        let ExprKind::Call { func, args, keywords } = &e.kind else { return Ok(raised) };
        let ([message], []) = (args.as_slice(), keywords.as_slice()) else { return Ok(raised) };
        if func.as_name() != Some("ValueError") {
            return Ok(raised);
        }
        let text = match &message.kind {
            ExprKind::Str(s) => s.clone(),
            ExprKind::FString(parts) => {
                let mut text = String::new();
                for part in parts {
                    match part {
                        FStringPart::Literal(s) => text.push_str(s),
                        FStringPart::Expr(e) => text.push_str(&self.expr(frame, e)?.to_string()),
                    }
                }
                text
            }
            _ => return Ok(raised),
        };
        Ok(frame.error(&codes::HOST_RAISED, e.span, text))
    }

    fn assign(&mut self, frame: &mut Frame<'m>, target: &'m Expr, value: Value<'m>) -> diag::Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                frame.locals.insert(name, value);
                Ok(())
            }
            ExprKind::Tuple(targets) => {
                let Value::Tuple(items) = value else {
                    return Err(frame.unsupported(target.span, &format!("unpacking {}", value.kind())));
                };
                if items.len() != targets.len() {
                    let message = format!("{} values are unpacked into {} names", items.len(), targets.len());
                    return Err(frame.raises(target.span, message));
                }
                for (target, item) in targets.iter().zip(items) {
                    let name = target.as_name().ok_or_else(|| frame.unsupported(target.span, "this assignment target"))?;
                    frame.locals.insert(name, item);
                }
                Ok(())
            }
            ExprKind::Attribute { .. } => Err(frame.unsupported(target.span, "assigning to an attribute")),
            ExprKind::Subscript { .. } => Err(frame.unsupported(target.span, "assigning to an item")),
            _ => Err(frame.unsupported(target.span, "this assignment target")),
        }
    }
}
