//! The grid of a launch: rounded down, a factor short, a program short or over.

use super::{Operator, WRAPPER};
use crate::mutate::mutation::Edit;
use crate::mutate::site::{Call, Site};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind};
use crate::syntax::walk::each_expr;

pub const SIZE: Operator =
    Operator { name: "grid", what: "a grid rounded down, without a factor, one short or one over", parts: WRAPPER, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for grid in grids(site) {
        each_expr(grid, &mut |e| match &e.kind {
            ExprKind::Call { func, args, keywords: _ } if func.as_dotted().as_deref() == Some("triton.cdiv") => {
                if let [a, b] = args.as_slice() {
                    found.push(Edit::new(e.span, format!("({} // {})", site.grouped(a), site.grouped(b))));
                }
            }
            ExprKind::Binary(BinaryOp::Mul, a, b) => {
                found.push(site.keep(e, a));
                found.push(site.keep(e, b));
            }
            _ => {}
        });
        if let ExprKind::Tuple(sizes) = &grid.kind
            && let [size] = sizes.as_slice()
        {
            found.push(Edit::new(size.span, format!("{} - 1", site.grouped(size))));
            found.push(Edit::new(size.span, format!("{} + 1", site.grouped(size))));
        }
    }
    found
}

/// What stands in the brackets of `kernel[grid](…)`.
fn grids<'a>(site: &Site<'a>) -> Vec<&'a Expr> {
    let index = |e: &'a Expr| match &e.kind {
        ExprKind::Call { func, .. } => match &func.kind {
            ExprKind::Subscript { value: _, index } => Some(index.as_ref()),
            _ => None,
        },
        _ => None,
    };
    site.exprs().into_iter().filter_map(index).collect()
}

/// The launches among a statement's calls.
pub fn launches<'a>(site: &Site<'a>) -> Vec<Call<'a>> {
    let call = |e: &'a Expr| match &e.kind {
        ExprKind::Call { func, args, keywords } if matches!(func.kind, ExprKind::Subscript { .. }) => {
            Some(Call { expr: e, func, name: String::new(), args, keywords })
        }
        _ => None,
    };
    site.exprs().into_iter().filter_map(call).collect()
}
