//! Rules for Ascend NPUs; the first three are coding rules that kernels of ours keep for every target.
//!
//! Figures are those of the public hardware pages and programming guides of triton-ascend and AKG; each rule
//! says which it uses.

mod accumulator;
mod aligned;
mod autotuned;
mod axis;
mod cast;
mod chains;
mod constexpr;
mod control;
mod cube;
mod dtypes;
mod fp32_accumulator;
mod grid;
mod in_place;
mod indexing;
mod looped;
mod masked;
mod scalar_code;
mod size;
mod unified_buffer;
mod where_address;

use super::rule::{Applies, Rule};
use super::{launch, lowered, text};
use crate::diag::Severity::{Advice, Error};
use crate::diag::codes;

pub static RULES: &[Rule] = &[
    text(&codes::NPU_ACCUMULATOR, Applies::Portable, accumulator::check),
    text(&codes::NPU_IN_PLACE, Applies::Portable, in_place::check),
    text(&codes::NPU_AXIS, Applies::Portable, axis::check),
    launch(&codes::NPU_GRID, Applies::Ascend(Error), grid::check),
    text(&codes::NPU_LOOP, Applies::Ascend(Advice), looped::check),
    lowered(&codes::NPU_UNIFIED_BUFFER, Applies::Ascend(Error), unified_buffer::check),
    lowered(&codes::NPU_L1, Applies::Ascend(Error), cube::l1),
    lowered(&codes::NPU_L0, Applies::Ascend(Advice), cube::l0),
    lowered(&codes::NPU_BLOCK_SIZE, Applies::Ascend(Error), size::check),
    lowered(&codes::NPU_ALIGNED, Applies::Ascend(Advice), aligned::check),
    text(&codes::NPU_CONTROL, Applies::Ascend(Error), control::check),
    text(&codes::NPU_CHAIN, Applies::Ascend(Error), chains::check),
    text(&codes::NPU_INDEXING, Applies::Ascend(Error), indexing::check),
    text(&codes::NPU_WHERE, Applies::Ascend(Error), where_address::check),
    text(&codes::NPU_MASK, Applies::Ascend(Advice), masked::check),
    text(&codes::NPU_CAST, Applies::Always(Error), cast::check),
    text(&codes::NPU_DOT_ACCUMULATOR, Applies::Ascend(Error), fp32_accumulator::check),
    text(&codes::NPU_CONSTEXPR, Applies::Ascend(Error), constexpr::check),
    text(&codes::NPU_AUTOTUNE, Applies::Ascend(Advice), autotuned::check),
    lowered(&codes::NPU_SCALAR_CODE, Applies::Ascend(Advice), scalar_code::check),
    lowered(&codes::NPU_MEMORY_TYPE, Applies::Ascend(Error), dtypes::memory),
    lowered(&codes::NPU_DOT_TYPE, Applies::Ascend(Error), dtypes::dot),
    lowered(&codes::NPU_FUNCTION_TYPE, Applies::Ascend(Error), dtypes::function),
    lowered(&codes::NPU_FP8, Applies::Ascend(Error), dtypes::fp8),
    lowered(&codes::NPU_ATOMIC, Applies::Ascend(Error), dtypes::atomic),
];
