//! N016: a type is called as if it were a conversion: `tl.float16(x)`.
//!
//! Why: types of `triton.language` are not functions of blocks; compiled Triton refuses it on every target.
//! Source: triton-ascend's migration guide, and the front end's own rule (K002).
//! The fix writes `(x).to(tl.float16)`, unless x is a number.

use crate::dtype::DType;
use crate::lint::between;
use crate::lint::rule::Found;
use crate::lint::subject::{Subject, calls};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Expr, ExprKind};

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    for call in subject.functions.iter().flat_map(calls) {
        let Some(member) = subject.builtin(call.func) else { continue };
        let is_type = DType::ALL.into_iter().any(|dtype| dtype.triton_name() == member);
        let [value] = call.args else { continue };
        if !is_type || !call.keywords.is_empty() {
            continue;
        }
        let name = between(&subject.module.file, call.func.span.start, call.func.span.end).to_owned();
        let edits = edits(&subject.module.file, call.span, call.func, value, &name);
        let finding = found.at(call.span, format!("`{name}` is called as a cast"));
        finding.help(format!("write `x.to({name})`")).fix(edits);
    }
}

/// The call's parentheses stay around what needs them.
fn edits(file: &SourceFile, call: Span, func: &Expr, value: &Expr, name: &str) -> Vec<(Span, String)> {
    let inside = between(file, func.span.end, call.end);
    let simple = match &value.kind {
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::BigInt(_) | ExprKind::Bool(_) => return Vec::new(),
        ExprKind::Name(_) | ExprKind::Attribute { .. } | ExprKind::Call { .. } | ExprKind::Subscript { .. } => true,
        _ => false,
    };
    let bare = inside.starts_with('(') && inside.trim_start_matches('(').len() + 1 == inside.len();
    let blank = between(file, func.span.end + 1, value.span.start).is_empty() && value.span.end + 1 == call.end;
    if simple && bare && blank {
        vec![
            (Span { start: func.span.start, end: func.span.end + 1 }, String::new()),
            (Span { start: call.end - 1, end: call.end }, format!(".to({name})")),
        ]
    } else {
        vec![(func.span, String::new()), (Span { start: call.end, end: call.end }, format!(".to({name})"))]
    }
}
