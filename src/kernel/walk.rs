//! What every pass asks of an instruction: its operands, its regions, whether it has effects.
//!
//! The matches are exhaustive: a new kind of instruction fails to compile here first.

use super::ir::{Inst, InstKind, Region, Terminator, Value, ValueData};

/// The operands in printing order; what regions use is not included.
pub fn operands(kind: &InstKind) -> Vec<Value> {
    match kind {
        InstKind::ProgramId { axis: _ }
        | InstKind::NumPrograms { axis: _ }
        | InstKind::Constant(_)
        | InstKind::MakeRange { start: _, end: _ }
        | InstKind::Barrier => Vec::new(),
        InstKind::Splat(v)
        | InstKind::ExpandDims { value: v, axis: _ }
        | InstKind::Broadcast(v)
        | InstKind::Trans { value: v, order: _ }
        | InstKind::Reshape(v)
        | InstKind::Unary(_, v)
        | InstKind::Cast(_, v)
        | InstKind::Assert { condition: v, message: _ }
        | InstKind::Assume(v) => vec![*v],
        InstKind::AddPtr { ptr: a, offset: b }
        | InstKind::Int(_, a, b)
        | InstKind::Float(_, a, b)
        | InstKind::CompareInt(_, a, b)
        | InstKind::CompareFloat(_, a, b) => vec![*a, *b],
        InstKind::Load { ptr, mask, other } | InstKind::VolatileLoad { ptr, mask, other } => {
            [Some(*ptr), *mask, *other].into_iter().flatten().collect()
        }
        InstKind::Store { ptr, value, mask } | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr, value, mask } => {
            [Some(*ptr), Some(*value), *mask].into_iter().flatten().collect()
        }
        InstKind::AtomicCas { order: _, scope: _, ptr, expected, value } => vec![*ptr, *expected, *value],
        InstKind::Fma(a, b, c)
        | InstKind::Select { condition: a, then: b, other: c }
        | InstKind::Dot { a, b, acc: c, precision: _ } => vec![*a, *b, *c],
        InstKind::Reduce { operands, axis: _, combine: _ } | InstKind::Scan { operands, axis: _, reverse: _, combine: _ } => {
            operands.to_vec()
        }
        InstKind::DotScaled(dot) => {
            [Some(dot.a), dot.a_scale, Some(dot.b), dot.b_scale, Some(dot.acc)].into_iter().flatten().collect()
        }
        InstKind::Gather { source: a, index: b, axis: _ } | InstKind::Join(a, b) | InstKind::Cat(a, b) => vec![*a, *b],
        InstKind::Histogram { value, mask } => [Some(*value), *mask].into_iter().flatten().collect(),
        InstKind::Split(v) | InstKind::Unsplat(v) | InstKind::AbsInt(v) => vec![*v],
        InstKind::ClampFloat { value, min, max, keeps_nan: _ } => vec![*value, *min, *max],
        InstKind::Extern { symbol: _, operands } => operands.to_vec(),
        InstKind::InlineAsm { asm: _, operands } => operands.clone(),
        InstKind::For { lower, upper, step, init, body: _ } => [&[*lower, *upper, *step], init.as_slice()].concat(),
        InstKind::If { condition, then: _, otherwise: _ } => vec![*condition],
        InstKind::While { init, before: _, after: _ } => init.clone(),
    }
}

/// Calls `f` on every operand, to change it.
pub fn operands_mut(kind: &mut InstKind, mut f: impl FnMut(&mut Value)) {
    match kind {
        InstKind::ProgramId { axis: _ }
        | InstKind::NumPrograms { axis: _ }
        | InstKind::Constant(_)
        | InstKind::MakeRange { start: _, end: _ }
        | InstKind::Barrier => {}
        InstKind::Splat(v)
        | InstKind::ExpandDims { value: v, axis: _ }
        | InstKind::Broadcast(v)
        | InstKind::Trans { value: v, order: _ }
        | InstKind::Reshape(v)
        | InstKind::Unary(_, v)
        | InstKind::Cast(_, v)
        | InstKind::Assert { condition: v, message: _ }
        | InstKind::Assume(v) => f(v),
        InstKind::AddPtr { ptr: a, offset: b }
        | InstKind::Int(_, a, b)
        | InstKind::Float(_, a, b)
        | InstKind::CompareInt(_, a, b)
        | InstKind::CompareFloat(_, a, b) => [a, b].into_iter().for_each(f),
        InstKind::Load { ptr, mask, other } | InstKind::VolatileLoad { ptr, mask, other } => {
            [Some(ptr), mask.as_mut(), other.as_mut()].into_iter().flatten().for_each(f);
        }
        InstKind::Store { ptr, value, mask } | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr, value, mask } => {
            [Some(ptr), Some(value), mask.as_mut()].into_iter().flatten().for_each(f);
        }
        InstKind::AtomicCas { order: _, scope: _, ptr, expected, value } => [ptr, expected, value].into_iter().for_each(f),
        InstKind::Fma(a, b, c)
        | InstKind::Select { condition: a, then: b, other: c }
        | InstKind::Dot { a, b, acc: c, precision: _ } => [a, b, c].into_iter().for_each(f),
        InstKind::Reduce { operands, axis: _, combine: _ } | InstKind::Scan { operands, axis: _, reverse: _, combine: _ } => {
            operands.iter_mut().for_each(f)
        }
        InstKind::DotScaled(dot) => {
            let operands = [Some(&mut dot.a), dot.a_scale.as_mut(), Some(&mut dot.b), dot.b_scale.as_mut(), Some(&mut dot.acc)];
            operands.into_iter().flatten().for_each(f);
        }
        InstKind::Gather { source: a, index: b, axis: _ } | InstKind::Join(a, b) | InstKind::Cat(a, b) => {
            [a, b].into_iter().for_each(f);
        }
        InstKind::Histogram { value, mask } => [Some(value), mask.as_mut()].into_iter().flatten().for_each(f),
        InstKind::Split(v) | InstKind::Unsplat(v) | InstKind::AbsInt(v) => f(v),
        InstKind::ClampFloat { value, min, max, keeps_nan: _ } => [value, min, max].into_iter().for_each(f),
        InstKind::Extern { symbol: _, operands } => operands.iter_mut().for_each(f),
        InstKind::InlineAsm { asm: _, operands } => operands.iter_mut().for_each(f),
        InstKind::For { lower, upper, step, init, body: _ } => [lower, upper, step].into_iter().chain(init).for_each(f),
        InstKind::If { condition, then: _, otherwise: _ } => f(condition),
        InstKind::While { init, before: _, after: _ } => init.iter_mut().for_each(f),
    }
}

/// The regions of an instruction, in printing order.
pub fn regions(kind: &InstKind) -> Vec<&Region> {
    match kind {
        InstKind::Reduce { operands: _, axis: _, combine } | InstKind::Scan { operands: _, axis: _, reverse: _, combine } => {
            vec![combine]
        }
        InstKind::For { lower: _, upper: _, step: _, init: _, body } => vec![body],
        InstKind::If { condition: _, then, otherwise } => vec![then, otherwise],
        InstKind::While { init: _, before, after } => vec![before, after],
        InstKind::ProgramId { axis: _ }
        | InstKind::NumPrograms { axis: _ }
        | InstKind::Constant(_)
        | InstKind::MakeRange { start: _, end: _ }
        | InstKind::Splat(_)
        | InstKind::ExpandDims { value: _, axis: _ }
        | InstKind::Broadcast(_)
        | InstKind::Trans { value: _, order: _ }
        | InstKind::Reshape(_)
        | InstKind::AddPtr { ptr: _, offset: _ }
        | InstKind::Load { ptr: _, mask: _, other: _ }
        | InstKind::Store { ptr: _, value: _, mask: _ }
        | InstKind::Int(..)
        | InstKind::Float(..)
        | InstKind::Unary(..)
        | InstKind::Fma(..)
        | InstKind::CompareInt(..)
        | InstKind::CompareFloat(..)
        | InstKind::Select { condition: _, then: _, other: _ }
        | InstKind::Cast(..)
        | InstKind::Dot { a: _, b: _, acc: _, precision: _ }
        | InstKind::DotScaled(_)
        | InstKind::Gather { source: _, index: _, axis: _ }
        | InstKind::Histogram { value: _, mask: _ }
        | InstKind::Join(..)
        | InstKind::Split(_)
        | InstKind::Cat(..)
        | InstKind::Unsplat(_)
        | InstKind::ClampFloat { value: _, min: _, max: _, keeps_nan: _ }
        | InstKind::AbsInt(_)
        | InstKind::Extern { symbol: _, operands: _ }
        | InstKind::InlineAsm { asm: _, operands: _ }
        | InstKind::Assert { condition: _, message: _ }
        | InstKind::VolatileLoad { ptr: _, mask: _, other: _ }
        | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr: _, value: _, mask: _ }
        | InstKind::AtomicCas { order: _, scope: _, ptr: _, expected: _, value: _ }
        | InstKind::Barrier
        | InstKind::Assume(_) => Vec::new(),
    }
}

/// The regions of an instruction, to change them.
pub fn regions_mut(kind: &mut InstKind) -> Vec<&mut Region> {
    match kind {
        InstKind::Reduce { operands: _, axis: _, combine } | InstKind::Scan { operands: _, axis: _, reverse: _, combine } => {
            vec![combine]
        }
        InstKind::For { lower: _, upper: _, step: _, init: _, body } => vec![body],
        InstKind::If { condition: _, then, otherwise } => vec![then, otherwise],
        InstKind::While { init: _, before, after } => vec![before, after],
        InstKind::ProgramId { axis: _ }
        | InstKind::NumPrograms { axis: _ }
        | InstKind::Constant(_)
        | InstKind::MakeRange { start: _, end: _ }
        | InstKind::Splat(_)
        | InstKind::ExpandDims { value: _, axis: _ }
        | InstKind::Broadcast(_)
        | InstKind::Trans { value: _, order: _ }
        | InstKind::Reshape(_)
        | InstKind::AddPtr { ptr: _, offset: _ }
        | InstKind::Load { ptr: _, mask: _, other: _ }
        | InstKind::Store { ptr: _, value: _, mask: _ }
        | InstKind::Int(..)
        | InstKind::Float(..)
        | InstKind::Unary(..)
        | InstKind::Fma(..)
        | InstKind::CompareInt(..)
        | InstKind::CompareFloat(..)
        | InstKind::Select { condition: _, then: _, other: _ }
        | InstKind::Cast(..)
        | InstKind::Dot { a: _, b: _, acc: _, precision: _ }
        | InstKind::DotScaled(_)
        | InstKind::Gather { source: _, index: _, axis: _ }
        | InstKind::Histogram { value: _, mask: _ }
        | InstKind::Join(..)
        | InstKind::Split(_)
        | InstKind::Cat(..)
        | InstKind::Unsplat(_)
        | InstKind::ClampFloat { value: _, min: _, max: _, keeps_nan: _ }
        | InstKind::AbsInt(_)
        | InstKind::Extern { symbol: _, operands: _ }
        | InstKind::InlineAsm { asm: _, operands: _ }
        | InstKind::Assert { condition: _, message: _ }
        | InstKind::VolatileLoad { ptr: _, mask: _, other: _ }
        | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr: _, value: _, mask: _ }
        | InstKind::AtomicCas { order: _, scope: _, ptr: _, expected: _, value: _ }
        | InstKind::Barrier
        | InstKind::Assume(_) => Vec::new(),
    }
}

/// Whether an instruction itself loads or stores; its regions are not asked.
pub fn touches_memory(kind: &InstKind) -> bool {
    match kind {
        InstKind::Load { ptr: _, mask: _, other: _ }
        | InstKind::Store { ptr: _, value: _, mask: _ }
        | InstKind::VolatileLoad { ptr: _, mask: _, other: _ }
        | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr: _, value: _, mask: _ }
        | InstKind::AtomicCas { order: _, scope: _, ptr: _, expected: _, value: _ } => true,
        InstKind::ProgramId { axis: _ }
        | InstKind::NumPrograms { axis: _ }
        | InstKind::Constant(_)
        | InstKind::MakeRange { start: _, end: _ }
        | InstKind::Splat(_)
        | InstKind::ExpandDims { value: _, axis: _ }
        | InstKind::Broadcast(_)
        | InstKind::Trans { value: _, order: _ }
        | InstKind::Reshape(_)
        | InstKind::AddPtr { ptr: _, offset: _ }
        | InstKind::Int(..)
        | InstKind::Float(..)
        | InstKind::Unary(..)
        | InstKind::Fma(..)
        | InstKind::CompareInt(..)
        | InstKind::CompareFloat(..)
        | InstKind::Select { condition: _, then: _, other: _ }
        | InstKind::Cast(..)
        | InstKind::Dot { a: _, b: _, acc: _, precision: _ }
        | InstKind::DotScaled(_)
        | InstKind::Gather { source: _, index: _, axis: _ }
        | InstKind::Histogram { value: _, mask: _ }
        | InstKind::Join(..)
        | InstKind::Split(_)
        | InstKind::Cat(..)
        | InstKind::Unsplat(_)
        | InstKind::ClampFloat { value: _, min: _, max: _, keeps_nan: _ }
        | InstKind::AbsInt(_)
        | InstKind::Extern { symbol: _, operands: _ }
        | InstKind::InlineAsm { asm: _, operands: _ }
        | InstKind::Scan { operands: _, axis: _, reverse: _, combine: _ }
        | InstKind::Reduce { operands: _, axis: _, combine: _ }
        | InstKind::For { lower: _, upper: _, step: _, init: _, body: _ }
        | InstKind::If { condition: _, then: _, otherwise: _ }
        | InstKind::While { init: _, before: _, after: _ }
        | InstKind::Assert { condition: _, message: _ }
        | InstKind::Barrier
        | InstKind::Assume(_) => false,
    }
}

/// Whether a load may not move across an instruction itself: it writes memory, or orders accesses.
pub fn orders_memory(kind: &InstKind) -> bool {
    match kind {
        InstKind::Store { ptr: _, value: _, mask: _ }
        | InstKind::VolatileLoad { ptr: _, mask: _, other: _ }
        | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr: _, value: _, mask: _ }
        | InstKind::AtomicCas { order: _, scope: _, ptr: _, expected: _, value: _ }
        | InstKind::Barrier => true,
        InstKind::ProgramId { axis: _ }
        | InstKind::NumPrograms { axis: _ }
        | InstKind::Constant(_)
        | InstKind::MakeRange { start: _, end: _ }
        | InstKind::Splat(_)
        | InstKind::ExpandDims { value: _, axis: _ }
        | InstKind::Broadcast(_)
        | InstKind::Trans { value: _, order: _ }
        | InstKind::Reshape(_)
        | InstKind::AddPtr { ptr: _, offset: _ }
        | InstKind::Load { ptr: _, mask: _, other: _ }
        | InstKind::Int(..)
        | InstKind::Float(..)
        | InstKind::Unary(..)
        | InstKind::Fma(..)
        | InstKind::CompareInt(..)
        | InstKind::CompareFloat(..)
        | InstKind::Select { condition: _, then: _, other: _ }
        | InstKind::Cast(..)
        | InstKind::Dot { a: _, b: _, acc: _, precision: _ }
        | InstKind::DotScaled(_)
        | InstKind::Gather { source: _, index: _, axis: _ }
        | InstKind::Histogram { value: _, mask: _ }
        | InstKind::Join(..)
        | InstKind::Split(_)
        | InstKind::Cat(..)
        | InstKind::Unsplat(_)
        | InstKind::ClampFloat { value: _, min: _, max: _, keeps_nan: _ }
        | InstKind::AbsInt(_)
        | InstKind::Extern { symbol: _, operands: _ }
        | InstKind::InlineAsm { asm: _, operands: _ }
        | InstKind::Scan { operands: _, axis: _, reverse: _, combine: _ }
        | InstKind::Reduce { operands: _, axis: _, combine: _ }
        | InstKind::For { lower: _, upper: _, step: _, init: _, body: _ }
        | InstKind::If { condition: _, then: _, otherwise: _ }
        | InstKind::While { init: _, before: _, after: _ }
        | InstKind::Assert { condition: _, message: _ }
        | InstKind::Assume(_) => false,
    }
}

/// Whether lanes of a program take values from one another, so that compiled code makes them wait for each other.
/// A block of values that changes its shape or order goes through shared memory, or may; one of indices does not.
pub fn joins_lanes(inst: &Inst, values: &[ValueData]) -> bool {
    match &inst.kind {
        InstKind::Dot { a: _, b: _, acc: _, precision: _ }
        | InstKind::DotScaled(_)
        | InstKind::Reduce { operands: _, axis: _, combine: _ }
        | InstKind::Scan { operands: _, axis: _, reverse: _, combine: _ }
        | InstKind::Gather { source: _, index: _, axis: _ }
        | InstKind::Histogram { value: _, mask: _ }
        | InstKind::Cat(..)
        | InstKind::Unsplat(_) => true,
        InstKind::ExpandDims { value, axis: _ }
        | InstKind::Trans { value, order: _ }
        | InstKind::Reshape(value)
        | InstKind::Join(value, _)
        | InstKind::Split(value) => values[value.0 as usize].ty.elem.is_float(),
        InstKind::ProgramId { axis: _ }
        | InstKind::NumPrograms { axis: _ }
        | InstKind::Constant(_)
        | InstKind::MakeRange { start: _, end: _ }
        | InstKind::Splat(_)
        | InstKind::Broadcast(_)
        | InstKind::AddPtr { ptr: _, offset: _ }
        | InstKind::Load { ptr: _, mask: _, other: _ }
        | InstKind::Store { ptr: _, value: _, mask: _ }
        | InstKind::Int(..)
        | InstKind::Float(..)
        | InstKind::Unary(..)
        | InstKind::Fma(..)
        | InstKind::CompareInt(..)
        | InstKind::CompareFloat(..)
        | InstKind::Select { condition: _, then: _, other: _ }
        | InstKind::Cast(..)
        | InstKind::ClampFloat { value: _, min: _, max: _, keeps_nan: _ }
        | InstKind::AbsInt(_)
        | InstKind::Extern { symbol: _, operands: _ }
        | InstKind::InlineAsm { asm: _, operands: _ }
        | InstKind::For { lower: _, upper: _, step: _, init: _, body: _ }
        | InstKind::If { condition: _, then: _, otherwise: _ }
        | InstKind::While { init: _, before: _, after: _ }
        | InstKind::Assert { condition: _, message: _ }
        | InstKind::VolatileLoad { ptr: _, mask: _, other: _ }
        | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr: _, value: _, mask: _ }
        | InstKind::AtomicCas { order: _, scope: _, ptr: _, expected: _, value: _ }
        | InstKind::Barrier
        | InstKind::Assume(_) => false,
    }
}

/// Whether an instruction only computes its results from its operands: it may be shared, moved to
/// where its operands are known, or dropped. Integer division is not pure: a zero divisor is a fault
/// that must neither vanish nor appear.
pub fn is_pure(kind: &InstKind) -> bool {
    use super::ir::IntBinary;
    match kind {
        InstKind::Int(op, _, _) => !matches!(op, IntBinary::DivS | IntBinary::DivU | IntBinary::RemS | IntBinary::RemU),
        InstKind::ProgramId { axis: _ }
        | InstKind::NumPrograms { axis: _ }
        | InstKind::Constant(_)
        | InstKind::MakeRange { start: _, end: _ }
        | InstKind::Splat(_)
        | InstKind::ExpandDims { value: _, axis: _ }
        | InstKind::Broadcast(_)
        | InstKind::Trans { value: _, order: _ }
        | InstKind::Reshape(_)
        | InstKind::AddPtr { ptr: _, offset: _ }
        | InstKind::Float(..)
        | InstKind::Unary(..)
        | InstKind::Fma(..)
        | InstKind::CompareInt(..)
        | InstKind::CompareFloat(..)
        | InstKind::Select { condition: _, then: _, other: _ }
        | InstKind::Cast(..)
        | InstKind::Dot { a: _, b: _, acc: _, precision: _ }
        | InstKind::DotScaled(_)
        | InstKind::Gather { source: _, index: _, axis: _ }
        | InstKind::Histogram { value: _, mask: _ }
        | InstKind::Join(..)
        | InstKind::Split(_)
        | InstKind::Cat(..)
        | InstKind::Unsplat(_)
        | InstKind::ClampFloat { value: _, min: _, max: _, keeps_nan: _ }
        | InstKind::AbsInt(_)
        | InstKind::Extern { symbol: _, operands: _ } => true,
        InstKind::InlineAsm { asm, operands: _ } => asm.pure,
        InstKind::Load { ptr: _, mask: _, other: _ }
        | InstKind::Store { ptr: _, value: _, mask: _ }
        | InstKind::Scan { operands: _, axis: _, reverse: _, combine: _ }
        | InstKind::Reduce { operands: _, axis: _, combine: _ }
        | InstKind::For { lower: _, upper: _, step: _, init: _, body: _ }
        | InstKind::If { condition: _, then: _, otherwise: _ }
        | InstKind::While { init: _, before: _, after: _ }
        | InstKind::Assert { condition: _, message: _ }
        | InstKind::VolatileLoad { ptr: _, mask: _, other: _ }
        | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr: _, value: _, mask: _ }
        | InstKind::AtomicCas { order: _, scope: _, ptr: _, expected: _, value: _ }
        | InstKind::Barrier
        | InstKind::Assume(_) => false,
    }
}

/// Every instruction, regions included, outer before inner.
pub fn each_inst<'k>(insts: &'k [Inst], f: &mut impl FnMut(&'k Inst)) {
    for inst in insts {
        f(inst);
        for region in regions(&inst.kind) {
            each_inst(&region.insts, f);
        }
    }
}

/// Calls `f` on every operand of a terminator.
pub fn terminator_operands(terminator: &Terminator, mut f: impl FnMut(Value)) {
    match terminator {
        Terminator::Return => {}
        Terminator::Branch { to: _, args } => args.iter().copied().for_each(f),
        Terminator::CondBranch { condition, then, otherwise } => {
            f(*condition);
            then.1.iter().chain(&otherwise.1).copied().for_each(f);
        }
    }
}

/// Calls `f` on every operand of a terminator, to change it.
pub fn terminator_operands_mut(terminator: &mut Terminator, mut f: impl FnMut(&mut Value)) {
    match terminator {
        Terminator::Return => {}
        Terminator::Branch { to: _, args } => args.iter_mut().for_each(f),
        Terminator::CondBranch { condition, then, otherwise } => {
            f(condition);
            then.1.iter_mut().chain(&mut otherwise.1).for_each(f);
        }
    }
}
