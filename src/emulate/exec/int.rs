//! Integer arithmetic on cells.
//!
//! `+ − ·` are exact in i64 and may leave the type's range; every other operation first wraps its
//! operands into the type (see [`IntBlock::wrapped`]). Affine lanes stay affine under `+ −`, under
//! `·` by a scalar, and wherever a one-axis result has equal steps again. Division truncates; a
//! divisor of zero gives a poisoned lane, so that a lane which is masked where it matters raises no
//! alarm.

use super::elementwise::{Side, common_layout, map2, reorder, united_taints};
use super::mask;
use crate::emulate::value::int::{bounds, unsigned, wrap};
use crate::emulate::value::{Cell, IntBlock, IntLanes, Layout, Pool, Scalar, misfit, taint};
use crate::kernel::ir::{Elem, IntBinary};

/// Beyond this, sums and products of operands are wrapped first, so that i64 never overflows.
const EXACT: i128 = 1 << 62;

pub fn binary(op: IntBinary, elem: Elem, a: &Cell, b: &Cell, pool: &mut Pool) -> Cell {
    if elem == Elem::I1 && (a.layout().is_some() || b.layout().is_some()) {
        return mask::binary(op, a, b);
    }
    match Ring::of(op) {
        Some(exact) if elem != Elem::I1 => ring(op, exact, elem, a, b, pool),
        Some(_) | None => normalised(op, elem, &wrapped(a, elem), &wrapped(b, elem), pool),
    }
}

/// The operations that are exact in i64 before they are wrapped.
#[derive(Clone, Copy)]
enum Ring {
    Add,
    Sub,
    Mul,
}

impl Ring {
    fn of(op: IntBinary) -> Option<Ring> {
        match op {
            IntBinary::Add => Some(Ring::Add),
            IntBinary::Sub => Some(Ring::Sub),
            IntBinary::Mul => Some(Ring::Mul),
            IntBinary::DivS | IntBinary::DivU | IntBinary::RemS | IntBinary::RemU => None,
            IntBinary::And | IntBinary::Or | IntBinary::Xor | IntBinary::Shl | IntBinary::ShrS | IntBinary::ShrU => None,
            IntBinary::MinS | IntBinary::MinU | IntBinary::MaxS | IntBinary::MaxU | IntBinary::MulHiU => None,
        }
    }
}

/// The cell with every lane inside the type's range; cells of other types as they are.
pub fn wrapped(cell: &Cell, elem: Elem) -> Cell {
    match cell {
        Cell::Int(s) => {
            let value = wrap(s.value, elem);
            let flag = if value == s.value { 0 } else { taint::WRAPPED };
            Cell::Int(Scalar { value, taint: s.taint | flag })
        }
        Cell::Ints(block) => Cell::Ints(block.wrapped(elem).into_owned()),
        Cell::Empty | Cell::Float(_) | Cell::Ptr(_) | Cell::Mask(_) | Cell::Floats(_) | Cell::Ptrs(_) => cell.clone(),
    }
}

fn hull(cell: &Cell) -> (i128, i128) {
    match cell {
        Cell::Int(s) => (s.value.into(), s.value.into()),
        Cell::Ints(block) => (block.lo.into(), block.hi.into()),
        Cell::Empty | Cell::Float(_) | Cell::Ptr(_) | Cell::Mask(_) | Cell::Floats(_) | Cell::Ptrs(_) => misfit(cell, "integers"),
    }
}

fn ring(op: IntBinary, ring: Ring, elem: Elem, a: &Cell, b: &Cell, pool: &mut Pool) -> Cell {
    let ((alo, ahi), (blo, bhi)) = (hull(a), hull(b));
    let (lo, hi) = match ring {
        Ring::Add => (alo + blo, ahi + bhi),
        Ring::Sub => (alo - bhi, ahi - blo),
        Ring::Mul => {
            let corners = [alo * blo, alo * bhi, ahi * blo, ahi * bhi];
            corners.iter().fold((corners[0], corners[0]), |(l, h), &c| (l.min(c), h.max(c)))
        }
    };
    if lo < -EXACT || hi > EXACT {
        return normalised(op, elem, &wrapped(a, elem), &wrapped(b, elem), pool);
    }
    match (a, b) {
        (Cell::Int(x), Cell::Int(y)) => Cell::Int(Scalar { value: exact(ring, x.value, y.value), taint: x.taint | y.taint }),
        (Cell::Ints(block @ IntBlock { lanes: IntLanes::Affine { base, step }, .. }), Cell::Int(s)) if s.taint == 0 => {
            let (base, step) = match ring {
                Ring::Add => (base + s.value, *step),
                Ring::Sub => (base - s.value, *step),
                Ring::Mul => (base * s.value, step * s.value),
            };
            affine(block, base, step)
        }
        (Cell::Int(s), Cell::Ints(block @ IntBlock { lanes: IntLanes::Affine { base, step }, .. })) if s.taint == 0 => {
            let (base, step) = match ring {
                Ring::Add => (s.value + base, *step),
                Ring::Sub => (s.value - base, -step),
                Ring::Mul => (s.value * base, s.value * step),
            };
            affine(block, base, step)
        }
        // `hull` let nothing but integers pass.
        (_, _) => lanes(ring, a, b, pool),
    }
}

fn affine(like: &IntBlock, base: i64, step: i64) -> Cell {
    let mut block = IntBlock::affine(like.layout.size(0), base, step);
    block.taints = like.taints.clone();
    Cell::Ints(block)
}

#[inline(always)]
fn exact(ring: Ring, x: i64, y: i64) -> i64 {
    match ring {
        Ring::Add => x.wrapping_add(y),
        Ring::Sub => x.wrapping_sub(y),
        Ring::Mul => x.wrapping_mul(y),
    }
}

/// Lane by lane with operands in one layout; a one-axis result is renormalised.
fn lanes(ring: Ring, a: &Cell, b: &Cell, pool: &mut Pool) -> Cell {
    let layout = common_layout(&[a, b]).expect("invariant: one operand is a block");
    let mut out = pool.i64(layout.stored());
    let (left, right) = (side(a, &layout), side(b, &layout));
    match ring {
        Ring::Add => map2(&left, &right, &mut out, |x, y| x.wrapping_add(y)),
        Ring::Sub => map2(&left, &right, &mut out, |x, y| x.wrapping_sub(y)),
        Ring::Mul => map2(&left, &right, &mut out, |x, y| x.wrapping_mul(y)),
    }
    finish(layout, out, united_taints(&[a, b], &layout), pool)
}

fn finish(layout: Layout, lanes: Vec<i64>, taints: Option<Vec<u8>>, pool: &mut Pool) -> Cell {
    let taints = taints.and_then(taint::seal);
    if !pool.lazy {
        return Cell::Ints(IntBlock::dense(layout, lanes, taints));
    }
    Cell::Ints(IntBlock::renormalised(layout, lanes, taints))
}

/// The number that a uniform integer holds.
pub fn scalar(cell: &Cell) -> Scalar<i64> {
    match cell {
        Cell::Int(s) => *s,
        Cell::Empty | Cell::Float(_) | Cell::Ptr(_) | Cell::Ints(_) | Cell::Mask(_) | Cell::Floats(_) | Cell::Ptrs(_) => {
            misfit(cell, "an integer")
        }
    }
}

fn side<'a>(cell: &'a Cell, layout: &Layout) -> Side<'a, i64> {
    match cell {
        Cell::Ints(block) => Side::Many(reorder(block.values(), &block.layout, layout)),
        other => Side::One(scalar(other).value),
    }
}

/// Whether an operation treats its operands as bits: that a lane wrapped means nothing behind it.
pub fn clears_wrap(op: IntBinary) -> bool {
    match op {
        IntBinary::And | IntBinary::Or | IntBinary::Xor | IntBinary::ShrS | IntBinary::ShrU | IntBinary::MulHiU => true,
        IntBinary::Add | IntBinary::Sub | IntBinary::Mul | IntBinary::Shl => false,
        IntBinary::DivS | IntBinary::DivU | IntBinary::RemS | IntBinary::RemU => false,
        IntBinary::MinS | IntBinary::MinU | IntBinary::MaxS | IntBinary::MaxU => false,
    }
}

/// Operations on operands inside the type's range.
fn normalised(op: IntBinary, elem: Elem, a: &Cell, b: &Cell, pool: &mut Pool) -> Cell {
    if pool.lazy
        && let Some(cell) = by_scalar(op, a, b, pool)
    {
        return cell;
    }
    let keep = if clears_wrap(op) { !taint::WRAPPED } else { !0 };
    let Some(layout) = common_layout(&[a, b]) else {
        let (x, y) = (scalar(a), scalar(b));
        let (value, flag) = lane(op, elem, x.value, y.value);
        // A truth value is no bits to be hashed: it is as in a mask, whose lane it may become.
        let taint = if elem == Elem::I1 { mask::united(op, x, y) } else { (x.taint | y.taint) & keep };
        return Cell::Int(Scalar { value, taint: taint | flag });
    };
    let mut out = pool.i64(layout.stored());
    let (left, right) = (side(a, &layout), side(b, &layout));
    let mut taints = united_taints(&[a, b], &layout);
    if let Some(taints) = &mut taints {
        taints.iter_mut().for_each(|t| *t &= keep);
    }
    match op {
        IntBinary::And => map2(&left, &right, &mut out, |x, y| x & y),
        IntBinary::Or => map2(&left, &right, &mut out, |x, y| x | y),
        IntBinary::Xor => map2(&left, &right, &mut out, |x, y| x ^ y),
        IntBinary::MinS => map2(&left, &right, &mut out, |x, y| x.min(y)),
        IntBinary::MaxS => map2(&left, &right, &mut out, |x, y| x.max(y)),
        IntBinary::MulHiU if elem == Elem::I32 => {
            let high = |x: i64, y: i64| (u64::from(x as u32) * u64::from(y as u32)) >> 32;
            map2(&left, &right, &mut out, |x, y| i64::from(high(x, y) as i32));
        }
        IntBinary::Add
        | IntBinary::Sub
        | IntBinary::Mul
        | IntBinary::DivS
        | IntBinary::DivU
        | IntBinary::RemS
        | IntBinary::RemU
        | IntBinary::Shl
        | IntBinary::ShrS
        | IntBinary::ShrU
        | IntBinary::MinU
        | IntBinary::MaxU
        | IntBinary::MulHiU => {
            let at = |s: &Side<'_, i64>, i: usize| match s {
                Side::One(v) => *v,
                Side::Many(v) => v[i],
                Side::Strided { .. } => unreachable!("invariant: integer operands are brought to one layout"),
            };
            for (i, o) in out.iter_mut().enumerate() {
                let (value, flag) = lane(op, elem, at(&left, i), at(&right, i));
                *o = value;
                if flag != 0 {
                    let n = layout.stored();
                    taints.get_or_insert_with(|| vec![0; n])[i] |= flag;
                }
            }
        }
    }
    finish(layout, out, taints, pool)
}

/// Division of small non-negative lanes by a positive scalar: one multiplication a lane.
/// Exact for dividends and divisors below 2³² (the reciprocal is rounded up to 64 bits).
fn by_scalar(op: IntBinary, a: &Cell, b: &Cell, pool: &mut Pool) -> Option<Cell> {
    let remainder = match op {
        IntBinary::DivS | IntBinary::DivU => false,
        IntBinary::RemS | IntBinary::RemU => true,
        IntBinary::Add | IntBinary::Sub | IntBinary::Mul => return None,
        IntBinary::And | IntBinary::Or | IntBinary::Xor | IntBinary::Shl | IntBinary::ShrS | IntBinary::ShrU => return None,
        IntBinary::MinS | IntBinary::MinU | IntBinary::MaxS | IntBinary::MaxU | IntBinary::MulHiU => return None,
    };
    let (Cell::Ints(block), Cell::Int(divisor)) = (a, b) else { return None };
    let d = divisor.value;
    if divisor.taint != 0 || d <= 0 || d >= 1 << 32 || block.lo < 0 || block.hi >= 1 << 32 {
        return None;
    }
    if d == 1 || block.hi < d {
        let unchanged = (d == 1) != remainder;
        if unchanged {
            return Some(a.clone());
        }
        if block.taints.is_none() && block.layout.rank() == 1 {
            return Some(Cell::Ints(IntBlock::affine(block.layout.size(0), 0, 0)));
        }
    }
    if d == 1 {
        return None;
    }
    let reciprocal = u64::MAX / d as u64 + 1;
    let quotient = |x: i64| ((x as u128 * reciprocal as u128) >> 64) as i64;
    let mut out = pool.i64(block.layout.stored());
    for (o, &x) in out.iter_mut().zip(block.values().iter()) {
        *o = if remainder { x - quotient(x) * d } else { quotient(x) };
    }
    Some(Cell::Ints(IntBlock::renormalised(block.layout, out, block.taints.clone())))
}

/// One lane: value and new taint.
pub fn lane(op: IntBinary, elem: Elem, x: i64, y: i64) -> (i64, u8) {
    let (ux, uy) = (unsigned(x, elem), unsigned(y, elem));
    let from_unsigned = |u: u64| wrap(u as i64, elem);
    let (min, max) = bounds(elem);
    match op {
        IntBinary::Add => checked(x as i128 + y as i128, elem),
        IntBinary::Sub => checked(x as i128 - y as i128, elem),
        IntBinary::Mul => checked(x as i128 * y as i128, elem),
        IntBinary::DivS | IntBinary::RemS | IntBinary::DivU | IntBinary::RemU if y == 0 => (0, taint::DIVIDED_BY_ZERO),
        IntBinary::DivS if x == min && y == -1 && max != 1 => (min, taint::WRAPPED),
        IntBinary::DivS => (x.wrapping_div(y), 0),
        IntBinary::RemS => (x.wrapping_rem(y), 0),
        IntBinary::DivU => (from_unsigned(ux / uy), 0),
        IntBinary::RemU => (from_unsigned(ux % uy), 0),
        IntBinary::And => (x & y, 0),
        IntBinary::Or => (x | y, 0),
        IntBinary::Xor => (x ^ y, 0),
        IntBinary::Shl | IntBinary::ShrS | IntBinary::ShrU if uy >= u64::from(elem.bits()) => (0, taint::SHIFT),
        IntBinary::Shl => checked((x as i128) << uy, elem),
        IntBinary::ShrS => (x >> uy, 0),
        IntBinary::ShrU => (from_unsigned(ux >> uy), 0),
        // A true i1 is −1 to signed operations.
        IntBinary::MinS => (if elem == Elem::I1 { x.max(y) } else { x.min(y) }, 0),
        IntBinary::MaxS => (if elem == Elem::I1 { x.min(y) } else { x.max(y) }, 0),
        IntBinary::MinU => (if ux <= uy { x } else { y }, 0),
        IntBinary::MaxU => (if ux >= uy { x } else { y }, 0),
        IntBinary::MulHiU => (from_unsigned(((u128::from(ux) * u128::from(uy)) >> elem.bits()) as u64), 0),
    }
}

fn checked(value: i128, elem: Elem) -> (i64, u8) {
    let wrapped = wrap(value as i64, elem);
    (wrapped, if i128::from(wrapped) == value { 0 } else { taint::WRAPPED })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::value::MaskBlock;

    fn ints(values: &[i64]) -> Cell {
        Cell::Ints(IntBlock::dense(Layout::line(values.len()), values.to_vec(), None))
    }

    fn values(cell: &Cell) -> Vec<i64> {
        match cell {
            Cell::Ints(block) => block.values().into_owned(),
            Cell::Int(s) => vec![s.value],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn division_truncates_and_zero_poisons_its_lane() {
        let pool = &mut Pool::default();
        let q = binary(IntBinary::DivS, Elem::I32, &ints(&[-7, 7, 5]), &ints(&[2, -2, 0]), pool);
        assert_eq!(values(&q), [-3, -3, 0]);
        assert_eq!(q.taints().as_deref().unwrap().as_slice(), [0, 0, taint::DIVIDED_BY_ZERO]);
        let r = binary(IntBinary::RemS, Elem::I32, &ints(&[-7, 7]), &Cell::int(2), pool);
        assert_eq!(values(&r), [-1, 1]);
    }

    #[test]
    fn masks_and_single_flags_agree() {
        use IntBinary::*;
        let pool = &mut Pool::default();
        let ops = [Add, Sub, Mul, DivS, DivU, RemS, RemU, And, Or, Xor, Shl, ShrS, ShrU, MinS, MinU, MaxS, MaxU];
        for op in ops {
            for (x, y) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let mask = Cell::Mask(MaskBlock::dense(Layout::line(2), vec![x, x], None));
                let lanes = binary(op, Elem::I1, &mask, &Cell::int(y), pool);
                let one = binary(op, Elem::I1, &Cell::int(x.into()), &Cell::int(y), pool);
                let Cell::Mask(block) = &lanes else { panic!("{lanes:?}") };
                assert_eq!(i64::from(block.values()[0]), scalar(&one).value, "{op:?} {x} {y}");
                assert_eq!(lanes.taints().as_ref().map_or(0, |t| t[0]), one.scalar_taint(), "{op:?} {x} {y}");
            }
        }
        // Flags, too: a wrapped number that a comparison looked at stays one, and what decides by itself hides it.
        for op in ops {
            for (x, y, flag) in [(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), (0, 1, 0), (1, 0, 0)] {
                let (a, b) = (if flag == 1 { taint::WRAPPED } else { 0 }, if flag == 1 { 0 } else { taint::WRAPPED });
                let seal = |flag: u8| taint::seal(vec![flag; 2]);
                let masks =
                    [(x, a), (y, b)].map(|(v, flag)| Cell::Mask(MaskBlock::dense(Layout::line(2), vec![v; 2], seal(flag))));
                let ones = [(x, a), (y, b)].map(|(v, flag)| Cell::Int(Scalar { value: v.into(), taint: flag }));
                let lanes = binary(op, Elem::I1, &masks[0], &masks[1], pool);
                let one = binary(op, Elem::I1, &ones[0], &ones[1], pool);
                assert_eq!(lanes.taints().as_ref().map_or(0, |t| t[0]), one.scalar_taint(), "{op:?} {x} {y} {flag}");
            }
        }
        let by_zero = binary(DivU, Elem::I1, &Cell::Mask(MaskBlock::range(2, 0, 1)), &Cell::int(0), pool);
        assert_eq!(by_zero.taints().as_deref().unwrap().as_slice(), [taint::DIVIDED_BY_ZERO; 2]);
        assert_eq!(values(&binary(MinS, Elem::I1, &Cell::int(1), &Cell::int(0), pool)), [1], "true is -1");
    }

    #[test]
    fn reciprocal_division_is_exact() {
        let pool = &mut Pool::new(true);
        for d in [2i64, 3, 7, 49, 3136, 65535, 4_000_000_007] {
            let xs = [0, 1, d - 1, d, d + 1, 2 * d - 1, 2 * d, (1 << 32) - 1].map(|x: i64| x.min((1 << 32) - 1));
            let q = binary(IntBinary::DivS, Elem::I64, &ints(&xs), &Cell::int(d), pool);
            let r = binary(IntBinary::RemS, Elem::I64, &ints(&xs), &Cell::int(d), pool);
            assert_eq!(values(&q), xs.map(|x| x / d));
            assert_eq!(values(&r), xs.map(|x| x % d));
        }
    }

    #[test]
    fn sums_are_exact_until_something_else_uses_them() {
        let pool = &mut Pool::default();
        let big = Cell::int(i64::from(i32::MAX));
        let sum = binary(IntBinary::Add, Elem::I32, &big, &big, pool);
        let back = binary(IntBinary::Sub, Elem::I32, &sum, &big, pool);
        let fine = binary(IntBinary::DivS, Elem::I32, &back, &Cell::int(1), pool);
        assert_eq!(fine.scalar_taint(), 0);
        let used = binary(IntBinary::DivS, Elem::I32, &sum, &Cell::int(2), pool);
        assert_eq!((values(&used)[0], used.scalar_taint()), (-1, taint::WRAPPED));
    }

    #[test]
    fn affine_lanes_stay_affine() {
        let pool = &mut Pool::default();
        let range = Cell::Ints(IntBlock::affine(8, 0, 1));
        let scaled = binary(IntBinary::Mul, Elem::I32, &range, &Cell::int(-3), pool);
        let shifted = binary(IntBinary::Sub, Elem::I32, &Cell::int(10), &scaled, pool);
        let Cell::Ints(block) = &shifted else { panic!("not a block") };
        assert!(matches!(block.lanes, IntLanes::Affine { base: 10, step: 3 }));
    }
}
