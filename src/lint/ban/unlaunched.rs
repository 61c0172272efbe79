//! F008: a kernel is defined, and nothing that forward reaches launches it. Kernels that other kernels call are none of these.

use super::Ban;
use super::events::Walked;
use crate::lint::rule::Found;
use crate::syntax::ast::Expr;
use crate::syntax::walk::{each_expr, each_stmt, own_exprs};

pub fn check(walked: &Walked<'_>, _: &Ban, found: &mut Found<'_>) {
    let mut named = std::collections::BTreeSet::new();
    for kernel in &walked.file.kernels {
        each_stmt(&kernel.body, &mut |stmt| {
            for expr in own_exprs(stmt) {
                each_expr(expr, &mut |e| named.extend(Expr::as_name(e)));
            }
        });
    }
    for kernel in &walked.file.kernels {
        if !walked.launched.contains(kernel.name.as_str()) && !named.contains(kernel.name.as_str()) {
            let finding = found.at(kernel.name_span, format!("kernel `{}` is never launched from forward", kernel.name));
            finding.help("launch it in forward, or take it out");
        }
    }
}
