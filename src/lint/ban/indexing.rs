//! F006: a tensor is indexed, sliced or iterated over: `x[:, 0]`.

use super::events::{Kind, Walked};
use super::{Ban, report};
use crate::lint::rule::Found;

pub fn check(walked: &Walked<'_>, _: &Ban, found: &mut Found<'_>) {
    for event in &walked.events {
        if event.kind == Kind::Index {
            let finding = report(event, "a tensor is indexed in torch".to_owned(), found);
            finding.help("give the kernel an offset and strides");
        }
    }
}
