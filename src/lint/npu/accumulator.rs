//! N001: a block of one element where a scalar would do: `tl.zeros((1,), …)`.
//!
//! Why: the NPU's compiler keeps a block in the unified buffer, aligned to 32 bytes, and moves it there and back for
//! each addition; a scalar stays in a scalar register. Source: the coding rules for NPU-compatible kernels
//! (per-program accumulators are scalars).
//! Does not catch: a block whose single size is a parameter (`tl.zeros((BLOCK,), …)` with BLOCK = 1).

use crate::lint::rule::Found;
use crate::lint::subject::{Subject, calls};
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::{Constant, eval};

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    for call in subject.functions.iter().flat_map(calls) {
        let Some(member) = subject.builtin(call.func).filter(|m| matches!(m.as_str(), "zeros" | "full")) else { continue };
        let Some(ExprKind::Tuple(sizes) | ExprKind::List(sizes)) = call.argument("shape", 0).map(|e| &e.kind) else { continue };
        let is_one = |e: &Expr| matches!(eval::evaluate(&subject.module.file, e, &subject.constants), Ok(Constant::Int(1)));
        if !sizes.is_empty() && sizes.iter().all(is_one) {
            let finding = found.at(call.span, format!("`tl.{member}` makes a block of one element"));
            finding.help("accumulate in a scalar: begin with `0.0`");
        }
    }
}
