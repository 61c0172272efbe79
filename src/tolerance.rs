//! Named tolerances and the error bounds that a verdict rests on.
//!
//! Notation: y is the kernel's element, r the reference's (f64), u the unit roundoff of fp32 (2⁻²⁴),
//! K the number of products in a sum, Q = √(A²·B²) the root of the sum of the squared products of
//! that element: what the sum's partial results weigh.
//!
//! **A contraction** of exact products accumulated in fp32, in any order, is held to
//!
//! ```text
//! |y − r| ≤ 4·u·√K·(Q + |r|) + 6·u_in·Q + 2·u_in·|r| + ½ulp(y)
//! ```
//!
//! with u_in the operand error of the precision class ([`Precision::operand_error`]; 0 for operands
//! used as they are). The √K (and not K) is the statistical growth of rounding errors;
//! docs/tolerance.md has the trials over laws, K and classes that the constants held in. A bound with
//! K would hide a dropped term; one with √K can be exceeded only by errors that conspire.
//!
//! **What follows the contraction** carries its error through first-order derivatives and adds each
//! operator's own rounding ([`function_error`]); `conform::bound` does that element by element.
//!
//! **The cap**: on inputs of our own law no element may be off by more than c + c·|r|, with c =
//! 10⁻⁴ in every class of fp32 but tf32, and 10⁻² in tf32 and narrower types (KernelBench's
//! thresholds). A user's data scale it by max(1, Q), where Q is also any number inside the kernel.
//!
//! Not caught by a tolerance: a wrong term smaller than the bound. The structure pass catches it.

use std::fmt;

use crate::dtype::{DType, FloatFormat};
use crate::expr::{Binary, Unary};

/// Unit roundoff of fp32, in which every kernel accumulates.
pub const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// How a contraction with fp32 operands is computed. The class is named in every dot of ours and in
/// the verdict; operands of other types have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Precision {
    /// fp32 products and sums.
    #[default]
    Ieee,
    /// Operands truncated to 10 fraction bits.
    Tf32,
    /// Operands as a sum of two tf32 parts; three of the four products.
    Tf32x3,
    /// Operands as a sum of three bf16 parts; six of the nine products.
    Bf16x6,
    /// Split by hand into two fp16 parts with fp32 promotion; three of the four products.
    Fp16x3,
    /// Operands as a sum of two bf16 parts; three of the four products.
    Bf16x3,
}

impl Precision {
    pub const ALL: [Precision; 6] =
        [Precision::Ieee, Precision::Tf32, Precision::Tf32x3, Precision::Bf16x6, Precision::Fp16x3, Precision::Bf16x3];

    /// As written on the command line, in `template.yaml` and in `input_precision=`.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Ieee => "ieee",
            Precision::Tf32 => "tf32",
            Precision::Tf32x3 => "tf32x3",
            Precision::Bf16x6 => "bf16x6",
            Precision::Fp16x3 => "fp16x3",
            Precision::Bf16x3 => "bf16x3",
        }
    }

    /// The inverse of [`Precision::name`].
    pub fn from_name(name: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|p| p.name() == name)
    }

    /// u_in: half of the largest relative error of one product, each operand's part in it.
    ///
    /// * tf32: an operand loses less than 2⁻¹⁰.
    /// * tf32x3: x = h + l with |l| ≤ 2⁻¹¹ (h is rounded to 10 bits). l·l′ is left out (2⁻²²), and
    ///   each l is truncated to 10 bits, which loses less than 2⁻²²: 3·2⁻²² in all.
    /// * bf16x3: |l| ≤ 2⁻⁸ and x − h − l ≤ 2⁻¹⁷: l·l′ (2⁻¹⁶) and two rests make 2⁻¹⁵.
    /// * bf16x6: x = h + m + l with |m| ≤ 2⁻⁸, |l| ≤ 2⁻¹⁷. m·l′ and l·m′ are left out (2⁻²⁵ each),
    ///   and l·l′ (2⁻³⁴): below 2⁻²⁴ + 2⁻³⁴.
    /// * fp16x3: |l| ≤ 2⁻¹¹ and x − h − l ≤ 2⁻²²: l·l′ and two rests, 3·2⁻²², inside fp16's range.
    pub fn operand_error(self) -> f64 {
        let two_to = |exponent: i32| f64::from(exponent).exp2();
        match self {
            Precision::Ieee => 0.0,
            Precision::Tf32 => two_to(-10),
            Precision::Tf32x3 | Precision::Fp16x3 => 3.0 * two_to(-23),
            Precision::Bf16x3 => two_to(-16),
            Precision::Bf16x6 => two_to(-25) + two_to(-35),
        }
    }

    /// The operands' part of the bound, for a verdict.
    fn describe(self) -> &'static str {
        match self {
            Precision::Ieee => "",
            Precision::Tf32 => " + 6·2⁻¹⁰·Q + 2·2⁻¹⁰·|r|",
            Precision::Tf32x3 | Precision::Fp16x3 => " + 18·2⁻²³·Q + 6·2⁻²³·|r|",
            Precision::Bf16x3 => " + 6·2⁻¹⁶·Q + 2·2⁻¹⁶·|r|",
            Precision::Bf16x6 => " + 6·2⁻²⁵·Q + 2·2⁻²⁵·|r|",
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a kernel's output is held to.
#[derive(Clone, Debug, PartialEq)]
pub enum Tolerance {
    /// Every element equal (−0 and 0 are).
    Exact,
    /// At most this many units in the last place of the output's dtype.
    Ulp(u32),
    /// A bound an element, derived operator by operator.
    Derived {
        /// The contraction that the kernel holds, if any.
        contraction: Option<Contraction>,
        /// Operators whose rounding counts or that carry the error, in order.
        operators: Vec<String>,
        /// c of the cap c + c·|r|; `None` when nothing caps the bound.
        cap: Option<f64>,
    },
}

/// The sum of products in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contraction {
    pub precision: Precision,
    /// K: products in one output element.
    pub terms: usize,
}

impl Contraction {
    /// The bound on one element, without the output's own rounding.
    pub fn bound(self, magnitude: f64, reference: f64) -> f64 {
        let operand = self.precision.operand_error();
        4.0 * UNIT * (self.terms as f64).sqrt() * (magnitude + reference.abs())
            + operand * (6.0 * magnitude + 2.0 * reference.abs())
    }
}

/// c of the cap c + c·|r| under our own input law.
pub fn cap(dtype: DType, precision: Precision) -> f64 {
    match (dtype, precision) {
        (DType::F16 | DType::BF16, _) | (_, Precision::Tf32) => 1e-2,
        (DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz, _) => 1e-2,
        (_, Precision::Ieee | Precision::Tf32x3 | Precision::Bf16x6 | Precision::Fp16x3 | Precision::Bf16x3) => 1e-4,
    }
}

/// 2⁻ᵈ: the largest relative error of a number that is rounded once to a float type of d digits.
pub fn rounding(dtype: DType) -> f64 {
    dtype.format().map_or(0.0, |format| f64::from(-format.digits).exp2())
}

impl Tolerance {
    /// The formula, on one line, for a verdict.
    pub fn describe(&self) -> String {
        match self {
            Tolerance::Exact => "bit-equal".to_owned(),
            Tolerance::Ulp(n) => format!("|y − r| ≤ {n} ulp"),
            Tolerance::Derived { contraction, operators, cap } => {
                let mut text = match contraction {
                    Some(Contraction { precision, terms }) => {
                        let operand = precision.describe();
                        format!("|y − r| ≤ 4·2⁻²⁴·√K·(Q + |r|){operand} + ½ulp, K = {terms}")
                    }
                    None => "|y − r| ≤ rounding of each operator".to_owned(),
                };
                if !operators.is_empty() {
                    text += if contraction.is_some() { ", carried through " } else { ": " };
                    text += &operators.join(", ");
                }
                if let Some(c) = cap {
                    text += &format!("; at most {c:.0e}·(1 + |r|)");
                }
                text
            }
        }
    }
}

/// Half the distance between fp32 neighbours at `value` (f64's when the dtype is f64): the error of
/// one correctly rounded operation.
pub fn half_ulp(value: f64, dtype: DType) -> f64 {
    const F32: FloatFormat =
        FloatFormat { digits: 24, min_exponent: -126, max: f32::MAX as f64, infinite: true, signed_zero: true };
    match dtype {
        DType::F64 => {
            FloatFormat { digits: 53, min_exponent: -1022, max: f64::MAX, infinite: true, signed_zero: true }.ulp(value) / 2.0
        }
        _ => F32.ulp(value) / 2.0,
    }
}

/// The distance from `a` to `b` in units in the last place of `dtype` at `b`; 0 for equal values and
/// two NaNs, infinite when only one is finite.
pub fn ulps(a: f64, b: f64, dtype: DType) -> f64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0.0;
    }
    match dtype.format() {
        Some(format) if a.is_finite() && b.is_finite() => (a - b).abs() / format.ulp(b),
        Some(_) => f64::INFINITY,
        None => (a - b).abs(),
    }
}

/// The error of an fp32 function of an exact argument `a` whose exact result is `v`.
///
/// The figures are those of the hardware's approximate units, which are worse than a CPU's: an
/// exponential through base 2 loses |a| units by the product a·log₂e; sine and cosine lose as much
/// by range reduction; division and square roots are good to two units.
pub fn function_error(op: Unary, a: f64, v: f64) -> f64 {
    match op {
        Unary::Neg | Unary::Abs | Unary::Floor | Unary::Ceil | Unary::RoundEven | Unary::Not => 0.0,
        Unary::Exp => UNIT * v.abs() * (4.0 + 2.0 * a.abs()) + half_ulp(0.0, DType::F32),
        Unary::Log => 4.0 * UNIT * (v.abs() + 1.0),
        Unary::Sqrt | Unary::Rsqrt => 4.0 * UNIT * v.abs(),
        Unary::Sin | Unary::Cos => 4.0 * UNIT * a.abs().max(1.0),
        // Through one exponential, whose argument is bounded where the result is not saturated.
        Unary::Tanh => 16.0 * UNIT,
        Unary::Erf => 8.0 * UNIT,
        Unary::Sigmoid => {
            let relative = UNIT * (8.0 + 2.0 * a.abs());
            // 1 / (1 + e^−a) is 0 where e^−a is beyond fp32, though what it stands for may be a number still.
            let lost = if v * f32::MAX as f64 <= 1.0 + relative { v } else { 0.0 };
            v.abs() * relative + lost + half_ulp(0.0, DType::F32)
        }
    }
}

/// The error of an fp32 operator on exact operands whose exact result is `v`.
pub fn operator_error(op: Binary, a: f64, b: f64, v: f64) -> f64 {
    match op {
        Binary::Mul if a == 0.0 || b == 0.0 => 0.0,
        Binary::Add | Binary::Sub | Binary::Mul => half_ulp(v, DType::F32),
        Binary::Div => 4.0 * UNIT * v.abs() + half_ulp(0.0, DType::F32),
        // e^(b·ln a): the exponent's error is multiplied by the exponent.
        Binary::Pow => UNIT * v.abs() * (8.0 + 4.0 * (b * a.abs().max(f64::MIN_POSITIVE).ln()).abs()),
        Binary::MinNan | Binary::MaxNan | Binary::MinNum | Binary::MaxNum => 0.0,
        Binary::DivTrunc | Binary::DivFloor | Binary::And | Binary::Or | Binary::Xor => 0.0,
    }
}

/// The error of an fp32 operator inside a formula that may be written another way and mean the same.
///
/// `α·x + β` may be `(x + β/α)·α`, `x·g/6` may be `x·(g/6)`: a sum is rounded as large as its parts are, which it
/// may cancel, and again when it is scaled; a product as often as its factors are collected.
pub fn rearranged_error(op: Binary, a: f64, b: f64, v: f64) -> f64 {
    match op {
        Binary::Add | Binary::Sub => UNIT * (a.abs() + b.abs()) + half_ulp(v, DType::F32),
        Binary::Mul if a == 0.0 || b == 0.0 => 0.0,
        Binary::Mul => 2.0 * UNIT * v.abs() + half_ulp(0.0, DType::F32),
        Binary::Div | Binary::Pow => operator_error(op, a, b, v),
        Binary::MinNan | Binary::MaxNan | Binary::MinNum | Binary::MaxNum => 0.0,
        Binary::DivTrunc | Binary::DivFloor | Binary::And | Binary::Or | Binary::Xor => 0.0,
    }
}

/// How far a constant of a formula may be from what another way to write it uses: 1/6 as a factor and 6 as a divisor
/// differ by the rounding of 1/6. Numbers of few digits, and those that fp32 does not hold, are what they are.
pub fn constant_error(value: f64) -> f64 {
    const FEW: u32 = 12;
    let held = value as f32;
    let long = held.is_normal() && (held.to_bits() << 9).trailing_zeros() < 32 - (FEW - 1);
    if long { half_ulp(value, DType::F32) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_is_that_of_the_header() {
        let ieee = Contraction { precision: Precision::Ieee, terms: 576 };
        assert_eq!(ieee.bound(2.0, -1.0), 4.0 * UNIT * 24.0 * 3.0);
        let tf32 = Contraction { precision: Precision::Tf32, ..ieee };
        assert_eq!(tf32.bound(2.0, -1.0) - ieee.bound(2.0, -1.0), 14.0 / 1024.0);
    }

    #[test]
    fn classes_are_named_and_ordered_by_their_error() {
        assert_eq!(Precision::from_name("bf16x6"), Some(Precision::Bf16x6));
        assert_eq!(Precision::from_name("auto"), None);
        let [ieee, tf32, tf32x3, bf16x6, fp16x3, bf16x3] = Precision::ALL.map(Precision::operand_error);
        assert!(ieee < bf16x6 && bf16x6 < tf32x3 && tf32x3 <= fp16x3 && fp16x3 < bf16x3 && bf16x3 < tf32);
        assert_eq!([DType::F16, DType::BF16, DType::I64].map(rounding), [1.0 / 2048.0, 1.0 / 256.0, 0.0]);
        assert_eq!(cap(DType::F32, Precision::Bf16x3), 1e-4);
        assert_eq!((cap(DType::F32, Precision::Tf32), cap(DType::BF16, Precision::Ieee)), (1e-2, 1e-2));
    }

    #[test]
    fn ulps_count_neighbours() {
        let next = f32::from_bits(1.5f32.to_bits() + 3) as f64;
        assert_eq!(ulps(next, 1.5, DType::F32), 3.0);
        assert_eq!(ulps(-0.0, 0.0, DType::F32), 0.0);
        assert_eq!(ulps(f64::NAN, 1.0, DType::F32), f64::INFINITY);
        assert_eq!(ulps(5.0, 2.0, DType::I64), 3.0);
        assert_eq!(half_ulp(1.0, DType::F32), UNIT);
    }

    #[test]
    fn a_sigmoid_may_be_0_where_its_exponential_overflows() {
        let sigmoid = |a: f64| 1.0 / (1.0 + (-a).exp());
        let computed = |a: f64| (1.0 / (1.0 + (-a as f32).exp())) as f64;
        for a in [-80.0, -88.0, -88.7, -88.722, -88.723, -88.73, -89.0, -100.0, -103.0, -104.0, -700.0] {
            assert!((computed(a) - sigmoid(a)).abs() <= function_error(Unary::Sigmoid, a, sigmoid(a)), "{a}");
        }
        assert!(function_error(Unary::Sigmoid, -88.0, sigmoid(-88.0)) < sigmoid(-88.0) / 1e4);
    }

    #[test]
    fn a_verdict_shows_the_formula() {
        let tolerance = Tolerance::Derived {
            contraction: Some(Contraction { precision: Precision::Ieee, terms: 147 }),
            operators: vec!["batch_norm".into(), "relu".into()],
            cap: Some(1e-4),
        };
        expect_test::expect![
            "|y − r| ≤ 4·2⁻²⁴·√K·(Q + |r|) + ½ulp, K = 147, carried through batch_norm, relu; at most 1e-4·(1 + |r|)"
        ]
        .assert_eq(&tolerance.describe());
        assert_eq!(Tolerance::Exact.describe(), "bit-equal");
    }
}
