//! N020 (advice): arithmetic on blocks of int64, and comparisons of blocks of int32 or int64.
//!
//! Why: the vector unit has neither; the compiler falls back to one lane at a time. A comparison of fp32 is a vector
//! instruction: `i.to(tl.float32) < n` for indices below 2²⁴. Source: triton-ascend's programming guide.
//! Said once a kernel and kind, at the first place, as nearly every mask is such a comparison.

use crate::kernel::ir::{Elem, InstKind};
use crate::lint::live::each;
use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::source::Span;
use crate::target::Target;

pub fn check(lowered: &Lowered<'_>, _: &Target, found: &mut Found<'_>) {
    let (mut wide, mut compared): (Vec<Span>, Vec<Span>) = (Vec::new(), Vec::new());
    each(&lowered.kernel, &mut |inst| match &inst.kind {
        InstKind::Int(_, a, _) if lowered.kernel.ty(*a).elem == Elem::I64 && !lowered.kernel.ty(*a).is_scalar() => {
            wide.push(inst.span)
        }
        InstKind::CompareInt(_, a, _) => {
            let ty = lowered.kernel.ty(*a);
            if matches!(ty.elem, Elem::I32 | Elem::I64) && !ty.is_scalar() {
                compared.push(inst.span);
            }
        }
        _ => {}
    });
    let kinds = [
        ("operations on blocks of int64", wide, "int32 where the values fit"),
        ("comparisons of integer blocks", compared, "fp32 where the values are below 2²⁴"),
    ];
    for (what, mut spans, cast) in kinds {
        spans.sort();
        spans.dedup();
        if let Some(first) = spans.first() {
            let message = format!("{what} in `{}` become scalar code; {} in all, the first here", lowered.name, spans.len());
            found.at(*first, message).help(format!("cast to {cast}"));
        }
    }
}
