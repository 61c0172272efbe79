//! Float arithmetic on cells: f32 and f64 as IEEE has it; f16 and bf16 in f32, rounded after each
//! operation (for `+ − · /` and `sqrt` that equals one rounding, as 24 ≥ 2·11 + 2 bits).
//!
//! `exp` and `exp2` of f32 are our own (`simd::exp`, below 1 ulp); the other functions are libm's,
//! computed in f64 for f32 lanes and so correctly rounded but for rare ties.

use std::sync::Arc;

use super::elementwise::{Side, common_layout, map1, map2, reorder, united_taints};
use crate::emulate::simd::exp;
use crate::emulate::value::round::{round_lanes, round_scalar};
use crate::emulate::value::{Cell, FloatBlock, Floats, Layout, Pool, Scalar, misfit, taint};
use crate::kernel::ir::{Elem, FloatBinary, FloatUnary};

macro_rules! apply {
    ($op:expr, $ty:ident, $go:ident) => {
        match $op {
            FloatBinary::Add => $go!(|x: $ty, y: $ty| x + y),
            FloatBinary::Sub => $go!(|x: $ty, y: $ty| x - y),
            FloatBinary::Mul => $go!(|x: $ty, y: $ty| x * y),
            FloatBinary::Div => $go!(|x: $ty, y: $ty| x / y),
            FloatBinary::Rem => $go!(|x: $ty, y: $ty| x % y),
            FloatBinary::MinNum => $go!(|x: $ty, y: $ty| if x < y || y.is_nan() { x } else { y }),
            FloatBinary::MaxNum => $go!(|x: $ty, y: $ty| if x > y || y.is_nan() { x } else { y }),
            FloatBinary::Minimum => $go!(|x: $ty, y: $ty| if x < y || x.is_nan() { x } else { y }),
            FloatBinary::Maximum => $go!(|x: $ty, y: $ty| if x > y || x.is_nan() { x } else { y }),
        }
    };
}

/// Two f32 values.
pub fn combine_f32(op: FloatBinary, x: f32, y: f32) -> f32 {
    macro_rules! one {
        ($f:expr) => {
            ($f)(x, y)
        };
    }
    apply!(op, f32, one)
}

pub fn combine_f64(op: FloatBinary, x: f64, y: f64) -> f64 {
    macro_rules! one {
        ($f:expr) => {
            ($f)(x, y)
        };
    }
    apply!(op, f64, one)
}

/// `out[i] = a[i] op b[i]` on f32 lanes.
pub fn combine_lanes_f32(op: FloatBinary, a: &Side<'_, f32>, b: &Side<'_, f32>, out: &mut [f32]) {
    macro_rules! many {
        ($f:expr) => {
            map2(a, b, out, $f)
        };
    }
    apply!(op, f32, many);
}

/// `out[i] = a[i] op b[i]` on f64 lanes.
pub fn combine_lanes_f64(op: FloatBinary, a: &Side<'_, f64>, b: &Side<'_, f64>, out: &mut [f64]) {
    macro_rules! many {
        ($f:expr) => {
            map2(a, b, out, $f)
        };
    }
    apply!(op, f64, many);
}

pub fn binary(op: FloatBinary, elem: Elem, a: &Cell, b: &Cell, pool: &mut Pool) -> Cell {
    let Some(layout) = common_layout(&[a, b]) else {
        let (x, y) = (scalar(a), scalar(b));
        let value = if elem == Elem::F64 {
            combine_f64(op, x.value, y.value)
        } else {
            round_scalar(elem, f64::from(combine_f32(op, x.value as f32, y.value as f32)))
        };
        return Cell::Float(Scalar { value, taint: x.taint | y.taint });
    };
    let taints = united_taints(&[a, b], &layout).and_then(taint::seal);
    let lanes = if elem == Elem::F64 {
        let mut out = pool.f64(layout.stored());
        combine_lanes_f64(op, &side_f64(a, &layout), &side_f64(b, &layout), &mut out);
        Floats::F64(Arc::new(out))
    } else {
        let mut out = pool.f32(layout.stored());
        combine_lanes_f32(op, &lines_f32(a, &layout), &lines_f32(b, &layout), &mut out);
        round_lanes(elem, &mut out);
        Floats::F32(Arc::new(out))
    };
    Cell::Floats(FloatBlock { layout, lanes, taints })
}

pub fn unary(f: FloatUnary, elem: Elem, a: &Cell, pool: &mut Pool) -> Cell {
    match a {
        Cell::Floats(block) => {
            let lanes = match &block.lanes {
                Floats::F32(lanes) => {
                    let mut out = pool.f32(lanes.len());
                    unary_f32(f, lanes, &mut out);
                    round_lanes(elem, &mut out);
                    Floats::F32(Arc::new(out))
                }
                Floats::F64(lanes) => {
                    let mut out = pool.f64(lanes.len());
                    map1(lanes, &mut out, |x| unary_f64(f, x));
                    Floats::F64(Arc::new(out))
                }
            };
            Cell::Floats(FloatBlock { layout: block.layout, lanes, taints: block.taints.clone() })
        }
        other => {
            let x = scalar(other);
            let value = if elem == Elem::F64 {
                unary_f64(f, x.value)
            } else {
                let mut out = [0f32];
                unary_f32(f, &[x.value as f32], &mut out);
                round_scalar(elem, f64::from(out[0]))
            };
            Cell::Float(Scalar { value, taint: x.taint })
        }
    }
}

fn unary_f32(f: FloatUnary, input: &[f32], out: &mut [f32]) {
    let through = |out: &mut [f32], g: fn(f64) -> f64| {
        for (o, &x) in out.iter_mut().zip(input) {
            *o = g(f64::from(x)) as f32;
        }
    };
    match f {
        FloatUnary::Neg => map1(input, out, |x| -x),
        FloatUnary::Abs => map1(input, out, f32::abs),
        FloatUnary::Exp => exp::exp_slice(input, out),
        FloatUnary::Exp2 => exp::exp2_slice(input, out),
        FloatUnary::Sqrt | FloatUnary::SqrtRn => map1(input, out, f32::sqrt),
        FloatUnary::Rsqrt => map1(input, out, |x| (1.0 / f64::from(x).sqrt()) as f32),
        FloatUnary::Log => through(out, f64::ln),
        FloatUnary::Log2 => through(out, f64::log2),
        FloatUnary::Sin => through(out, f64::sin),
        FloatUnary::Cos => through(out, f64::cos),
        FloatUnary::Erf => through(out, libm::erf),
        FloatUnary::Floor => map1(input, out, f32::floor),
        FloatUnary::Ceil => map1(input, out, f32::ceil),
    }
}

pub fn unary_f64(f: FloatUnary, x: f64) -> f64 {
    match f {
        FloatUnary::Neg => -x,
        FloatUnary::Abs => x.abs(),
        FloatUnary::Exp => x.exp(),
        FloatUnary::Exp2 => x.exp2(),
        FloatUnary::Sqrt | FloatUnary::SqrtRn => x.sqrt(),
        FloatUnary::Rsqrt => 1.0 / x.sqrt(),
        FloatUnary::Log => x.ln(),
        FloatUnary::Log2 => x.log2(),
        FloatUnary::Sin => x.sin(),
        FloatUnary::Cos => x.cos(),
        FloatUnary::Erf => libm::erf(x),
        FloatUnary::Floor => x.floor(),
        FloatUnary::Ceil => x.ceil(),
    }
}

/// `x·y + z` of numbers of a narrow type, exact but for a last bit that is odd where anything was lost: rounded once more to
/// that type it is what one rounding gives. (Rounded to f32 first, ties would be made.)
fn narrow_fma(elem: Elem, x: f64, y: f64, z: f64) -> f64 {
    let product = x * y;
    let sum = product + z;
    let back = sum - product;
    let lost = (product - (sum - back)) + (z - back);
    let odd = if lost == 0.0 || !lost.is_finite() || sum.to_bits() & 1 == 1 {
        sum
    } else {
        // The neighbour on the side of what was lost.
        f64::from_bits(if (lost > 0.0) == (sum > 0.0) { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
    };
    round_scalar(elem, odd)
}

/// `a·b + c` with one rounding.
pub fn fma(elem: Elem, a: &Cell, b: &Cell, c: &Cell, pool: &mut Pool) -> Cell {
    let one = |x: f64, y: f64, z: f64| match elem {
        Elem::F64 => x.mul_add(y, z),
        Elem::F32 => f64::from((x as f32).mul_add(y as f32, z as f32)),
        _ => narrow_fma(elem, x, y, z),
    };
    let Some(layout) = common_layout(&[a, b, c]) else {
        let (x, y, z) = (scalar(a), scalar(b), scalar(c));
        return Cell::Float(Scalar { value: one(x.value, y.value, z.value), taint: x.taint | y.taint | z.taint });
    };
    let taints = united_taints(&[a, b, c], &layout).and_then(taint::seal);
    let n = layout.stored();
    let lanes = if elem == Elem::F64 {
        let sides = [side_f64(a, &layout), side_f64(b, &layout), side_f64(c, &layout)];
        let mut out = pool.f64(n);
        for (i, o) in out.iter_mut().enumerate() {
            *o = at(&sides[0], i).mul_add(at(&sides[1], i), at(&sides[2], i));
        }
        Floats::F64(Arc::new(out))
    } else {
        let sides = [side_f32(a, &layout), side_f32(b, &layout), side_f32(c, &layout)];
        let mut out = pool.f32(n);
        for (i, o) in out.iter_mut().enumerate() {
            let [x, y, z] = [0, 1, 2].map(|side| at(&sides[side], i));
            *o = if elem == Elem::F32 { x.mul_add(y, z) } else { narrow_fma(elem, x.into(), y.into(), z.into()) as f32 };
        }
        Floats::F32(Arc::new(out))
    };
    Cell::Floats(FloatBlock { layout, lanes, taints })
}

fn at<T: Copy>(side: &Side<'_, T>, i: usize) -> T {
    match side {
        Side::One(v) => *v,
        Side::Many(v) => v[i],
        Side::Strided { .. } => unreachable!("invariant: only maps of two operands take strided ones"),
    }
}

pub fn scalar(cell: &Cell) -> Scalar<f64> {
    match cell {
        Cell::Float(s) => *s,
        Cell::Empty | Cell::Int(_) | Cell::Ptr(_) | Cell::Ints(_) | Cell::Mask(_) | Cell::Floats(_) | Cell::Ptrs(_) => {
            misfit(cell, "a float")
        }
    }
}

/// An f32-carried operand of a result in `layout`, its lanes where they are.
pub fn lines_f32<'a>(cell: &'a Cell, layout: &Layout) -> Side<'a, f32> {
    match cell {
        Cell::Floats(FloatBlock { layout: from, lanes: Floats::F32(lanes), .. }) => Side::strided(lanes, from, layout),
        other => Side::One(scalar(other).value as f32),
    }
}

/// Lanes of an f32-carried operand in the order of `layout`.
pub fn side_f32<'a>(cell: &'a Cell, layout: &Layout) -> Side<'a, f32> {
    match cell {
        Cell::Floats(FloatBlock { layout: from, lanes: Floats::F32(lanes), .. }) => {
            Side::Many(reorder(lanes.as_slice().into(), from, layout))
        }
        other => Side::One(scalar(other).value as f32),
    }
}

/// Lanes of an f64 operand in the order of `layout`.
pub fn side_f64<'a>(cell: &'a Cell, layout: &Layout) -> Side<'a, f64> {
    match cell {
        Cell::Floats(FloatBlock { layout: from, lanes: Floats::F64(lanes), .. }) => {
            Side::Many(reorder(lanes.as_slice().into(), from, layout))
        }
        other => Side::One(scalar(other).value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_dropped_by_maxnum_and_kept_by_maximum() {
        assert_eq!(combine_f32(FloatBinary::MaxNum, f32::NAN, 1.0), 1.0);
        assert_eq!(combine_f32(FloatBinary::MaxNum, 1.0, f32::NAN), 1.0);
        assert!(combine_f32(FloatBinary::Maximum, f32::NAN, 1.0).is_nan());
        assert!(combine_f32(FloatBinary::Maximum, 1.0, f32::NAN).is_nan());
        assert_eq!(combine_f32(FloatBinary::MinNum, 2.0, 1.0), 1.0);
    }

    #[test]
    fn a_row_meets_a_column() {
        let pool = &mut Pool::default();
        let row = Cell::f32_block(Layout::line(2).expanded(0).broadcast(&[3, 2]), vec![1.0, 2.0], None);
        let column = Cell::f32_block(Layout::line(3).expanded(1).broadcast(&[3, 2]), vec![10.0, 20.0, 30.0], None);
        let Cell::Floats(sum) = binary(FloatBinary::Add, Elem::F32, &row, &column, pool) else { panic!("no block") };
        let Floats::F32(lanes) = &sum.lanes else { panic!("no f32") };
        let at = |m: usize, n: usize| lanes[sum.layout.place(&[m, n])];
        assert_eq!([at(0, 0), at(0, 1), at(2, 0), at(2, 1)], [11.0, 12.0, 31.0, 32.0]);
    }

    #[test]
    fn a_fused_product_of_halves_is_rounded_once() {
        let pool = &mut Pool::default();
        let mut fused =
            |x: f64, y: f64, z: f64| scalar(&fma(Elem::BF16, &Cell::float(x), &Cell::float(y), &Cell::float(z), pool)).value;
        let tiny = f64::from(-40).exp2();
        // 1.0625·1.0625 = 1.12890625, a tie between 1.125 and 1.1328125 is 1.12890625 itself: even is 1.125.
        assert_eq!(
            [fused(1.0625, 1.0625, 0.0), fused(1.0625, 1.0625, tiny), fused(1.0625, 1.0625, -tiny)],
            [1.125, 1.1328125, 1.125]
        );
    }

    #[test]
    fn bf16_rounds_after_each_operation() {
        let pool = &mut Pool::default();
        let sum = binary(FloatBinary::Add, Elem::BF16, &Cell::float(256.0), &Cell::float(1.0), pool);
        assert_eq!(scalar(&sum).value, 256.0);
    }
}
