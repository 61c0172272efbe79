//! Bodies of inlined helpers, which may return early: a run-time `if` that contains a `return` becomes an
//! `scf.if` that yields the returned values, with the statements that follow it lowered into each
//! branch that does not return.

use super::{Condition, Flow, returns};
use crate::diag::Result;
use crate::kernel::ir::{InstKind, Region, Type};
use crate::kernel::lower::Lower;
use crate::kernel::lower::types::{Ty, number_type};
use crate::kernel::lower::value::{Tensor, Val};
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{FunctionDef, Stmt, StmtKind};

/// Statements still to be lowered: a list, then what follows it.
struct Rest<'a, 'r> {
    stmts: &'a [Stmt],
    next: Option<&'r Rest<'a, 'r>>,
}

/// Branches that run to the end of a helper nest; deeper than this is refused.
const MAX_DEPTH: usize = 90;

impl<'a> Lower<'a, '_> {
    /// The body of an inlined helper; the value it returns.
    pub fn helper_body(&mut self, function: &'a FunctionDef) -> Result<Val<'a>> {
        match self.run(&Rest { stmts: &function.body, next: None })? {
            Flow::Return(value) => Ok(value),
            Flow::Next => Ok(Val::Const(Constant::None)),
        }
    }

    /// Lowers statements and then what follows them, in a helper.
    fn run(&mut self, rest: &Rest<'a, '_>) -> Result<Flow<'a>> {
        for (i, stmt) in rest.stmts.iter().enumerate() {
            let after = Rest { stmts: &rest.stmts[i + 1..], next: rest.next };
            match &stmt.kind {
                StmtKind::If { test, body, orelse } if returns(body) || returns(orelse) => {
                    let known = match self.condition(test)? {
                        Condition::Known(known) => known,
                        Condition::Runtime(condition) => {
                            let body = Rest { stmts: body, next: Some(&after) };
                            let orelse = Rest { stmts: orelse, next: Some(&after) };
                            return self.returning_if(stmt.span, &condition, &body, &orelse);
                        }
                    };
                    let taken = Rest { stmts: if known { body } else { orelse }, next: None };
                    if let Flow::Return(value) = self.run(&taken)? {
                        return Ok(Flow::Return(self.with_unreached(stmt.span, value, &after)?));
                    }
                }
                _ => {
                    if let Flow::Return(value) = self.stmt(stmt)? {
                        return Ok(Flow::Return(value));
                    }
                }
            }
        }
        match rest.next {
            Some(next) => self.run(next),
            None => Ok(Flow::Next),
        }
    }

    /// A value returned under a compile-time condition, checked against what is behind it: Triton
    /// compiles that too, and all returns of a function must agree.
    fn with_unreached(&mut self, span: Span, value: Val<'a>, after: &Rest<'a, '_>) -> Result<Val<'a>> {
        let mark = self.b.mark();
        let scope = self.scope.clone();
        self.b.open();
        self.trials += 1;
        let flow = self.run(after);
        self.trials -= 1;
        self.b.discard(mark);
        self.scope = scope;
        // A body that ends without `return` counts only where nothing else is behind it.
        let Flow::Return(other) = flow? else { return Ok(value) };
        if value.same_type(&other) {
            return Ok(value);
        }
        let value = self.materialise(span, &value)?;
        if !same_return(&value, &other) {
            let message =
                format!("the returns of a helper differ in type: {} and {} behind it", value.describe(), other.describe());
            return Err(self.type_error(span, message));
        }
        Ok(value)
    }

    /// An `scf.if` in a helper whose branches run to the end of the function.
    fn returning_if(&mut self, span: Span, condition: &Tensor, body: &Rest<'a, '_>, orelse: &Rest<'a, '_>) -> Result<Flow<'a>> {
        if self.frame.loops > 0 {
            return Err(self.rejected(span, "`return` inside a loop"));
        }
        if self.b.depth() > MAX_DEPTH {
            return Err(self.unsupported(span, format!("branches nested more than {MAX_DEPTH} deep")));
        }
        let live = self.scope.clone();
        let branch = |lower: &mut Self, rest: &Rest<'a, '_>| -> Result<(Val<'a>, Region)> {
            lower.scope = live.clone();
            lower.b.open();
            let value = match lower.run(rest)? {
                Flow::Return(value) => value,
                Flow::Next => Val::Const(Constant::None),
            };
            // Numbers are returned as run-time constants when the branches' numbers differ.
            Ok((value, lower.b.close(Vec::new(), Vec::new())))
        };
        let (then_value, mut then) = branch(self, body)?;
        let (other_value, mut otherwise) = branch(self, orelse)?;
        let (then_value, other_value) = if then_value.same_type(&other_value) {
            (then_value, other_value)
        } else {
            (
                self.in_region(&mut then, |l| l.materialise(span, &then_value))?,
                self.in_region(&mut otherwise, |l| l.materialise(span, &other_value))?,
            )
        };
        if !then_value.same_type(&other_value) {
            let message =
                format!("the returns of a helper differ in type: {} and {}", then_value.describe(), other_value.describe());
            return Err(self.type_error(span, message));
        }
        then.yields = then_value.flattened().iter().map(|t| t.value).collect();
        otherwise.yields = other_value.flattened().iter().map(|t| t.value).collect();
        let types: Vec<Type> = then_value.flattened().iter().map(|t| t.ty.ir()).collect();
        self.b.span = span;
        let results = self.b.insts_with(InstKind::If { condition: condition.value, then, otherwise }, &types);
        self.scope = live;
        Ok(Flow::Return(then_value.rebuild(&mut results.into_iter())))
    }

    /// Appends more instructions to a closed region.
    fn in_region<T>(&mut self, region: &mut Region, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.b.open();
        let result = work(self);
        let more = self.b.close(Vec::new(), Vec::new());
        region.insts.extend(more.insts);
        result
    }

    /// Python numbers, also inside tuples, as run-time constants.
    fn materialise(&mut self, span: Span, value: &Val<'a>) -> Result<Val<'a>> {
        match value {
            Val::Tuple(items) => Ok(Val::Tuple(items.iter().map(|item| self.materialise(span, item)).collect::<Result<_>>()?)),
            Val::Const(Constant::Int(_) | Constant::Float(_) | Constant::Bool(_)) => {
                self.b.span = span;
                Ok(Val::Tensor(self.tensor_of(span, value)?))
            }
            other => Ok(other.clone()),
        }
    }
}

/// Whether two returned values have one type once their numbers are run-time constants.
fn same_return(a: &Val<'_>, b: &Val<'_>) -> bool {
    let scalar = |value: &Val<'_>| match value {
        Val::Tensor(tensor) => Some(tensor.ty.clone()),
        Val::Const(constant) => number_type(constant).map(Ty::num),
        _ => None,
    };
    match (a, b) {
        (Val::Tuple(a), Val::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_return(a, b)),
        _ => match (scalar(a), scalar(b)) {
            (Some(a), Some(b)) => a == b,
            (None, None) => a.is_none() && b.is_none(),
            _ => false,
        },
    }
}
