//! How many bytes of blocks a kernel holds at once: a lower bound, so that an error is one.
//!
//! A forward walk with the set of live values, regions inside. Counted are values that a machine must hold:
//! loaded blocks, blocks that loops carry, and what is computed of these; not constants, indices, masks and
//! pointers, which it can make again. An elementwise result takes the place of an operand that dies there.
//! *Cube* values are operands of dots and their accumulators: on Ascend they lie in L1 and L0, not in the unified
//! buffer. Layout, padding and the compiler's own copies come on top and are not known here.

use std::collections::{BTreeMap, BTreeSet};

use crate::kernel::ir::{FloatBinary, Inst, InstKind, Kernel, Region, Value};
use crate::kernel::walk;
use crate::source::Span;

/// Where a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Made again when needed.
    Nowhere,
    Vector,
    /// Loaded for dots alone, or a dot's accumulator.
    Cube,
}

/// The largest sum, and the instruction at which it is reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peak {
    pub bytes: usize,
    pub span: Span,
}

pub fn uses_dot(kernel: &Kernel) -> bool {
    let mut found = false;
    each(kernel, &mut |inst| found |= matches!(inst.kind, InstKind::Dot { a: _, b: _, acc: _, precision: _ }));
    found
}

/// Every instruction of a kernel.
pub fn each<'k>(kernel: &'k Kernel, f: &mut impl FnMut(&'k Inst)) {
    for block in &kernel.blocks {
        walk::each_inst(&block.insts, f);
    }
}

/// The pointer of a load or store, and which it is.
pub fn access(inst: &Inst) -> Option<(Value, &'static str)> {
    if let InstKind::Load { ptr, mask: _, other: _ } | InstKind::VolatileLoad { ptr, mask: _, other: _ } = &inst.kind {
        Some((*ptr, "load"))
    } else if let InstKind::Store { ptr, value: _, mask: _ } = &inst.kind {
        Some((*ptr, "store"))
    } else {
        None
    }
}

/// The peak over values that lie in one of the places.
pub fn peak(kernel: &Kernel, counted: &[Place]) -> Peak {
    let places = places(kernel);
    let size = |value: Value| {
        let place = places.get(&value).copied().unwrap_or(Place::Nowhere);
        let ty = kernel.ty(value);
        if counted.contains(&place) { ty.numel() * (ty.elem.bits() as usize).div_ceil(8) } else { 0 }
    };
    let mut peak = Peak::default();
    for block in &kernel.blocks {
        let mut after = BTreeSet::new();
        walk::terminator_operands(&block.terminator, |v| {
            after.insert(v);
        });
        run(&block.insts, &after, 0, &size, &mut peak);
    }
    peak
}

/// Walks instructions; `below` are the bytes that live throughout them.
fn run(insts: &[Inst], after: &BTreeSet<Value>, below: usize, size: &impl Fn(Value) -> usize, peak: &mut Peak) {
    let mut last: BTreeMap<Value, usize> = BTreeMap::new();
    for (i, inst) in insts.iter().enumerate() {
        used(inst, &mut |v| {
            last.insert(v, i);
        });
    }
    let mut live: BTreeSet<Value> = BTreeSet::new();
    for (i, inst) in insts.iter().enumerate() {
        let held = |live: &BTreeSet<Value>| below + live.iter().map(|v| size(*v)).sum::<usize>();
        let dying = |live: &BTreeSet<Value>, v: &Value| live.contains(v) && last.get(v) == Some(&i) && !after.contains(v);
        for region in walk::regions(&inst.kind) {
            // What enters a loop is carried by its own arguments.
            let carried: BTreeSet<Value> = live.iter().copied().filter(|v| !dying(&live, v)).collect();
            let arguments = region.args.iter().map(|v| size(*v)).sum::<usize>();
            let yields = region.yields.iter().copied().collect();
            run(&region.insts, &yields, held(&carried) + arguments, size, peak);
        }
        live = live.iter().copied().filter(|v| !dying(&live, v)).collect();
        live.extend(inst.results.iter().copied().filter(|v| last.contains_key(v) || after.contains(v)));
        let bytes = held(&live);
        if bytes > peak.bytes {
            *peak = Peak { bytes, span: inst.span };
        }
    }
}

/// Every value that an instruction reads, regions included.
fn used(inst: &Inst, f: &mut impl FnMut(Value)) {
    walk::operands(&inst.kind).into_iter().for_each(&mut *f);
    for region in walk::regions(&inst.kind) {
        region.insts.iter().for_each(|inner| used(inner, f));
        region.yields.iter().copied().for_each(&mut *f);
    }
}

/// The instructions that read a value.
type Readers<'k> = BTreeMap<Value, Vec<&'k Inst>>;

/// Where each value lies; values that are absent lie nowhere.
pub fn places(kernel: &Kernel) -> BTreeMap<Value, Place> {
    let mut readers = Readers::new();
    each(kernel, &mut |inst| walk::operands(&inst.kind).into_iter().for_each(|v| readers.entry(v).or_default().push(inst)));
    let mut places = BTreeMap::new();
    // Loops hand places from their ends to their beginnings: a second pass sees them.
    for _ in 0..2 {
        for block in &kernel.blocks {
            place(kernel, &block.insts, &readers, &mut places);
        }
    }
    places
}

fn place(kernel: &Kernel, insts: &[Inst], readers: &Readers<'_>, places: &mut BTreeMap<Value, Place>) {
    for inst in insts {
        let regions = walk::regions(&inst.kind);
        for region in &regions {
            enter(inst, region, places);
            place(kernel, &region.insts, readers, places);
        }
        let at = |v: Value| places.get(&v).copied().unwrap_or(Place::Nowhere);
        let results: Vec<(Value, Place)> = if let InstKind::Load { ptr: _, mask: _, other: _ } = &inst.kind {
            let to = |v| if feeds_dots(v, readers, 0) { Place::Cube } else { Place::Vector };
            inst.results.iter().map(|v| (*v, to(*v))).collect()
        } else if let InstKind::Dot { a: _, b: _, acc: _, precision: _ } = &inst.kind {
            inst.results.iter().map(|v| (*v, Place::Cube)).collect()
        } else if regions.is_empty() || matches!(inst.kind, InstKind::Reduce { operands: _, axis: _, combine: _ }) {
            let held = walk::operands(&inst.kind).into_iter().any(|v| at(v) != Place::Nowhere);
            let results = inst.results.iter().filter(|v| held && kernel.ty(**v).elem.bits() > 1);
            let to = |v| if feeds_dots(v, readers, 0) || accumulates(inst, &at) { Place::Cube } else { Place::Vector };
            results.map(|v| (*v, to(*v))).collect()
        } else {
            let ends = |region: &&Region| region.yields[region.yields.len().saturating_sub(inst.results.len())..].to_vec();
            let yields = regions.iter().map(ends);
            yields.flat_map(|from| inst.results.iter().copied().zip(from.into_iter().map(at)).collect::<Vec<_>>()).collect()
        };
        places.extend(results.into_iter().filter(|(_, place)| *place != Place::Nowhere));
    }
}

/// The arguments of a loop's body lie where what it yields lies.
fn enter(inst: &Inst, region: &Region, places: &mut BTreeMap<Value, Place>) {
    if let InstKind::For { lower: _, upper: _, step: _, init: _, body: _ } = &inst.kind {
        for (argument, from) in region.args[1..].iter().zip(&region.yields) {
            if let Some(place) = places.get(from).copied() {
                places.insert(*argument, place);
            }
        }
    }
}

/// `acc + dot(…)` where both lie in the cube.
fn accumulates(inst: &Inst, at: &impl Fn(Value) -> Place) -> bool {
    match &inst.kind {
        InstKind::Float(FloatBinary::Add, a, b) => {
            matches!((at(*a), at(*b)), (Place::Cube, Place::Cube | Place::Nowhere) | (Place::Nowhere, Place::Cube))
        }
        _ => false,
    }
}

/// Whether a value goes into dots and nothing else, through casts and transpositions at most.
fn feeds_dots(value: Value, readers: &Readers<'_>, depth: usize) -> bool {
    let Some(own) = readers.get(&value).filter(|_| depth < 4) else { return false };
    own.iter().all(|inst| match &inst.kind {
        InstKind::Dot { a, b, acc: _, precision: _ } => *a == value || *b == value,
        InstKind::Cast(_, _) | InstKind::Trans { value: _, order: _ } => {
            inst.results.iter().all(|result| feeds_dots(*result, readers, depth + 1))
        }
        _ => false,
    })
}
