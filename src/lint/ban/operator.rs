//! F004: an operator, a comparison, or a builtin that stands for one, has a tensor among its operands: `y + 1`.

use super::events::{Kind, Walked};
use super::{Ban, report};
use crate::lint::rule::Found;

pub fn check(walked: &Walked<'_>, _: &Ban, found: &mut Found<'_>) {
    for event in &walked.events {
        if let Kind::Operator(name) = &event.kind {
            report(event, format!("`{name}` of a tensor runs in torch"), found).help("compute it in a Triton kernel");
        }
    }
}
