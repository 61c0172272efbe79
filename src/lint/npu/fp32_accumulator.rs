//! N017: a dot accumulates in fp16 or bf16.
//!
//! Why: the cube core sums in fp32; a 16-bit accumulator is converted after every step, which costs time and bits.
//! Source: triton-ascend's programming guide (accumulate in fp32, cast at the end).
//! Does not catch: an accumulator whose type comes from a parameter.

use std::collections::BTreeSet;

use crate::lint::rule::Found;
use crate::lint::subject::{Function, Subject, calls, stmts};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, StmtKind};

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    for function in &subject.functions {
        let summed = accumulators(subject, function);
        for call in calls(function) {
            let member = subject.builtin(call.func);
            let named = |name: &str| call.keywords.iter().find(|k| k.name.as_deref() == Some(name)).map(|k| &k.value);
            if member.as_deref() == Some("dot")
                && let Some(ty) = named("out_dtype").filter(|ty| is_short(subject, ty))
            {
                found.at(ty.span, "the dot sums in 16 bits").help("leave `out_dtype` out, and cast the finished sum");
            }
        }
        for stmt in stmts(function) {
            let StmtKind::Assign { targets, value } = &stmt.kind else { continue };
            let ExprKind::Call { func, args, keywords } = &value.kind else { continue };
            let position = match subject.builtin(func).as_deref() {
                Some("zeros") => 1,
                Some("full") => 2,
                _ => continue,
            };
            let ty =
                keywords.iter().find(|k| k.name.as_deref() == Some("dtype")).map(|k| &k.value).or_else(|| args.get(position));
            let Some(ty) = ty.filter(|ty| is_short(subject, ty)) else { continue };
            for name in targets.iter().filter_map(Expr::as_name).filter(|name| summed.contains(name)) {
                found
                    .at(ty.span, format!("`{name}` sums dots in 16 bits"))
                    .help("accumulate in tl.float32, and cast the finished sum");
            }
        }
    }
}

fn is_short(subject: &Subject<'_>, ty: &Expr) -> bool {
    matches!(subject.imports.triton(ty).as_deref(), Some("float16" | "bfloat16"))
}

/// Variables that dots are added to.
fn accumulators<'a>(subject: &Subject<'a>, function: &Function<'a>) -> BTreeSet<&'a str> {
    let is_dot = |e: &Expr| matches!(&e.kind, ExprKind::Call { func, .. } if subject.builtin(func).as_deref() == Some("dot"));
    let mut found = BTreeSet::new();
    for stmt in stmts(function) {
        match &stmt.kind {
            StmtKind::AugAssign { target, op: BinaryOp::Add, value } if is_dot(value) => found.extend(target.as_name()),
            StmtKind::Assign { targets, value } => match &value.kind {
                ExprKind::Binary(BinaryOp::Add, left, right) if is_dot(left) || is_dot(right) => {
                    found.extend(targets.iter().filter_map(Expr::as_name));
                }
                _ => {}
            },
            _ => {}
        }
    }
    for call in calls(function).into_iter().filter(|call| subject.builtin(call.func).as_deref() == Some("dot")) {
        found.extend(call.argument("acc", 2).and_then(Expr::as_name));
    }
    found
}
