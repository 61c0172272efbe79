//! N009: a block with an axis of 65,536 elements or more.
//!
//! Why: the compiler keeps a block's sizes in 16 bits. Source: triton-ascend's programming guide (BLOCK_SIZE below
//! 65,536). That a block has at most 1,048,576 elements is a rule of Triton on every target, K002.

use std::collections::BTreeSet;

use crate::kernel::ir::Value;
use crate::lint::live::each;
use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::target::Target;

const LIMIT: usize = 65_536;

pub fn check(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    let longest = |v: &Value| lowered.kernel.ty(*v).shape.iter().copied().max().unwrap_or(1);
    let mut told = BTreeSet::new();
    each(&lowered.kernel, &mut |inst| {
        let length = inst.results.iter().map(longest).max().unwrap_or(1);
        if length >= LIMIT && told.insert(length) {
            let message = format!("a block axis of {length} elements; {} takes {} at most", target.name, LIMIT - 1);
            found.at(inst.span, message).help("take a smaller block and loop");
        }
    });
}
