//! N012: `a and b`, `a or b` of run-time values.
//!
//! Why: the NPU's compiler has no lowering for them. `&` and `|` mean the same for comparisons. Source: the list of
//! unsupported syntax of triton-ascend's programming guide. Conditions of constexprs are decided at compile time and
//! are fine.

use crate::lint::rule::Found;
use crate::lint::subject::{Subject, exprs};
use crate::syntax::ast::{BoolOp, ExprKind};

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    for function in &subject.functions {
        for expr in exprs(function) {
            let ExprKind::Logical(op, operands) = &expr.kind else { continue };
            if operands.iter().all(|operand| subject.is_constant(function, operand)) {
                continue;
            }
            let (word, sign) = match op {
                BoolOp::And => ("and", "&"),
                BoolOp::Or => ("or", "|"),
            };
            found.at(expr.span, format!("`{word}` of run-time values")).help(format!("write `(…) {sign} (…)`"));
        }
    }
}
