//! Coverage: an output element that nothing has written (A006).
//!
//! Commits clear the buffer's `undefined` bits. Whether a gap is a fault is for the caller to ask,
//! after the last launch that writes the buffer: a concatenation is filled by several launches.

use crate::diag::{Diagnostic, codes};
use crate::emulate::launch::{Checks, Memory, View};
use crate::emulate::view::Extent;
use crate::shape::numel;

/// The first element of a view that nothing has written, as a message without a place; nothing where the
/// check is off.
pub fn coverage(memory: &Memory, view: &View, checks: Checks) -> Option<Diagnostic> {
    if !checks.coverage {
        return None;
    }
    let buffer = &memory.buffers[view.buffer.0];
    let bits = buffer.undefined.as_ref()?;
    let extent = Extent::new(view);
    if extent.lo > extent.hi {
        return None;
    }
    let (mut first, mut missing) = (None, 0u64);
    let mut at = extent.lo as usize;
    let end = extent.hi as usize + 1;
    while let Some(found) = bits.first_set(at, end - at) {
        if extent.contains(found as i64) {
            first.get_or_insert(found);
            missing += 1;
        }
        at = found + 1;
        if at >= end {
            break;
        }
    }
    let first = first?;
    // A view may repeat elements without end (stride 0).
    let total = numel(&view.shape).unwrap_or(usize::MAX);
    let index = extent.index_of(first as i64).map(|i| format!("{:?}", i.as_slice())).unwrap_or_else(|| first.to_string());
    Some(
        Diagnostic::new(
            &codes::NEVER_WRITTEN,
            format!("{missing} of {total} elements of {} were never written; the first is {index}", buffer.name),
        )
        .note(format!("view: {}", extent.describe()))
        .help("check that the grid covers the whole output and that the store's mask is not too strict"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::shape::{Shape, contiguous_strides};

    #[test]
    fn only_gaps_of_the_view_count() {
        let mut memory = Memory::default();
        let buffer = memory.allocate("y", DType::F32, 12);
        let bits = memory.buffers[0].undefined.as_mut().unwrap();
        bits.clear(0, 7);
        let view = |shape: &[usize], origin| View {
            buffer,
            pointer: origin,
            shape: Shape::from_slice(shape),
            strides: contiguous_strides(shape),
            origin,
        };
        assert!(coverage(&memory, &view(&[7], 0), Checks::default()).is_none());
        let found = coverage(&memory, &view(&[3, 4], 0), Checks::default()).unwrap();
        assert_eq!(found.message, "5 of 12 elements of y were never written; the first is [1, 3]");
    }
}
