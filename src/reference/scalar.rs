//! The scalar operators of an expression on f64, i64 and bool lanes. Rounding is the caller's.

use crate::dtype::DType;
use crate::expr::{Binary, Compare, Unary};

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
        Binary::MinNan if a.is_nan() || b.is_nan() => f64::NAN,
        Binary::MaxNan if a.is_nan() || b.is_nan() => f64::NAN,
        Binary::MinNan | Binary::MinNum => a.min(b),
        Binary::MaxNan | Binary::MaxNum => a.max(b),
        Binary::Pow => a.powf(b),
        Binary::DivTrunc | Binary::DivFloor | Binary::And | Binary::Or | Binary::Xor => return None,
    })
}

/// An integer operator, wrapped to the dtype; `None` when it is not one of integers.
pub fn unary_integer(op: Unary, a: i64, dtype: DType) -> Option<i64> {
    let exact = match op {
        Unary::Neg => a.wrapping_neg(),
        Unary::Abs if dtype.is_unsigned() => a,
        Unary::Abs => a.wrapping_abs(),
        Unary::Not => !a,
        Unary::Floor | Unary::Ceil | Unary::RoundEven => a,
        Unary::Exp | Unary::Log | Unary::Sqrt | Unary::Rsqrt | Unary::Sin | Unary::Cos => return None,
        Unary::Tanh | Unary::Erf | Unary::Sigmoid => return None,
    };
    Some(dtype.wrap(exact))
}

/// An integer operator, wrapped to the dtype; `None` when it is not one of integers, or divides by
/// zero.
pub fn binary_integer(op: Binary, a: i64, b: i64, dtype: DType) -> Option<i64> {
    let unsigned = dtype == DType::U64;
    let less = if unsigned { (a as u64) < b as u64 } else { a < b };
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
        Binary::Pow => power(a, b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Div => return None,
    };
    Some(dtype.wrap(exact))
}

/// a^b modulo 2⁶⁴ by squaring; a negative exponent gives the truncated reciprocal.
fn power(a: i64, b: i64) -> i64 {
    if b < 0 {
        return match a {
            1 => 1,
            -1 => 1 - 2 * (b & 1),
            _ => 0,
        };
    }
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

/// A comparison of two lanes in order; NaN compares false but for `Ne`.
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
