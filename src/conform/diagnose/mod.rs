//! Why an output is wrong, in three classes: A is a fault with a line (the emulator's own messages),
//! B a wrong shape or grid ([`shape`]), C wrong values.
//!
//! Class C looks at the values alone: NaN or infinity where the reference is finite (C001), zeros
//! everywhere (C002), or anything else (C003), then says *where* and *how* the failing elements
//! differ ([`places`], [`pattern`]): a border, a tail block, a constant factor, exchanged axes, a shift. Each
//! pattern names its likely cause; none proves it. [`suspects`] ranks the kernel's lines by it: from what each
//! flows into ([`flow`]) and does ([`roles`]), and from lines that contradict others of their file
//! ([`contradiction`]) in their names ([`names`]), in how they take an index apart ([`decode`]) or in how programs share
//! work ([`programs`]), where [`varying`] says what differs between lanes.
//!
//! Not caught: two mistakes at once are told as one pattern, or as none.

mod contradiction;
mod decode;
mod flow;
mod names;
mod pattern;
mod places;
mod programs;
mod roles;
mod shape;
mod suspects;
mod varying;

use crate::diag::{Diagnostic, codes};
use crate::reference::floats;
use crate::tensor::Tensor;

use super::bound::Derived;
use super::compare::{Comparison, display_index, failing, unflatten};

pub use flow::{called, header};
pub use shape::{grid_mismatch, shape_mismatch};
pub use suspects::{Clue, Seen, Suspect, behind, rank};
pub use varying::functions;

/// Lines of a kernel that a message shows at most.
pub const SUSPECTS: usize = 3;

/// Why an output does not conform.
#[derive(Clone, Debug)]
pub struct Finding {
    pub diagnostic: Diagnostic,
    /// Which lines to suspect.
    pub clue: Clue,
}

/// The message for an output that does not conform, with what its values say about the cause; `None` when
/// it does. The caller adds the place.
///
/// `operand` is the output's name in the kernel's wrapper.
pub fn examine(operand: &str, got: &Tensor, expected: &Tensor, derived: &Derived, comparison: &Comparison) -> Option<Finding> {
    if comparison.passed() {
        return None;
    }
    let (y, r) = (floats(got.storage()), floats(expected.storage()));
    let total = comparison.elements;
    let of = |count: usize| if count == total { format!("all {total}") } else { format!("{count} of {total}") };
    let strange: Vec<usize> = (0..total).filter(|&i| !y[i].is_finite() && r[i].is_finite()).collect();
    if let Some(&first) = strange.first() {
        let nans = strange.iter().filter(|&&i| y[i].is_nan()).count();
        let what = match (nans, strange.len() - nans) {
            (n, 0) => format!("{} elements are NaN", of(n)),
            (0, n) => format!("{} elements are infinite", of(n)),
            (n, m) => format!("{} elements are NaN and {m} infinite", of(n)),
        };
        let at = display_index(&unflatten(first, got.shape()));
        return Some(with_patterns(
            Diagnostic::new(&codes::HAS_NAN, format!("{operand}: {what} where the reference is finite, first at {at}")).help(
                "look for a division by zero, the logarithm or root of a negative number, or an exponential that overflows",
            ),
            places::places(&strange, got.shape(), total),
            Clue::NotFinite,
        ));
    }
    let failing = failing(got, expected, derived);
    if !failing.is_empty() && failing.iter().all(|&i| r[i].is_nan() && !y[i].is_nan()) {
        let at = display_index(&unflatten(failing[0], got.shape()));
        let message = format!("{operand}: {} elements are numbers where the reference is NaN, first at {at}", of(failing.len()));
        let help = "look for a maximum, minimum or comparison that drops NaN: `propagate_nan=tl.PropagateNan.ALL`, or `tl.where`";
        let diagnostic = Diagnostic::new(&codes::VALUE_MISMATCH, message).help(help);
        return Some(Finding { diagnostic, clue: Clue::Choice });
    }
    if y.iter().all(|&v| v == 0.0) && r.iter().any(|&v| v != 0.0) {
        let diagnostic =
            Diagnostic::new(&codes::ALL_ZERO, format!("{operand}: all {total} elements are zero, the reference's are not"))
                .help("look for a mask that is false everywhere, or offsets that are all out of range");
        return Some(Finding { diagnostic, clue: Clue::Mask });
    }
    if failing.is_empty() {
        let message = format!(
            "{operand}: {} elements lie at a breakpoint and may take either side, more than 1 % of them",
            of(comparison.unsettled)
        );
        let diagnostic =
            Diagnostic::new(&codes::VALUE_MISMATCH, message).help("decompose with another --seed: other inputs lie elsewhere");
        return Some(Finding { diagnostic, clue: Clue::Anything });
    }
    let mut diagnostic =
        Diagnostic::new(&codes::VALUE_MISMATCH, format!("{operand}: {} elements differ from the reference", of(failing.len())));
    if let Some(worst) = &comparison.worst {
        diagnostic = diagnostic.note(format!("worst {worst}"));
    }
    diagnostic = diagnostic.note(format!(
        "max_abs_err {:.3e}, max_rel_err {:.3e}, held to {}",
        comparison.max_abs_err,
        comparison.max_rel_err,
        derived.tolerance.describe()
    ));
    let found = pattern::all(&y, &r, &failing, got.shape());
    let clue = found.first().map_or(Clue::Anything, |pattern| pattern.clue);
    if found.is_empty() {
        diagnostic = diagnostic.help("look at strides, offsets, masks and what is computed");
    }
    Some(with_patterns(diagnostic, found, clue))
}

/// Facts become notes; the first cause becomes the remedy unless there is one.
fn with_patterns(mut diagnostic: Diagnostic, patterns: impl IntoIterator<Item = pattern::Pattern>, clue: Clue) -> Finding {
    for pattern in patterns {
        diagnostic = diagnostic.note(pattern.fact);
        if diagnostic.help.is_none() {
            diagnostic = diagnostic.help(pattern.cause);
        }
    }
    Finding { diagnostic, clue }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod contradiction_tests;
