//! A distinct name for every value: the Python variable's, made an MLIR identifier, or a number.

use std::collections::{HashMap, HashSet};

use crate::kernel::ir::{Inst, Kernel, Value};
use crate::kernel::walk;

/// MLIR identifiers: letters, digits, `_`, `$`, `.`, `-`; a digit may not come first.
pub(super) fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    text
}

/// A distinct name for every value, in the order of definition.
pub(super) fn name_values(kernel: &Kernel) -> Vec<String> {
    let mut namer =
        Namer { kernel, taken: HashSet::new(), next: HashMap::new(), names: vec![String::new(); kernel.values.len()], number: 0 };
    for param in &kernel.params {
        namer.name(param.value);
    }
    for block in &kernel.blocks {
        block.args.iter().for_each(|&arg| namer.name(arg));
        namer.insts(&block.insts);
    }
    namer.names
}

struct Namer<'k> {
    kernel: &'k Kernel,
    taken: HashSet<String>,
    next: HashMap<String, usize>,
    names: Vec<String>,
    number: usize,
}

impl Namer<'_> {
    fn name(&mut self, value: Value) {
        let text = match self.kernel.value_name(value) {
            None => {
                self.number += 1;
                (self.number - 1).to_string()
            }
            Some(name) => {
                let base = identifier(name);
                let mut text = base.clone();
                while !self.taken.insert(text.clone()) {
                    let next = self.next.entry(base.clone()).or_insert(0);
                    text = format!("{base}_{next}");
                    *next += 1;
                }
                text
            }
        };
        self.names[value.0 as usize] = text;
    }

    fn insts(&mut self, insts: &[Inst]) {
        for inst in insts {
            inst.results.iter().for_each(|&result| self.name(result));
            for region in walk::regions(&inst.kind) {
                region.args.iter().for_each(|&arg| self.name(arg));
                self.insts(&region.insts);
            }
        }
    }
}
