//! How a bare kernel is launched: which function of a file, with what arguments, over which grid, and what must come out.
//!
//! `entry` finds the kernels of a file; `signature` reads argument types as a user writes them.
//!
//! Nothing here runs: `pipeline::emulate` does, on what this module reads.

pub mod entry;
pub mod signature;
