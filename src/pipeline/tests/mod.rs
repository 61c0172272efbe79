//! Suites whose files were changed on purpose, verified in memory.

mod forged;
mod honest;
mod minimise;
mod samples;
mod small;
