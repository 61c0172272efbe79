//! Which parameters decide a block's shape, and so must be known when a kernel is compiled.
//!
//! The emulator dialect need not annotate them. A name is one when it reaches `tl.arange`, the shape of a block, the
//! bounds of `tl.static_range` or a dot's `input_precision`: a backward closure over assignments, without regard to
//! order, and through helpers to the arguments of their calls.
//! Does not catch: a shape that a helper returns.

use std::collections::BTreeSet;

use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Keyword, Module, StmtKind};
use crate::syntax::imports::Imports;
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// Calls of helpers are followed so deep.
const DEPTH: usize = 8;

/// Names of a function, parameters among them, that must be known when it is compiled.
pub fn sizes<'a>(module: &'a Module, imports: &Imports, function: &'a FunctionDef) -> BTreeSet<&'a str> {
    within(module, imports, function, 0)
}

fn within<'a>(module: &'a Module, imports: &Imports, function: &'a FunctionDef, depth: usize) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    each_stmt(&function.body, &mut |stmt| {
        for expr in own_exprs(stmt) {
            each_expr(expr, &mut |e| {
                let ExprKind::Call { func, args, keywords } = &e.kind else { return };
                deciding(imports, func, args, keywords).into_iter().for_each(|e| mention(e, &mut names));
                let Some(helper) = func.as_name().and_then(|name| defined(module, name)).filter(|_| depth < DEPTH) else {
                    return;
                };
                let inner = within(module, imports, helper, depth + 1);
                for (i, param) in helper.params.iter().enumerate() {
                    let annotated = param.annotation.as_ref().and_then(|a| imports.triton(a)).as_deref() == Some("constexpr");
                    if annotated || inner.contains(param.name.as_str()) {
                        argument(args, keywords, &param.name, i).into_iter().for_each(|e| mention(e, &mut names));
                    }
                }
            });
        }
    });
    closure(function, names)
}

/// The arguments of a call that must be known.
fn deciding<'a>(imports: &Imports, func: &Expr, args: &'a [Expr], keywords: &'a [Keyword]) -> Vec<&'a Expr> {
    let precision = keywords.iter().filter(|k| k.name.as_deref() == Some("input_precision")).map(|k| &k.value);
    let mut found: Vec<&Expr> = precision.collect();
    match imports.triton(func).as_deref() {
        Some("arange" | "static_range") => found.extend(args.iter().chain(keywords.iter().map(|k| &k.value))),
        Some("zeros" | "full") => found.extend(argument(args, keywords, "shape", 0)),
        Some("reshape" | "view" | "broadcast_to") => found.extend(args.iter().skip(1)),
        _ => {}
    }
    found
}

fn argument<'a>(args: &'a [Expr], keywords: &'a [Keyword], name: &str, position: usize) -> Option<&'a Expr> {
    let by_name = keywords.iter().find(|k| k.name.as_deref() == Some(name)).map(|k| &k.value);
    by_name.or_else(|| args.get(position))
}

fn defined<'a>(module: &'a Module, name: &str) -> Option<&'a FunctionDef> {
    module.body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Function(def) if def.name == name => Some(def),
        _ => None,
    })
}

fn mention<'a>(expr: &'a Expr, names: &mut BTreeSet<&'a str>) {
    each_expr(expr, &mut |e| names.extend(e.as_name()));
}

/// Adds names that assignments to known names mention, until nothing changes.
fn closure<'a>(function: &'a FunctionDef, mut names: BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    loop {
        let known = names.len();
        each_stmt(&function.body, &mut |stmt| {
            let (target, value) = match &stmt.kind {
                StmtKind::Assign { targets, value } => match targets.as_slice() {
                    [target] => (target, value),
                    _ => return,
                },
                StmtKind::AugAssign { target, op: _, value } => (target, value),
                _ => return,
            };
            if target.as_name().is_some_and(|name| names.contains(name)) {
                mention(value, &mut names);
            }
        });
        if names.len() == known {
            return names;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;
    use crate::syntax::parse_module;

    #[test]
    fn sizes_reach_shapes_through_variables_and_helpers() {
        let text = "\
from common import tl

def tile(at, B):
    return at * B + tl.arange(0, B)

def kernel(x_ptr, n, BLOCK, HALF, P, start):
    half = HALF // 2
    i = tile(start, BLOCK)
    acc = tl.zeros((half, 4), dtype=tl.float32)
    acc += tl.dot(acc, acc, input_precision=P)
    tl.store(x_ptr, i + n, 0.0)
";
        let module = parse_module(&SourceFile::new("a.py", text)).unwrap();
        let StmtKind::Function(kernel) = &module.body[2].kind else { panic!() };
        let found = sizes(&module, &Imports::of(&module), kernel);
        let params: Vec<&str> = kernel.params.iter().map(|p| p.name.as_str()).filter(|name| found.contains(name)).collect();
        assert_eq!(params, ["BLOCK", "HALF", "P"]);
    }
}
