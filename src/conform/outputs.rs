//! How far a chain's outputs are from a truth, and what is said of one that is not what its user expects.
//!
//! The measure is the largest |error| over an output's elements. Not caught: errors below what the chain allows.

use crate::conform::subject::Subject;
use crate::diag::{Diagnostic, codes};

/// An output that is not what the user expects.
pub fn unexpected(subject: &Subject, output: &str, error: f64, of_reference: f64, allowed: f64) -> Option<Diagnostic> {
    if error <= allowed {
        return None;
    }
    let what = format!("output {output} is off by {error:.3e} from the expected values, but {allowed:.3e} is allowed");
    let diagnostic = Diagnostic::new(&codes::CHAIN_MISMATCH, what).in_file(format!("{}/run.py", subject.name));
    Some(if of_reference <= allowed {
        diagnostic
            .note("the reference agrees with the expected values")
            .help("compare run.py's launches and buffers with the manifest's")
    } else {
        let note = format!("the reference is off by {of_reference:.3e} from them, too");
        diagnostic.note(note).help("check that the inputs, the weights and the expected values belong together")
    })
}

/// The largest, NaN when one of them is.
pub fn worst(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |a: f64, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}

/// |a − b|; nothing between equal infinities or two NaN, NaN where only one is not finite.
pub fn difference(a: f64, b: f64) -> f64 {
    match (a.is_finite(), b.is_finite()) {
        (true, true) => (a - b).abs(),
        (false, false) if a == b || (a.is_nan() && b.is_nan()) => 0.0,
        (false, _) | (_, false) => f64::NAN,
    }
}
