//! Promises that do not hold: `tl.multiple_of`, `tl.max_contiguous` and `tl.max_constancy` (A017), `tl.assume` (A018).
//!
//! The compiler believes them: it loads several elements at once from an address that it takes for aligned, or reads
//! one element for a group. A promise about a value belongs to the instruction that defines it, whatever branch the call
//! stands in, and is asked there, in every lane. `max_contiguous` and `max_constancy` speak of groups of lanes along an
//! axis, counted from the first; `multiple_of` of the first lane of every contiguous group. A group is taken to be as
//! long as the lanes at hand allow, so that what is reported is false under any reading. Pointers count bytes in
//! `multiple_of`, elements otherwise.
//!
//! Misses: `multiple_of` in lanes that continue a group by chance, and would not at another size; what is promised of
//! lanes without a defined value.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::diag::{Diagnostic, codes};
use crate::emulate::exec::Machine;
use crate::emulate::tape::Instruction;
use crate::emulate::value::{Cell, Layout, misfit, taint};
use crate::kernel::ir::{Hint, HintKind};

/// The lanes of a value.
pub struct Lanes<'c> {
    shape: SmallVec<[usize; 4]>,
    values: Cow<'c, [i64]>,
    layout: Option<Layout>,
    taints: Option<&'c [u8]>,
    /// Address of offset zero, and bytes between offsets; `(0, 1)` for integers.
    start: i64,
    size: i64,
}

impl<'c> Lanes<'c> {
    pub fn new(cell: &'c Cell, shape: &[usize], start: i64, size: i64) -> Lanes<'c> {
        let values: Cow<'c, [i64]> = match cell {
            Cell::Int(s) => Cow::Owned(vec![s.value]),
            Cell::Ptr(p) => Cow::Owned(vec![p.offset]),
            Cell::Ints(block) => block.values(),
            Cell::Ptrs(block) => block.offsets.values(),
            Cell::Mask(block) => Cow::Owned(block.values().iter().map(|&v| v.into()).collect()),
            // Of floats nothing is promised that could be false.
            Cell::Float(_) | Cell::Floats(_) => Cow::Owned(vec![0]),
            Cell::Empty => misfit(cell, "a value"),
        };
        let floats = matches!(cell, Cell::Float(_) | Cell::Floats(_));
        let layout = if floats { None } else { cell.layout().copied() };
        let taints = if floats { None } else { cell.taints().as_ref().map(|t| t.as_slice()) };
        Lanes { shape: SmallVec::from_slice(shape), values, layout, taints, start, size }
    }

    /// The lane at an index; `None` without a defined value.
    fn at(&self, index: &[usize]) -> Option<i64> {
        let place = self.layout.as_ref().map_or(0, |layout| index.iter().enumerate().map(|(a, i)| i * layout.stride(a)).sum());
        if self.taints.is_some_and(|t| t[place] & taint::POISON != 0) {
            return None;
        }
        Some(self.values[place])
    }
}

/// A lane where a promise does not hold.
pub struct Broken {
    index: Vec<usize>,
    axis: usize,
    promised: i64,
    value: i64,
    /// The lane before it along the axis.
    before: Option<i64>,
}

/// The first lane that breaks a promise.
pub fn broken(lanes: &Lanes<'_>, hint: &Hint) -> Option<Broken> {
    let numel: usize = lanes.shape.iter().product();
    let row_major = Layout::row_major(&lanes.shape);
    for lane in 0..numel {
        let index: SmallVec<[usize; 4]> = row_major.unravel(lane).into_iter().collect();
        let Some(value) = lanes.at(&index) else { continue };
        for (axis, &promised) in hint.values.iter().enumerate() {
            let i = index.get(axis).copied().unwrap_or(0);
            let before = (i > 0).then(|| {
                let mut index = index.clone();
                index[axis] -= 1;
                lanes.at(&index)
            });
            let before = match before {
                Some(None) => continue,
                other => other.flatten(),
            };
            let group = i as i64 % promised.max(1) != 0;
            let holds = match hint.kind {
                HintKind::Contiguity => !group || before.is_none_or(|before| before.wrapping_add(1) == value),
                HintKind::Constancy => !group || before.is_none_or(|before| before == value),
                HintKind::Divisibility => {
                    let bytes = lanes.start.wrapping_add(value.wrapping_mul(lanes.size));
                    // Of 0 only 0 is a multiple.
                    before.is_some_and(|before| before.wrapping_add(1) == value)
                        || bytes == 0
                        || bytes.checked_rem(promised) == Some(0)
                }
            };
            if !holds {
                let value = match hint.kind {
                    HintKind::Divisibility => lanes.start.wrapping_add(value.wrapping_mul(lanes.size)),
                    HintKind::Contiguity | HintKind::Constancy => value,
                };
                return Some(Broken { index: index.to_vec(), axis, promised, value, before });
            }
        }
    }
    None
}

/// The message of a broken promise about a value.
pub fn explain(machine: &Machine<'_>, hint: &Hint, broken: &Broken, at: &Instruction) -> Diagnostic {
    let Broken { index, axis, promised, value, before } = broken;
    let lane = match index.as_slice() {
        [] => "the value".to_owned(),
        [one] => format!("lane {one}"),
        many => format!("lane {many:?}"),
    };
    let before = before.map_or_else(String::new, |before| format!(", the lane before it {before}"));
    let along = if index.len() > 1 { format!(" along axis {axis}") } else { String::new() };
    let (name, what) = match hint.kind {
        HintKind::Divisibility => ("multiple_of", format!("multiples of {promised}")),
        HintKind::Contiguity => ("max_contiguous", format!("groups of {promised} lanes that go up by one")),
        HintKind::Constancy => ("max_constancy", format!("groups of {promised} equal lanes")),
    };
    let is = if index.is_empty() { "the value is" } else { "is" };
    let lane = if index.is_empty() { String::new() } else { format!("{lane} ") };
    machine
        .message(&codes::FALSE_HINT, format!("`tl.{name}` promises {what}{along}; {lane}{is} {value}{before}"), at)
        .help("the compiler believes it and moves whole groups at once: promise less, or make it true (pad, or mask the tail)")
}

/// The message of an assumption that does not hold.
pub fn assumed(machine: &Machine<'_>, at: &Instruction) -> Diagnostic {
    machine
        .message(&codes::FALSE_ASSUMPTION, "what `tl.assume` states is false here".to_owned(), at)
        .help("the compiler drops what could only happen otherwise: state less, or check it on the host")
}
