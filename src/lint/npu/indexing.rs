//! N013: a block is indexed or sliced otherwise than by `[:, None]` and its like.
//!
//! Why: a block has no addressable elements; the NPU's compiler lacks the slices that newer Triton has. Source: the
//! list of unsupported syntax of triton-ascend's programming guide.
//! Does not catch: blocks whose number of axes the text does not give.

use crate::lint::rule::Found;
use crate::lint::subject::{Subject, exprs};
use crate::syntax::ast::{Expr, ExprKind};

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    for expr in subject.functions.iter().flat_map(exprs) {
        let ExprKind::Subscript { value, index } = &expr.kind else { continue };
        let parts = match &index.kind {
            ExprKind::Tuple(parts) => parts.iter().collect(),
            _ => vec![&**index],
        };
        let is_block = subject.ranks.get(value).is_some_and(|rank| rank > 0);
        if is_block && !parts.into_iter().all(adds_axes) {
            found
                .at(expr.span, "a block is indexed")
                .help("reduce under a mask (`tl.sum(tl.where(i == k, x, 0))`), or load the part");
        }
    }
}

/// `:` or `None`.
fn adds_axes(part: &Expr) -> bool {
    match &part.kind {
        ExprKind::None => true,
        ExprKind::Slice { lower, upper, step } => lower.is_none() && upper.is_none() && step.is_none(),
        _ => false,
    }
}
