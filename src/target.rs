//! Hardware facts by target name, as data: what a kernel may use and how many programs a launch has.
//!
//! Figures of the NVIDIA and AMD targets are those of the vendors' architecture manuals (shared
//! memory is what one program may allocate); the Ascend table comes from the public hardware pages
//! of the AKG project. Nothing here is measured.

pub use crate::tolerance::Precision;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vendor {
    Nvidia,
    Amd,
    Ascend,
}

/// One kind of device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The name on the command line: `sm_90`.
    pub name: &'static str,
    pub vendor: Vendor,
    /// Lanes of a warp; 1 on Ascend, which has none.
    pub warp_size: u32,
    /// Bytes of on-chip memory that one program may use (shared memory, LDS; Ascend: unified buffer).
    pub shared_memory: usize,
    /// The most programs along one axis of a grid; on Ascend, in all of it.
    pub max_grid: u64,
    /// The largest grid along x, y and z; on Ascend the product alone is bounded.
    pub max_grid_axes: [u64; 3],
    /// The most lanes of one program, all its warps together; 0 on Ascend, which has no warps.
    pub max_threads: u32,
    /// 32-bit registers that a lane may use; 0 on Ascend.
    pub max_registers: u32,
    /// Whether the compiler has the 8-bit format e4m3.
    pub fp8_e4m3: bool,
    /// Precision classes of an fp32 dot that the compiler has here.
    pub precisions: &'static [Precision],
    pub ascend: Option<Ascend>,
}

/// Facts of an Ascend chip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ascend {
    pub cube_cores: u32,
    pub vector_cores: u32,
    /// Bytes.
    pub l1: usize,
    pub l0a: usize,
    pub l0b: usize,
    pub l0c: usize,
    pub l2: usize,
    pub hbm: usize,
    /// Bytes that an access is best aligned to.
    pub alignment: usize,
}

/// What a device reaches when one unit of it is busy all the time, a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Bytes between the device's memory and its cores.
    pub bandwidth: f64,
    /// FLOPs outside tensor cores.
    pub fp32: f64,
    /// FLOPs of tensor cores on tf32 operands, without sparsity.
    pub tf32: f64,
    /// The same on fp16 and bf16 operands.
    pub half: f64,
}

impl Target {
    /// Peaks of the vendor's data sheet for the device that people mean by the target (H200 SXM, A100 SXM 80 GB, MI300X);
    /// `None` where no such figures are known.
    pub fn peaks(&self) -> Option<Peaks> {
        match self.name {
            "sm_90" => Some(Peaks { bandwidth: 4.8e12, fp32: 66.9e12, tf32: 494.7e12, half: 989.4e12 }),
            "sm_80" => Some(Peaks { bandwidth: 2.039e12, fp32: 19.5e12, tf32: 156e12, half: 312e12 }),
            "gfx942" => Some(Peaks { bandwidth: 5.3e12, fp32: 163.4e12, tf32: 653.7e12, half: 1307.4e12 }),
            _ => None,
        }
    }

    /// Programs of a looped launch: one a core that does the work; `None` where a grid may be as
    /// large as the work.
    pub fn cores(&self, uses_dot: bool) -> Option<u32> {
        self.ascend.map(|a| if uses_dot { a.cube_cores } else { a.vector_cores })
    }

    /// Every target, in the order in which they are listed to a user.
    pub fn all() -> &'static [Target] {
        ALL
    }

    pub fn find(name: &str) -> Option<&'static Target> {
        ALL.iter().find(|t| t.name == name)
    }
}

/// The target of a run that names none.
pub const DEFAULT: &str = "sm_90";

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

use Precision::{Bf16x3, Bf16x6, Fp16x3, Ieee, Tf32, Tf32x3};

const MAX_GRID_X: u64 = (1 << 31) - 1;

const fn nvidia(name: &'static str, shared_memory: usize, fp8_e4m3: bool) -> Target {
    let precisions = &[Ieee, Tf32, Tf32x3, Bf16x6, Fp16x3, Bf16x3];
    Target {
        name,
        vendor: Vendor::Nvidia,
        warp_size: 32,
        shared_memory,
        max_grid: MAX_GRID_X,
        max_grid_axes: [MAX_GRID_X, 65_535, 65_535],
        max_threads: 1024,
        max_registers: 255,
        fp8_e4m3,
        precisions,
        ascend: None,
    }
}

const fn ascend(name: &'static str, cube_cores: u32, l1: usize, l2: usize, hbm: usize, alignment: usize) -> Target {
    let facts = Ascend {
        cube_cores,
        vector_cores: 2 * cube_cores,
        l1,
        l0a: 64 * KIB,
        l0b: 64 * KIB,
        l0c: 128 * KIB,
        l2: l2 * MIB,
        hbm: hbm * GIB,
        alignment,
    };
    Target {
        name,
        vendor: Vendor::Ascend,
        warp_size: 1,
        shared_memory: 192 * KIB,
        max_grid: 65_535,
        max_grid_axes: [65_535; 3],
        max_threads: 0,
        max_registers: 0,
        fp8_e4m3: false,
        precisions: &[Ieee],
        ascend: Some(facts),
    }
}

/// Every target, the default first.
pub static ALL: &[Target] = &[
    nvidia("sm_90", 227 * KIB, true),
    nvidia("sm_80", 163 * KIB, false),
    Target {
        name: "gfx942",
        vendor: Vendor::Amd,
        warp_size: 64,
        shared_memory: 64 * KIB,
        max_grid: MAX_GRID_X,
        max_grid_axes: [MAX_GRID_X, 65_535, 65_535],
        max_threads: 1024,
        max_registers: 512,
        fp8_e4m3: true,
        precisions: &[Ieee, Tf32, Bf16x6, Fp16x3, Bf16x3],
        ascend: None,
    },
    ascend("ascend910b1", 24, MIB, 192, 64, 256),
    ascend("ascend910b2", 24, MIB, 192, 64, 256),
    ascend("ascend910b2c", 24, MIB, 192, 64, 256),
    ascend("ascend910b3", 20, MIB, 192, 64, 256),
    ascend("ascend910b4", 20, MIB, 96, 32, 256),
    ascend("ascend910_9362", 20, 512 * KIB, 168, 32, 32),
    ascend("ascend910_9372", 20, 512 * KIB, 192, 64, 32),
    ascend("ascend910_9381", 24, 512 * KIB, 192, 64, 32),
    ascend("ascend910_9382", 24, 512 * KIB, 192, 64, 32),
    ascend("ascend910_9391", 24, 512 * KIB, 192, 64, 32),
    ascend("ascend910_9392", 24, 512 * KIB, 192, 64, 32),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_name() {
        assert_eq!(ALL[0].name, DEFAULT);
        assert_eq!(Target::find("gfx942").unwrap().warp_size, 64);
        assert!(!Target::find("gfx942").unwrap().precisions.contains(&Tf32x3));
        assert_eq!(Target::find("ascend910b3").unwrap().cores(false), Some(40));
        assert_eq!(Target::find("sm_80").unwrap().cores(true), None);
        assert!(Target::find("sm_70").is_none());
    }
}
