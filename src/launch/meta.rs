//! Grids as Triton's users write them: `lambda META: (cdiv(n, META['BLOCK']),)` and `META['BLOCK']`.
//!
//! Every meta-parameter is a name of the description, so that both are rewritten to the names themselves.

use crate::syntax::ast::{Expr, ExprKind, Keyword};

/// The expression without its lambda and without subscripts by strings.
pub fn without_meta(expr: &Expr) -> Expr {
    match &expr.kind {
        ExprKind::Lambda { params: _, body } => without_meta(body),
        _ => rewritten(expr),
    }
}

fn rewritten(expr: &Expr) -> Expr {
    let each = |items: &[Expr]| items.iter().map(rewritten).collect::<Vec<_>>();
    let boxed = |e: &Expr| Box::new(rewritten(e));
    let kind = match &expr.kind {
        ExprKind::Subscript { value, index } => match (value.as_name(), &index.kind) {
            (Some(_), ExprKind::Str(name)) => ExprKind::Name(name.clone()),
            _ => ExprKind::Subscript { value: boxed(value), index: boxed(index) },
        },
        ExprKind::Tuple(items) => ExprKind::Tuple(each(items)),
        ExprKind::List(items) => ExprKind::List(each(items)),
        ExprKind::Logical(op, items) => ExprKind::Logical(*op, each(items)),
        ExprKind::Unary(op, a) => ExprKind::Unary(*op, boxed(a)),
        ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, boxed(a), boxed(b)),
        ExprKind::Compare { left, rest } => {
            ExprKind::Compare { left: boxed(left), rest: rest.iter().map(|(op, e)| (*op, rewritten(e))).collect() }
        }
        ExprKind::Conditional { test, then, other } => {
            ExprKind::Conditional { test: boxed(test), then: boxed(then), other: boxed(other) }
        }
        ExprKind::Call { func, args, keywords } => {
            let keyword = |k: &Keyword| Keyword { name: k.name.clone(), value: rewritten(&k.value), span: k.span };
            ExprKind::Call { func: func.clone(), args: each(args), keywords: keywords.iter().map(keyword).collect() }
        }
        ExprKind::Starred(a) => ExprKind::Starred(boxed(a)),
        ExprKind::Attribute { .. }
        | ExprKind::Slice { .. }
        | ExprKind::Lambda { .. }
        | ExprKind::Dict(_)
        | ExprKind::FString(_)
        | ExprKind::Name(_)
        | ExprKind::Int(_)
        | ExprKind::BigInt(_)
        | ExprKind::Float(_)
        | ExprKind::Str(_)
        | ExprKind::Bool(_)
        | ExprKind::None
        | ExprKind::Ellipsis
        | ExprKind::Other(_) => expr.kind.clone(),
    };
    Expr { kind, span: expr.span }
}
