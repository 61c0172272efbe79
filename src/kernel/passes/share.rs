//! Common subexpressions: an instruction equal to one that dominates it is replaced by its result.
//!
//! Two instructions are equal when their kinds, operands and result types are. What a region computes
//! is known inside that region only; what the entry block computes is known everywhere. An assertion,
//! a memory access or a whole region is never shared.

use std::collections::HashMap;

use super::{Constants, constants, is_movable};
use crate::kernel::ir::{Inst, Kernel, Type, Value, ValueData};
use crate::kernel::walk;

pub fn share(kernel: &mut Kernel) {
    let constants = constants(kernel);
    let mut sharer =
        Sharer { values: &kernel.values, constants, known: HashMap::new(), scopes: Vec::new(), replaced: HashMap::new() };
    for (i, block) in kernel.blocks.iter_mut().enumerate() {
        // The entry dominates every block; others are on their own.
        if i > 0 {
            sharer.scopes.push(Vec::new());
        }
        sharer.insts(&mut block.insts);
        if i > 0 {
            sharer.leave();
        }
        walk::terminator_operands_mut(&mut block.terminator, |v| sharer.substitute(v));
    }
}

/// The kind and operands as their debug text (literals have no order and no hash), and the type.
type Key = (String, Type);

struct Sharer<'k> {
    values: &'k [ValueData],
    constants: Constants,
    known: HashMap<Key, Value>,
    /// Keys to forget when a region ends.
    scopes: Vec<Vec<Key>>,
    replaced: HashMap<Value, Value>,
}

impl Sharer<'_> {
    fn substitute(&self, value: &mut Value) {
        if let Some(&other) = self.replaced.get(value) {
            *value = other;
        }
    }

    fn leave(&mut self) {
        for key in self.scopes.pop().unwrap_or_default() {
            self.known.remove(&key);
        }
    }

    fn insts(&mut self, insts: &mut Vec<Inst>) {
        insts.retain_mut(|inst| {
            walk::operands_mut(&mut inst.kind, |v| self.substitute(v));
            for region in walk::regions_mut(&mut inst.kind) {
                self.scopes.push(Vec::new());
                self.insts(&mut region.insts);
                self.leave();
                region.yields.iter_mut().for_each(|v| self.substitute(v));
            }
            let [result] = inst.results[..] else { return true };
            if !is_movable(inst, &self.constants) {
                return true;
            }
            let key = (format!("{:?}", inst.kind), self.values[result.0 as usize].ty.clone());
            // What is promised of a value is asked where it is defined.
            let promised = !self.values[result.0 as usize].hints.is_empty();
            if let Some(&same) = self.known.get(&key)
                && !promised
            {
                self.replaced.insert(result, same);
                return false;
            }
            self.known.insert(key.clone(), result);
            if let Some(scope) = self.scopes.last_mut() {
                scope.push(key);
            }
            true
        });
    }
}
