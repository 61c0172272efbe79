//! G006: a dot of fp32 operands in a precision class that the target's compiler lacks.
//!
//! Why: the compiler refuses it: gfx942 has no tf32x3. Source: `allowed_dot_input_precisions` of Triton's back ends,
//! as [`crate::target`] lists them.

use crate::kernel::ir::{DotPrecision, Elem, InstKind};
use crate::lint::live::each;
use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::target::{Precision, Target};

pub fn check(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    each(&lowered.kernel, &mut |inst| {
        let InstKind::Dot { a, b: _, acc: _, precision } = &inst.kind else { return };
        if lowered.kernel.ty(*a).elem != Elem::F32 {
            return;
        }
        let (class, name) = match precision {
            DotPrecision::Ieee => (Precision::Ieee, "ieee"),
            DotPrecision::Tf32 => (Precision::Tf32, "tf32"),
            DotPrecision::Tf32x3 => (Precision::Tf32x3, "tf32x3"),
            DotPrecision::Bf16x3 => (Precision::Bf16x3, "bf16x3"),
            DotPrecision::Bf16x6 => (Precision::Bf16x6, "bf16x6"),
        };
        if !target.precisions.contains(&class) {
            found
                .at(inst.span, format!("a dot in {name}, which {} lacks", target.name))
                .help("take `input_precision=\"ieee\"`, or another class that it has");
        }
    });
}
