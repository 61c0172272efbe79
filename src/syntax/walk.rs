//! Walks over Python syntax trees, parents before children, in source order.

use super::ast::{Expr, ExprKind, FStringPart, Stmt, StmtKind};

/// Calls `visit` with an expression and everything inside it.
pub fn each_expr<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit(expr);
    match &expr.kind {
        ExprKind::Name(_)
        | ExprKind::Int(_)
        | ExprKind::BigInt(_)
        | ExprKind::Float(_)
        | ExprKind::Str(_)
        | ExprKind::Bool(_)
        | ExprKind::None
        | ExprKind::Ellipsis
        | ExprKind::Other(_) => {}
        ExprKind::FString(parts) => parts.iter().for_each(|part| match part {
            FStringPart::Literal(_) => {}
            FStringPart::Expr(e) => each_expr(e, visit),
        }),
        ExprKind::Tuple(items) | ExprKind::List(items) | ExprKind::Logical(_, items) => {
            items.iter().for_each(|e| each_expr(e, visit));
        }
        ExprKind::Dict(pairs) => {
            for (key, value) in pairs {
                key.iter().for_each(|k| each_expr(k, visit));
                each_expr(value, visit);
            }
        }
        ExprKind::Unary(_, a) | ExprKind::Starred(a) | ExprKind::Lambda { params: _, body: a } => each_expr(a, visit),
        ExprKind::Binary(_, a, b) | ExprKind::Subscript { value: a, index: b } => {
            each_expr(a, visit);
            each_expr(b, visit);
        }
        ExprKind::Compare { left, rest } => {
            each_expr(left, visit);
            rest.iter().for_each(|(_, e)| each_expr(e, visit));
        }
        ExprKind::Conditional { test, then, other } => {
            each_expr(then, visit);
            each_expr(test, visit);
            each_expr(other, visit);
        }
        ExprKind::Call { func, args, keywords } => {
            each_expr(func, visit);
            args.iter().for_each(|e| each_expr(e, visit));
            keywords.iter().for_each(|k| each_expr(&k.value, visit));
        }
        ExprKind::Attribute { value, name: _ } => each_expr(value, visit),
        ExprKind::Slice { lower, upper, step } => {
            [lower, upper, step].into_iter().flatten().for_each(|e| each_expr(e, visit));
        }
    }
}

/// Calls `visit` with every statement of a block and of the blocks inside it.
pub fn each_stmt<'a>(block: &'a [Stmt], visit: &mut dyn FnMut(&'a Stmt)) {
    for stmt in block {
        visit(stmt);
        match &stmt.kind {
            StmtKind::Function(function) => each_stmt(&function.body, visit),
            StmtKind::Class { body, .. } => each_stmt(body, visit),
            StmtKind::If { body, orelse, .. } | StmtKind::For { body, orelse, .. } | StmtKind::While { body, orelse, .. } => {
                each_stmt(body, visit);
                each_stmt(orelse, visit);
            }
            StmtKind::Import(_)
            | StmtKind::ImportFrom { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AnnAssign { .. }
            | StmtKind::AugAssign { .. }
            | StmtKind::Expr(_)
            | StmtKind::Return(_)
            | StmtKind::Raise(_)
            | StmtKind::Assert { .. }
            | StmtKind::Pass
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Other(_) => {}
        }
    }
}

/// The expressions of one statement itself, blocks inside it excepted.
pub fn own_exprs(stmt: &Stmt) -> Vec<&Expr> {
    match &stmt.kind {
        StmtKind::Assign { targets, value } => targets.iter().chain([value]).collect(),
        StmtKind::AnnAssign { target, annotation: _, value } => [target].into_iter().chain(value).collect(),
        StmtKind::AugAssign { target, op: _, value } => vec![target, value],
        StmtKind::Expr(e) => vec![e],
        StmtKind::If { test, .. } | StmtKind::While { test, .. } => vec![test],
        StmtKind::For { target, iter, .. } => vec![target, iter],
        StmtKind::Return(e) | StmtKind::Raise(e) => e.iter().collect(),
        StmtKind::Assert { test, message } => [test].into_iter().chain(message).collect(),
        StmtKind::Import(_)
        | StmtKind::ImportFrom { .. }
        | StmtKind::Function(_)
        | StmtKind::Class { .. }
        | StmtKind::Pass
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Other(_) => Vec::new(),
    }
}
