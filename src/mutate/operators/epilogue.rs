//! What follows the main computation: a step left out, or applied to another operand.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::{Site, target};
use crate::syntax::ast::{BinaryOp, ExprKind, StmtKind};
use crate::syntax::walk::each_stmt;

pub const DROPPED: Operator =
    Operator { name: "epilogue dropped", what: "a step of the value's computation left out", parts: KERNEL, edits: dropped };
pub const OPERAND: Operator =
    Operator { name: "epilogue operand", what: "another loaded operand", parts: KERNEL, edits: operand };

/// Names that hold loaded or computed values: bound to something that loads or accumulates.
fn loaded(site: &Site) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    each_stmt(&site.function.body, &mut |stmt| {
        let own = Site { stmt, ..*site };
        if let Some(name) = target(stmt)
            && stmt.span.end <= site.stmt.span.start
            && !own.calls(&["load"]).is_empty()
            && !found.iter().any(|known| known == name)
        {
            found.push(name.to_owned());
        }
    });
    found
}

fn dropped(site: &Site) -> Vec<Edit> {
    let StmtKind::Assign { targets: _, value } = &site.stmt.kind else { return Vec::new() };
    let loaded = loaded(site);
    let is_value = |e: &crate::syntax::ast::Expr| {
        let mut found = false;
        crate::syntax::walk::each_expr(e, &mut |e| {
            found |= e.as_name().is_some_and(|n| n.starts_with("acc") || n.starts_with("value") || loaded.iter().any(|l| l == n));
        });
        found
    };
    match &value.kind {
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, a, b) if is_value(value) => {
            let mut edits = vec![site.keep(value, a)];
            if is_value(b) {
                edits.push(site.keep(value, b));
            }
            edits
        }
        ExprKind::Call { func, args, keywords: _ } if func.as_dotted().is_some_and(|f| f.ends_with(".where")) => {
            args.iter().skip(1).map(|branch| site.keep(value, branch)).collect()
        }
        _ => Vec::new(),
    }
}

fn operand(site: &Site) -> Vec<Edit> {
    let loaded = loaded(site);
    let mut found = Vec::new();
    for expr in site.exprs() {
        let ExprKind::Name(name) = &expr.kind else { continue };
        let Some(at) = loaded.iter().position(|l| l == name).filter(|_| target(site.stmt) != Some(name)) else { continue };
        let other = &loaded[(at + 1) % loaded.len()];
        if other != name {
            found.push(Edit::new(expr.span, other.as_str()));
        }
    }
    found
}
