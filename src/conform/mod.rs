//! Emulated kernels against the reference: cases, comparison, diagnosis.
//!
//! [`subject`] reads a suite's files, whose manifest must fit itself ([`consistent`]) and what its
//! kernels launch ([`planned`]); [`kernel`] verifies one launch in isolation, [`chain`] the
//! whole model; [`execute`] runs what host code did. [`inputs`], [`exact`], [`bound`], [`compare`] and
//! [`diagnose`] make the judgement; [`verdict`] is what is said. What no launch
//! reaches is compared with what the manifest gives ([`unreached`]).

pub mod alive;
pub mod bound;
pub mod causes;
pub mod chain;
pub mod compare;
pub mod consistent;
pub mod counterfactual;
pub mod cpu;
pub mod diagnose;
pub mod exact;
pub mod execute;
pub mod inputs;
pub mod kernel;
pub mod layout;
pub mod planned;
pub mod prepare;
pub mod probe;
pub mod sample;
pub mod special;
pub mod stored;
pub mod subject;
pub mod unreached;
pub mod verdict;
mod weights;

#[cfg(test)]
mod tests;
