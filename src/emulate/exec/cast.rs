//! Conversions between element types.

use std::sync::Arc;

use super::elementwise::map1;
use super::float::scalar as float_scalar;
use super::int::{scalar as int_scalar, wrapped};
use crate::emulate::value::int::{bounds, unsigned, wrap};
use crate::emulate::value::round::{round_lanes, round_scalar, toward_zero};
use crate::emulate::value::{Cell, FloatBlock, Floats, IntBlock, Layout, MaskBlock, Pool, Scalar, Taints, eight, misfit, taint};
use crate::kernel::ir::{CastKind, Elem};

/// `Err` names what is not supported.
pub fn cast(kind: CastKind, from: Elem, to: Elem, a: &Cell, pool: &mut Pool) -> Result<Cell, &'static str> {
    Ok(match kind {
        CastKind::Trunc => ints(&wrapped(a, from), to, pool, |x| wrap(x, to)),
        CastKind::ExtS => {
            let sign = if from == Elem::I1 { -1 } else { 1 };
            ints(&wrapped(a, from), to, pool, |x| x * sign)
        }
        CastKind::ExtU => ints(&wrapped(a, from), to, pool, |x| unsigned(x, from) as i64),
        CastKind::IntToFloatS => {
            let sign = if from == Elem::I1 { -1 } else { 1 };
            to_float(&wrapped(a, from), to, pool, |x| f64::from(x as i32 * sign), |x| (x * sign as i64) as f64)
        }
        CastKind::IntToFloatU => {
            to_float(&wrapped(a, from), to, pool, |x| unsigned(x, from) as f64, |x| unsigned(x, from) as f64)
        }
        CastKind::FloatToIntS => from_float(a, to, bounds(to).0 as f64, bounds(to).1 as f64, |x| x as i64),
        CastKind::FloatToIntU => {
            let max = unsigned(-1, to) as f64;
            from_float(a, to, 0.0, max, |x| wrap(x as u64 as i64, to))
        }
        CastKind::FloatExt | CastKind::FloatTrunc => resize(to, a, pool, &|x| round_scalar(to, x)),
        CastKind::FloatTruncZero => resize(to, a, pool, &|x| toward_zero(to, x)),
        CastKind::Bitcast => return bitcast(from, to, a),
        CastKind::PtrToInt | CastKind::IntToPtr => unreachable!("invariant: pointers are cast elsewhere"),
    })
}

fn without_wrap(taints: &Taints) -> Taints {
    let bytes = taints.as_deref()?;
    taint::seal(bytes.iter().map(|t| t & !taint::WRAPPED).collect())
}

fn ints(a: &Cell, to: Elem, pool: &mut Pool, f: impl Fn(i64) -> i64) -> Cell {
    match a {
        Cell::Int(s) => Cell::Int(Scalar { value: f(s.value), taint: s.taint }),
        Cell::Ints(block) if to == Elem::I1 => {
            let mut out = pool.u8(block.layout.stored());
            map1(&block.values(), &mut out, |x| (f(x) & 1) as u8);
            Cell::Mask(MaskBlock::dense(block.layout, out, block.taints.clone()))
        }
        Cell::Ints(block) => {
            if f(block.lo) == block.lo && f(block.hi) == block.hi && block.hi - block.lo < 1 << 16 && same_type_range(block, to) {
                return a.clone();
            }
            let mut out = pool.i64(block.layout.stored());
            map1(&block.values(), &mut out, f);
            Cell::Ints(IntBlock::renormalised(block.layout, out, block.taints.clone()))
        }
        Cell::Mask(block) => {
            let lanes = block.values().iter().map(|&x| f(x.into())).collect();
            Cell::Ints(IntBlock::renormalised(block.layout, lanes, block.taints.clone()))
        }
        Cell::Empty | Cell::Float(_) | Cell::Ptr(_) | Cell::Floats(_) | Cell::Ptrs(_) => misfit(a, "integers"),
    }
}

/// Every lane already has its value in the result's type.
fn same_type_range(block: &IntBlock, to: Elem) -> bool {
    let (min, max) = bounds(to);
    block.lo >= 0 && block.lo >= min && block.hi <= max
}

fn to_float(a: &Cell, to: Elem, pool: &mut Pool, small: impl Fn(i64) -> f64, any: impl Fn(i64) -> f64) -> Cell {
    let block = |layout: Layout, lanes: &[i64], narrow: bool, taints: Taints, pool: &mut Pool| {
        let value = |x: i64| if narrow { small(x) } else { any(x) };
        let lanes = if to == Elem::F64 {
            let mut out = pool.f64(lanes.len());
            map1(lanes, &mut out, value);
            Floats::F64(Arc::new(out))
        } else {
            let mut out = pool.f32(lanes.len());
            map1(lanes, &mut out, |x| if narrow { small(x) as f32 } else { x_to_f32(x, &any) });
            round_lanes(to, &mut out);
            Floats::F32(Arc::new(out))
        };
        Cell::Floats(FloatBlock { layout, lanes, taints })
    };
    match a {
        Cell::Int(s) => {
            let value = if to == Elem::F64 { any(s.value) } else { round_scalar(to, f64::from(x_to_f32(s.value, &any))) };
            Cell::Float(Scalar { value, taint: s.taint & !taint::WRAPPED })
        }
        Cell::Ints(b) => {
            let narrow = b.lo >= i64::from(i32::MIN) && b.hi <= i64::from(i32::MAX);
            block(b.layout, &b.values(), narrow, without_wrap(&b.taints), pool)
        }
        Cell::Mask(b) => {
            let lanes: Vec<i64> = b.values().iter().map(|&x| x.into()).collect();
            block(b.layout, &lanes, true, b.taints.clone(), pool)
        }
        Cell::Empty | Cell::Float(_) | Cell::Ptr(_) | Cell::Floats(_) | Cell::Ptrs(_) => misfit(a, "integers"),
    }
}

/// An integer rounded once to f32: through f64 where that is exact, directly otherwise.
fn x_to_f32(x: i64, any: &impl Fn(i64) -> f64) -> f32 {
    let wide = any(x);
    if wide.abs() < 9e15 {
        wide as f32
    } else if wide < 0.0 || x >= 0 {
        x as f32
    } else {
        x as u64 as f32
    }
}

fn from_float(a: &Cell, to: Elem, min: f64, max: f64, f: impl Fn(f64) -> i64) -> Cell {
    let one = |x: f64| {
        let t = x.trunc();
        let inside = if max >= 9.2e18 { t >= min && t < max } else { t >= min && t <= max };
        if inside { (f(t), 0) } else { (0, taint::FLOAT_RANGE) }
    };
    let block = |layout: Layout, lanes: &mut dyn Iterator<Item = f64>, old: &Taints| {
        let (values, mut flags): (Vec<i64>, Vec<u8>) = lanes.map(one).unzip();
        if let Some(old) = old {
            flags.iter_mut().zip(old.iter()).for_each(|(f, o)| *f |= o);
        }
        if to == Elem::I1 {
            let values = values.iter().map(|&v| (v & 1) as u8).collect();
            return Cell::Mask(MaskBlock::dense(layout, values, taint::seal(flags)));
        }
        Cell::Ints(IntBlock::renormalised(layout, values, taint::seal(flags)))
    };
    match a {
        Cell::Floats(b) => match &b.lanes {
            Floats::F32(lanes) => block(b.layout, &mut lanes.iter().map(|&x| x.into()), &b.taints),
            Floats::F64(lanes) => block(b.layout, &mut lanes.iter().copied(), &b.taints),
        },
        other => {
            let s = float_scalar(other);
            let (value, flag) = one(s.value);
            Cell::Int(Scalar { value, taint: s.taint | flag })
        }
    }
}

/// Between float types; narrowing rounds once.
fn resize(to: Elem, a: &Cell, pool: &mut Pool, round: &dyn Fn(f64) -> f64) -> Cell {
    let Cell::Floats(block) = a else {
        let s = float_scalar(a);
        return Cell::Float(Scalar { value: round(s.value), taint: s.taint });
    };
    let lanes = match (&block.lanes, to) {
        (Floats::F64(lanes), Elem::F64) => Floats::F64(lanes.clone()),
        (Floats::F32(lanes), Elem::F32) => Floats::F32(lanes.clone()),
        (Floats::F32(lanes), Elem::F64) => Floats::F64(Arc::new(lanes.iter().map(|&x| x.into()).collect())),
        (Floats::F32(lanes), _) => {
            let mut out = pool.f32(lanes.len());
            map1(lanes, &mut out, |x| round(x.into()) as f32);
            Floats::F32(Arc::new(out))
        }
        (Floats::F64(lanes), _) => Floats::F32(Arc::new(lanes.iter().map(|&x| round(x) as f32).collect())),
    };
    Cell::Floats(FloatBlock { layout: block.layout, lanes, taints: block.taints.clone() })
}

/// The same bits under another type of the same width.
fn bitcast(from: Elem, to: Elem, a: &Cell) -> Result<Cell, &'static str> {
    let bits = |x: f64| -> i64 {
        match from {
            Elem::F64 => x.to_bits() as i64,
            Elem::F32 => i64::from((x as f32).to_bits() as i32),
            Elem::F16 => i64::from(half::f16::from_f64(x).to_bits() as i16),
            Elem::BF16 => i64::from(half::bf16::from_f64(x).to_bits() as i16),
            Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz => i64::from(eight::bits(from, x as f32) as i8),
            Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
                unreachable!("invariant: bits are taken of floats")
            }
        }
    };
    let value = |x: i64| -> f64 {
        match to {
            Elem::F64 => f64::from_bits(x as u64),
            Elem::F32 => f32::from_bits(x as u32).into(),
            Elem::F16 => half::f16::from_bits(x as u16).to_f64(),
            Elem::BF16 => half::bf16::from_bits(x as u16).to_f64(),
            Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz => eight::value(to, x as u8).into(),
            Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
                unreachable!("invariant: bits become floats")
            }
        }
    };
    if matches!(from, Elem::Ptr(_)) || matches!(to, Elem::Ptr(_)) {
        return if matches!((from, to), (Elem::Ptr(_), Elem::Ptr(_))) {
            Err("a cast between pointer types")
        } else {
            Err("a cast between pointers and integers")
        };
    }
    Ok(match (from.is_float(), to.is_float()) {
        (false, false) => wrapped(a, from),
        (true, true) => {
            let Cell::Floats(block) = a else {
                let s = float_scalar(a);
                return Ok(Cell::Float(Scalar { value: value(bits(s.value)), taint: s.taint }));
            };
            let map = |x: f64| value(bits(x));
            let lanes = match &block.lanes {
                Floats::F32(lanes) => Floats::F32(Arc::new(lanes.iter().map(|&x| map(x.into()) as f32).collect())),
                Floats::F64(lanes) => Floats::F64(Arc::new(lanes.iter().map(|&x| map(x)).collect())),
            };
            Cell::Floats(FloatBlock { layout: block.layout, lanes, taints: block.taints.clone() })
        }
        (true, false) => match a {
            Cell::Floats(block) => {
                let lanes = match &block.lanes {
                    Floats::F32(lanes) if from == Elem::F32 => lanes.iter().map(|&x| i64::from(x.to_bits() as i32)).collect(),
                    Floats::F32(lanes) => lanes.iter().map(|&x| bits(x.into())).collect(),
                    Floats::F64(lanes) => lanes.iter().map(|&x| bits(x)).collect(),
                };
                Cell::Ints(IntBlock::dense(block.layout, lanes, block.taints.clone()))
            }
            other => {
                let s = float_scalar(other);
                Cell::Int(Scalar { value: bits(s.value), taint: s.taint })
            }
        },
        (false, true) => match wrapped(a, from) {
            Cell::Ints(block) => {
                let taints = without_wrap(&block.taints);
                let values = block.values();
                let lanes = if to == Elem::F64 {
                    Floats::F64(Arc::new(values.iter().map(|&x| value(x)).collect()))
                } else if to == Elem::F32 {
                    Floats::F32(Arc::new(values.iter().map(|&x| f32::from_bits(x as u32)).collect()))
                } else {
                    Floats::F32(Arc::new(values.iter().map(|&x| value(x) as f32).collect()))
                };
                Cell::Floats(FloatBlock { layout: block.layout, lanes, taints })
            }
            other => {
                let s = int_scalar(&other);
                Cell::Float(Scalar { value: value(s.value), taint: s.taint & !taint::WRAPPED })
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions() {
        let pool = &mut Pool::default();
        let int = |c: Cell| match c {
            Cell::Int(s) => s,
            other => panic!("{other:?}"),
        };
        let cast = |kind, from, to, a: Cell, pool: &mut Pool| cast(kind, from, to, &a, pool).unwrap();
        assert_eq!(int(cast(CastKind::Trunc, Elem::I32, Elem::I8, Cell::int(200), pool)).value, -56);
        assert_eq!(int(cast(CastKind::ExtU, Elem::I8, Elem::I32, Cell::int(-56), pool)).value, 200);
        assert_eq!(int(cast(CastKind::ExtS, Elem::I1, Elem::I32, Cell::int(1), pool)).value, -1);
        assert_eq!(int(cast(CastKind::FloatToIntS, Elem::F32, Elem::I32, Cell::float(-2.7), pool)).value, -2);
        assert_eq!(int(cast(CastKind::FloatToIntS, Elem::F32, Elem::I32, Cell::float(3e9), pool)).taint, taint::FLOAT_RANGE);
        assert_eq!(
            float_scalar(&cast(CastKind::IntToFloatS, Elem::I32, Elem::F32, Cell::int(16_777_217), pool)).value,
            16_777_216.0
        );
        assert_eq!(float_scalar(&cast(CastKind::FloatTrunc, Elem::F32, Elem::BF16, Cell::float(1.01), pool)).value, 1.0078125);
        let bits = cast(CastKind::Bitcast, Elem::F32, Elem::I32, Cell::float(-1.0), pool);
        assert_eq!(int(bits).value, -1_082_130_432);
    }
}
