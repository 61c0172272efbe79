//! N011: control flow that the NPU's compiler lacks: `while`, `break`, `continue`, `lambda`, and a `return` before
//! the end of a kernel.
//!
//! Source: the list of unsupported syntax of triton-ascend's programming guide. What a helper returns is inlined
//! and is fine at its end.

use crate::lint::rule::Found;
use crate::lint::subject::{Subject, exprs, stmts};
use crate::syntax::ast::{ExprKind, StmtKind};

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    for function in &subject.functions {
        let last = function.def.body.last().map(|stmt| stmt.span);
        for stmt in stmts(function) {
            let (what, help) = match &stmt.kind {
                StmtKind::While { test: _, body: _, orelse: _ } => {
                    ("`while`", "loop with `for` over a range, and mask what is done in vain")
                }
                StmtKind::Break => ("`break`", "let the loop run to its end, and mask what is done in vain"),
                StmtKind::Continue => ("`continue`", "put the rest of the body under an `if`"),
                StmtKind::Return(_) if Some(stmt.span) != last => {
                    ("`return` before the end", "put the rest under an `if`, or mask it")
                }
                StmtKind::Return(_)
                | StmtKind::Import(_)
                | StmtKind::ImportFrom { .. }
                | StmtKind::Function(_)
                | StmtKind::Class { .. }
                | StmtKind::Assign { .. }
                | StmtKind::AnnAssign { .. }
                | StmtKind::AugAssign { .. }
                | StmtKind::Expr(_)
                | StmtKind::If { .. }
                | StmtKind::For { .. }
                | StmtKind::Raise(_)
                | StmtKind::Assert { .. }
                | StmtKind::Pass
                | StmtKind::Other(_) => continue,
            };
            found.at(stmt.span, format!("{what} in `{}`", function.def.name)).help(help);
        }
        for expr in exprs(function).into_iter().filter(|e| matches!(e.kind, ExprKind::Lambda { .. })) {
            found.at(expr.span, format!("`lambda` in `{}`", function.def.name)).help("make it a @triton.jit function");
        }
    }
}
