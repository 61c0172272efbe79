//! Constant folding: exact, on integers and shapes.
//!
//! One forward walk; what an instruction is known to equal replaces its uses further down. A fold
//! that would need a new instruction turns the folded one into a constant in place. The unfolded
//! constants stay for `drop_dead`.
//!
//! A fold must lose no fault either. Sums and products may leave their type for a while and are reported
//! only where something else uses them, so `x // 1` is `x` only where x is known to fit; bitwise
//! operations clear a wrap and a `select` passes on its condition's poison, so `x & -1`, `x >> 0` and
//! `select(c, x, x)` stay.

use std::collections::{HashMap, HashSet};

use super::Constants;
use crate::kernel::ir::{
    CastKind, Elem, Inst, InstKind, IntBinary, IntPredicate, Kernel, Literal, Region, Type, Value, ValueData,
};
use crate::kernel::lower::wrap;
use crate::kernel::walk;

pub fn fold(kernel: &mut Kernel) {
    let mut folder =
        Folder { values: &kernel.values, constants: Constants::new(), replaced: HashMap::new(), fitting: HashSet::new() };
    folder.fitting.extend(kernel.params.iter().map(|p| p.value));
    for block in &mut kernel.blocks {
        let insts = std::mem::take(&mut block.insts);
        block.insts = folder.insts(insts);
        walk::terminator_operands_mut(&mut block.terminator, |v| folder.substitute(v));
    }
}

struct Folder<'k> {
    values: &'k [ValueData],
    constants: Constants,
    replaced: HashMap<Value, Value>,
    /// Integers that cannot be beyond their type.
    fitting: HashSet<Value>,
}

/// What an instruction turns out to be.
enum Known {
    Literal(Literal),
    Value(Value),
}

impl Folder<'_> {
    fn ty(&self, value: Value) -> &Type {
        &self.values[value.0 as usize].ty
    }

    fn substitute(&self, value: &mut Value) {
        if let Some(&other) = self.replaced.get(value) {
            *value = other;
        }
    }

    fn int(&self, value: Value) -> Option<i64> {
        match self.constants.get(&value) {
            Some(Literal::Int(int)) => Some(*int),
            Some(Literal::Float(_)) | None => None,
        }
    }

    fn insts(&mut self, insts: Vec<Inst>) -> Vec<Inst> {
        let mut out = Vec::with_capacity(insts.len());
        for mut inst in insts {
            walk::operands_mut(&mut inst.kind, |v| self.substitute(v));
            // An `if` whose condition is known is its branch.
            if let InstKind::If { condition, then, otherwise } = inst.kind {
                match self.int(condition) {
                    Some(known) => {
                        let branch = if known != 0 { then } else { otherwise };
                        out.extend(self.insts(branch.insts));
                        for (&result, mut value) in inst.results.iter().zip(branch.yields) {
                            self.substitute(&mut value);
                            self.replaced.insert(result, value);
                        }
                        continue;
                    }
                    None => inst.kind = InstKind::If { condition, then, otherwise },
                }
            }
            for region in walk::regions_mut(&mut inst.kind) {
                self.region(region);
            }
            if let [result] = inst.results[..] {
                match self.known(&inst.kind, result) {
                    Some(Known::Literal(literal)) => inst.kind = InstKind::Constant(literal),
                    // What is promised of a value is asked where it is defined.
                    Some(Known::Value(_)) if !self.values[result.0 as usize].hints.is_empty() => {}
                    Some(Known::Value(value)) => {
                        self.replaced.insert(result, value);
                        continue;
                    }
                    None => {}
                }
                if let InstKind::Constant(literal) = inst.kind {
                    self.constants.insert(result, literal);
                }
                if self.fits(&inst.kind) {
                    self.fitting.insert(result);
                }
            }
            out.push(inst);
        }
        out
    }

    fn region(&mut self, region: &mut Region) {
        let insts = std::mem::take(&mut region.insts);
        region.insts = self.insts(insts);
        region.yields.iter_mut().for_each(|v| self.substitute(v));
    }

    /// Whether the result of an instruction that stays cannot be beyond its integer type.
    fn fits(&self, kind: &InstKind) -> bool {
        match kind {
            InstKind::ProgramId { axis: _ }
            | InstKind::NumPrograms { axis: _ }
            | InstKind::Constant(_)
            | InstKind::MakeRange { start: _, end: _ }
            | InstKind::Load { ptr: _, mask: _, other: _ }
            | InstKind::VolatileLoad { ptr: _, mask: _, other: _ }
            | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr: _, value: _, mask: _ }
            | InstKind::AtomicCas { order: _, scope: _, ptr: _, expected: _, value: _ }
            | InstKind::CompareInt(..)
            | InstKind::CompareFloat(..)
            | InstKind::Cast(..) => true,
            InstKind::Splat(v)
            | InstKind::Broadcast(v)
            | InstKind::Reshape(v)
            | InstKind::ExpandDims { value: v, axis: _ }
            | InstKind::Trans { value: v, order: _ } => self.fitting.contains(v),
            InstKind::Int(op, _, _) => !is_ring(*op),
            InstKind::Select { condition: _, then, other } => self.fitting.contains(then) && self.fitting.contains(other),
            InstKind::AddPtr { ptr: _, offset: _ }
            | InstKind::Store { ptr: _, value: _, mask: _ }
            | InstKind::Float(..)
            | InstKind::Unary(..)
            | InstKind::Fma(..)
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

    fn known(&self, kind: &InstKind, result: Value) -> Option<Known> {
        let ty = self.ty(result);
        match kind {
            InstKind::Splat(v) | InstKind::Broadcast(v) | InstKind::Reshape(v) => {
                self.constants.get(v).copied().map(Known::Literal)
            }
            InstKind::ExpandDims { value, axis: _ } | InstKind::Trans { value, order: _ } => {
                self.constants.get(value).copied().map(Known::Literal)
            }
            InstKind::Int(op, a, b) => match (self.int(*a), self.int(*b)) {
                (Some(x), Some(y)) => int_binary(*op, x, y, ty.elem).map(Known::Literal),
                (None, Some(y)) => {
                    (neutral_right(*op, y, ty.elem) && (is_ring(*op) || self.fitting.contains(a))).then_some(Known::Value(*a))
                }
                (Some(x), None) => neutral_left(*op, x, ty.elem).then_some(Known::Value(*b)),
                (None, None) => None,
            },
            InstKind::CompareInt(predicate, a, b) => {
                let (x, y) = (self.int(*a)?, self.int(*b)?);
                let elem = self.ty(*a).elem;
                Some(Known::Literal(Literal::Int(i64::from(compare(*predicate, x, y, elem)))))
            }
            InstKind::Select { condition, then, other } => {
                self.int(*condition).map(|known| Known::Value(if known != 0 { *then } else { *other }))
            }
            InstKind::Cast(cast, v) => {
                let x = self.int(*v)?;
                let from = self.ty(*v).elem;
                match cast {
                    CastKind::Trunc => Some(Known::Literal(Literal::Int(wrap(x, ty.elem)))),
                    CastKind::ExtS => Some(Known::Literal(Literal::Int(if from == Elem::I1 { -x } else { x }))),
                    CastKind::ExtU => Some(Known::Literal(Literal::Int(unsigned(x, from) as i64))),
                    CastKind::IntToFloatS
                    | CastKind::IntToFloatU
                    | CastKind::FloatToIntS
                    | CastKind::FloatToIntU
                    | CastKind::FloatExt
                    | CastKind::FloatTrunc
                    | CastKind::FloatTruncZero
                    | CastKind::Bitcast
                    | CastKind::PtrToInt
                    | CastKind::IntToPtr => None,
                }
            }
            InstKind::AddPtr { ptr, offset } => (self.int(*offset) == Some(0)).then_some(Known::Value(*ptr)),
            InstKind::ProgramId { axis: _ }
            | InstKind::NumPrograms { axis: _ }
            | InstKind::Constant(_)
            | InstKind::MakeRange { start: _, end: _ }
            | InstKind::Load { ptr: _, mask: _, other: _ }
            | InstKind::Store { ptr: _, value: _, mask: _ }
            | InstKind::Float(..)
            | InstKind::Unary(..)
            | InstKind::Fma(..)
            | InstKind::CompareFloat(..)
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
            | InstKind::VolatileLoad { ptr: _, mask: _, other: _ }
            | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr: _, value: _, mask: _ }
            | InstKind::AtomicCas { order: _, scope: _, ptr: _, expected: _, value: _ }
            | InstKind::Barrier
            | InstKind::Assume(_) => None,
        }
    }
}

/// Whether the operation is exact until something else uses it.
fn is_ring(op: IntBinary) -> bool {
    match op {
        IntBinary::Add | IntBinary::Sub | IntBinary::Mul => true,
        IntBinary::DivS | IntBinary::DivU | IntBinary::RemS | IntBinary::RemU => false,
        IntBinary::And | IntBinary::Or | IntBinary::Xor | IntBinary::Shl | IntBinary::ShrS | IntBinary::ShrU => false,
        IntBinary::MinS | IntBinary::MinU | IntBinary::MaxS | IntBinary::MaxU | IntBinary::MulHiU => false,
    }
}

/// The bits of a sign-extended integer as an unsigned one of its width.
fn unsigned(x: i64, elem: Elem) -> u64 {
    match elem.bits() {
        64 => x as u64,
        bits => x as u64 & ((1 << bits) - 1),
    }
}

/// A result in the element's width; `None` where the operation is undefined or would fault.
fn int_binary(op: IntBinary, x: i64, y: i64, elem: Elem) -> Option<Literal> {
    let (ux, uy) = (unsigned(x, elem), unsigned(y, elem));
    let in_width = |shift: u64| shift < u64::from(elem.bits());
    let result = match op {
        IntBinary::Add => x.wrapping_add(y),
        IntBinary::Sub => x.wrapping_sub(y),
        IntBinary::Mul => x.wrapping_mul(y),
        IntBinary::DivS if y != 0 && y != -1 => x / y,
        IntBinary::RemS if y != 0 && y != -1 => x % y,
        IntBinary::DivU if uy != 0 => (ux / uy) as i64,
        IntBinary::RemU if uy != 0 => (ux % uy) as i64,
        IntBinary::DivS | IntBinary::RemS | IntBinary::DivU | IntBinary::RemU => return None,
        IntBinary::And => x & y,
        IntBinary::Or => x | y,
        IntBinary::Xor => x ^ y,
        IntBinary::Shl if in_width(uy) => x << uy,
        IntBinary::ShrS if in_width(uy) => x >> uy,
        IntBinary::ShrU if in_width(uy) => (ux >> uy) as i64,
        IntBinary::Shl | IntBinary::ShrS | IntBinary::ShrU => return None,
        // A true i1 is −1 to signed operations.
        IntBinary::MinS if elem == Elem::I1 => x.max(y),
        IntBinary::MaxS if elem == Elem::I1 => x.min(y),
        IntBinary::MinS => x.min(y),
        IntBinary::MaxS => x.max(y),
        IntBinary::MinU => {
            if ux <= uy {
                x
            } else {
                y
            }
        }
        IntBinary::MaxU => {
            if ux >= uy {
                x
            } else {
                y
            }
        }
        IntBinary::MulHiU => ((u128::from(ux) * u128::from(uy)) >> elem.bits()) as i64,
    };
    // Wrapped results are left to run time, where they are reported if they reach an address.
    let wrapped = wrap(result, elem);
    let overflows = match op {
        IntBinary::Add => x.checked_add(y).is_none_or(|r| wrap(r, elem) != r),
        IntBinary::Sub => x.checked_sub(y).is_none_or(|r| wrap(r, elem) != r),
        IntBinary::Mul => x.checked_mul(y).is_none_or(|r| wrap(r, elem) != r),
        IntBinary::Shl => i128::from(x) << uy != i128::from(wrapped),
        IntBinary::DivS | IntBinary::RemS | IntBinary::ShrS => wrapped != result,
        IntBinary::MinS | IntBinary::MinU | IntBinary::MaxS | IntBinary::MaxU | IntBinary::MulHiU => false,
        IntBinary::And | IntBinary::Or | IntBinary::Xor | IntBinary::DivU | IntBinary::RemU | IntBinary::ShrU => false,
    };
    (!overflows).then_some(Literal::Int(wrapped))
}

/// Whether `x op y` is `x` for every x.
fn neutral_right(op: IntBinary, y: i64, elem: Elem) -> bool {
    match op {
        IntBinary::Add | IntBinary::Sub | IntBinary::Shl => y == 0,
        IntBinary::Mul | IntBinary::DivS | IntBinary::DivU => y == 1,
        IntBinary::Or | IntBinary::Xor => elem == Elem::I1 && y == 0,
        IntBinary::And => elem == Elem::I1 && y == 1,
        IntBinary::ShrS | IntBinary::ShrU | IntBinary::MulHiU => false,
        IntBinary::RemS | IntBinary::RemU | IntBinary::MinS | IntBinary::MinU | IntBinary::MaxS | IntBinary::MaxU => false,
    }
}

/// Whether `x op y` is `y` for every y.
fn neutral_left(op: IntBinary, x: i64, elem: Elem) -> bool {
    match op {
        IntBinary::Add | IntBinary::Mul | IntBinary::Or | IntBinary::Xor | IntBinary::And => neutral_right(op, x, elem),
        IntBinary::Sub
        | IntBinary::DivS
        | IntBinary::DivU
        | IntBinary::RemS
        | IntBinary::RemU
        | IntBinary::Shl
        | IntBinary::ShrS
        | IntBinary::ShrU
        | IntBinary::MinS
        | IntBinary::MinU
        | IntBinary::MaxS
        | IntBinary::MaxU
        | IntBinary::MulHiU => false,
    }
}

fn compare(predicate: IntPredicate, x: i64, y: i64, elem: Elem) -> bool {
    let (ux, uy) = (unsigned(x, elem), unsigned(y, elem));
    // A true i1 is −1 to signed predicates.
    let (x, y) = if elem == Elem::I1 { (-x, -y) } else { (x, y) };
    match predicate {
        IntPredicate::Eq => x == y,
        IntPredicate::Ne => x != y,
        IntPredicate::LtS => x < y,
        IntPredicate::LeS => x <= y,
        IntPredicate::GtS => x > y,
        IntPredicate::GeS => x >= y,
        IntPredicate::LtU => ux < uy,
        IntPredicate::LeU => ux <= uy,
        IntPredicate::GtU => ux > uy,
        IntPredicate::GeU => ux >= uy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_are_exact_or_not_made() {
        let int = |op, x, y, elem| int_binary(op, x, y, elem);
        assert_eq!(int(IntBinary::DivS, -7, 2, Elem::I32), Some(Literal::Int(-3)));
        assert_eq!(int(IntBinary::RemS, -7, 2, Elem::I32), Some(Literal::Int(-1)));
        assert_eq!(int(IntBinary::DivU, -1, 2, Elem::I8), Some(Literal::Int(127)));
        assert_eq!(int(IntBinary::MaxU, -1, 2, Elem::I32), Some(Literal::Int(-1)));
        assert_eq!(int(IntBinary::Add, i64::from(i32::MAX), 1, Elem::I32), None);
        assert_eq!(int(IntBinary::Mul, i64::MAX, 2, Elem::I64), None);
        assert_eq!(int(IntBinary::DivS, 1, 0, Elem::I32), None);
        assert_eq!(int(IntBinary::Shl, 1, 32, Elem::I32), None);
        assert_eq!(int(IntBinary::Xor, 1, 1, Elem::I1), Some(Literal::Int(0)));
        assert!(neutral_right(IntBinary::And, 1, Elem::I1) && !neutral_right(IntBinary::And, -1, Elem::I32));
        assert_eq!(int(IntBinary::MinS, 1, 0, Elem::I1), Some(Literal::Int(1)), "true is -1");
        assert_eq!(int(IntBinary::Add, 1, 1, Elem::I1), None);
        assert_eq!([int(IntBinary::Shl, 1, 31, Elem::I32), int(IntBinary::Shl, 3, 63, Elem::I64)], [None, None]);
        assert!(compare(IntPredicate::GtU, -1, 5, Elem::I32));
        assert!(compare(IntPredicate::LtS, 1, 0, Elem::I1) && compare(IntPredicate::GtU, 1, 0, Elem::I1));
    }
}
