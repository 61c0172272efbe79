//! The dynamic checks, one module each: what it watches, with which algorithm, and what it misses.
//!
//! A check says little while a launch runs fast ([`crate::emulate::exec::Stop::Suspect`]); its
//! message is written when the suspect program runs again, dense and lane by lane.

pub mod bounds;
pub mod coverage;
pub mod fuel;
pub mod overlap;
pub mod poison;
pub mod race;
pub mod read_only;
pub mod uninitialised;
