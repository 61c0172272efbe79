//! Lanes of one store that meet (A013): two active lanes of a program store different values to one
//! element in one instruction. Triton leaves open which of them lasts.
//!
//! Algorithm: lanes of a tile are apart when its terms say so. With the axes in the order of their
//! smallest gap, each gap must exceed the reach of all axes before it together, as digits of a number do
//! ([`apart`]). Only where that is not so are addresses looked at: marked in a bitmap over their range,
//! and, when one comes twice, sorted with their lanes, so that values of equal addresses can be compared.
//! Equal bits are no fault: which lane wins does not show.
//!
//! Misses: two stores of one program to one element (the later one wins, as the program says).

use crate::diag::{Diagnostic, codes};
use crate::emulate::exec::Machine;
use crate::emulate::tape::Instruction;

/// Whether lanes of all axes have addresses of their own; `axes` gives each axis's smallest distance
/// between two lanes and the distance between its outermost ones.
pub fn apart(axes: &mut [(i64, i64)]) -> bool {
    axes.sort_unstable();
    let mut reach = 0i64;
    axes.iter().all(|&(gap, own)| {
        let distinct = gap > reach;
        reach = reach.saturating_add(own);
        distinct
    })
}

/// Ranges of addresses up to this many are marked in a bitmap.
const MARKED: i64 = 1 << 22;

/// Marks of addresses.
#[derive(Default)]
pub struct Marks {
    words: Vec<u64>,
    lo: i64,
}

impl Marks {
    /// Forgets everything and prepares for addresses of `lo..=hi`; false where those are too many.
    pub fn begin(&mut self, lo: i64, hi: i64) -> bool {
        let Some(span) = hi.checked_sub(lo).filter(|span| (0..MARKED).contains(span)) else { return false };
        self.words.clear();
        self.words.resize(span as usize / 64 + 1, 0);
        self.lo = lo;
        true
    }

    /// Whether the address was marked before; it is now.
    #[inline]
    pub fn mark(&mut self, address: i64) -> bool {
        let at = (address - self.lo) as usize;
        let word = &mut self.words[at / 64];
        let before = *word >> (at % 64) & 1 != 0;
        *word |= 1 << (at % 64);
        before
    }
}

/// Two lanes of one address whose values differ: of the lowest such address, its first lane and the
/// first that differs from it. `lanes` are addresses with lanes, in any order.
pub fn conflict(lanes: &mut [(i64, u32)], differ: impl Fn(u32, u32) -> bool) -> Option<(i64, [u32; 2])> {
    lanes.sort_unstable();
    lanes.chunk_by(|a, b| a.0 == b.0).find_map(|same| {
        let (address, first) = same[0];
        same[1..].iter().find(|&&(_, lane)| differ(first, lane)).map(|&(_, lane)| (address, [first, lane]))
    })
}

/// The message; `offset` counts from the pointer.
pub fn explain(machine: &Machine<'_>, arg: usize, offset: i64, lanes: [&str; 2], at: &Instruction) -> Diagnostic {
    let (name, [first, second]) = (&machine.launch.names[arg], lanes);
    let what = format!("{first} and {second} store different values to {name}[{offset}] at once");
    machine
        .message(&codes::LANES_DISAGREE, what, at)
        .help("nothing orders the lanes of one store: give each lane an element of its own, or mask all but one of them off")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_like_digits_keep_lanes_apart() {
        assert!(apart(&mut [(64, 64 * 3), (1, 63)]));
        assert!(!apart(&mut [(63, 63 * 3), (1, 63)]));
        assert!(!apart(&mut [(0, 0)]));
        assert!(!apart(&mut [(1, 3), (1, 3)]));
        assert!(apart(&mut []));
    }

    #[test]
    fn only_differing_values_conflict() {
        let values = [5, 6, 5, 7, 8];
        let mut lanes = [(9, 0), (3, 1), (9, 2), (9, 3), (4, 4)];
        assert_eq!(conflict(&mut lanes, |a, b| values[a as usize] != values[b as usize]), Some((9, [0, 3])));
        assert_eq!(conflict(&mut lanes, |_, _| false), None);
        let mut marks = Marks::default();
        assert!(marks.begin(-70, 70) && !marks.mark(-70) && !marks.mark(70) && marks.mark(-70));
        assert!(marks.begin(0, 3) && !marks.mark(0));
        assert!(!marks.begin(0, MARKED) && !marks.begin(i64::MIN, i64::MAX));
    }
}
