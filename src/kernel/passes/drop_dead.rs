//! Dead code: pure instructions whose results nobody uses, from the end backwards.
//!
//! A load stays, as it may fault. So do loops and branches, even empty ones: their condition may be undefined.

use std::collections::HashSet;

use super::{Constants, constants, is_movable};
use crate::kernel::ir::{Inst, InstKind, Kernel, Value};
use crate::kernel::walk;

pub fn drop_dead(kernel: &mut Kernel) {
    let constants = constants(kernel);
    // A promise is asked, whoever uses the value.
    let promised = kernel.values.iter().enumerate().filter(|(_, data)| !data.hints.is_empty());
    let mut used: HashSet<Value> = promised.map(|(index, _)| Value(index as u32)).collect();
    // Blocks are used by terminators of blocks before and after them: collect those uses first.
    for block in &kernel.blocks {
        walk::terminator_operands(&block.terminator, |v| {
            used.insert(v);
        });
    }
    for block in kernel.blocks.iter_mut().rev() {
        insts(&mut block.insts, &mut used, &constants);
    }
}

fn insts(list: &mut Vec<Inst>, used: &mut HashSet<Value>, constants: &Constants) {
    let mut keep = vec![true; list.len()];
    for (inst, keep) in list.iter_mut().zip(&mut keep).rev() {
        let dead = !inst.results.iter().any(|r| used.contains(r));
        let removable = is_movable(inst, constants)
            || matches!(&inst.kind, InstKind::Reduce { operands: _, axis: _, combine }
                | InstKind::Scan { operands: _, axis: _, reverse: _, combine }
                if combine.insts.iter().all(|i| is_movable(i, constants)));
        if dead && removable {
            *keep = false;
            continue;
        }
        for region in walk::regions_mut(&mut inst.kind) {
            used.extend(&region.yields);
            insts(&mut region.insts, used, constants);
        }
        used.extend(walk::operands(&inst.kind));
    }
    let mut keep = keep.into_iter();
    list.retain(|_| keep.next().unwrap_or(true));
}
