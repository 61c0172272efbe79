//! Performance facts of a launch: what [`crate::emulate::stats`] counts, and what a target makes of it.
//!
//! The roofline time is what the target takes at least, were its memory and arithmetic units busy all the time: unique
//! bytes over bandwidth, or FLOPs over peak, whichever is longer. Live bytes are a lower bound ([`super::live`]) of what one
//! program holds, beside what the target has for one.

use super::live::{self, Place};
use crate::emulate::stats::{Flops, Stats, Traffic};
use crate::kernel::Kernel;
use crate::target::{Target, Vendor};

/// Facts of one launch.
#[derive(Clone, Debug)]
pub struct Facts {
    /// (parameter, whether it is stored to, counts)
    pub traffic: Vec<(String, bool, Traffic)>,
    pub flops: Flops,
    /// FLOPs a unique byte.
    pub intensity: f64,
    pub live_bytes: usize,
    pub target: &'static Target,
    /// What one program may hold, by the name of the memory.
    pub room: Vec<(&'static str, usize)>,
    /// Seconds, and what bounds them; `None` where the target's peaks are not known.
    pub roofline: Option<(f64, &'static str)>,
}

impl Facts {
    /// What was counted of a kernel whose programs have so many warps.
    pub fn of(stats: &Stats, kernel: &Kernel, target: &'static Target, warps: u32) -> Facts {
        let unique: u64 = stats.traffic.values().map(|t| t.unique_bytes).sum();
        let name = |at: usize| kernel.params[at].name.to_string();
        Facts {
            traffic: stats.traffic.iter().map(|(&(at, store), traffic)| (name(at), store, traffic.clone())).collect(),
            intensity: intensity(stats.flops, unique),
            flops: stats.flops,
            live_bytes: live::peak(kernel, &[Place::Vector, Place::Cube]).bytes,
            room: room(target, warps),
            roofline: roofline(target, unique, stats.flops),
            target,
        }
    }
}

fn intensity(flops: Flops, unique: u64) -> f64 {
    if unique == 0 { 0.0 } else { flops.total() as f64 / unique as f64 }
}

/// What one program of some warps may hold.
fn room(target: &Target, warps: u32) -> Vec<(&'static str, usize)> {
    match target.vendor {
        Vendor::Ascend => vec![("unified buffer", target.shared_memory)],
        Vendor::Nvidia | Vendor::Amd => {
            let lanes = (warps * target.warp_size) as usize;
            vec![("registers", lanes * target.max_registers as usize * 4), ("shared memory", target.shared_memory)]
        }
    }
}

fn roofline(target: &Target, bytes: u64, flops: Flops) -> Option<(f64, &'static str)> {
    let peaks = target.peaks()?;
    let moved = bytes as f64 / peaks.bandwidth;
    let computed = flops.fp32 as f64 / peaks.fp32 + flops.tf32 as f64 / peaks.tf32 + flops.half as f64 / peaks.half;
    // fp64 has no peak in the table.
    if flops.fp64 > 0 {
        return None;
    }
    Some(if moved >= computed { (moved, "memory") } else { (computed, "arithmetic") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_two_times_is_the_roofline() {
        let target = Target::find("sm_90").unwrap();
        let (seconds, bound) = roofline(target, 4_800_000, Flops::default()).unwrap();
        assert!((seconds - 1e-6).abs() < 1e-12 && bound == "memory");
        let flops = Flops { fp32: 66_900_000, tf32: 494_700_000, ..Flops::default() };
        let (seconds, bound) = roofline(target, 4_800_000, flops).unwrap();
        assert!((seconds - 2e-6).abs() < 1e-12 && bound == "arithmetic");
        assert_eq!(roofline(target, 1, Flops { fp64: 1, ..Flops::default() }), None);
        assert_eq!(room(target, 4), [("registers", 128 * 255 * 4), ("shared memory", 227 << 10)]);
        assert_eq!(room(Target::find("ascend910b1").unwrap(), 4), [("unified buffer", 192 << 10)]);
    }
}
