//! The checks of a verification, each with its codes and its switch.
//!
//! All are on by default. The honesty tests switch one off to see that it, and only it, catches its fail
//! tests (`tests/verify/fail/<check>`); nothing else ever does. A check that is off is not asked: what it judges
//! runs as before, because later checks need the result. The emulator's own are in
//! [`crate::emulate::check::ALL`].
//!
//! No switch is here for what refuses text that cannot be run at all, for a manifest that contradicts itself, nor
//! for `run.py` against the manifest (launches, buffers, and what is handed to whom: [`super::forward`],
//! [`super::planned`]): the chain cannot be compared launch by launch without it.

use crate::diag::{Code, codes};
use crate::emulate;

/// Which checks judge a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// What the emulator watches in every launch.
    pub emulator: emulate::Checks,
    /// Each kernel alone on small integers.
    pub structure: bool,
    /// Each kernel alone on real numbers.
    pub numerics: bool,
    /// Each kernel alone on NaN and infinities.
    pub special: bool,
    /// Each launch of the chain on what it really read.
    pub launches: bool,
    /// Every activation of the chain carries a signal.
    pub alive: bool,
    /// The chain's outputs, their shapes and their drift.
    pub outputs: bool,
    /// What `prepare` computes.
    pub prepared: bool,
    /// A failing wrapper's grid against the planned one.
    pub grid: bool,
    /// What no launch reaches is what the manifest's graph gives.
    pub unreached: bool,
    /// Files that nothing judges are those that were emitted.
    pub hashes: bool,
}

impl Default for Checks {
    fn default() -> Checks {
        Checks {
            emulator: emulate::Checks::default(),
            structure: true,
            numerics: true,
            special: true,
            launches: true,
            alive: true,
            outputs: true,
            prepared: true,
            grid: true,
            unreached: true,
            hashes: true,
        }
    }
}

/// One check: what it reports, and how a verification goes without it.
pub struct Check {
    pub name: &'static str,
    pub codes: &'static [&'static Code],
    pub off: fn(&mut Checks),
}

/// What a comparison of values reports.
const VALUES: &[&Code] = &[&codes::HAS_NAN, &codes::ALL_ZERO, &codes::VALUE_MISMATCH];

/// Every check of a verification but those of the emulator.
pub static ALL: &[Check] = &[
    Check { name: "structure", codes: VALUES, off: |c| c.structure = false },
    Check { name: "numerics", codes: VALUES, off: |c| c.numerics = false },
    Check { name: "special", codes: VALUES, off: |c| c.special = false },
    Check { name: "launches", codes: VALUES, off: |c| c.launches = false },
    Check { name: "alive", codes: &[&codes::SIGNAL_DEAD], off: |c| c.alive = false },
    Check { name: "outputs", codes: &[&codes::SHAPE_MISMATCH, &codes::CHAIN_MISMATCH], off: |c| c.outputs = false },
    Check { name: "prepared", codes: &[&codes::HOST_EDITED], off: |c| c.prepared = false },
    Check { name: "grid", codes: &[&codes::GRID_MISMATCH], off: |c| c.grid = false },
    Check { name: "unreached", codes: &[&codes::HOST_EDITED, &codes::FUNCTION_EDITED], off: |c| c.unreached = false },
    Check { name: "hashes", codes: &[&codes::HOST_EDITED], off: |c| c.hashes = false },
];
