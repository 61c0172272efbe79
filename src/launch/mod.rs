//! How a bare kernel is launched: which function of a file, with what arguments, over which grid, and what must come out.
//!
//! ```text
//! kernel.py ─ comments ┐                                            formula ─ what must come out
//! runs.yaml ───────────┴ description ─ resolve ▶ arguments, grid ─┬ fill ─ what tensors hold
//!                                         └ meta, files           └ template ─ what is missing, to paste
//! ```
//!
//! `entry` finds the kernels of a file; `signature` reads argument types as a user writes them.
//!
//! Nothing here runs: `pipeline::emulate` does, on what this module reads.

pub mod comments;
pub mod description;
pub mod entry;
pub mod files;
pub mod fill;
pub mod formula;
mod meta;
pub mod resolve;
pub mod signature;
pub mod template;
