//! Lambdas: functions of one expression, as grids are written that depend on a launch's own arguments
//! (`lambda meta: (triton.cdiv(n, meta["BLOCK"]),)`).
//!
//! Python looks up the names of a lambda when it is called. Here they are taken when it is made, and a lambda over a name
//! that its function binds more than once, or in a loop, is refused: the two might differ.

use super::eval::Evaluator;
use super::frame::Frame;
use super::value::{Lambda, Value};
use crate::diag;
use crate::source::Span;
use crate::syntax::ast::{Expr, FunctionDef, Param, ParamKind, Stmt, StmtKind};
use crate::syntax::walk::each_expr;

impl<'m> Evaluator<'m> {
    pub(super) fn lambda(&mut self, frame: &Frame<'m>, params: &'m [Param], body: &'m Expr) -> diag::Result<Value<'m>> {
        let mut again = None;
        each_expr(body, &mut |e| {
            if let Some(name) = e.as_name().filter(|name| frame.locals.contains_key(name) || frame.assigned.contains(name)) {
                let own = params.iter().any(|param| param.name == name);
                again = again.or((!own && !is_bound_once(frame.def, name)).then_some((name, e.span)));
            }
        });
        if let Some((name, span)) = again {
            return Err(frame.unsupported(span, &format!("a lambda over `{name}`, which is bound more than once,")));
        }
        let (module, def, locals) = (frame.module, frame.def, frame.locals.clone());
        Ok(Value::Lambda(Box::new(Lambda { module, def, params, body, locals })))
    }

    pub(super) fn call_lambda(
        &mut self,
        frame: &Frame<'m>,
        lambda: &Lambda<'m>,
        args: Vec<Value<'m>>,
        span: Span,
    ) -> diag::Result<Value<'m>> {
        if lambda.params.len() != args.len() || lambda.params.iter().any(|param| param.kind != ParamKind::Positional) {
            let message = format!("a lambda of {} parameters is called with {} arguments", lambda.params.len(), args.len());
            return Err(frame.raises(span, message));
        }
        let mut inner = Frame::new(lambda.module, lambda.def);
        inner.locals.clone_from(&lambda.locals);
        inner.locals.extend(lambda.params.iter().map(|param| param.name.as_str()).zip(args));
        self.expr(&mut inner, lambda.body)
    }
}

/// Whether one statement outside loops, or the parameter list alone, gives a name its value.
fn is_bound_once(def: &FunctionDef, name: &str) -> bool {
    let parameters = def.params.iter().filter(|param| param.name == name).count();
    parameters + times_bound(&def.body, name) == 1
}

fn times_bound(body: &[Stmt], name: &str) -> usize {
    let named = |target: &Expr| {
        let mut found = 0;
        each_expr(target, &mut |e| found += usize::from(e.as_name() == Some(name)));
        found
    };
    let of = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Assign { targets, .. } => targets.iter().map(named).sum(),
        StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } => named(target),
        StmtKind::If { body, orelse, .. } => times_bound(body, name) + times_bound(orelse, name),
        // What a loop binds, it may bind often.
        StmtKind::For { target, body, orelse, .. } => 2 * (named(target) + times_bound(body, name) + times_bound(orelse, name)),
        StmtKind::While { body, orelse, .. } => 2 * (times_bound(body, name) + times_bound(orelse, name)),
        _ => 0,
    };
    body.iter().map(of).sum()
}
