//! F009: the task computes, and every kernel that forward launches only loads and stores.
//!
//! A kernel moves when each value it stores is one it loaded, by name or cast. Speaks only where the caller says that the
//! task computes. Does not catch: a kernel whose arithmetic changes nothing (`x * 1`).

use std::collections::BTreeMap;

use super::Ban;
use super::events::Walked;
use crate::lint::rule::Found;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, StmtKind};
use crate::syntax::imports::Imports;
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

pub fn check(walked: &Walked<'_>, ban: &Ban, found: &mut Found<'_>) {
    let launched: Vec<_> = walked.file.kernels.iter().filter(|k| walked.launched.contains(k.name.as_str())).collect();
    if !ban.task_computes || launched.iter().any(|kernel| !moves(kernel, &walked.file.imports)) {
        return;
    }
    for kernel in launched {
        let message = format!("kernel `{}` only loads and stores, as every kernel that forward launches", kernel.name);
        found.at(kernel.name_span, message).help("compute what the task computes");
    }
}

fn moves(kernel: &FunctionDef, imports: &Imports) -> bool {
    let mut values: BTreeMap<&str, Vec<&Expr>> = BTreeMap::new();
    let (mut stored, mut other) = (Vec::new(), false);
    each_stmt(&kernel.body, &mut |stmt| {
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                targets.iter().filter_map(Expr::as_name).for_each(|name| values.entry(name).or_default().push(value));
            }
            StmtKind::AugAssign { target, op: _, value } => {
                target.as_name().into_iter().for_each(|name| values.entry(name).or_default().push(value));
            }
            _ => {}
        }
        for expr in own_exprs(stmt) {
            each_expr(expr, &mut |e| {
                let ExprKind::Call { func, args, keywords } = &e.kind else { return };
                let name = imports.triton(func).unwrap_or_default();
                if name == "store" {
                    let named = keywords.iter().find(|k| k.name.as_deref() == Some("value")).map(|k| &k.value);
                    stored.extend(args.get(1).or(named));
                }
                other |= name.starts_with("atomic");
            });
        }
    });
    !other && stored.iter().all(|value| loaded(value, &values, imports, 8))
}

fn loaded(value: &Expr, values: &BTreeMap<&str, Vec<&Expr>>, imports: &Imports, depth: usize) -> bool {
    match &value.kind {
        ExprKind::Name(name) if depth > 0 => {
            values.get(name.as_str()).is_some_and(|all| all.iter().all(|v| loaded(v, values, imports, depth - 1)))
        }
        ExprKind::Int(_) | ExprKind::Float(_) => true,
        ExprKind::Call { func, .. } => match &func.kind {
            ExprKind::Attribute { value, name } if name == "to" => loaded(value, values, imports, depth),
            _ => imports.triton(func).as_deref() == Some("load"),
        },
        _ => false,
    }
}
