//! What is wrong with a lane: a byte of flags beside its value, `None` for a clean block.
//!
//! Poison flags say that the lane has no defined value; NaN is a value and never poison. The wrap
//! flag says that the value is defined but is not the mathematical one. Flags of operands are
//! united; `select` passes the chosen lane's on. Bitwise operations and conversions to float clear
//! the wrap flag: a program that treats an integer as bits (a hash) means to wrap.

use std::sync::Arc;

/// A masked-off lane of a load without `other`.
pub const MASKED: u8 = 1;
/// A quotient or remainder by zero.
pub const DIVIDED_BY_ZERO: u8 = 2;
/// A float beyond the range of the integer type it was converted to.
pub const FLOAT_RANGE: u8 = 4;
/// A shift by the width or more.
pub const SHIFT: u8 = 8;
/// An address that is no multiple of the size of what it points at.
pub const MISALIGNED: u8 = 0x20;
/// A lane of a gather or histogram whose index lies outside the block.
pub const INDEX: u8 = 0x10;
/// The value wrapped around its integer type.
pub const WRAPPED: u8 = 0x80;

/// All flags that leave a lane without a value.
pub const POISON: u8 = MASKED | DIVIDED_BY_ZERO | FLOAT_RANGE | SHIFT | INDEX;

/// One byte a stored lane, in the places of the values; `None` when every lane is clean.
pub type Taints = Option<Arc<Vec<u8>>>;

/// `None` when every byte is zero.
pub fn seal(bytes: Vec<u8>) -> Taints {
    bytes.iter().any(|&b| b != 0).then(|| Arc::new(bytes))
}

/// In words, for a message.
pub fn reason(taint: u8) -> &'static str {
    match taint {
        t if t & MASKED != 0 => "a masked-off lane of a load without `other`",
        t if t & DIVIDED_BY_ZERO != 0 => "an integer division by zero",
        t if t & FLOAT_RANGE != 0 => "a float outside the range of the integer type it was converted to",
        t if t & MISALIGNED != 0 => "an address that is no multiple of its element's size",
        t if t & SHIFT != 0 => "a shift by the width of its type or more",
        t if t & INDEX != 0 => "an index of a gather or histogram outside its block",
        _ => "an integer that wrapped around its type",
    }
}
