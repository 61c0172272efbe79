//! F005: forward calls a module of torch: `self.linear(x)`. Modules that the file defines are followed instead.

use super::events::{Kind, Walked};
use super::{Ban, report};
use crate::lint::rule::Found;

pub fn check(walked: &Walked<'_>, _: &Ban, found: &mut Found<'_>) {
    for event in &walked.events {
        if event.kind == Kind::Module {
            let finding = report(event, "forward calls a module of torch".to_owned(), found);
            finding.help("give its weights to a Triton kernel");
        }
    }
}
