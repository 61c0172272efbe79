//! Emulated kernels against the reference: cases, comparison, diagnosis.
//!
//! [`subject`] reads a suite's files, whose manifest must fit itself ([`consistent`]) and what its
//! kernels launch ([`planned`]); [`kernel`] verifies one launch in isolation, in runs of its own ([`run`]),
//! [`chain`] the whole model against the reference's outputs ([`truth`], [`outputs`]); [`execute`] runs what host
//! code did, with [`weights`] made when a launch reads them. [`inputs`], [`special`], [`exact`], [`bound`] and
//! [`compare`] make the judgement; [`given`] puts a user's own arrays in the place of generated inputs, and
//! [`constant`] tells an output that is dead by construction from one that died. [`diagnose`] says why values are
//! wrong, from further runs on changed inputs ([`counterfactual`]), [`causes`] names lines of the file, and
//! [`minimise`] the smallest shapes that fail; [`verdict`] is what is said. What no launch reaches is compared with
//! what the manifest gives ([`unreached`]). [`checks`] lists the checks with their switches. [`sample`] computes
//! the elements that `layers/*.json` holds, [`sampled`] lets some programs of a launch stand for all, [`probe`] runs
//! the fusion anchors of templates. [`answer`] judges a task's `ModelNew` as a whole.

pub mod alive;
pub mod answer;
pub mod bound;
pub mod causes;
pub mod chain;
pub mod checks;
pub mod compare;
pub mod consistent;
pub mod constant;
pub mod counterfactual;
pub mod cpu;
pub mod diagnose;
pub mod exact;
pub mod execute;
mod forward;
pub mod given;
pub mod inputs;
pub mod kernel;
pub mod layout;
mod mend;
pub mod minimise;
pub mod outputs;
pub mod planned;
pub mod prepare;
pub mod probe;
pub mod run;
pub mod sample;
pub mod sampled;
pub mod special;
pub mod subject;
pub mod truth;
pub mod unreached;
pub mod verdict;
mod weights;

#[cfg(test)]
mod tests;
