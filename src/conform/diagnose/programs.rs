//! How programs share their work, against the launch: loops over tiles, and axes of the grid.
//!
//! A loop that begins at its program's id and steps over the number of programs does every tile once, and
//! no other loop that asks for either does. A program id along an axis of one program is always 0: where
//! another axis has several programs and nobody asks which, the wrong axis is asked for.
//!
//! Not understood, and passed over: ids that go through a variable before a loop begins at them.

use super::flow::{called, header};
use super::varying::functions;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, Module, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

/// Statements that share work wrongly, with what is wrong. `entry`: the launched function.
pub fn contradictions(module: &Module, entry: &str, grid: Option<[i64; 3]>) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    let mut asked: Vec<(Span, usize)> = Vec::new();
    for function in functions(module) {
        let at_entry = function.name == entry;
        each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::For { iter, .. } = &stmt.kind
                && !shares(iter)
            {
                let why = "shares tiles among programs otherwise than from the program's id in steps of their number";
                found.push((header(stmt), why.to_owned()));
            }
            for expr in own_exprs(stmt).into_iter().filter(|_| at_entry) {
                each_expr(expr, &mut |e| {
                    let axis = program_id(e).or_else(|| axis_of(e, "num_programs"));
                    asked.extend(axis.map(|axis| (header(stmt), axis)));
                });
            }
        });
    }
    let Some(grid) = grid else { return found };
    let several = |axis: usize| grid.get(axis).is_some_and(|&programs| programs > 1);
    if let Some(unasked) = (0..3).find(|&axis| several(axis) && asked.iter().all(|&(_, a)| a != axis)) {
        for &(span, axis) in asked.iter().filter(|&&(_, axis)| !several(axis)) {
            let programs = grid[unasked];
            found.push((span, format!("asks for axis {axis} of the grid, which has one program; axis {unasked} has {programs}")));
        }
    }
    found
}

/// Whether a loop takes its program's share, or is none over tiles.
fn shares(iter: &Expr) -> bool {
    let ExprKind::Call { func, args, keywords: _ } = &iter.kind else { return true };
    if called(func) != "range" || !args.iter().any(asks) {
        return true;
    }
    match args.as_slice() {
        [start, stop, step] => {
            let from = program_id(start);
            let named = start.as_name().is_some();
            !asks(stop)
                && (from.is_some() || named)
                && axis_of(step, "num_programs").is_some_and(|axis| named || from == Some(axis))
        }
        [_, stop] => !asks(stop),
        _ => true,
    }
}

/// Whether an expression asks which program it is, or how many there are.
fn asks(expr: &Expr) -> bool {
    let mut found = false;
    each_expr(expr, &mut |e| found |= program_id(e).is_some() || axis_of(e, "num_programs").is_some());
    found
}

fn program_id(expr: &Expr) -> Option<usize> {
    axis_of(expr, "program_id")
}

/// The axis in `tl.program_id(0)` or `tl.num_programs(0)`.
fn axis_of(expr: &Expr, name: &str) -> Option<usize> {
    let ExprKind::Call { func, args, keywords: _ } = &expr.kind else { return None };
    match args.first().map(|arg| &arg.kind) {
        Some(ExprKind::Int(axis)) if called(func) == name => usize::try_from(*axis).ok(),
        _ => None,
    }
}
