//! Python source → specialised, typed block IR → `Verified<Kernel>`, which is all that `emulate`
//! takes. Works on a bare file and knows nothing of graphs.
//!
//! `ir` is the language, `libdevice` a table of the functions it calls; `lower` makes it from Python; `print` and `parse` are its text (TTIR
//! syntax); `verify` checks every invariant and hands out [`Verified`]; `passes` simplifies, over `walk`.

pub mod ir;
pub mod libdevice;
pub mod lower;
pub mod parse;
pub mod passes;
pub mod print;
pub mod verify;
pub mod walk;

#[cfg(test)]
mod filetests;
#[cfg(test)]
mod promotions;

pub use ir::Kernel;
pub use lower::sources::Sources;
pub use lower::{ArgSpec, Specialization, Target, compile, compile_sources, constexpr_params};
pub use parse::parse;
pub use verify::{Verified, verify};
