//! Neighbouring arguments exchanged: at a launch, at a call of a helper, at a call of a wrapper.

use super::Operator;
use crate::mutate::mutation::Edit;
use crate::mutate::site::{Part, Site};

pub const SWAPPED: Operator = Operator {
    name: "arguments swapped",
    what: "two neighbouring arguments of a launch or helper",
    parts: &[Part::Kernel, Part::Wrapper, Part::Runner],
    edits,
};

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    let mut pairs = |args: &[crate::syntax::ast::Expr]| {
        for pair in args.windows(2).filter(|pair| site.text(pair[0].span) != site.text(pair[1].span)) {
            found.push(site.exchange(&pair[0], &pair[1]));
        }
    };
    for launch in super::grid::launches(site) {
        pairs(launch.args);
    }
    for call in site.calls(&["launch"]) {
        pairs(call.args);
    }
    if site.part == Part::Kernel {
        // A helper's name stands alone: `conv_tile(…)`.
        for expr in site.exprs() {
            if let crate::syntax::ast::ExprKind::Call { func, args, keywords: _ } = &expr.kind
                && func.as_name().is_some_and(|name| name != "range")
            {
                pairs(args);
            }
        }
    }
    found
}
