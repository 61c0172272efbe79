//! F002: forward calls a function of `torch.nn.functional`, under whatever name.

use super::events::{Kind, Walked};
use super::{Ban, report};
use crate::lint::rule::Found;

pub fn check(walked: &Walked<'_>, _: &Ban, found: &mut Found<'_>) {
    for event in &walked.events {
        if let Kind::Functional(path) = &event.kind {
            report(event, format!("forward calls `{path}`"), found).help("compute it in a Triton kernel");
        }
    }
}
