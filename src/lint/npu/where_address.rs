//! N014: `tl.where` takes part in an address.
//!
//! Why: the NPU's compiler recognises addresses by their arithmetic; a selection of offsets or pointers falls out of
//! it and is not supported. Multiplying by the mask says the same. Source: triton-ascend's migration guide.
//! Does not catch: a selection that a helper returns.

use crate::lint::flow::{address, addressing, memory};
use crate::lint::rule::Found;
use crate::lint::subject::{Subject, calls, stmts};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, StmtKind};
use crate::syntax::walk::each_expr;

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    let mut selections: Vec<Span> = Vec::new();
    let mut look = |expr: &Expr| {
        each_expr(expr, &mut |e| {
            if let ExprKind::Call { func, .. } = &e.kind
                && subject.builtin(func).as_deref() == Some("where")
            {
                selections.push(e.span);
            }
        });
    };
    for function in &subject.functions {
        let names = addressing(subject, function);
        for call in calls(function).into_iter().filter(|call| memory(subject, call).is_some()) {
            address(subject, &call).into_iter().for_each(&mut look);
        }
        for stmt in stmts(function) {
            if let StmtKind::Assign { targets, value } = &stmt.kind
                && targets.iter().filter_map(Expr::as_name).any(|name| names.contains(name))
            {
                look(value);
            }
        }
    }
    for span in selections {
        found.at(span, "`tl.where` selects offsets").help("multiply by the mask: `offset * mask`, or mask the access");
    }
}
