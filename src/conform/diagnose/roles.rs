//! What a line does, read from its syntax: decode, address, mask, load, accumulate, …

use std::collections::BTreeSet;

use super::flow::{Line, Sink, called};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Module, Stmt, StmtKind};
use crate::syntax::walk::{each_expr, own_exprs};

/// What a line does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Decode,
    Address,
    Mask,
    Load,
    Store,
    Accumulate,
    Loop,
    Value,
    /// A division, root, logarithm or exponential.
    Singular,
    /// A maximum, minimum or `where`.
    Choice,
    /// A division or product in what is stored.
    Scales,
}

impl Role {
    pub fn what(self) -> &'static str {
        match self {
            Role::Decode => "decodes a program id",
            Role::Address => "makes an address",
            Role::Mask => "makes a mask",
            Role::Load => "loads",
            Role::Store => "stores",
            Role::Accumulate => "accumulates",
            Role::Loop => "loops",
            Role::Value => "computes the value",
            Role::Choice => "chooses between values",
            Role::Scales => "divides or multiplies the value",
            Role::Singular => "divides, takes a root, a logarithm or an exponential",
        }
    }
}

pub fn roles(line: &Line) -> BTreeSet<Role> {
    let mut roles = BTreeSet::new();
    for (sink, &steps) in &line.reaches {
        match sink {
            Sink::Address(_) if steps > 0 => drop(roles.insert(Role::Address)),
            Sink::Mask(_) => drop(roles.insert(Role::Mask)),
            Sink::Value(_) if steps > 0 => drop(roles.insert(Role::Value)),
            Sink::Address(_) | Sink::Value(_) | Sink::Other(_) => {}
        }
    }
    if roles.contains(&Role::Address) && decodes(line.stmt) {
        roles.insert(Role::Decode);
    }
    match &line.stmt.kind {
        StmtKind::For { .. } | StmtKind::While { .. } => drop(roles.insert(Role::Loop)),
        StmtKind::AugAssign { .. } => drop(roles.insert(Role::Accumulate)),
        _ => {}
    }
    for expr in own_exprs(line.stmt) {
        each_expr(expr, &mut |e| match &e.kind {
            ExprKind::Call { func, .. } => match called(func).as_str() {
                "load" => drop(roles.insert(Role::Load)),
                "store" => drop(roles.insert(Role::Store)),
                "maximum" | "minimum" | "max" | "min" | "where" | "clamp" => drop(roles.insert(Role::Choice)),
                "dot" | "sum" => drop(roles.insert(Role::Accumulate)),
                "sqrt" | "rsqrt" | "log" | "log2" | "exp" | "exp2" | "fdiv" | "sqrt_rn" | "div_rn" => {
                    roles.insert(Role::Singular);
                }
                _ => {}
            },
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Pow, ..) => drop(roles.insert(Role::Singular)),
            _ => {}
        });
    }
    if roles.contains(&Role::Load) {
        roles.remove(&Role::Value);
    } else if line.reaches.keys().any(|sink| matches!(sink, Sink::Value(_))) && scales(line.stmt) {
        roles.insert(Role::Scales);
    }
    roles
}

/// Arguments of helpers that bear the name of another parameter: (argument, parameter).
pub fn misplaced(module: &Module, stmt: &Stmt) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for expr in own_exprs(stmt) {
        each_expr(expr, &mut |e| {
            let ExprKind::Call { func, args, keywords: _ } = &e.kind else { return };
            let Some(name) = func.as_name() else { return };
            let helper = module.body.iter().find_map(|stmt| match &stmt.kind {
                StmtKind::Function(f) if f.name == name => Some(f),
                _ => None,
            });
            let Some(helper) = helper else { return };
            for (param, arg) in helper.params.iter().zip(args) {
                if let Some(arg) = arg.as_name()
                    && arg != param.name
                    && helper.params.iter().any(|p| p.name == arg)
                {
                    found.push((arg.to_owned(), param.name.clone()));
                }
            }
        });
    }
    found
}

pub fn decodes(stmt: &Stmt) -> bool {
    let mut found = false;
    for expr in own_exprs(stmt) {
        each_expr(expr, &mut |e| found |= matches!(e.kind, ExprKind::Binary(BinaryOp::FloorDiv | BinaryOp::Mod, ..)));
    }
    found
}

/// Whether a statement holds a division or product.
fn scales(stmt: &Stmt) -> bool {
    let mut found = matches!(stmt.kind, StmtKind::AugAssign { op: BinaryOp::Mul | BinaryOp::Div, .. });
    for expr in own_exprs(stmt) {
        each_expr(expr, &mut |e| match &e.kind {
            ExprKind::Binary(BinaryOp::Mul | BinaryOp::Div, ..) => found = true,
            ExprKind::Call { func, .. } => found |= matches!(called(func).as_str(), "fdiv" | "div_rn" | "fma"),
            _ => {}
        });
    }
    found
}

/// How many multiplications a statement holds.
pub fn products(stmt: &Stmt) -> usize {
    let mut count = 0;
    for expr in own_exprs(stmt) {
        each_expr(expr, &mut |e| count += matches!(e.kind, ExprKind::Binary(BinaryOp::Mul, ..)) as usize);
    }
    count
}

/// The terms of a sum.
pub fn flatten<'e>(expr: &'e Expr, terms: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Add, a, b) => {
            flatten(a, terms);
            flatten(b, terms);
        }
        _ => terms.push(expr),
    }
}

pub fn mentions(expr: &Expr, fits: impl Fn(&str) -> bool) -> bool {
    let mut found = false;
    each_expr(expr, &mut |e| found |= e.as_name().is_some_and(&fits));
    found
}

/// Whether a comparison is in it.
pub fn compares(expr: &Expr) -> bool {
    let mut found = false;
    each_expr(expr, &mut |e| found |= matches!(e.kind, ExprKind::Compare { .. }));
    found
}

pub fn has_constant(expr: &Expr) -> bool {
    let mut found = false;
    each_expr(expr, &mut |e| {
        found |= matches!(e.kind, ExprKind::Float(_));
        found |= matches!(&e.kind, ExprKind::Call { func, .. } if matches!(called(func).as_str(), "zeros" | "full"));
    });
    found
}

/// Whether a value begins here: a constant, or a block filled with one.
pub fn is_initial(stmt: &Stmt) -> bool {
    let StmtKind::Assign { targets: _, value } = &stmt.kind else { return false };
    match &value.kind {
        ExprKind::Float(_) | ExprKind::Int(_) | ExprKind::Unary(..) => true,
        ExprKind::Call { func, .. } => matches!(called(func).as_str(), "zeros" | "full"),
        _ => false,
    }
}

pub fn assigned(stmt: &Stmt) -> Option<&str> {
    match &stmt.kind {
        StmtKind::Assign { targets, value: _ } => targets.first().and_then(Expr::as_name),
        StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } | StmtKind::For { target, .. } => {
            target.as_name()
        }
        _ => None,
    }
}
