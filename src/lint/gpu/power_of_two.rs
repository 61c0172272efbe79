//! G004: a block with an axis that is no power of two.
//!
//! Why: Triton's back ends for NVIDIA and AMD lay blocks out over lanes by powers of two and refuse others
//! ("arange's range must be a power of 2"); Ascend's takes any size. Source: triton.language's own checks.

use std::collections::BTreeSet;

use crate::lint::live::each;
use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::target::Target;

pub fn check(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    let mut told = BTreeSet::new();
    each(&lowered.kernel, &mut |inst| {
        let sizes = inst.results.iter().flat_map(|v| lowered.kernel.ty(*v).shape.iter().copied());
        for size in sizes.filter(|size| !size.is_power_of_two()).collect::<Vec<_>>() {
            if told.insert(size) {
                let message = format!("a block axis of {size} elements; {} takes powers of two", target.name);
                found
                    .at(inst.span, message)
                    .help(format!("take {} lanes and mask those beyond the end", size.next_power_of_two()));
            }
        }
    });
}
