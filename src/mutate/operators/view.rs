//! Views and reshapes of `run.py` with two sizes exchanged; other weights; a root inverted.

use super::{Operator, RUNNER};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

pub const SHAPE: Operator =
    Operator { name: "view", what: "two sizes of a view exchanged, another weight, `rsqrt` for `sqrt`", parts: RUNNER, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for call in site.calls(&["view", "reshape", "permute"]) {
        for pair in call.args.windows(2).filter(|pair| site.text(pair[0].span) != site.text(pair[1].span)) {
            found.push(site.exchange(&pair[0], &pair[1]));
        }
    }
    for call in site.calls(&["sqrt"]) {
        found.push(Edit::new(call.func.span, "torch.rsqrt"));
    }
    let weights = weights(site);
    for expr in site.exprs() {
        if let Some(name) = weight(expr) {
            let at = weights.iter().position(|w| *w == name).unwrap_or(0);
            let next = weights[(at + 1) % weights.len()];
            if next != name
                && let ExprKind::Subscript { value: _, index } = &expr.kind
            {
                found.push(Edit::new(index.span, format!("\"{next}\"")));
            }
        }
    }
    found
}

fn weight(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Subscript { value, index } if value.as_name() == Some("weights") => match &index.kind {
            ExprKind::Str(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

fn weights<'a>(site: &Site<'a>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    each_stmt(&site.function.body, &mut |stmt| {
        for expr in own_exprs(stmt) {
            each_expr(expr, &mut |e| {
                found.extend(weight(e).filter(|name| !found.contains(name)).into_iter().collect::<Vec<_>>())
            });
        }
    });
    found
}
