//! Statements of a constructor: what they assign and call, and whether they create or draw anything.

use crate::syntax::ast::{Expr, ExprKind, Keyword, Stmt, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// Calls that create and draw nothing, by their names.
const PLAIN: [&str; 12] = ["super", "range", "len", "int", "float", "bool", "tuple", "list", "min", "max", "sum", "math.sqrt"];

pub fn assigned(stmt: &Stmt) -> Option<(&Expr, &Expr)> {
    match &stmt.kind {
        StmtKind::Assign { targets, value } => match targets.as_slice() {
            [target] => Some((target, value)),
            _ => None,
        },
        _ => None,
    }
}

/// What a parameter is made of.
pub fn drawn(value: &Expr) -> &Expr {
    match &value.kind {
        ExprKind::Call { func, args, keywords: _ } => match (func.as_dotted().as_deref(), args.as_slice()) {
            (Some("nn.Parameter" | "torch.nn.Parameter"), [inner]) => drawn(inner),
            _ => value,
        },
        _ => value,
    }
}

/// The dotted name that an expression statement calls.
pub fn called(stmt: &Stmt) -> Option<String> {
    let StmtKind::Expr(e) = &stmt.kind else { return None };
    let ExprKind::Call { func, .. } = &e.kind else { return None };
    func.as_dotted()
}

pub fn arguments(stmt: &Stmt) -> Option<(&[Expr], &[Keyword])> {
    let StmtKind::Expr(e) = &stmt.kind else { return None };
    match &e.kind {
        ExprKind::Call { func: _, args, keywords } => Some((args, keywords)),
        _ => None,
    }
}

/// Whether a statement may create modules or draw numbers: it calls something outside the plain list, which is neither a
/// method that only moves or registers nor a function that host code may call (`is_host`).
pub fn creates(stmt: &Stmt, is_host: &dyn Fn(&str) -> bool) -> bool {
    const MOVES: [&str; 12] = [
        "clone",
        "detach",
        "contiguous",
        "view",
        "reshape",
        "permute",
        "transpose",
        "to",
        "register_buffer",
        "size",
        "stride",
        "numel",
    ];
    const TORCH: [&str; 7] =
        ["torch.cat", "torch.sqrt", "torch.rsqrt", "torch.nn.functional.pad", "F.pad", "nn.functional.pad", "torch.manual_seed"];
    let mut found = false;
    each_stmt(std::slice::from_ref(stmt), &mut |stmt| {
        for e in own_exprs(stmt) {
            each_expr(e, &mut |e| {
                let ExprKind::Call { func, args, .. } = &e.kind else { return };
                let name = func.as_dotted();
                found |= match (&func.kind, name.as_deref()) {
                    (_, Some(name)) if PLAIN.contains(&name) || TORCH.contains(&name) || is_host(name) => false,
                    // What it holds may draw, and is looked at by itself.
                    (_, Some("nn.Parameter" | "torch.nn.Parameter")) => args.is_empty(),
                    (ExprKind::Attribute { value: _, name }, _) => !MOVES.contains(&name.as_str()) && name != "__init__",
                    _ => true,
                };
            });
        }
    });
    found
}

/// [`creates`], of a statement of the task.
pub fn draws(stmt: &Stmt) -> bool {
    creates(stmt, &|_| false)
}

pub fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
