//! N005 (advice): a kernel whose programs each do one piece of the work.
//!
//! Why: an NPU starts as many programs at once as it has cores, and starting another costs about as much as a small
//! program: the recommended grid is the number of vector cores (of cube cores with `tl.dot`), with a loop
//! `for i in range(pid, total, CORE_NUM)` in the kernel. Source: triton-ascend's programming guide.
//! Does not catch: a loop over something else than the work.

use crate::lint::rule::Found;
use crate::lint::subject::{Function, Subject, calls, stmts};
use crate::syntax::ast::{Expr, ExprKind, StmtKind};
use crate::syntax::walk::each_expr;

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    for function in subject.functions.iter().filter(|f| f.entry) {
        let asks = calls(function).into_iter().find(|call| subject.builtin(call.func).as_deref() == Some("program_id"));
        let Some(asks) = asks else { continue };
        if !loops_over_work(subject, function) {
            let message = format!("`{}` does one piece of the work a program", function.def.name);
            found
                .at(asks.span, message)
                .help("launch one program a core: `for i in range(tl.program_id(0), TOTAL, tl.num_programs(0))`");
        }
    }
}

/// `for … in range(from the program's number, …, by some step)`.
fn loops_over_work(subject: &Subject<'_>, function: &Function<'_>) -> bool {
    let of_program = |expr: &Expr| {
        let mut hit = false;
        each_expr(expr, &mut |e| match &e.kind {
            ExprKind::Call { func, .. } => hit |= subject.builtin(func).as_deref() == Some("program_id"),
            ExprKind::Name(name) => hit |= is_program(subject, function, name),
            _ => {}
        });
        hit
    };
    stmts(function).into_iter().any(|stmt| match &stmt.kind {
        StmtKind::For { target: _, iter, body: _, orelse: _ } => match &iter.kind {
            ExprKind::Call { func: _, args, keywords: _ } => args.len() == 3 && of_program(&args[0]),
            _ => false,
        },
        _ => false,
    })
}

/// Whether a variable holds the program's number.
fn is_program(subject: &Subject<'_>, function: &Function<'_>, name: &str) -> bool {
    stmts(function).into_iter().any(|stmt| match &stmt.kind {
        StmtKind::Assign { targets, value } if targets.iter().any(|t| t.as_name() == Some(name)) => {
            let mut hit = false;
            each_expr(value, &mut |e| {
                if let ExprKind::Call { func, .. } = &e.kind {
                    hit |= subject.builtin(func).as_deref() == Some("program_id");
                }
            });
            hit
        }
        _ => false,
    })
}
