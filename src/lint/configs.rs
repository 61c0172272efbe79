//! The calls of `@triton.autotune` and of its `triton.Config`s, as text.
//!
//! `configs=[triton.Config({"BM": 64}, num_warps=8), …]`, in the decorator or under a name of the module. Calls inside
//! of lists that are computed are not seen; their values are ([`crate::kernel::lower::decorators`]).

use super::subject::{Call, Function, Subject};
use crate::syntax::ast::{Expr, ExprKind, StmtKind};

/// The call of a decorator `@triton.autotune(…)`.
pub fn autotune<'a>(subject: &Subject<'a>, function: &Function<'a>) -> Option<Call<'a>> {
    function.def.decorators.iter().find_map(|decorator| match &decorator.kind {
        ExprKind::Call { func, args, keywords } if subject.imports.path(func).as_deref() == Some("triton.autotune") => {
            Some(Call { span: decorator.span, func, args, keywords })
        }
        _ => None,
    })
}

/// The calls `triton.Config(…)` of a function's decorator.
pub fn calls<'a>(subject: &Subject<'a>, function: &Function<'a>) -> Vec<Call<'a>> {
    let Some(list) = autotune(subject, function).and_then(|call| call.argument("configs", 0)) else { return Vec::new() };
    let list = list.as_name().and_then(|name| global(subject, name)).unwrap_or(list);
    let ExprKind::List(items) = &list.kind else { return Vec::new() };
    let config = |e: &'a Expr| match &e.kind {
        ExprKind::Call { func, args, keywords } if subject.imports.path(func).as_deref() == Some("triton.Config") => {
            Some(Call { span: e.span, func, args, keywords })
        }
        _ => None,
    };
    items.iter().filter_map(config).collect()
}

fn global<'a>(subject: &Subject<'a>, wanted: &str) -> Option<&'a Expr> {
    subject.module.body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Assign { targets, value } if targets.iter().any(|t| t.as_name() == Some(wanted)) => Some(value),
        _ => None,
    })
}
