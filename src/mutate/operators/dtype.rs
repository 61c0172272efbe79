//! Values in the wrong type: halves for floats, integers for floats.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;

pub const DTYPE: Operator =
    Operator { name: "dtype", what: "float16 or int32 for float32, in casts and accumulators", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for expr in site.exprs() {
        if expr.as_dotted().as_deref() == Some("tl.float32") {
            found.push(Edit::new(expr.span, "tl.float16"));
            if !site.calls(&["to"]).is_empty() {
                found.push(Edit::new(expr.span, "tl.int32"));
            }
        }
    }
    // A cast left out.
    for call in site.calls(&["to"]) {
        if let crate::syntax::ast::ExprKind::Attribute { value, name: _ } = &call.func.kind {
            found.push(Edit::new(call.expr.span, site.grouped(value)));
        }
    }
    found
}
