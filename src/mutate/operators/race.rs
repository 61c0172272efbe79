//! Programs that work on the same block: the program's share left out of an index.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::{Site, mentions};
use crate::syntax::ast::{BinaryOp, ExprKind};

pub const PROGRAM: Operator = Operator { name: "race", what: "every program takes the first block", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for (whole, op, a, b) in site.binaries() {
        let range = matches!(&b.kind, ExprKind::Call { func, .. } if func.as_dotted().is_some_and(|n| n.ends_with("arange")));
        if op == BinaryOp::Add && range && mentions(a, |name| name == "tile" || name.starts_with("pid")) {
            found.push(site.keep(whole, b));
        }
    }
    // A loop over tiles in which every program takes all of them.
    for call in site.calls(&["range"]) {
        let is_program = |e: &crate::syntax::ast::Expr, what: &str| matches!(&e.kind, ExprKind::Call { func, .. } if func.as_dotted().is_some_and(|n| n.ends_with(what)));
        if let [start, _, step] = call.args
            && is_program(start, "program_id")
            && is_program(step, "num_programs")
        {
            found.push(Edit::new(start.span, "0"));
            found.push(Edit::new(step.span, "1"));
        }
    }
    found
}
