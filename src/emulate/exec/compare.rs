//! Comparisons and `select`.
//!
//! Affine lanes against a scalar give a range of lanes when the affected lanes are one run.
//! `select` passes the chosen lane's taint on and drops the other's.

use std::sync::Arc;

use super::elementwise::{Side, common_layout, map2, reorder, united_taints};
use super::float::{scalar as float_scalar, side_f32, side_f64};
use super::int::{scalar as int_scalar, wrapped};
use crate::emulate::value::int::unsigned;
use crate::emulate::value::{
    Cell, FloatBlock, Floats, IntBlock, IntLanes, Layout, MaskBlock, Pointer, Pool, PtrBlock, Scalar, misfit, taint,
};
use crate::kernel::ir::{Elem, FloatPredicate, IntPredicate};

pub fn int_lane(predicate: IntPredicate, elem: Elem, x: i64, y: i64) -> bool {
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

pub fn ints(predicate: IntPredicate, elem: Elem, a: &Cell, b: &Cell, pool: &mut Pool) -> Cell {
    let (a, b) = (wrapped(a, elem), wrapped(b, elem));
    let Some(layout) = common_layout(&[&a, &b]) else {
        let (x, y) = (int_scalar(&a), int_scalar(&b));
        return Cell::Int(Scalar { value: int_lane(predicate, elem, x.value, y.value).into(), taint: x.taint | y.taint });
    };
    if pool.lazy
        && let (Cell::Ints(block), Cell::Int(s)) = (&a, &b)
        && let Some(mask) = affine_range(predicate, elem, block, *s)
    {
        return Cell::Mask(mask);
    }
    let taints = united_taints(&[&a, &b], &layout).and_then(taint::seal);
    let mut out = pool.u8(layout.stored());
    match (&a, &b) {
        (Cell::Mask(_), _) | (_, Cell::Mask(_)) => {
            let side = |c: &Cell| match c {
                Cell::Mask(m) => Side::Many(reorder(m.values(), &m.layout, &layout)).owned(),
                other => Side::One((int_scalar(other).value & 1) as u8),
            };
            map2(&side(&a), &side(&b), &mut out, |x, y| int_lane(predicate, elem, x.into(), y.into()).into());
        }
        _ => {
            let side = |c: &Cell| match c {
                Cell::Ints(block) => Side::Many(reorder(block.values(), &block.layout, &layout)).owned(),
                other => Side::One(int_scalar(other).value),
            };
            let (x, y) = (side(&a), side(&b));
            match predicate {
                IntPredicate::Eq => map2(&x, &y, &mut out, |x, y| u8::from(x == y)),
                IntPredicate::Ne => map2(&x, &y, &mut out, |x, y| u8::from(x != y)),
                IntPredicate::LtS => map2(&x, &y, &mut out, |x, y| u8::from(x < y)),
                IntPredicate::LeS => map2(&x, &y, &mut out, |x, y| u8::from(x <= y)),
                IntPredicate::GtS => map2(&x, &y, &mut out, |x, y| u8::from(x > y)),
                IntPredicate::GeS => map2(&x, &y, &mut out, |x, y| u8::from(x >= y)),
                IntPredicate::LtU | IntPredicate::LeU | IntPredicate::GtU | IntPredicate::GeU => {
                    map2(&x, &y, &mut out, |x, y| u8::from(int_lane(predicate, elem, x, y)));
                }
            }
        }
    }
    Cell::Mask(MaskBlock::dense(layout, out, taints))
}

impl<T: Copy> Side<'_, T> {
    fn owned(self) -> Side<'static, T> {
        match self {
            Side::One(v) => Side::One(v),
            Side::Many(v) => Side::Many(std::borrow::Cow::Owned(v.into_owned())),
            Side::Strided { values, from, to } => {
                Side::Many(std::borrow::Cow::Owned(reorder(values.into(), &from, &to).into_owned()))
            }
        }
    }
}

/// Lanes of `base + step·i` that compare true with a scalar, when they are one run.
fn affine_range(predicate: IntPredicate, elem: Elem, block: &IntBlock, s: Scalar<i64>) -> Option<MaskBlock> {
    let n = block.layout.size(0) as i64;
    if s.taint != 0 || block.taints.is_some() || block.layout.rank() != 1 {
        return None;
    }
    if block.lo >= 0 && s.value >= 0
        || !matches!(predicate, IntPredicate::LtU | IntPredicate::LeU | IntPredicate::GtU | IntPredicate::GeU)
    {
        // The range alone may decide.
        let (all, none) = match predicate {
            IntPredicate::LtS | IntPredicate::LtU => (block.hi < s.value, block.lo >= s.value),
            IntPredicate::LeS | IntPredicate::LeU => (block.hi <= s.value, block.lo > s.value),
            IntPredicate::GtS | IntPredicate::GtU => (block.lo > s.value, block.hi <= s.value),
            IntPredicate::GeS | IntPredicate::GeU => (block.lo >= s.value, block.hi < s.value),
            IntPredicate::Eq | IntPredicate::Ne => (false, false),
        };
        if all || none {
            return Some(MaskBlock::range(n as usize, 0, if all { n as usize } else { 0 }));
        }
    }
    let IntLanes::Affine { base, step } = block.lanes else { return None };
    if step == 0 {
        let holds = int_lane(predicate, elem, base, s.value);
        return Some(MaskBlock::range(n as usize, 0, if holds { n as usize } else { 0 }));
    }
    // Monotone lanes: the number of leading ones with base + step·i < v (step > 0), or > v (step < 0).
    let (base, step) = (i128::from(base), i128::from(step));
    let leading = |v: i128| {
        let first = if step > 0 { (v - base + step - 1).div_euclid(step) } else { (base - v - step - 1).div_euclid(-step) };
        first.clamp(0, n.into()) as usize
    };
    let v = i128::from(s.value);
    let (from, to) = match (predicate, step > 0) {
        (IntPredicate::LtS, true) => (0, leading(v)),
        (IntPredicate::LeS, true) => (0, leading(v + 1)),
        (IntPredicate::GeS, true) => (leading(v), n as usize),
        (IntPredicate::GtS, true) => (leading(v + 1), n as usize),
        (IntPredicate::GtS, false) => (0, leading(v)),
        (IntPredicate::GeS, false) => (0, leading(v - 1)),
        (IntPredicate::LeS, false) => (leading(v), n as usize),
        (IntPredicate::LtS, false) => (leading(v - 1), n as usize),
        (IntPredicate::Eq | IntPredicate::Ne, _) => return None,
        (IntPredicate::LtU | IntPredicate::LeU | IntPredicate::GtU | IntPredicate::GeU, _) => return None,
    };
    Some(MaskBlock::range(n as usize, from, to))
}

#[inline(always)]
fn float_lane(predicate: FloatPredicate, x: f64, y: f64) -> bool {
    match predicate {
        FloatPredicate::Oeq => x == y,
        FloatPredicate::One => (x < y) | (x > y),
        FloatPredicate::Olt => x < y,
        FloatPredicate::Ole => x <= y,
        FloatPredicate::Ogt => x > y,
        FloatPredicate::Oge => x >= y,
        FloatPredicate::Une => x != y,
    }
}

pub fn floats(predicate: FloatPredicate, elem: Elem, a: &Cell, b: &Cell, pool: &mut Pool) -> Cell {
    let Some(layout) = common_layout(&[a, b]) else {
        let (x, y) = (float_scalar(a), float_scalar(b));
        return Cell::Int(Scalar { value: float_lane(predicate, x.value, y.value).into(), taint: x.taint | y.taint });
    };
    let taints = united_taints(&[a, b], &layout).and_then(taint::seal);
    let mut out = pool.u8(layout.stored());
    if elem == Elem::F64 {
        map2(&side_f64(a, &layout), &side_f64(b, &layout), &mut out, |x, y| float_lane(predicate, x, y).into());
    } else {
        let (x, y) = (side_f32(a, &layout), side_f32(b, &layout));
        match predicate {
            FloatPredicate::Oeq => map2(&x, &y, &mut out, |x, y| u8::from(x == y)),
            FloatPredicate::One => map2(&x, &y, &mut out, |x, y| u8::from((x < y) | (x > y))),
            FloatPredicate::Olt => map2(&x, &y, &mut out, |x, y| u8::from(x < y)),
            FloatPredicate::Ole => map2(&x, &y, &mut out, |x, y| u8::from(x <= y)),
            FloatPredicate::Ogt => map2(&x, &y, &mut out, |x, y| u8::from(x > y)),
            FloatPredicate::Oge => map2(&x, &y, &mut out, |x, y| u8::from(x >= y)),
            FloatPredicate::Une => map2(&x, &y, &mut out, |x, y| u8::from(x != y)),
        }
    }
    Cell::Mask(MaskBlock::dense(layout, out, taints))
}

/// `condition ? a : b`. `Err` names what is not supported.
pub fn select(condition: &Cell, a: &Cell, b: &Cell, elem: Elem, pool: &mut Pool) -> Result<Cell, &'static str> {
    if let Cell::Int(c) = condition {
        let chosen = if c.value != 0 { a } else { b };
        return Ok(tainted(chosen, c.taint));
    }
    let layout = common_layout(&[condition, a, b]).expect("invariant: a condition that is no scalar is a block");
    let Cell::Mask(mask) = condition else { misfit(condition, "a mask") };
    let c = reorder(mask.values(), &mask.layout, &layout);
    let taints = chosen_taints(condition, &c, a, b, &layout);
    let n = layout.stored();
    Ok(match elem {
        Elem::F64 => {
            let mut out = pool.f64(n);
            choose(&c, &side_f64(a, &layout), &side_f64(b, &layout), &mut out);
            Cell::Floats(FloatBlock { layout, lanes: Floats::F64(Arc::new(out)), taints })
        }
        Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz | Elem::F16 | Elem::BF16 | Elem::F32 => {
            let mut out = pool.f32(n);
            choose(&c, &side_f32(a, &layout), &side_f32(b, &layout), &mut out);
            Cell::Floats(FloatBlock { layout, lanes: Floats::F32(Arc::new(out)), taints })
        }
        Elem::I1 => {
            let side = |cell: &Cell| match cell {
                Cell::Mask(m) => Side::Many(reorder(m.values(), &m.layout, &layout)).owned(),
                other => Side::One((int_scalar(other).value & 1) as u8),
            };
            let mut out = pool.u8(n);
            choose(&c, &side(a), &side(b), &mut out);
            Cell::Mask(MaskBlock::dense(layout, out, taints))
        }
        Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 => {
            let (a, b) = (wrapped(a, elem), wrapped(b, elem));
            let taints = chosen_taints(condition, &c, &a, &b, &layout);
            Cell::Ints(select_ints(&c, &a, &b, layout, taints, pool))
        }
        Elem::Ptr(_) => {
            let (arg, other) = (provenance(a), provenance(b));
            if arg != other {
                return Err("a select between pointers into two tensors");
            }
            Cell::Ptrs(PtrBlock { arg, offsets: select_ints(&c, &offsets(a), &offsets(b), layout, taints, pool) })
        }
    })
}

fn select_ints(c: &[u8], a: &Cell, b: &Cell, layout: Layout, taints: Option<Arc<Vec<u8>>>, pool: &mut Pool) -> IntBlock {
    let side = |cell: &Cell| match cell {
        Cell::Ints(block) => Side::Many(reorder(block.values(), &block.layout, &layout)).owned(),
        other => Side::One(int_scalar(other).value),
    };
    let mut out = pool.i64(layout.stored());
    choose(c, &side(a), &side(b), &mut out);
    IntBlock::renormalised(layout, out, taints)
}

fn provenance(cell: &Cell) -> u32 {
    match cell {
        Cell::Ptr(p) => p.arg,
        Cell::Ptrs(block) => block.arg,
        Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ints(_) | Cell::Mask(_) | Cell::Floats(_) => {
            misfit(cell, "a pointer")
        }
    }
}

fn offsets(cell: &Cell) -> Cell {
    match cell {
        Cell::Ptr(p) => Cell::Int(Scalar { value: p.offset, taint: p.taint }),
        Cell::Ptrs(block) => Cell::Ints(block.offsets.clone()),
        Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ints(_) | Cell::Mask(_) | Cell::Floats(_) => {
            misfit(cell, "a pointer")
        }
    }
}

fn choose<T: Copy>(c: &[u8], a: &Side<'_, T>, b: &Side<'_, T>, out: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    if crate::emulate::simd::has_avx2() {
        // SAFETY: the processor has AVX2.
        return unsafe { choose_avx2(c, a, b, out) };
    }
    choose_body(c, a, b, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn choose_avx2<T: Copy>(c: &[u8], a: &Side<'_, T>, b: &Side<'_, T>, out: &mut [T]) {
    choose_body(c, a, b, out);
}

#[inline(always)]
fn choose_body<T: Copy>(c: &[u8], a: &Side<'_, T>, b: &Side<'_, T>, out: &mut [T]) {
    match (a, b) {
        (Side::Strided { .. }, _) | (_, Side::Strided { .. }) => {
            unreachable!("invariant: operands of a select are in one layout")
        }
        (Side::Many(a), Side::Many(b)) => {
            for (((o, &c), &x), &y) in out.iter_mut().zip(c).zip(a.iter()).zip(b.iter()) {
                *o = if c != 0 { x } else { y };
            }
        }
        (Side::One(x), Side::Many(b)) => {
            let x = *x;
            for ((o, &c), &y) in out.iter_mut().zip(c).zip(b.iter()) {
                *o = if c != 0 { x } else { y };
            }
        }
        (Side::Many(a), Side::One(y)) => {
            let y = *y;
            for ((o, &c), &x) in out.iter_mut().zip(c).zip(a.iter()) {
                *o = if c != 0 { x } else { y };
            }
        }
        (Side::One(x), Side::One(y)) => {
            for (o, &c) in out.iter_mut().zip(c) {
                *o = if c != 0 { *x } else { *y };
            }
        }
    }
}

fn chosen_taints(condition: &Cell, c: &[u8], a: &Cell, b: &Cell, layout: &Layout) -> Option<Arc<Vec<u8>>> {
    let of = |cell: &Cell| united_taints(&[cell], layout);
    let (tc, ta, tb) = (of(condition), of(a), of(b));
    if tc.is_none() && ta.is_none() && tb.is_none() {
        return None;
    }
    let flag = |t: &Option<Vec<u8>>, i: usize| t.as_ref().map_or(0, |t| t[i]);
    taint::seal((0..c.len()).map(|i| flag(&tc, i) | if c[i] != 0 { flag(&ta, i) } else { flag(&tb, i) }).collect())
}

/// The cell with a taint added to all of its lanes.
pub fn tainted(cell: &Cell, flag: u8) -> Cell {
    if flag == 0 {
        return cell.clone();
    }
    let spread = |taints: &Option<Arc<Vec<u8>>>, n: usize| {
        let mut all = taints.as_deref().cloned().unwrap_or_else(|| vec![0; n]);
        all.iter_mut().for_each(|t| *t |= flag);
        Some(Arc::new(all))
    };
    match cell {
        Cell::Empty => Cell::Empty,
        Cell::Int(s) => Cell::Int(Scalar { taint: s.taint | flag, ..*s }),
        Cell::Float(s) => Cell::Float(Scalar { taint: s.taint | flag, ..*s }),
        Cell::Ptr(p) => Cell::Ptr(Pointer { taint: p.taint | flag, ..*p }),
        Cell::Ints(b) => Cell::Ints(IntBlock { taints: spread(&b.taints, b.layout.stored()), ..b.clone() }),
        Cell::Mask(b) => Cell::Mask(MaskBlock { taints: spread(&b.taints, b.layout.stored()), ..b.clone() }),
        Cell::Floats(b) => Cell::Floats(FloatBlock { taints: spread(&b.taints, b.layout.stored()), ..b.clone() }),
        Cell::Ptrs(b) => Cell::Ptrs(PtrBlock {
            arg: b.arg,
            offsets: IntBlock { taints: spread(&b.offsets.taints, b.offsets.layout.stored()), ..b.offsets.clone() },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affine_ranges_equal_lane_by_lane() {
        let pool = &mut Pool::new(true);
        let predicates =
            [IntPredicate::LtS, IntPredicate::LeS, IntPredicate::GtS, IntPredicate::GeS, IntPredicate::Eq, IntPredicate::LtU];
        for step in [-3i64, -1, 0, 1, 2, 5] {
            for base in [-7i64, 0, 3] {
                for value in -20..20 {
                    for predicate in predicates {
                        let block = Cell::Ints(IntBlock::affine(6, base, step));
                        let lazy = ints(predicate, Elem::I32, &block, &Cell::int(value), pool);
                        let Cell::Mask(mask) = lazy else { panic!("no mask") };
                        let want: Vec<u8> =
                            (0..6).map(|i| int_lane(predicate, Elem::I32, base + step * i, value).into()).collect();
                        assert_eq!(mask.values().as_ref(), want, "{base} + {step}·i {predicate:?} {value}");
                    }
                }
            }
        }
    }

    #[test]
    fn select_drops_the_other_lanes_taint() {
        let pool = &mut Pool::default();
        let mask = Cell::Mask(MaskBlock::range(2, 0, 1));
        let poisoned = Cell::f32_block(Layout::line(2), vec![1.0, 2.0], Some(Arc::new(vec![0, taint::MASKED])));
        let clean = select(&mask, &poisoned, &Cell::float(9.0), Elem::F32, pool).unwrap();
        assert!(clean.taints().is_none());
        let kept = select(&mask, &Cell::float(9.0), &poisoned, Elem::F32, pool).unwrap();
        assert_eq!(kept.taints().as_deref().unwrap().as_slice(), [0, taint::MASKED]);
    }
}
