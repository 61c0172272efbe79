//! F012: forward does what cannot be read here: functions of other files with a tensor, `with`, comprehensions; or there is no
//! forward. The ban does not hold where nobody could look.

use super::events::{Kind, Walked};
use super::no_kernel::model_new;
use super::{Ban, report};
use crate::lint::rule::Found;

pub fn check(walked: &Walked<'_>, _: &Ban, found: &mut Found<'_>) {
    if !walked.has_forward {
        let finding = found.at(model_new(walked), "the file has no class `ModelNew` with a method `forward`");
        finding.help("name the class `ModelNew`");
    }
    for event in &walked.events {
        if let Kind::Unread(what) = &event.kind {
            report(event, what.clone(), found)
                .help("write it so that it can be followed: plain statements, functions of this file");
        }
    }
}
