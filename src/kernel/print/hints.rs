//! Hints as attributes of the instruction that defines their value: `{tt.divisibility = dense<16> : tensor<1xi32>}`,
//! joined with the attributes that the instruction has anyway.
//!
//! Does not print: hints of parameters and of arguments of blocks and regions. Nothing defines those, and
//! Triton drops their hints, too.

use super::hint_name;
use crate::kernel::ir::{Hint, Inst, Kernel};

/// Adds the hints of an instruction's results to its text, which starts at `start` and ends the output.
pub fn insert(out: &mut String, start: usize, kernel: &Kernel, inst: &Inst) {
    let mut hints: Vec<&Hint> = inst.results.iter().flat_map(|r| &kernel.values[r.0 as usize].hints).collect();
    hints.sort_by_key(|hint| hint.kind);
    let attributes = hints.iter().map(|hint| attribute(hint)).collect::<Vec<_>>().join(", ");
    // Of an instruction with regions, the line that closes the last of them.
    let line = out[start..].trim_end().rfind('\n').map_or(start, |at| start + at + 1);
    match out[line..].find('}').filter(|_| out[line..].contains('{')) {
        Some(close) => out.insert_str(line + close, &format!(", {attributes}")),
        None => {
            let at = out[line..].find(" : ").map_or(out.trim_end().len(), |at| line + at);
            out.insert_str(at, &format!(" {{{attributes}}}"));
        }
    }
}

fn attribute(hint: &Hint) -> String {
    let values = match hint.values.as_slice() {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => first.to_string(),
        many => format!("[{}]", many.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
    };
    format!("{} = dense<{values}> : tensor<{}xi32>", hint_name(hint.kind), hint.values.len())
}
