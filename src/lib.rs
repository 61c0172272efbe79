//! `decompose` turns a neural network into a suite of Triton kernels, each emulated on the CPU and
//! verified against an independent reference.
//!
//! The modules stand in the order of the data flow; a file imports only modules above it in this
//! list, or its own folder (checked by `tests/tidy.rs`). ARCHITECTURE.md draws the whole.

pub mod source;
pub mod diag;
pub mod dtype;
pub mod shape;
pub mod syntax;
pub mod expr;
pub mod tensor;
pub mod rng;
pub mod tolerance;
pub mod target;
pub mod graph;
pub mod kernel;
pub mod registry;
pub mod import;
pub mod template;
pub mod reference;
pub mod emulate;
pub mod host;
pub mod launch;
pub mod lint;
pub mod convert;
pub mod fuse;
pub mod select;
pub mod emit;
pub mod conform;
pub mod mutate;
pub mod pipeline;
pub mod cli;
