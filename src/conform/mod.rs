//! Emulated kernels against the reference: cases, comparison, diagnosis.

pub mod bound;
pub mod compare;
pub mod exact;
pub mod inputs;
