//! Reads emitted host code back: wrappers, `run.py`, `ModelNew.forward`, in a small host subset of
//! Python, and says what they would allocate and launch.

pub mod trace;
