//! N007 and N008: blocks of a dot against the memories of a cube core.
//!
//! Why: both operands of a dot pass through L1 (1 MiB, or 512 KiB on the 93xx archs), which must hold them (N007,
//! an error). The core multiplies out of L0A and L0B (64 KiB each) into L0C (128 KiB, fp32 sums): m·k·size ≤ L0A,
//! k·n·size ≤ L0B, m·n·4 ≤ L0C. A larger block is cut into sub-tiles by the compiler (N008, advice: the public
//! advice of 128×256×256 in 16 bits itself relies on it). Source: the AKG hardware pages.
//! Does not catch: how the compiler cuts, and what it keeps in L1 besides.

use crate::kernel::ir::{InstKind, Kernel, Value};
use crate::lint::live::each;
use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::source::Span;
use crate::target::Target;

/// A dot's blocks: their bytes in each memory.
struct Blocks {
    span: Span,
    a: usize,
    b: usize,
    sums: usize,
}

fn blocks(kernel: &Kernel) -> Vec<Blocks> {
    let mut found = Vec::new();
    let bytes = |v: Value| kernel.ty(v).numel() * kernel.ty(v).elem.bits() as usize / 8;
    each(kernel, &mut |inst| {
        if let InstKind::Dot { a, b, acc, precision: _ } = &inst.kind {
            found.push(Blocks { span: inst.span, a: bytes(*a), b: bytes(*b), sums: kernel.ty(*acc).numel() * 4 });
        }
    });
    found
}

pub fn l1(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    let Some(chip) = &target.ascend else { return };
    for dot in blocks(&lowered.kernel) {
        let bytes = dot.a + dot.b;
        if bytes > chip.l1 {
            let message = format!("the operands of this dot have {bytes} bytes; L1 of {} has {}", target.name, chip.l1);
            found.at(dot.span, message).help("take smaller blocks");
        }
    }
}

pub fn l0(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    let Some(chip) = &target.ascend else { return };
    for dot in blocks(&lowered.kernel) {
        let memories = [
            ("L0A", "left operand", dot.a, chip.l0a),
            ("L0B", "right operand", dot.b, chip.l0b),
            ("L0C", "sums", dot.sums, chip.l0c),
        ];
        for (memory, what, bytes, size) in memories.into_iter().filter(|(_, _, bytes, size)| bytes > size) {
            let message = format!("{bytes} bytes of {what} in this dot; {memory} of {} has {size}", target.name);
            found.at(dot.span, message).help("the compiler cuts it into sub-tiles; smaller blocks need no cutting");
        }
    }
}
