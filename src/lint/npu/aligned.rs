//! N010 (advice): the last axis of a loaded or stored block is no multiple of the NPU's alignment.
//!
//! Why: rows are padded to 32 bytes in kernels without `tl.dot` and to 512 bytes in kernels with it; a shorter row
//! is moved with its padding. Source: triton-ascend's programming guide (tail-axis alignment).
//! Does not catch: rows that begin at odd addresses.

use crate::kernel::ir::Elem;
use crate::lint::live::{access, each};
use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::target::Target;

pub fn check(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    let alignment = if lowered.uses_dot { 512 } else { 32 };
    each(&lowered.kernel, &mut |inst| {
        let Some((pointer, _)) = access(inst) else { return };
        let ty = lowered.kernel.ty(pointer);
        let (Some(tail), Elem::Ptr(to)) = (ty.shape.last(), ty.elem) else { return };
        let bytes = tail * to.size();
        if bytes % alignment != 0 {
            let message =
                format!("rows of this block have {bytes} bytes; {} pads them to a multiple of {alignment}", target.name);
            found.at(inst.span, message).help("make the last axis of the block longer");
        }
    });
}
