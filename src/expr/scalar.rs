//! The scalar operators of an expression on f64, i64 and bool lanes: their only definition.
//!
//! Constant folding ([`eval`](super::eval)), proofs and the reference compute with these. Operands are
//! lanes in their carriers; a u64 lane is the i64 of the same bits. Float results are not rounded:
//! rounding to the node's dtype is the caller's, integers wrap here. Where torch and ONNX disagree or
//! leave a result open, there is none (`None`): an integer divided by zero, a float (NaN, ±∞ or another)
//! that does not fit the integer type it is cast to. Integer powers are torch's: a negative exponent
//! gives the truncated reciprocal.
//!
//! Zeros: the smaller of −0 and +0 is −0, as in IEEE 754-2019, whichever comes first.

use super::{Binary, Compare, Unary};
use crate::dtype::DType;

/// A float operator in f64; `None` when it is not one of floats.
pub fn unary(op: Unary, a: f64) -> Option<f64> {
    Some(match op {
        Unary::Neg => -a,
        Unary::Abs => a.abs(),
        Unary::Exp => a.exp(),
        Unary::Log => a.ln(),
        Unary::Sqrt => a.sqrt(),
        Unary::Rsqrt => 1.0 / a.sqrt(),
        Unary::Sin => a.sin(),
        Unary::Cos => a.cos(),
        Unary::Tanh => a.tanh(),
        Unary::Erf => libm::erf(a),
        Unary::Sigmoid => 1.0 / (1.0 + (-a).exp()),
        Unary::Floor => a.floor(),
        Unary::Ceil => a.ceil(),
        Unary::RoundEven => a.round_ties_even(),
        Unary::Not => return None,
    })
}

/// A float operator in f64; `None` when it is not one of floats.
pub fn binary(op: Binary, a: f64, b: f64) -> Option<f64> {
    Some(match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::MinNan | Binary::MaxNan if a.is_nan() || b.is_nan() => f64::NAN,
        Binary::MinNan | Binary::MinNum => smaller(a, b),
        Binary::MaxNan | Binary::MaxNum => -smaller(-a, -b),
        Binary::Pow => a.powf(b),
        Binary::DivTrunc | Binary::DivFloor | Binary::And | Binary::Or | Binary::Xor => return None,
    })
}

/// The smaller number; of a NaN and a number, the number.
fn smaller(a: f64, b: f64) -> f64 {
    if a < b || b.is_nan() || a == b && a.is_sign_negative() { a } else { b }
}

/// An integer operator, wrapped to the dtype; `None` when it is not one of integers.
pub fn unary_integer(op: Unary, a: i64, dtype: DType) -> Option<i64> {
    let exact = match op {
        Unary::Neg => a.wrapping_neg(),
        Unary::Abs if dtype.is_unsigned() => a,
        Unary::Abs => a.wrapping_abs(),
        Unary::Not => !a,
        Unary::Floor | Unary::Ceil | Unary::RoundEven => return None,
        Unary::Exp | Unary::Log | Unary::Sqrt | Unary::Rsqrt | Unary::Sin | Unary::Cos => return None,
        Unary::Tanh | Unary::Erf | Unary::Sigmoid => return None,
    };
    Some(dtype.wrap(exact))
}

/// An integer operator, wrapped to the dtype; `None` when it is not one of integers, or divides by
/// zero.
pub fn binary_integer(op: Binary, a: i64, b: i64, dtype: DType) -> Option<i64> {
    let unsigned = dtype == DType::U64;
    let less = compare_integers(Compare::Lt, a, b, dtype);
    let exact = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::DivTrunc | Binary::DivFloor if b == 0 => return None,
        Binary::DivTrunc | Binary::DivFloor if unsigned => (a as u64 / b as u64) as i64,
        Binary::DivTrunc => a.wrapping_div(b),
        Binary::DivFloor => a.wrapping_div(b) - (a.wrapping_rem(b) != 0 && (a < 0) != (b < 0)) as i64,
        Binary::MinNan | Binary::MinNum => {
            if less {
                a
            } else {
                b
            }
        }
        Binary::MaxNan | Binary::MaxNum => {
            if less {
                b
            } else {
                a
            }
        }
        Binary::Pow if b < 0 && !unsigned => match a {
            1 => 1,
            -1 => 1 - 2 * (b & 1),
            _ => 0,
        },
        Binary::Pow => power(a, b as u64),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Div => return None,
    };
    Some(dtype.wrap(exact))
}

/// a^b modulo 2⁶⁴ by squaring.
fn power(a: i64, b: u64) -> i64 {
    let (mut result, mut square, mut rest) = (1i64, a, b);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        rest >>= 1;
    }
    result
}

/// A bool operator; `None` when it is not one of bools.
pub fn unary_bool(op: Unary, a: bool) -> Option<bool> {
    match op {
        Unary::Not => Some(!a),
        Unary::Neg | Unary::Abs | Unary::Floor | Unary::Ceil | Unary::RoundEven => None,
        Unary::Exp | Unary::Log | Unary::Sqrt | Unary::Rsqrt | Unary::Sin | Unary::Cos => None,
        Unary::Tanh | Unary::Erf | Unary::Sigmoid => None,
    }
}

/// A bool operator; `None` when it is not one of bools.
pub fn binary_bool(op: Binary, a: bool, b: bool) -> Option<bool> {
    match op {
        Binary::And => Some(a & b),
        Binary::Or => Some(a | b),
        Binary::Xor => Some(a ^ b),
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::DivTrunc | Binary::DivFloor => None,
        Binary::MinNan | Binary::MaxNan | Binary::MinNum | Binary::MaxNum | Binary::Pow => None,
    }
}

/// A comparison of two lanes in order; NaN compares false but for `Ne`. Lanes of u64 are not in order:
/// see [`compare_integers`].
pub fn compare<T: PartialOrd>(op: Compare, a: T, b: T) -> bool {
    match op {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
    }
}

/// A comparison of two integers of a dtype.
pub fn compare_integers(op: Compare, a: i64, b: i64, dtype: DType) -> bool {
    if dtype == DType::U64 { compare(op, a as u64, b as u64) } else { compare(op, a, b) }
}

/// A float as an integer of a dtype, truncated towards zero; `None` where that does not fit. NaN and
/// the infinities never fit.
pub fn float_to_integer(a: f64, to: DType) -> Option<i64> {
    let whole = a.trunc();
    if to == DType::U64 {
        return (whole >= 0.0 && whole < 2f64.powi(64)).then_some(whole as u64 as i64);
    }
    let fits = whole >= -(2f64.powi(63)) && whole < 2f64.powi(63) && to.wrap(whole as i64) == whole as i64;
    fits.then_some(whole as i64)
}

/// An integer as a float of a dtype. Narrow floats are rounded from f32, as torch and the hardware
/// convert them; f32 itself is rounded once.
pub fn integer_to_float(a: i64, from: DType, to: DType) -> f64 {
    let unsigned = from == DType::U64;
    if to == DType::F64 {
        return if unsigned { a as u64 as f64 } else { a as f64 };
    }
    to.round(if unsigned { a as u64 as f32 } else { a as f32 }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::*;

    #[test]
    fn extrema_keep_or_drop_nan_and_order_zeros() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let bits = |op, a, b| binary(op, a, b).unwrap().to_bits();
        for (op, want) in [(Binary::MinNan, -0.0f64), (Binary::MinNum, -0.0), (Binary::MaxNan, 0.0), (Binary::MaxNum, 0.0)] {
            assert_eq!(bits(op, 0.0, -0.0), want.to_bits(), "{op:?}");
            assert_eq!(bits(op, -0.0, 0.0), want.to_bits(), "{op:?}");
        }
        for (a, b) in [(nan, 1.0), (1.0, nan), (nan, inf)] {
            assert!(binary(Binary::MinNan, a, b).unwrap().is_nan());
            assert!(binary(Binary::MaxNan, a, b).unwrap().is_nan());
        }
        assert_eq!([binary(Binary::MinNum, nan, 1.0), binary(Binary::MaxNum, -inf, nan)], [Some(1.0), Some(-inf)]);
        assert!(binary(Binary::MinNum, nan, nan).unwrap().is_nan());
        assert_eq!([binary(Binary::MinNan, 2.0, -inf), binary(Binary::MaxNan, 2.0, -inf)], [Some(-inf), Some(2.0)]);
    }

    #[test]
    fn float_operators_have_the_edges_of_ieee() {
        let inf = f64::INFINITY;
        assert_eq!([binary(Binary::Div, 1.0, 0.0), binary(Binary::Div, 1.0, -0.0)], [Some(inf), Some(-inf)]);
        assert!(binary(Binary::Div, 0.0, 0.0).unwrap().is_nan());
        assert_eq!(
            [unary(Unary::Rsqrt, 0.0), unary(Unary::Rsqrt, -0.0), unary(Unary::Log, 0.0)],
            [Some(inf), Some(-inf), Some(-inf)]
        );
        assert!(unary(Unary::Sqrt, -1.0).unwrap().is_nan() && unary(Unary::Log, -1.0).unwrap().is_nan());
        assert_eq!(unary(Unary::Neg, 0.0).unwrap().to_bits(), (-0.0f64).to_bits());
        assert_eq!([0.5, 1.5, -2.5].map(|v| unary(Unary::RoundEven, v).unwrap()), [0.0, 2.0, -2.0]);
        assert_eq!([unary(Unary::Sigmoid, inf), unary(Unary::Sigmoid, -inf)], [Some(1.0), Some(0.0)]);
        assert_eq!([binary(Binary::Pow, 0.0, 0.0), binary(Binary::Pow, f64::NAN, 0.0)], [Some(1.0), Some(1.0)]);
        assert_eq!([unary(Unary::Not, 1.0), binary(Binary::And, 1.0, 1.0), binary(Binary::DivFloor, 1.0, 1.0)], [None; 3]);
    }

    #[test]
    fn integers_wrap() {
        let sum = |a, b, dtype| binary_integer(Binary::Add, a, b, dtype).unwrap();
        assert_eq!([sum(127, 1, I8), sum(255, 1, U8), sum(i64::MAX, 1, I64)], [-128, 0, i64::MIN]);
        assert_eq!(binary_integer(Binary::Sub, 0, 1, U32), Some(0xffff_ffff));
        assert_eq!([unary_integer(Unary::Abs, -128, I8), unary_integer(Unary::Neg, i64::MIN, I64)], [Some(-128), Some(i64::MIN)]);
        assert_eq!([unary_integer(Unary::Neg, 1, U8), unary_integer(Unary::Not, 1, U8)], [Some(255), Some(254)]);
        assert_eq!(unary_integer(Unary::Abs, -1, U64), Some(-1), "2⁶⁴ − 1 is its own magnitude");
        assert_eq!([unary_integer(Unary::Floor, 3, I32), unary_integer(Unary::Exp, 0, I32)], [None; 2]);
        assert_eq!(binary_integer(Binary::Div, 4, 2, I32), None);
    }

    #[test]
    fn division_names_its_rounding_and_has_no_value_by_zero() {
        let both = |a, b, dtype| [Binary::DivTrunc, Binary::DivFloor].map(|op| binary_integer(op, a, b, dtype));
        assert_eq!(both(-7, 2, I32), [Some(-3), Some(-4)]);
        assert_eq!(both(7, -2, I32), [Some(-3), Some(-4)]);
        assert_eq!(both(-8, 2, I32), [Some(-4), Some(-4)]);
        assert_eq!(both(1, 0, I64), [None, None]);
        assert_eq!(both(i64::from(i32::MIN), -1, I32), [Some(i64::from(i32::MIN)); 2]);
        assert_eq!(both(i64::MIN, -1, I64), [Some(i64::MIN); 2]);
        assert_eq!(both(-2, 2, U64), [Some(i64::MAX); 2], "2⁶⁴ − 2 halved");
    }

    #[test]
    fn u64_lanes_compare_as_they_count() {
        assert_eq!(binary_integer(Binary::MinNum, -1, 1, U64), Some(1));
        assert_eq!(binary_integer(Binary::MaxNum, -1, 1, U64), Some(-1));
        assert_eq!([binary_integer(Binary::MinNum, -1, 1, I64), binary_integer(Binary::MaxNum, -1, 1, I64)], [Some(-1), Some(1)]);
        assert!(compare_integers(Compare::Gt, -1, 1, U64) && compare_integers(Compare::Lt, -1, 1, I64));
    }

    #[test]
    fn integer_powers_are_torchs() {
        let pow = |a, b, dtype| binary_integer(Binary::Pow, a, b, dtype).unwrap();
        assert_eq!([pow(3, 4, I32), pow(-2, 3, I32), pow(0, 0, I32), pow(2, 31, I32)], [81, -8, 1, i64::from(i32::MIN)]);
        assert_eq!([pow(1, -5, I32), pow(-1, -3, I32), pow(-1, -2, I32), pow(2, -1, I32), pow(0, -1, I32)], [1, -1, 1, 0, 0]);
        assert_eq!(
            [pow(3, 1 << 32, I64), pow(3, -1, U64)],
            [3i64.wrapping_pow(1 << 16).wrapping_pow(1 << 16), power(3, u64::MAX)]
        );
        assert_eq!(pow(3, -1, U64).wrapping_mul(3), power(3, 1u64 << 63).wrapping_mul(power(3, 1u64 << 63)), "3^(2⁶⁴)");
    }

    #[test]
    fn floats_that_do_not_fit_an_integer_have_no_value_there() {
        assert_eq!([-3.7, 3.7, -0.5, -0.0].map(|v| float_to_integer(v, I8)), [Some(-3), Some(3), Some(0), Some(0)]);
        assert_eq!([127.9, 128.0, -128.9, -129.0].map(|v| float_to_integer(v, I8)), [Some(127), None, Some(-128), None]);
        assert_eq!([-0.9, -1.0, 255.5, 256.0].map(|v| float_to_integer(v, U8)), [Some(0), None, Some(255), None]);
        for to in [I8, I64, U8, U64] {
            assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(|v| float_to_integer(v, to)), [None; 3]);
        }
        let two63 = 2f64.powi(63);
        assert_eq!([float_to_integer(two63, I64), float_to_integer(-two63, I64)], [None, Some(i64::MIN)]);
        assert_eq!([float_to_integer(two63, U64), float_to_integer(2.0 * two63, U64)], [Some(i64::MIN), None]);
        assert_eq!(float_to_integer(-1.0, U64), None);
    }

    #[test]
    fn integers_become_floats_as_torch_makes_them() {
        assert_eq!(integer_to_float((1 << 53) + 1, I64, F64), 2f64.powi(53));
        assert_eq!(integer_to_float(-1, U64, F64), 2f64.powi(64));
        assert_eq!([integer_to_float(-1, U64, F32), integer_to_float(-1, I64, F32)], [2f64.powi(64), -1.0]);
        // 2⁵⁴ + 2³⁰ + 1 lies just above the middle of two f32: through f64 it would fall on the middle.
        let above = (1i64 << 54) + (1 << 30) + 1;
        assert_eq!(integer_to_float(above, I64, F32), 2f64.powi(54) + 2f64.powi(31));
        assert_eq!([integer_to_float(257, I64, BF16), integer_to_float(65520, I64, F16)], [256.0, f64::INFINITY]);
    }

    #[test]
    fn bools_have_logic_only() {
        assert_eq!([unary_bool(Unary::Not, true), unary_bool(Unary::Neg, true)], [Some(false), None]);
        let both = |op| [binary_bool(op, true, false), binary_bool(op, true, true)];
        assert_eq!(both(Binary::And), [Some(false), Some(true)]);
        assert_eq!(both(Binary::Or), [Some(true), Some(true)]);
        assert_eq!(both(Binary::Xor), [Some(true), Some(false)]);
        assert_eq!(both(Binary::Add), [None, None]);
    }
}
