//! N015 (advice): a block is loaded or stored without a mask, or loaded without `other`.
//!
//! Why: the NPU's compiler moves whole blocks and faults beyond the end of a tensor where a GPU may not; a lane that
//! the mask leaves out holds whatever the buffer held before. Source: triton-ascend's programming guide (every access
//! is masked or boundary-checked, loads with `other=`).
//! The fix adds `other=0.0` to a masked load: it changes lanes alone that are undefined.
//! Does not catch: accesses of blocks whose number of axes the text does not give.

use crate::lint::between;
use crate::lint::flow::{address, memory};
use crate::lint::rule::Found;
use crate::lint::subject::{Call, Subject, calls};
use crate::source::Span;

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    for call in subject.functions.iter().flat_map(calls) {
        let Some(what @ ("load" | "store")) = memory(subject, &call) else { continue };
        let parts = address(subject, &call);
        let of_block = parts.iter().any(|part| subject.ranks.get(part).is_some_and(|rank| rank > 0));
        if !of_block || given(&call, "boundary_check") || call.keywords.iter().any(|k| k.name.is_none()) {
            continue;
        }
        let first = parts.len() + usize::from(what == "store");
        let masked = call.argument("mask", first).is_some();
        if !masked {
            found
                .at(call.span, format!("`tl.{what}` of a block without a mask"))
                .help("mask the lanes beyond the end: `mask=offsets < n`");
        } else if what == "load" && call.argument("other", first + 1).is_none() {
            let fix = with_other(found, &call);
            found
                .at(call.span, "masked load without `other`")
                .help("say what the other lanes hold: `other=0.0`")
                .fix(fix.unwrap_or_default());
        }
    }
}

/// The argument goes behind the last one and the parentheses around that; no comment may stand there.
fn with_other(found: &Found<'_>, call: &Call<'_>) -> Option<Vec<(Span, String)>> {
    let ends = call.args.iter().map(|a| a.span.end).chain(call.keywords.iter().map(|k| k.span.end));
    let end = ends.max()?;
    let closing = between(found.file(), end, call.span.end);
    if closing.contains('#') {
        return None;
    }
    // The last parenthesis is the call's.
    let inner = closing.matches(')').count().checked_sub(1)?;
    let behind = closing.match_indices(')').take(inner).last().map_or(0, |(i, _)| i + 1);
    let at = end + behind as u32;
    Some(vec![(Span { start: at, end: at }, ", other=0.0".to_owned())])
}

fn given(call: &Call<'_>, name: &str) -> bool {
    call.keywords.iter().any(|k| k.name.as_deref() == Some(name))
}
