//! Emulated kernels against the reference: cases, comparison, diagnosis.
//!
//! [`subject`] reads a suite's files; [`kernel`] verifies one launch in isolation, [`chain`] the
//! whole model; [`execute`] runs what host code did. [`inputs`], [`exact`], [`bound`], [`compare`] and
//! [`diagnose`] make the judgement; [`verdict`] is what is said.

pub mod alive;
pub mod bound;
pub mod causes;
pub mod chain;
pub mod compare;
pub mod counterfactual;
pub mod cpu;
pub mod diagnose;
pub mod exact;
pub mod execute;
pub mod inputs;
pub mod kernel;
pub mod layout;
pub mod prepare;
pub mod probe;
pub mod special;
pub mod stored;
pub mod subject;
pub mod verdict;

#[cfg(test)]
mod tests;
