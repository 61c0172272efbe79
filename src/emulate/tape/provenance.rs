//! What a kernel may do with each parameter's memory, and which pointers may be seen as another type: a fixed
//! point over all pointer values.
//!
//! Each pointer value has a set of parameters it may come from; sets flow through every operation
//! that hands a pointer on. More than 126 pointer parameters share the last bit. A pointer that is made of an
//! address may come from any parameter, and from memory that no parameter names.

use crate::kernel::ir::{CastKind, Elem, Inst, InstKind, Kernel, Region, Terminator, Value};
use crate::kernel::walk;
use crate::source::Span;

/// A pointer whose element type is not its memory's.
const CAST: u128 = 1 << 127;
/// The last parameter that has a bit of its own.
const LAST: usize = 126;

/// Sets of parameters, and of values.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    params: usize,
    loads: u128,
    stores: u128,
    atomics: u128,
    volatile: u128,
    /// By value.
    cast: Vec<bool>,
    /// Pointers are made of addresses.
    pub by_address: bool,
    /// Types that pointers are seen as.
    pub pointees: Vec<crate::dtype::DType>,
}

impl Uses {
    fn spread(&self, set: u128) -> Vec<bool> {
        (0..self.params).map(|i| set >> i.min(LAST) & 1 != 0).collect()
    }

    /// By parameter: may be loaded from, in any way.
    pub fn loads(&self) -> Vec<bool> {
        self.spread(self.loads | self.atomics | self.volatile)
    }

    /// By parameter: may be stored to, in any way.
    pub fn stores(&self) -> Vec<bool> {
        self.spread(self.stores | self.atomics)
    }

    /// By parameter: may be loaded from by plain loads.
    pub fn plain_loads(&self) -> Vec<bool> {
        self.spread(self.loads)
    }

    /// By parameter: may be stored to by plain stores.
    pub fn plain_stores(&self) -> Vec<bool> {
        self.spread(self.stores)
    }

    pub fn atomics(&self) -> Vec<bool> {
        self.spread(self.atomics)
    }

    /// Programs can see what others do while they run.
    pub fn programs_talk(&self) -> bool {
        self.atomics | self.volatile != 0
    }

    /// Something may be both loaded and stored by plain accesses; two parameters may be one buffer.
    pub fn lanes_may_meet(&self) -> bool {
        self.loads != 0 && self.stores != 0
    }

    /// Plain loads, plain stores, atomics: whether some go through addresses, to any buffer.
    pub fn anywhere(&self) -> [bool; 3] {
        [self.loads | self.volatile, self.stores, self.atomics].map(|set| self.by_address && set & CAST != 0)
    }

    pub fn may_be_cast(&self, pointer: Value) -> bool {
        self.cast[pointer.0 as usize]
    }
}

pub fn uses(kernel: &Kernel) -> Uses {
    let flow = flow(kernel);
    let cast = flow.sets.iter().map(|set| set & CAST != 0).collect();
    Uses { cast, ..flow.uses }
}

/// Where a kernel stores through a parameter, or changes what lies there at once: each place once, in the order of the
/// text.
pub fn stored_at(kernel: &Kernel, param: usize) -> Vec<Span> {
    let flow = flow(kernel);
    let mut found = Vec::new();
    for block in &kernel.blocks {
        walk::each_inst(&block.insts, &mut |inst| match &inst.kind {
            InstKind::Store { ptr, value: _, mask: _ }
            | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr, value: _, mask: _ }
            | InstKind::AtomicCas { order: _, scope: _, ptr, expected: _, value: _ }
                if flow.sets[ptr.0 as usize] >> param.min(LAST) & 1 != 0 =>
            {
                found.push(inst.span);
            }
            _ => {}
        });
    }
    found.sort_unstable_by_key(|span| (span.start, span.end));
    found.dedup();
    found
}

fn flow(kernel: &Kernel) -> Flow {
    let mut flow = Flow {
        sets: vec![0; kernel.values.len()],
        every: 0,
        uses: Uses { params: kernel.params.len(), ..Uses::default() },
        changed: true,
    };
    for (i, param) in kernel.params.iter().enumerate() {
        if matches!(kernel.ty(param.value).elem, Elem::Ptr(_)) {
            flow.sets[param.value.0 as usize] = 1 << i.min(LAST);
            flow.every |= 1 << i.min(LAST);
        }
    }
    while flow.changed {
        flow.changed = false;
        for block in &kernel.blocks {
            flow.insts(&block.insts, kernel);
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
    flow
}

struct Flow {
    sets: Vec<u128>,
    /// All pointer parameters.
    every: u128,
    uses: Uses,
    changed: bool,
}

impl Flow {
    fn to(&mut self, to: Value, from: Value) {
        self.add(to, self.sets[from.0 as usize]);
    }

    fn add(&mut self, to: Value, set: u128) {
        let new = self.sets[to.0 as usize] | set;
        if new != self.sets[to.0 as usize] {
            self.sets[to.0 as usize] = new;
            self.changed = true;
        }
    }

    fn all(&mut self, to: &[Value], from: &[Value]) {
        to.iter().zip(from).for_each(|(&to, &from)| self.to(to, from));
    }

    fn region(&mut self, region: &Region, kernel: &Kernel) {
        self.insts(&region.insts, kernel);
    }

    fn insts(&mut self, insts: &[Inst], kernel: &Kernel) {
        for inst in insts {
            self.inst(inst, kernel);
        }
    }

    fn inst(&mut self, inst: &Inst, kernel: &Kernel) {
        let results = &inst.results;
        match &inst.kind {
            InstKind::Splat(v)
            | InstKind::Broadcast(v)
            | InstKind::Reshape(v)
            | InstKind::ExpandDims { value: v, axis: _ }
            | InstKind::Trans { value: v, order: _ }
            | InstKind::AddPtr { ptr: v, offset: _ }
            | InstKind::Unsplat(v)
            | InstKind::Gather { source: v, index: _, axis: _ } => self.to(results[0], *v),
            InstKind::Cast(kind, v) => {
                let Elem::Ptr(to) = kernel.ty(results[0]).elem else { return };
                if !self.uses.pointees.contains(&to) {
                    self.uses.pointees.push(to);
                }
                let mut set = self.sets[v.0 as usize] | CAST;
                if *kind == CastKind::IntToPtr {
                    set |= self.every;
                    self.uses.by_address = true;
                }
                self.add(results[0], set);
            }
            InstKind::Join(a, b) | InstKind::Cat(a, b) => {
                self.to(results[0], *a);
                self.to(results[0], *b);
            }
            InstKind::Split(v) => results.iter().for_each(|&half| self.to(half, *v)),
            InstKind::Select { condition: _, then, other } => {
                self.to(results[0], *then);
                self.to(results[0], *other);
            }
            InstKind::Load { ptr, mask: _, other: _ } => self.uses.loads |= self.sets[ptr.0 as usize],
            InstKind::VolatileLoad { ptr, mask: _, other: _ } => self.uses.volatile |= self.sets[ptr.0 as usize],
            InstKind::Store { ptr, value: _, mask: _ } => self.uses.stores |= self.sets[ptr.0 as usize],
            InstKind::AtomicRmw { op: _, order: _, scope: _, ptr, value: _, mask: _ }
            | InstKind::AtomicCas { order: _, scope: _, ptr, expected: _, value: _ } => {
                self.uses.atomics |= self.sets[ptr.0 as usize];
            }
            InstKind::For { lower: _, upper: _, step: _, init, body } => {
                self.all(&body.args[1..], init);
                self.region(body, kernel);
                self.all(&body.args[1..], &body.yields);
                self.all(results, &body.args[1..]);
            }
            InstKind::If { condition: _, then, otherwise } => {
                for region in [then, otherwise] {
                    self.region(region, kernel);
                    self.all(results, &region.yields);
                }
            }
            InstKind::While { init, before, after } => {
                self.all(&before.args, init);
                self.region(before, kernel);
                let forwarded = before.yields.get(1..).unwrap_or(&[]);
                self.all(&after.args, forwarded);
                self.all(results, forwarded);
                self.region(after, kernel);
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
