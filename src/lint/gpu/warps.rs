//! G003: `num_warps` that the compiler or the device refuses.
//!
//! Why: a number of warps is a power of two (both of Triton's back ends assert it), and a program has at most 1,024
//! lanes: 32 warps of 32 on NVIDIA, 16 of 64 on AMD. Source: Triton's back ends; the vendors' manuals.

use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::target::Target;

pub fn check(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    let warps = lowered.num_warps;
    let most = i64::from(target.max_threads / target.warp_size);
    let wrong = if warps < 1 || warps & (warps - 1) != 0 {
        Some(format!("`{}` asks for {warps} warps, which is no power of two", lowered.name))
    } else if warps > most {
        Some(format!(
            "`{}` asks for {warps} warps of {} lanes; {} has {} lanes a program",
            lowered.name, target.warp_size, target.name, target.max_threads
        ))
    } else {
        None
    };
    if let Some(message) = wrong {
        found.at(lowered.span, message).help(format!("num_warps is a power of two up to {most}"));
    }
}
