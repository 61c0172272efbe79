//! The table of mutation operators: each a slip that people and machines make when they write
//! kernels, as edits of the syntax tree's spans.
//!
//! An operator sees one statement ([`Site`]) and proposes edits; it does not know the template, the
//! case, or what the kernel should compute. Edits whose text does not parse are a fault of the
//! operator, and a test finds them.

mod address;
mod arguments;
mod arithmetic;
mod axis;
mod bound;
mod buffer;
mod constant;
mod constexpr;
mod coordinate;
mod decode;
mod dtype;
mod epilogue;
mod grid;
mod initial;
mod mask;
mod narrow;
mod nan;
mod operands;
mod other;
mod padding;
mod race;
mod range;
mod reduction;
mod size;
mod statement;
mod stride;
mod tail;
mod view;

use super::mutation::Edit;
use super::site::{Part, Site};

/// One kind of slip.
#[derive(Clone, Copy)]
pub struct Operator {
    pub name: &'static str,
    /// One line for the list of operators.
    pub what: &'static str,
    pub parts: &'static [Part],
    pub edits: fn(&Site) -> Vec<Edit>,
}

const KERNEL: &[Part] = &[Part::Kernel];
const WRAPPER: &[Part] = &[Part::Wrapper];
const RUNNER: &[Part] = &[Part::Runner];
const HOST: &[Part] = &[Part::Wrapper, Part::Runner];

/// Every operator, in the order in which equal edits are attributed.
pub const ALL: &[Operator] = &[
    mask::MISSING,
    mask::TERM,
    mask::NEGATED,
    bound::OFF_BY_ONE,
    range::BOUNDS,
    tail::DROPPED,
    stride::SWAPPED,
    stride::DROPPED,
    address::TERM,
    coordinate::SWAPPED,
    decode::PROGRAM_ID,
    decode::DIVISOR,
    race::PROGRAM,
    padding::TERM,
    padding::AXIS,
    epilogue::DROPPED,
    epilogue::OPERAND,
    initial::VALUE,
    axis::AXIS,
    axis::EXPANDED,
    narrow::INDEX,
    dtype::DTYPE,
    operands::SWAPPED,
    other::MISSING,
    other::VALUE,
    reduction::KIND,
    reduction::ACCUMULATION,
    nan::DROPPED,
    arithmetic::OPERATOR,
    constant::VALUE,
    statement::DROPPED,
    grid::SIZE,
    constexpr::VALUE,
    arguments::SWAPPED,
    size::AXIS,
    view::SHAPE,
    buffer::OTHER,
    buffer::SIZE,
    buffer::ORDER,
];

/// Whether a name is a run-time stride: `x_stride_h`.
fn is_stride(name: &str) -> bool {
    name.contains("_stride_")
}

/// The operand whose stride a name is.
fn stride_owner(name: &str) -> &str {
    name.split("_stride_").next().unwrap_or(name)
}

/// Whether a name is a size or attribute: capitals.
fn is_size(name: &str) -> bool {
    name.chars().next().is_some_and(|c| c.is_ascii_uppercase()) && name.chars().all(|c| !c.is_ascii_lowercase())
}
