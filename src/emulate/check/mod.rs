//! The dynamic checks, one module each: what it watches, with which algorithm, and what it misses.
//!
//! A check says little while a launch runs fast ([`crate::emulate::exec::Stop::Suspect`]); its
//! message is written when the suspect program runs again, dense and lane by lane.
//!
//! [`ALL`] has each with its codes and its switch: a check is worth what its fail tests
//! (`tests/emulate/fail/<code>`) show, and they show something only when they pass silently without it.

pub mod bounds;
pub mod coverage;
pub mod dead_store;
pub mod deadlock;
pub mod finite;
pub mod fuel;
pub mod hint;
pub mod lossy;
mod marks;
pub mod mask;
pub mod order;
pub mod order_of_programs;
pub mod overlap;
pub mod poison;
pub mod race;
pub mod read_only;
pub mod uninitialised;

use crate::diag::{Code, codes};
use crate::emulate::launch::Options;

/// One check: what it reports, and how a launch runs without it.
pub struct Check {
    pub name: &'static str,
    pub codes: &'static [&'static Code],
    pub off: fn(&mut Options),
}

/// Every check. Without `fuel` an endless kernel never returns.
pub static ALL: &[Check] = &[
    Check { name: "bounds", codes: &[&codes::OUT_OF_BOUNDS_LOAD, &codes::OUT_OF_BOUNDS_STORE], off: |o| o.checks.bounds = false },
    Check {
        name: "poison",
        codes: &[&codes::POISON_STORED, &codes::POISON_ADDRESS, &codes::POISON_BRANCH],
        off: |o| o.checks.poison = false,
    },
    Check { name: "coverage", codes: &[&codes::NEVER_WRITTEN], off: |o| o.checks.coverage = false },
    Check { name: "races", codes: &[&codes::WRITE_RACE, &codes::READ_RACE], off: |o| o.checks.races = false },
    Check { name: "division", codes: &[&codes::DIVISION_BY_ZERO], off: |o| o.checks.division = false },
    Check { name: "uninitialised", codes: &[&codes::UNINITIALISED_READ], off: |o| o.checks.uninitialised = false },
    Check { name: "wrapped", codes: &[&codes::INTEGER_WRAPPED], off: |o| o.checks.wrapped = false },
    Check { name: "asserts", codes: &[&codes::ASSERT_FAILED], off: |o| o.checks.asserts = false },
    Check { name: "read_only", codes: &[&codes::READ_ONLY_STORED], off: |o| o.checks.read_only = false },
    Check { name: "overlap", codes: &[&codes::LANES_DISAGREE], off: |o| o.checks.overlap = false },
    Check { name: "deadlock", codes: &[&codes::DEADLOCK], off: |o| o.checks.deadlock = false },
    Check { name: "exchange", codes: &[&codes::LANES_EXCHANGE], off: |o| o.checks.exchange = false },
    Check { name: "hints", codes: &[&codes::FALSE_HINT], off: |o| o.checks.hints = false },
    Check { name: "assumptions", codes: &[&codes::FALSE_ASSUMPTION], off: |o| o.checks.assumptions = false },
    Check { name: "mixed", codes: &[&codes::MIXED_ACCESS], off: |o| o.checks.mixed = false },
    Check { name: "alignment", codes: &[&codes::MISALIGNED], off: |o| o.checks.alignment = false },
    Check { name: "shift", codes: &[&codes::SHIFT_RANGE], off: |o| o.checks.shift = false },
    Check { name: "order", codes: &[&codes::ORDER_DEPENDENT], off: |o| o.checks.order = false },
    Check { name: "births", codes: &[&codes::NOT_FINITE], off: |o| o.checks.births = false },
    Check { name: "casts", codes: &[&codes::LOSSY_CAST], off: |o| o.checks.casts = false },
    Check { name: "masks", codes: &[&codes::UNUSED_MASK], off: |o| o.checks.masks = false },
    Check { name: "dead stores", codes: &[&codes::DEAD_STORE], off: |o| o.checks.dead_stores = false },
    Check { name: "fuel", codes: &[&codes::FUEL], off: |o| o.fuel = u64::MAX },
    Check { name: "memory", codes: &[&codes::MEMORY], off: |o| o.memory = usize::MAX },
];
