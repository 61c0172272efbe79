//! F011: forward runs code by a way that is no Triton kernel: `Function.apply`, `torch.compile`, `torch.ops`, `exec`,
//! `load_inline`, `ctypes`.

use super::events::{Kind, Walked};
use super::{Ban, report};
use crate::lint::rule::Found;

pub fn check(walked: &Walked<'_>, _: &Ban, found: &mut Found<'_>) {
    for event in &walked.events {
        if let Kind::Bypass(name) = &event.kind {
            report(event, format!("forward runs code by `{name}`"), found).help("launch a Triton kernel from forward itself");
        }
    }
}
