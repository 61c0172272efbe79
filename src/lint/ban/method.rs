//! F003: a method or attribute of a tensor computes: `x.sum()`, `x.add_(1)`, `x.T`.

use super::events::{Kind, Walked};
use super::{Ban, report};
use crate::lint::rule::Found;

pub fn check(walked: &Walked<'_>, _: &Ban, found: &mut Found<'_>) {
    for event in &walked.events {
        if let Kind::Method(name) = &event.kind {
            let finding = report(event, format!("`{name}` of a tensor runs in torch"), found);
            finding.help("compute it in a Triton kernel; strides can be arguments of the kernel");
        }
    }
}
