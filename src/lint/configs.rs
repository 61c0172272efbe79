//! The configurations of `@triton.autotune`: what each gives to constexprs, `num_warps` and `num_stages`.
//!
//! `configs=[triton.Config({"BM": 64}, num_warps=8), …]`, in the decorator or under a name of the module. Lists
//! that are computed are not read.

use std::collections::BTreeMap;

use super::specialise::constant;
use super::subject::{Call, Function, Subject};
use crate::syntax::Constant;
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

/// What each config gives.
pub fn of(subject: &Subject<'_>, function: &Function<'_>) -> Vec<BTreeMap<String, Constant>> {
    let mut found = Vec::new();
    for call in calls(subject, function) {
        let mut config = BTreeMap::new();
        if let Some(ExprKind::Dict(pairs)) = call.argument("kwargs", 0).map(|e| &e.kind) {
            for (key, value) in pairs {
                if let (Some(ExprKind::Str(name)), Some(value)) = (key.as_ref().map(|k| &k.kind), constant(subject, value)) {
                    config.insert(name.clone(), value);
                }
            }
        }
        for name in ["num_warps", "num_stages"] {
            if let Some(value) =
                call.keywords.iter().find(|k| k.name.as_deref() == Some(name)).and_then(|k| constant(subject, &k.value))
            {
                config.insert(name.to_owned(), value);
            }
        }
        found.push(config);
    }
    found
}
