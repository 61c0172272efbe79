//! Suites whose files were changed on purpose, verified in memory.

mod forged;
mod honest;
mod samples;
mod small;
