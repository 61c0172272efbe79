//! Runs a verified kernel on the CPU and watches what it does: a sanitiser that computes values.

pub mod launch;
