//! Loops that begin late, end early, run too far or step over.

use super::{KERNEL, Operator};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;

pub const BOUNDS: Operator =
    Operator { name: "range", what: "a loop that begins late, ends early, runs on or skips", parts: KERNEL, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for call in site.calls(&["range", "static_range"]) {
        let text = |i: usize| site.text(call.args[i].span);
        let grouped = |i: usize| site.grouped(&call.args[i]);
        match call.args {
            [stop] => {
                found.push(Edit::new(stop.span, format!("{} - 1", grouped(0))));
                found.push(Edit::new(stop.span, format!("{} + 1", grouped(0))));
                found.push(Edit::new(stop.span, format!("1, {}", text(0))));
            }
            [_, stop] => found.push(Edit::new(stop.span, format!("{} - 1", grouped(1)))),
            [start, stop, step] => {
                // Whole blocks only.
                found.push(Edit::new(stop.span, format!("{} - {} + 1", grouped(1), grouped(2))));
                found.push(Edit::new(stop.span, format!("{} + {}", grouped(1), grouped(2))));
                found.push(Edit::new(step.span, format!("{} * 2", grouped(2))));
                found.push(Edit::new(start.span, format!("{} + {}", grouped(0), grouped(2))));
                found.push(Edit::new(start.span, format!("{} + 1", grouped(0))));
            }
            _ => {}
        }
    }
    found
}
