//! Random input at every door: whatever the bytes are, there is a diagnosis, and no panic, hang, overflow of the stack or
//! allocation without bound. What is accepted computes the same in every mode of the emulator and reads back from its text.
//!
//! `cargo test --release --test fuzz` makes a fixed number of cases from fixed seeds. `FUZZ_SECONDS=3600 cargo test
//! --release --test fuzz -- --test-threads=1 --nocapture` goes on with further seeds for so long, shared by all targets;
//! `FUZZ_FROM=N` begins with batch N: starts of runs side by side lie far apart (0, 1000000, …).

#[path = "fuzz/ban.rs"]
mod ban;
#[path = "fuzz/choices.rs"]
mod choices;
#[path = "fuzz/data.rs"]
mod data;
#[path = "fuzz/launches.rs"]
mod launches;
#[path = "fuzz/mutate.rs"]
mod mutate;
#[path = "fuzz/python.rs"]
mod python;
#[path = "fuzz/python_expr.rs"]
mod python_expr;
#[path = "fuzz/recordings.rs"]
mod recordings;
#[path = "fuzz/run.rs"]
mod run;
#[path = "fuzz/runner.rs"]
mod runner;
#[path = "fuzz/targets.rs"]
mod targets;
#[path = "fuzz/ttir.rs"]
mod ttir;
