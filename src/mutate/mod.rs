//! Broken kernels: how much a verdict is worth, measured.
//!
//! Every operator of [`operators`] is applied at every statement of a template's emitted kernels and
//! wrappers, and of `run.py` (*mutation testing*: DeMillo, Lipton, Sayward 1978); each mutant goes
//! through the ordinary verification of a suite. What is not noticed is a hole in our checks or no
//! mistake at all; the difference is argued, by the simplified kernel being the same, or in a list
//! with one argument each.
//!
//! ```text
//! template ─ cases ▶ emitted suites ─ generate (operators) ▶ mutations ─ judge (conform) ▶ trials ─ run ▶ report
//! ```
//!
//! Not measured: mistakes that need two edits, mistakes at sizes that no case has (an index that
//! wraps in 32 bits at 2³¹ elements), and speed.

mod apart;
mod around;
pub mod cases;
pub mod equivalent;
pub mod generate;
pub mod judge;
pub mod mutation;
pub mod operators;
pub mod report;
pub mod run;
mod site;

#[cfg(test)]
mod tests;

pub use report::{Argument, Mutant, Outcome, Report};
pub use run::{Selection, subjects};
