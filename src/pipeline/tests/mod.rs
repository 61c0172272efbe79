//! Suites whose files were changed on purpose, verified in memory.

mod forged;
mod samples;
mod small;
