//! N018: `tl.constexpr` on a variable inside a kernel.
//!
//! Why: the NPU's compiler takes constexprs as parameters alone. Source: triton-ascend's programming guide.

use crate::lint::rule::Found;
use crate::lint::subject::{Subject, calls, stmts};
use crate::syntax::ast::StmtKind;

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    let help = "make it a parameter, or write the value";
    for function in &subject.functions {
        for stmt in stmts(function) {
            if let StmtKind::AnnAssign { target: _, annotation, value: _ } = &stmt.kind
                && subject.imports.triton(annotation).as_deref() == Some("constexpr")
            {
                found.at(stmt.span, "a variable is annotated tl.constexpr").help(help);
            }
        }
        for call in calls(function).into_iter().filter(|call| subject.builtin(call.func).as_deref() == Some("constexpr")) {
            found.at(call.span, "`tl.constexpr` makes a value inside a kernel").help(help);
        }
    }
}
