//! Buffers and launches of `run.py`: another buffer, another size, another order, one left out.

use super::{Operator, RUNNER};
use crate::mutate::mutation::Edit;
use crate::mutate::site::{Site, target};
use crate::syntax::ast::{ExprKind, StmtKind};

pub const OTHER: Operator =
    Operator { name: "buffer", what: "another buffer handed to a launch or returned", parts: RUNNER, edits: other };
pub const SIZE: Operator =
    Operator { name: "buffer size", what: "an allocation of one element less or more", parts: RUNNER, edits: size };
pub const ORDER: Operator =
    Operator { name: "launch order", what: "two launches exchanged, a launch left out", parts: RUNNER, edits: order };

fn other(site: &Site) -> Vec<Edit> {
    let buffers =
        site.names(|name| name.strip_prefix('b').is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit())));
    let mut found = Vec::new();
    for expr in site.exprs() {
        let Some(name) = expr.as_name().filter(|name| target(site.stmt) != Some(name)) else { continue };
        let Some(at) = buffers.iter().position(|b| *b == name) else { continue };
        let next = buffers[(at + 1) % buffers.len()];
        if next != name {
            found.push(Edit::new(expr.span, next));
        }
    }
    found
}

fn size(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for call in site.calls(&["empty"]) {
        if let Some(size) = call.args.first()
            && let ExprKind::Int(number) = size.kind
        {
            found.push(Edit::new(size.span, (number - 1).to_string()));
            found.push(Edit::new(size.span, (number + 1).to_string()));
        }
    }
    found
}

fn order(site: &Site) -> Vec<Edit> {
    let is_launch = |stmt: &crate::syntax::ast::Stmt| {
        matches!(stmt.kind, StmtKind::Expr(_)) && !(Site { stmt, ..*site }).calls(&["launch"]).is_empty()
    };
    if !is_launch(site.stmt) {
        return Vec::new();
    }
    // Nothing but blanks is left of the line: `pass` is not in the host subset.
    let mut found = vec![Edit::new(site.stmt.span, "")];
    if let Some(next) = site.next.filter(|next| is_launch(next)) {
        let between = site.text(crate::source::Span { start: site.stmt.span.end, end: next.span.start });
        let text = format!("{}{between}{}", site.text(next.span), site.text(site.stmt.span));
        found.push(Edit::new(site.stmt.span.to(next.span), text));
    }
    found
}
