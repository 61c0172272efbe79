//! Products that are meant to wrap: the low half of one whose high half is taken, too (`tt.mulhiui`), as generators of
//! random numbers do. Triton's IR does not say so of either half, and a wrapped integer that is stored would be told.
//!
//! Does not catch: sums and single products that are meant to wrap; where they matter they are told (A011).

use std::collections::{HashMap, HashSet};

use crate::kernel::ir::{Block, InstKind, IntBinary, Literal, Value};
use crate::kernel::walk;

/// An operand: a constant stands for every other of its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Operand {
    Constant(i64),
    Value(Value),
}

/// The low halves.
pub(super) fn low_halves(blocks: &[Block]) -> HashSet<Value> {
    let mut constants: HashMap<Value, i64> = HashMap::new();
    let mut high: HashSet<[Operand; 2]> = HashSet::new();
    let mut products: Vec<(Value, [Operand; 2])> = Vec::new();
    for block in blocks {
        walk::each_inst(&block.insts, &mut |inst| {
            let operand = |value: &Value| constants.get(value).map_or(Operand::Value(*value), |n| Operand::Constant(*n));
            match (&inst.kind, inst.results.first()) {
                (InstKind::Constant(Literal::Int(n)), Some(result)) => {
                    constants.insert(*result, *n);
                }
                (InstKind::Int(IntBinary::MulHiU, a, b), Some(_)) => {
                    high.insert([operand(a), operand(b)]);
                    high.insert([operand(b), operand(a)]);
                }
                (InstKind::Int(IntBinary::Mul, a, b), Some(result)) => products.push((*result, [operand(a), operand(b)])),
                _ => {}
            }
        });
    }
    products.retain(|(_, operands)| high.contains(operands));
    products.into_iter().map(|(result, _)| result).collect()
}
