//! G002 (a warning): the blocks that are live at once do not fit in the registers of the program's lanes.
//!
//! Why: what does not fit is spilled to memory, which costs more than the kernel often saves. A lane has 255 registers
//! of 32 bits on NVIDIA, 512 on AMD's gfx942 (accumulation registers included). Source: the vendors' manuals.
//! Counted is a lower bound of live values (`live`); operands that a dot reads from shared memory are left out.
//! Does not catch: registers for addresses and masks, and what a layout holds twice. `compile.py` of a suite asks
//! the compiler itself.

use crate::lint::live::{Place, peak};
use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::target::Target;

pub fn check(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    let lanes = lowered.num_warps.max(1) as usize * target.warp_size as usize;
    let peak = peak(&lowered.kernel, &[Place::Vector]);
    let accumulators = peak_of_sums(lowered);
    let (bytes, span) =
        if accumulators.bytes > peak.bytes { (accumulators.bytes, accumulators.span) } else { (peak.bytes, peak.span) };
    let registers = bytes.div_ceil(4 * lanes);
    if registers > target.max_registers as usize {
        let message = format!(
            "`{}` holds {bytes} bytes of blocks here, {registers} registers a lane with num_warps={}; {} has {}",
            lowered.name, lowered.num_warps, target.name, target.max_registers
        );
        found.at(span, message).help("smaller blocks, or more warps");
    }
}

/// The largest accumulator of a dot: it stays in registers while the loop runs.
fn peak_of_sums(lowered: &Lowered<'_>) -> crate::lint::live::Peak {
    use crate::kernel::ir::InstKind;
    let mut peak = crate::lint::live::Peak::default();
    crate::lint::live::each(&lowered.kernel, &mut |inst| {
        if let InstKind::Dot { a: _, b: _, acc, precision: _ } = &inst.kind {
            let bytes = lowered.kernel.ty(*acc).numel() * 4;
            if bytes > peak.bytes {
                peak = crate::lint::live::Peak { bytes, span: inst.span };
            }
        }
    });
    peak
}
