//! `tt.extern_elementwise`: functions of libdevice on cells.
//!
//! Float functions are computed in f64 and rounded once to the symbol's type, so that f32 results are
//! correctly rounded but for rare ties; what a GPU approximates (`fast_…`, `rsqrt`, `rcp64h`) is computed as
//! accurately as the rest. Conversions to integers saturate and take NaN to 0, as PTX has it: they leave
//! no lane without a value.
//!
//! * `functions` — what each symbol computes; `special` — functions that libm lacks; `directed` — arithmetic
//!   rounded other than to nearest
//!
//! Does not model: the last bits of NVIDIA's own approximations.

mod directed;
mod functions;
mod special;

use std::sync::Arc;

use super::elementwise::{Side, common_layout, map1, reorder, united_taints};
use super::float::{side_f32, side_f64};
use super::int::{scalar as int_scalar, wrapped};
use crate::emulate::value::int::wrap;
use crate::emulate::value::{Cell, FloatBlock, Floats, IntBlock, Layout, Pool, Scalar, taint};
use crate::kernel::ir::Elem;
use crate::kernel::libdevice::Symbol;
pub use directed::{Rounding, add, div, fma, mul, of_int, sqrt, to_int};
pub use functions::byte_perm;
use functions::{Run, run};

/// One argument, lane by lane: exact in f64, or an integer as its type has it.
enum Arg<'a> {
    Float(Side<'a, f64>),
    Int(Side<'a, i64>),
}

fn at<T: Copy>(side: &Side<'_, T>, i: usize) -> T {
    match side {
        Side::One(v) => *v,
        Side::Many(v) => v[i],
        Side::Strided { .. } => unreachable!("invariant: operands of a function are brought to one layout"),
    }
}

impl Arg<'_> {
    fn float(&self, i: usize) -> f64 {
        match self {
            Arg::Float(side) => at(side, i),
            Arg::Int(side) => at(side, i) as f64,
        }
    }

    fn int(&self, i: usize) -> i64 {
        match self {
            Arg::Int(side) => at(side, i),
            Arg::Float(side) => at(side, i) as i64,
        }
    }
}

fn arg<'a>(cell: &'a Cell, symbol: Symbol, index: usize, layout: &Layout) -> Arg<'a> {
    let dtype = symbol.row().args[index];
    let elem = Elem::of(dtype);
    match elem {
        Elem::F64 => Arg::Float(side_f64(cell, layout)),
        elem if elem.is_float() => Arg::Float(match side_f32(cell, layout) {
            Side::One(v) => Side::One(v.into()),
            Side::Many(v) => Side::Many(v.iter().map(|&x| f64::from(x)).collect()),
            Side::Strided { .. } => unreachable!("invariant: `side_f32` brings lanes to one layout"),
        }),
        elem => {
            // An unsigned argument of 32 bits is its value; one of 64 bits stays as its bits.
            let sign = |v: i64| if dtype.is_unsigned() && elem == Elem::I32 { i64::from(v as u32) } else { v };
            Arg::Int(match wrapped(cell, elem) {
                Cell::Ints(block) => {
                    Side::Many(reorder(block.values(), &block.layout, layout).iter().map(|&v| sign(v)).collect())
                }
                other => Side::One(sign(int_scalar(&other).value)),
            })
        }
    }
}

/// A function of cells whose types the symbol takes.
pub fn call(symbol: Symbol, cells: &[&Cell], pool: &mut Pool) -> Cell {
    let run = run(symbol);
    let result = Elem::of(symbol.row().result);
    let layout = common_layout(cells);
    let one = Layout::line(1);
    let taints = match &layout {
        Some(layout) => united_taints(cells, layout),
        None => Some(vec![cells.iter().fold(0, |flags, cell| flags | cell.scalar_taint())]),
    };
    // These functions take integers as bits or numbers: a wrap is over.
    let taints = taints.map(|t| t.iter().map(|flag| flag & !taint::WRAPPED).collect::<Vec<u8>>());
    if let (Run::Lanes(f), Some(Cell::Floats(FloatBlock { layout, lanes: Floats::F32(lanes), .. }))) =
        (&run, cells.first().copied())
    {
        let mut out = pool.f32(lanes.len());
        f(lanes, &mut out);
        return Cell::f32_block(*layout, out, taints.and_then(taint::seal));
    }
    if let (Run::F1(f), Some(Cell::Floats(FloatBlock { layout, lanes: Floats::F32(lanes), .. })), Elem::F32) =
        (&run, cells.first().copied(), result)
    {
        let mut out = pool.f32(lanes.len());
        map1(lanes, &mut out, |x| f(x.into()) as f32);
        return Cell::f32_block(*layout, out, taints.and_then(taint::seal));
    }
    let places = layout.as_ref().unwrap_or(&one);
    let args: Vec<Arg<'_>> = cells.iter().enumerate().map(|(i, cell)| arg(cell, symbol, i, places)).collect();
    if result.is_float() {
        let value = |i: usize| run.float(&args, i);
        match &layout {
            None => Cell::Float(Scalar { value: rounded(result, value(0)), taint: taints.map_or(0, |t| t[0]) }),
            Some(layout) => {
                let n = layout.stored();
                let lanes = if result == Elem::F64 {
                    Floats::F64(Arc::new((0..n).map(value).collect()))
                } else {
                    Floats::F32(Arc::new((0..n).map(|i| value(i) as f32).collect()))
                };
                Cell::Floats(FloatBlock { layout: *layout, lanes, taints: taints.and_then(taint::seal) })
            }
        }
    } else {
        let value = |i: usize| wrap(run.int(&args, i), result);
        match &layout {
            None => Cell::Int(Scalar { value: value(0), taint: taints.map_or(0, |t| t[0]) }),
            Some(layout) => {
                let lanes = (0..layout.stored()).map(value).collect();
                Cell::Ints(IntBlock::dense(*layout, lanes, taints.and_then(taint::seal)))
            }
        }
    }
}

fn rounded(elem: Elem, value: f64) -> f64 {
    if elem == Elem::F64 { value } else { f64::from(value as f32) }
}

impl Run {
    fn float(&self, args: &[Arg<'_>], i: usize) -> f64 {
        match self {
            Run::F1(f) => f(args[0].float(i)),
            Run::F2(f) => f(args[0].float(i), args[1].float(i)),
            Run::F3(f) => f(args[0].float(i), args[1].float(i), args[2].float(i)),
            Run::F4(f) => f(args[0].float(i), args[1].float(i), args[2].float(i), args[3].float(i)),
            Run::FloatInt(f) => f(args[0].float(i), args[1].int(i)),
            Run::IntFloat(f) => f(args[0].int(i), args[1].float(i)),
            Run::OfInt(f) => f(args[0].int(i)),
            Run::OfInts(f) => f(args[0].int(i), args[1].int(i)),
            Run::Lanes(f) => {
                let mut out = [0.0];
                f(&[args[0].float(i) as f32], &mut out);
                out[0].into()
            }
            Run::ToInt(_) | Run::I1(_) | Run::I2(_) | Run::I3(_) => {
                unreachable!("invariant: a symbol whose result is a float computes one")
            }
        }
    }

    fn int(&self, args: &[Arg<'_>], i: usize) -> i64 {
        match self {
            Run::ToInt(f) => f(args[0].float(i)),
            Run::I1(f) => f(args[0].int(i)),
            Run::I2(f) => f(args[0].int(i), args[1].int(i)),
            Run::I3(f) => f(args[0].int(i), args[1].int(i), args[2].int(i)),
            Run::F1(_)
            | Run::F2(_)
            | Run::F3(_)
            | Run::F4(_)
            | Run::FloatInt(_)
            | Run::IntFloat(_)
            | Run::OfInt(_)
            | Run::OfInts(_)
            | Run::Lanes(_) => unreachable!("invariant: a symbol whose result is an integer computes one"),
        }
    }
}

/// A scalar float cell's value, for tests of single functions.
#[cfg(test)]
fn value(symbol: &str, args: &[Cell]) -> f64 {
    let symbol = Symbol::named(symbol).unwrap();
    match call(symbol, &args.iter().collect::<Vec<_>>(), &mut Pool::default()) {
        Cell::Int(s) => s.value as f64,
        other => super::float::scalar(&other).value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(symbol: &str, args: &[f64]) -> f64 {
        value(symbol, &args.iter().map(|&x| Cell::float(x)).collect::<Vec<_>>())
    }

    fn i(symbol: &str, args: &[i64]) -> f64 {
        value(symbol, &args.iter().map(|&x| Cell::int(x)).collect::<Vec<_>>())
    }

    #[test]
    fn every_symbol_runs_on_its_types() {
        for &symbol in Symbol::ALL {
            let row = symbol.row();
            let cells: Vec<Cell> =
                row.args.iter().map(|&arg| if arg.is_float() { Cell::float(0.5) } else { Cell::int(1) }).collect();
            let result = call(symbol, &cells.iter().collect::<Vec<_>>(), &mut Pool::default());
            assert_eq!(matches!(result, Cell::Float(_)), row.result.is_float(), "{symbol}");
        }
    }

    #[test]
    fn integers() {
        assert_eq!(i("__nv_clz", &[1]), 31.0);
        assert_eq!(i("__nv_clzll", &[-1]), 0.0);
        assert_eq!(i("__nv_popc", &[-1]), 32.0);
        assert_eq!(i("__nv_ffs", &[8]), 4.0);
        assert_eq!(i("__nv_ffs", &[0]), 0.0);
        assert_eq!(i("__nv_brev", &[1]), f64::from(i32::MIN));
        assert_eq!(i("__nv_mulhi", &[-1, 2]), -1.0);
        assert_eq!(i("__nv_umulhi", &[-1, 2]), 1.0);
        assert_eq!(i("__nv_mul24", &[0x0100_0002, 3]), 6.0);
        assert_eq!(i("__nv_byte_perm", &[0x3322_1100, 0x7766_5544, 0x7410]), f64::from(0x7744_1100));
        assert_eq!(i("__nv_hadd", &[-3, 0]), -2.0);
        assert_eq!(i("__nv_rhadd", &[-3, 0]), -1.0);
        assert_eq!(i("__nv_urhadd", &[-1, 0]), f64::from(i32::MIN));
        assert_eq!(i("__nv_hiloint2double", &[0x3ff0_0000, 0]), 1.0);
    }

    #[test]
    fn conversions_saturate() {
        assert_eq!(f("__nv_float2int_rn", &[2.5]), 2.0);
        assert_eq!(f("__nv_float2int_rz", &[-2.5]), -2.0);
        assert_eq!(f("__nv_float2int_rd", &[-2.5]), -3.0);
        assert_eq!(f("__nv_float2int_ru", &[3e9]), f64::from(i32::MAX));
        assert_eq!(f("__nv_float2uint_rn", &[-1.0]), 0.0);
        assert_eq!(f("__nv_float2int_rn", &[f64::NAN]), 0.0);
        assert_eq!(i("__nv_int2float_rz", &[16_777_219]), 16_777_218.0);
        assert_eq!(i("__nv_int2float_ru", &[16_777_217]), 16_777_218.0);
        assert_eq!(i("__nv_ull2float_rn", &[-1]), 18_446_744_073_709_551_616.0);
        assert_eq!(f("__nv_float_as_int", &[1.0]), f64::from(0x3f80_0000));
        assert_eq!(i("__nv_int_as_float", &[0x4000_0000]), 2.0);
    }

    #[test]
    fn floats() {
        assert_eq!(f("__nv_rintf", &[2.5]), 2.0);
        assert_eq!(f("__nv_roundf", &[2.5]), 3.0);
        assert_eq!(f("__nv_llrintf", &[3.5]), 4.0);
        assert_eq!(f("__nv_isnanf", &[f64::NAN]), 1.0);
        assert_eq!(f("__nv_isfinited", &[f64::INFINITY]), 0.0);
        assert_eq!(f("__nv_signbitf", &[-0.0]), 1.0);
        assert_eq!(f("__nv_nextafterf", &[1.0, 2.0]), 1.0 + f64::from(f32::EPSILON));
        assert_eq!(f("__nv_powf", &[2.0, -1.0]), 0.5);
        assert_eq!(f("__nv_remainder", &[5.0, 3.0]), -1.0);
        assert_eq!(f("__nv_fmod", &[-5.0, 3.0]), -2.0);
        assert_eq!(f("__nv_saturatef", &[f64::NAN]), 0.0);
        assert_eq!(f("__nv_fdim", &[3.0, 5.0]), 0.0);
        assert_eq!(f("__nv_tanhf", &[0.5]), f64::from(0.462_117_16f32));
        assert_eq!(f("__nv_sinpi", &[1.0]), 0.0);
        assert_eq!(f("__nv_cospi", &[0.5]), 0.0);
        assert_eq!(value("__nv_ldexpf", &[Cell::float(0.75), Cell::int(4)]), 12.0);
        assert_eq!(value("__nv_powif", &[Cell::float(3.0), Cell::int(-2)]), f64::from(1.0f32 / 9.0));
    }

    #[test]
    fn fused_products_round_once() {
        let e = f64::from(f32::EPSILON);
        assert_eq!(f("__nv_fmaf", &[1.0 + e, 1.0 - e, -1.0]), -(e * e));
        assert_eq!(f("__nv_fmaf_rn", &[1.0 + e, 1.0 + e, -1.0]), 2.0 * e);
        assert_eq!(f("__nv_fmaf_ru", &[1.0 + e, 1.0 + e, -1.0]), 2.0 * e * (1.0 + e));
    }
}
