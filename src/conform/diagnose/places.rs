//! Where failing elements are: a border, the tail of an axis or of the whole, one run, a slab, or scattered.

use std::collections::BTreeSet;

use super::pattern::{Pattern, pattern};
use super::suspects::Clue;
use crate::conform::compare::{display_index, unflatten};
use crate::shape::contiguous_strides;

/// One of so many elements that fails says nothing about places.
const FEW: usize = 4;

/// The most telling description of the failing places; `None` when none or nearly all elements fail.
///
/// `telling`: elements that could have failed, those that are 0 in both left out (a ReLU hides half of a fault).
pub(super) fn places(failing: &[usize], shape: &[usize], telling: usize) -> Option<Pattern> {
    let total: usize = shape.iter().product();
    let (&first, &last) = (failing.first()?, failing.last()?);
    if failing.len() * 10 > total * 9 {
        return None;
    }
    let strides = contiguous_strides(shape);
    let coordinate = |at: usize, axis: usize| at / strides[axis] as usize % shape[axis];
    let sets: Vec<BTreeSet<usize>> =
        (0..shape.len()).map(|axis| failing.iter().map(|&at| coordinate(at, axis)).collect()).collect();
    let partial: Vec<usize> = (0..shape.len()).filter(|&axis| sets[axis].len() < shape[axis]).collect();
    // Most of an axis says little, all of it but one index something.
    let told =
        |axis: &usize| sets[*axis].len() * 2 <= shape[*axis] || (sets[*axis].len() + 1 == shape[*axis] && shape[*axis] > 2);

    if let [axis] = partial[..]
        && is_tail(&sets[axis], shape[axis])
        && sets[axis].len() > 1
    {
        return Some(pattern(
            Clue::Mask,
            format!("only the end of axis {axis} fails: {}", span(&sets[axis])),
            format!("check the last block of axis {axis}: its mask, and a grid that is rounded up"),
        ));
    }
    let spatial: Vec<usize> = (2..shape.len()).filter(|&axis| shape[axis] > 5).collect();
    let edge = |at: usize| {
        spatial.iter().any(|&axis| {
            let i = coordinate(at, axis);
            i < 2 || i + 2 >= shape[axis]
        })
    };
    if !spatial.is_empty() && failing.iter().all(|&at| edge(at)) {
        return Some(pattern(
            Clue::Mask,
            "only elements at the border of the spatial axes fail",
            "check the padding: the mask of the window's positions, and what stands where it is false",
        ));
    }
    let run = last - first + 1 == failing.len() && failing.len() > 1;
    if run && last + 1 == total && failing.len() * 2 <= total {
        return Some(pattern(
            Clue::Mask,
            format!("only the last {} elements in memory order fail", failing.len()),
            "check the last block: its mask, and a grid that is rounded up",
        ));
    }
    if run {
        return Some(pattern(
            Clue::ProgramId,
            format!("the failing elements are one run in memory order, {first} to {last}"),
            "check how this block's program id is decoded",
        ));
    }
    let around = sets.iter().map(BTreeSet::len).product::<usize>();
    let whole = around == failing.len();
    // Few, and no slab: what they share is their values.
    let few = failing.len() * FEW <= telling;
    if few && (failing.len() * 2 <= around || failing.len() == 1) {
        let fact = match failing {
            [one] => format!("one element of {total} fails, at {}", display_index(&unflatten(*one, shape))),
            _ => format!("{} of {total} elements fail, here and there", failing.len()),
        };
        let cause = "look at what chooses between values (a comparison, `tl.where`, a minimum or maximum, its constants): \
                     scattered elements have their values in common, not their places";
        return Some(pattern(Clue::Choice, fact, cause));
    }
    let partial: Vec<usize> = partial.into_iter().filter(told).collect();
    if partial.is_empty() {
        return None;
    }
    let at = |&axis: &usize| match (0..shape[axis]).filter(|i| !sets[axis].contains(i)).collect::<Vec<_>>()[..] {
        [right] if shape[axis] > 2 => format!("axis {axis} not at {right}"),
        _ => format!("axis {axis} at {}", span(&sets[axis])),
    };
    let at: Vec<_> = partial.iter().map(at).collect();
    Some(pattern(
        Clue::ProgramId,
        format!("{} {}", if whole { "exactly the elements fail that have" } else { "all failing elements have" }, at.join(", ")),
        "check the offset and mask of that axis, and how program ids are decoded into it",
    ))
}

/// Whether a set of indices is the end of an axis, and not most of it.
fn is_tail(set: &BTreeSet<usize>, size: usize) -> bool {
    set.first().is_some_and(|&first| size - first == set.len() && set.len() * 2 <= size)
}

/// `3`, `56 to 63`, `0, 2, 4`, or a count.
fn span(set: &BTreeSet<usize>) -> String {
    match (set.first(), set.last()) {
        (Some(a), Some(b)) if a == b => a.to_string(),
        (Some(a), Some(b)) if b - a + 1 == set.len() => format!("{a} to {b}"),
        _ if set.len() <= 6 => set.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
        _ => format!("{} of its indices", set.len()),
    }
}
