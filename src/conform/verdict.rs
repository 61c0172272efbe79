//! Verdicts: what was found out about a kernel, in the five words of the report.

use crate::conform::bound::Derived;
use crate::conform::compare::Comparison;
use crate::diag::{Class, Diagnostic};

/// The word that sums a verdict up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// Every pass held.
    Verified,
    /// Addresses of every program, values of some.
    Sampled,
    /// Every pass held, at smaller sizes than the file's.
    Reduced,
    /// The kernel, its wrapper or its model is wrong.
    Failed,
    /// Something in it cannot be run yet.
    Unsupported,
    /// Fuel, memory or time ran out.
    Limit,
    /// Nobody asked.
    NotVerified,
}

impl Word {
    pub fn as_str(self) -> &'static str {
        match self {
            Word::Verified => "verified",
            Word::Sampled => "sampled",
            Word::Reduced => "reduced",
            Word::Failed => "failed",
            Word::Unsupported => "unsupported",
            Word::Limit => "limit",
            Word::NotVerified => "not verified",
        }
    }

    /// Whether nothing was found against it.
    pub fn holds(self) -> bool {
        match self {
            Word::Verified | Word::Sampled | Word::Reduced => true,
            Word::Failed | Word::Unsupported | Word::Limit | Word::NotVerified => false,
        }
    }

    /// The word that a diagnostic of this class leads to.
    pub fn of(class: Class) -> Word {
        match class {
            Class::Unsupported => Word::Unsupported,
            Class::Limit => Word::Limit,
            Class::Bug | Class::Usage | Class::Internal => Word::Failed,
        }
    }
}

/// How far the emulated values are from the reference, over all elements of a pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Error {
    pub max_abs_err: f64,
    pub max_rel_err: f64,
    /// The largest |error| / tolerance; at most 1 where the pass held.
    pub over_tolerance: f64,
    /// The error and the tolerance at the element where that ratio is largest.
    pub worst_err: f64,
    pub tolerance: f64,
    /// The tolerance as a formula.
    pub formula: String,
}

impl Error {
    pub fn of(comparison: &Comparison, derived: &Derived) -> Error {
        Error {
            max_abs_err: comparison.max_abs_err,
            max_rel_err: comparison.max_rel_err,
            over_tolerance: comparison.error_over_bound,
            worst_err: comparison.worst.as_ref().map_or(0.0, |worst| (worst.got - worst.expected).abs()),
            tolerance: comparison.worst.as_ref().map_or(0.0, |worst| worst.bound),
            formula: derived.tolerance.describe(),
        }
    }
}

/// What is known of one kernel.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub word: Word,
    /// The numerics pass; `None` when it did not get that far.
    pub error: Option<Error>,
    /// Whether the structure pass asked for bit-equality (fp32 is exact on its integers) or fell
    /// back to the derived bound; `None` when it did not get that far.
    pub bit_equal: Option<bool>,
    /// Wall seconds that the emulator spent on one launch of the numerics pass.
    pub emulation_seconds: f64,
    /// Programs of that launch.
    pub programs: u64,
    /// Whether an earlier run reached this on the same bytes.
    pub known: bool,
    /// The seed of the inputs on which it does not hold.
    pub seed: Option<u64>,
    pub diagnostics: Vec<Diagnostic>,
}

impl Verdict {
    pub fn not_verified() -> Verdict {
        Verdict {
            word: Word::NotVerified,
            error: None,
            bit_equal: None,
            emulation_seconds: 0.0,
            programs: 0,
            known: false,
            seed: None,
            diagnostics: Vec::new(),
        }
    }

    /// The verdict that a fault leads to.
    pub fn fault(diagnostic: Diagnostic) -> Verdict {
        Verdict { word: Word::of(diagnostic.class()), diagnostics: vec![diagnostic], ..Verdict::not_verified() }
    }
}
