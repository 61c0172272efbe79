//! N006: more bytes of blocks live at once than the unified buffer of a vector core holds.
//!
//! Why: blocks of a program live in the unified buffer, 192 KiB on all eleven archs, and the compiler buffers each
//! twice so that loads overlap arithmetic; what does not fit is refused ("ub overflow"). Source: the AKG hardware
//! pages. Counted are loaded blocks, what is computed of them, and what loops carry (`live`); operands and
//! accumulators of dots lie in L1 and L0 and are judged there (N007, N008).
//! Does not catch: what the compiler adds for its own temporaries.

use crate::lint::live::{Place, peak};
use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::target::Target;

/// Copies that the compiler keeps of each block by default.
const BUFFERING: usize = 2;

pub fn check(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    let peak = peak(&lowered.kernel, &[Place::Vector]);
    let bytes = peak.bytes * BUFFERING;
    if bytes > target.shared_memory {
        let message = format!(
            "`{}` holds {} bytes of blocks here, twice buffered {bytes}; the unified buffer of {} has {}",
            lowered.name, peak.bytes, target.name, target.shared_memory
        );
        found.at(peak.span, message).help("take a smaller block, or loop over parts of it");
    }
}
