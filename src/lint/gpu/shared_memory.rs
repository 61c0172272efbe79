//! G001: the blocks that a pipelined dot keeps in shared memory exceed what one program may have.
//!
//! Why: the launch fails ("out of resource: shared memory"). A loop with `num_stages` stages keeps `num_stages − 1`
//! copies of both operands of its dots, and all of them where the tensor cores read from shared memory (sm_90,
//! 16-bit operands or tf32, 64 rows or more, a multiple of 4 warps); without pipelining it keeps one copy, on AMD
//! the larger operand at least. These formulas are what Triton 3.9 allocates for loops over two loaded operands
//! (its compiler, asked for 36 combinations of blocks, types, classes and stages on three targets); they are lower bounds,
//! as reductions and layout changes come on top.
//! Does not catch: dots whose operands are computed, and what those other uses need.

use std::collections::BTreeSet;

use crate::kernel::ir::{DotPrecision, Elem, Inst, InstKind, Kernel, Value};
use crate::kernel::walk;
use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::source::Span;
use crate::target::{Target, Vendor};

/// What the dots of one loop keep.
#[derive(Default)]
struct Kept {
    bytes: usize,
    largest: usize,
    span: Span,
    in_shared: bool,
}

pub fn check(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    let mut loops = Vec::new();
    for block in &lowered.kernel.blocks {
        find(&lowered.kernel, &block.insts, &mut loops);
    }
    for kept in loops {
        let stages = usize::try_from(lowered.num_stages).unwrap_or(1).max(1);
        let wide = kept.in_shared && target.name == "sm_90" && lowered.num_warps % 4 == 0 && stages > 1;
        let bytes = match (target.vendor, stages) {
            (Vendor::Amd, 1) => kept.largest,
            (_, 1) => kept.bytes,
            (_, stages) => kept.bytes * if wide { stages } else { stages - 1 },
        };
        if bytes > target.shared_memory {
            let message = format!(
                "`{}` keeps {bytes} bytes of operands in shared memory (num_stages={stages}); {} has {} a program",
                lowered.name, target.name, target.shared_memory
            );
            found.at(kept.span, message).help("fewer stages, or smaller blocks");
        }
    }
}

/// The dots directly in each loop, by loop.
fn find(kernel: &Kernel, insts: &[Inst], loops: &mut Vec<Kept>) {
    for inst in insts {
        if let InstKind::For { lower: _, upper: _, step: _, init: _, body } = &inst.kind {
            let loaded: BTreeSet<Value> = body
                .insts
                .iter()
                .filter(|i| matches!(i.kind, InstKind::Load { ptr: _, mask: _, other: _ }))
                .flat_map(|i| i.results.iter().copied())
                .collect();
            let mut kept = Kept::default();
            for dot in &body.insts {
                let InstKind::Dot { a, b, acc: _, precision } = &dot.kind else { continue };
                let bytes = |v: &Value| {
                    if loaded.contains(v) { kernel.ty(*v).numel() * kernel.ty(*v).elem.bits() as usize / 8 } else { 0 }
                };
                kept.bytes += bytes(a) + bytes(b);
                kept.largest = kept.largest.max(bytes(a)).max(bytes(b));
                kept.span = dot.span;
                let rows = kernel.ty(*a).shape.first().copied().unwrap_or(0);
                let short = kernel.ty(*a).elem != Elem::F32 || *precision == DotPrecision::Tf32;
                kept.in_shared = short && rows >= 64;
            }
            if kept.bytes > 0 {
                loops.push(kept);
            }
        }
        for region in walk::regions(&inst.kind) {
            find(kernel, &region.insts, loops);
        }
    }
}
