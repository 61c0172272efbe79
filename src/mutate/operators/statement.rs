//! A statement that is not there: an accumulation, a store, a second assignment.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::{Site, target};
use crate::syntax::ast::StmtKind;
use crate::syntax::walk::each_stmt;

pub const DROPPED: Operator =
    Operator { name: "statement dropped", what: "an accumulation, a store or a reassignment left out", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let dropped = match &site.stmt.kind {
        StmtKind::AugAssign { .. } => true,
        StmtKind::Expr(_) => !site.calls(&["store"]).is_empty(),
        // Without an assignment before it, the name would not exist.
        StmtKind::Assign { .. } => {
            let mut before = false;
            each_stmt(&site.function.body, &mut |stmt| {
                before |= stmt.span.end <= site.stmt.span.start && target(stmt).is_some() && target(stmt) == target(site.stmt);
            });
            before
        }
        _ => false,
    };
    if dropped { vec![Edit::new(site.stmt.span, "pass")] } else { Vec::new() }
}
