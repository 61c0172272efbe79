//! Which parameters a kernel may load from and store to: a fixed point over all pointer values.
//!
//! Each pointer value has a set of parameters it may come from; sets flow through every operation
//! that hands a pointer on. More than 64 pointer parameters share the last bit.

use crate::kernel::ir::{Elem, Inst, InstKind, Kernel, Region, Terminator, Value};

/// For each parameter: may be loaded from, may be stored to.
pub fn accesses(kernel: &Kernel) -> (Vec<bool>, Vec<bool>) {
    let mut flow = Flow { sets: vec![0; kernel.values.len()], loads: 0, stores: 0, changed: true };
    for (i, param) in kernel.params.iter().enumerate() {
        if matches!(kernel.ty(param.value).elem, Elem::Ptr(_)) {
            flow.sets[param.value.0 as usize] = 1 << i.min(63);
        }
    }
    while flow.changed {
        flow.changed = false;
        for block in &kernel.blocks {
            flow.insts(&block.insts);
            match &block.terminator {
                Terminator::Return => {}
                Terminator::Branch { to, args } => flow.all(&kernel.blocks[to.0 as usize].args, args),
                Terminator::CondBranch { condition: _, then, otherwise } => {
                    for (to, args) in [then, otherwise] {
                        flow.all(&kernel.blocks[to.0 as usize].args, args);
                    }
                }
            }
        }
    }
    let spread = |set: u64| (0..kernel.params.len()).map(|i| set >> i.min(63) & 1 != 0).collect();
    (spread(flow.loads), spread(flow.stores))
}

struct Flow {
    sets: Vec<u64>,
    loads: u64,
    stores: u64,
    changed: bool,
}

impl Flow {
    fn to(&mut self, to: Value, from: Value) {
        let new = self.sets[to.0 as usize] | self.sets[from.0 as usize];
        if new != self.sets[to.0 as usize] {
            self.sets[to.0 as usize] = new;
            self.changed = true;
        }
    }

    fn all(&mut self, to: &[Value], from: &[Value]) {
        to.iter().zip(from).for_each(|(&to, &from)| self.to(to, from));
    }

    fn region(&mut self, region: &Region) {
        self.insts(&region.insts);
    }

    fn insts(&mut self, insts: &[Inst]) {
        for inst in insts {
            self.inst(inst);
        }
    }

    fn inst(&mut self, inst: &Inst) {
        let results = &inst.results;
        match &inst.kind {
            InstKind::Splat(v)
            | InstKind::Broadcast(v)
            | InstKind::Reshape(v)
            | InstKind::Cast(_, v)
            | InstKind::ExpandDims { value: v, axis: _ }
            | InstKind::Trans { value: v, order: _ }
            | InstKind::AddPtr { ptr: v, offset: _ }
            | InstKind::Unsplat(v)
            | InstKind::Gather { source: v, index: _, axis: _ } => self.to(results[0], *v),
            InstKind::Join(a, b) | InstKind::Cat(a, b) => {
                self.to(results[0], *a);
                self.to(results[0], *b);
            }
            InstKind::Split(v) => results.iter().for_each(|&half| self.to(half, *v)),
            InstKind::Select { condition: _, then, other } => {
                self.to(results[0], *then);
                self.to(results[0], *other);
            }
            InstKind::Load { ptr, mask: _, other: _ } | InstKind::VolatileLoad { ptr, mask: _, other: _ } => {
                self.loads |= self.sets[ptr.0 as usize]
            }
            InstKind::Store { ptr, value: _, mask: _ } => self.stores |= self.sets[ptr.0 as usize],
            InstKind::AtomicRmw { op: _, order: _, scope: _, ptr, value: _, mask: _ }
            | InstKind::AtomicCas { order: _, scope: _, ptr, expected: _, value: _ } => {
                self.loads |= self.sets[ptr.0 as usize];
                self.stores |= self.sets[ptr.0 as usize];
            }
            InstKind::For { lower: _, upper: _, step: _, init, body } => {
                self.all(&body.args[1..], init);
                self.region(body);
                self.all(&body.args[1..], &body.yields);
                self.all(results, &body.args[1..]);
            }
            InstKind::If { condition: _, then, otherwise } => {
                for region in [then, otherwise] {
                    self.region(region);
                    self.all(results, &region.yields);
                }
            }
            InstKind::While { init, before, after } => {
                self.all(&before.args, init);
                self.region(before);
                let forwarded = before.yields.get(1..).unwrap_or(&[]);
                self.all(&after.args, forwarded);
                self.all(results, forwarded);
                self.region(after);
                self.all(&before.args, &after.yields);
            }
            InstKind::ProgramId { axis: _ }
            | InstKind::NumPrograms { axis: _ }
            | InstKind::Constant(_)
            | InstKind::MakeRange { start: _, end: _ }
            | InstKind::Int(..)
            | InstKind::Float(..)
            | InstKind::Unary(..)
            | InstKind::Fma(..)
            | InstKind::CompareInt(..)
            | InstKind::CompareFloat(..)
            | InstKind::Dot { a: _, b: _, acc: _, precision: _ }
            | InstKind::DotScaled(_)
            | InstKind::Histogram { value: _, mask: _ }
            | InstKind::ClampFloat { value: _, min: _, max: _, keeps_nan: _ }
            | InstKind::AbsInt(_)
            | InstKind::Extern { symbol: _, operands: _ }
            | InstKind::InlineAsm { asm: _, operands: _ }
            | InstKind::Scan { operands: _, axis: _, reverse: _, combine: _ }
            | InstKind::Reduce { operands: _, axis: _, combine: _ }
            | InstKind::Assert { condition: _, message: _ }
            | InstKind::Barrier
            | InstKind::Assume(_) => {}
        }
    }
}
