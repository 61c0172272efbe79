//! Rules for GPUs: limits of a program's shared memory, registers and warps, and what Triton's compilers for
//! NVIDIA and AMD take. Figures are in [`crate::target`].

mod fp8;
mod grid;
mod power_of_two;
mod precision;
mod registers;
mod shared_memory;
mod warps;

use super::rule::{Applies, Rule};
use super::{launch, lowered};
use crate::diag::Severity::{Error, Warning};
use crate::diag::codes;

pub static RULES: &[Rule] = &[
    lowered(&codes::GPU_SHARED_MEMORY, Applies::Gpu(Error), shared_memory::check),
    lowered(&codes::GPU_REGISTERS, Applies::Gpu(Warning), registers::check),
    lowered(&codes::GPU_WARPS, Applies::Gpu(Error), warps::check),
    lowered(&codes::GPU_POWER_OF_TWO, Applies::Gpu(Error), power_of_two::check),
    launch(&codes::GPU_GRID, Applies::Gpu(Error), grid::check),
    lowered(&codes::GPU_PRECISION, Applies::Gpu(Error), precision::check),
    lowered(&codes::GPU_FP8, Applies::Gpu(Error), fp8::check),
];
