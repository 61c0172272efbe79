//! Performance facts of a run: it runs once more, counting.

use super::case::{self, Prepared};
use super::config::{Case, Subject};
use super::{Asked, Cancel};
use crate::diag::Result;
use crate::emulate::observe::{Go, observe};
use crate::emulate::stats::Stats;
pub use crate::lint::facts::Facts;
use crate::target::{self, Target};

/// Triton's default.
const WARPS: u32 = 4;

/// Runs a case once more, counting.
pub fn count(asked: &Asked, subject: &mut Subject, case: &Case, cancel: &Cancel) -> Result<Facts> {
    let Prepared { resolved, program, mut memory, args } = case::prepare(asked, subject, case)?;
    let mut stats = Stats::default();
    observe(&program, &mut memory, resolved.grid, &args, &case::options(asked, cancel), &mut |sight| {
        stats.note(sight);
        Go::On
    })?;
    let target = asked.target.or_else(|| Target::find(target::DEFAULT)).expect("invariant: the default target is in the table");
    let warps = case.config.as_ref().and_then(|c| c.num_warps).and_then(|n| u32::try_from(n).ok()).unwrap_or(WARPS);
    Ok(Facts::of(&stats, &program.kernel, target, warps))
}
