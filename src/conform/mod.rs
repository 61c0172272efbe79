//! Emulated kernels against the reference: cases, comparison, diagnosis.

pub mod alive;
pub mod bound;
pub mod compare;
pub mod diagnose;
pub mod exact;
pub mod inputs;

#[cfg(test)]
mod tests;
