//! Elementwise functions with their rounding: what a kernel that computes in a type of unit roundoff u may be off by.
//!
//! An operator's own error is that of [`crate::tolerance`] (fp32) scaled to u; its operands' errors are carried by the
//! function's values at the ends of their intervals, or by its slope where it is not monotone. Where an interval crosses a
//! comparison or a step, either side is allowed.

use super::array::{Array, Kind, Result, common};
use crate::expr::{Binary as Op, Unary as Fun};
use crate::syntax::ast::{BinaryOp, CompareOp};
use crate::tolerance::{UNIT, function_error, half_ulp, operator_error};

/// How the kernel rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// Unit roundoff of its floats: 2⁻²⁴ for fp32.
    pub unit: f64,
    /// u_in of a dot's operands ([`crate::tolerance::Precision::operand_error`]).
    pub operand: f64,
}

impl Rounding {
    pub fn scale(self) -> f64 {
        self.unit / UNIT
    }
}

/// Functions of one argument: name, what is computed, whether it is monotone, the operator whose error it has.
type Function = (&'static str, fn(f64) -> f64, Shape, Option<Fun>);

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Monotone,
    /// Slope at most this.
    Slope(f64),
    /// Constant but for steps.
    Steps,
}

use Shape::{Monotone, Slope, Steps};

const FUNCTIONS: &[Function] = &[
    ("exp", libm::exp, Monotone, Some(Fun::Exp)),
    ("exp2", libm::exp2, Monotone, Some(Fun::Exp)),
    ("expm1", libm::expm1, Monotone, Some(Fun::Exp)),
    ("log", libm::log, Monotone, Some(Fun::Log)),
    ("log2", libm::log2, Monotone, Some(Fun::Log)),
    ("log10", libm::log10, Monotone, Some(Fun::Log)),
    ("log1p", libm::log1p, Monotone, Some(Fun::Log)),
    ("sqrt", libm::sqrt, Monotone, Some(Fun::Sqrt)),
    ("rsqrt", |x| 1.0 / libm::sqrt(x), Monotone, Some(Fun::Rsqrt)),
    ("sin", libm::sin, Slope(1.0), Some(Fun::Sin)),
    ("cos", libm::cos, Slope(1.0), Some(Fun::Cos)),
    ("tan", libm::tan, Monotone, Some(Fun::Sin)),
    ("tanh", libm::tanh, Monotone, Some(Fun::Tanh)),
    ("erf", libm::erf, Monotone, Some(Fun::Erf)),
    ("sigmoid", |x| 1.0 / (1.0 + libm::exp(-x)), Monotone, Some(Fun::Sigmoid)),
    ("silu", |x| x / (1.0 + libm::exp(-x)), Slope(1.1), Some(Fun::Sigmoid)),
    ("gelu", |x| 0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2)), Slope(1.13), Some(Fun::Erf)),
    ("softplus", |x| x.max(0.0) + libm::log1p(libm::exp(-x.abs())), Monotone, Some(Fun::Exp)),
    ("relu", |x| if x < 0.0 { 0.0 } else { x }, Monotone, None),
    ("abs", f64::abs, Slope(1.0), None),
    ("neg", |x| -x, Monotone, None),
    ("floor", f64::floor, Steps, None),
    ("ceil", f64::ceil, Steps, None),
    ("round", f64::round_ties_even, Steps, None),
    ("trunc", f64::trunc, Steps, None),
    ("sign", |x| if x == 0.0 || x.is_nan() { x } else { x.signum() }, Steps, None),
    ("isnan", |x| f64::from(u8::from(x.is_nan())), Steps, None),
];

pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, ..)| *name)
}

/// A function by name; `None` when there is none.
pub fn unary(name: &str, a: &Array, rounding: Rounding) -> Option<Array> {
    let (_, f, shape, op) = FUNCTIONS.iter().find(|(known, ..)| *known == name)?;
    let kind = match name {
        "isnan" => Kind::Bool,
        "abs" | "neg" | "relu" | "sign" | "floor" | "ceil" | "round" | "trunc" if a.kind != Kind::Float => Kind::Int,
        _ => Kind::Float,
    };
    let value: Vec<f64> = a.value.iter().map(|&x| f(x)).collect();
    let own = |x: f64, v: f64| {
        let known = op.map_or(0.0, |op| function_error(op, x, v));
        // The products around an exponential or an error function of a composed one.
        let composed = if matches!(name, "silu" | "gelu" | "softplus") { 4.0 * UNIT * x.abs().max(v.abs()) } else { 0.0 };
        (known + composed) * rounding.scale()
    };
    let carried = |x: f64, v: f64, e: f64| match shape {
        _ if e == 0.0 => 0.0,
        Monotone => [f(x - e), f(x + e)].into_iter().map(|w| (w - v).abs()).fold(0.0, worst),
        Slope(slope) => slope * e,
        Steps => [f(x - e), f(x + e)].into_iter().map(|w| (w - v).abs()).fold(0.0, worst),
    };
    let error = value.iter().enumerate().map(|(i, &v)| {
        let (x, e) = (a.value[i], a.error_at(i));
        let own = if v.is_finite() { own(x, v) } else { 0.0 };
        own + carried(x, v, e)
    });
    let error: Vec<f64> = error.collect();
    Some(settled(Array { kind, shape: a.shape.clone(), value, error }))
}

/// The larger; a NaN (an interval that leaves the function's domain) allows anything.
fn worst(a: f64, b: f64) -> f64 {
    if b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// Without errors when all are zero.
fn settled(mut array: Array) -> Array {
    if array.error.iter().all(|&e| e == 0.0) {
        array.error = Vec::new();
    }
    array
}

/// Combines arrays of one shape, lane by lane: (values, errors) → (value, error).
fn lanes(kind: Kind, arrays: &[&Array], f: impl Fn(&[f64], &[f64]) -> (f64, f64)) -> Result<Array> {
    let shape = common(arrays)?;
    let arrays: Vec<Array> = arrays.iter().map(|array| array.broadcast(&shape)).collect();
    let n: usize = shape.iter().product();
    let (mut value, mut error) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let (mut values, mut errors) = (vec![0.0; arrays.len()], vec![0.0; arrays.len()]);
    for i in 0..n {
        for (at, array) in arrays.iter().enumerate() {
            values[at] = array.value[i];
            errors[at] = array.error_at(i);
        }
        let (v, e) = f(&values, &errors);
        value.push(v);
        error.push(if v.is_finite() { e } else { 0.0 });
    }
    Ok(settled(Array { kind, shape, value, error }))
}

/// `a op b`.
pub fn binary(op: BinaryOp, a: &Array, b: &Array, rounding: Rounding) -> Result<Array> {
    let floats = a.kind.max(b.kind) == Kind::Float;
    let kind = match op {
        BinaryOp::Div => Kind::Float,
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor if a.kind == Kind::Bool && b.kind == Kind::Bool => Kind::Bool,
        _ => a.kind.max(b.kind).max(Kind::Int),
    };
    let own = move |name: Op, x: f64, y: f64, v: f64| {
        if floats || op == BinaryOp::Div { operator_error(name, x, y, v) * rounding.scale() } else { 0.0 }
    };
    let bits = |f: fn(i64, i64) -> i64| {
        move |v: &[f64], e: &[f64]| {
            let whole = f(v[0] as i64, v[1] as i64) as f64;
            (whole, if e[0] + e[1] > 0.0 { 1.0 } else { 0.0 })
        }
    };
    let pair = [a, b];
    match op {
        BinaryOp::Add => lanes(kind, &pair, |v, e| {
            let sum = v[0] + v[1];
            (sum, e[0] + e[1] + own(Op::Add, v[0], v[1], sum))
        }),
        BinaryOp::Sub => lanes(kind, &pair, |v, e| {
            let difference = v[0] - v[1];
            (difference, e[0] + e[1] + own(Op::Sub, v[0], v[1], difference))
        }),
        BinaryOp::Mul => lanes(kind, &pair, |v, e| {
            let product = v[0] * v[1];
            (product, v[0].abs() * e[1] + v[1].abs() * e[0] + e[0] * e[1] + own(Op::Mul, v[0], v[1], product))
        }),
        BinaryOp::Div => lanes(kind, &pair, |v, e| {
            let quotient = v[0] / v[1];
            let least = v[1].abs() - e[1];
            let carried = if e[0] + e[1] == 0.0 {
                0.0
            } else if least > 0.0 {
                (e[0] + quotient.abs() * e[1]) / least
            } else {
                f64::INFINITY
            };
            (quotient, carried + own(Op::Div, v[0], v[1], quotient))
        }),
        BinaryOp::FloorDiv => lanes(kind, &pair, |v, e| ((v[0] / v[1]).floor(), f64::from(u8::from(e[0] + e[1] > 0.0)))),
        BinaryOp::Mod => lanes(kind, &pair, |v, e| {
            let rest = v[0] - v[1] * (v[0] / v[1]).floor();
            (rest, if e[0] + e[1] > 0.0 { v[1].abs() } else { 0.0 })
        }),
        BinaryOp::Pow => lanes(kind, &pair, |v, e| {
            let power = v[0].powf(v[1]);
            let ends = [v[0] - e[0], v[0] + e[0]].into_iter().flat_map(|x| [v[1] - e[1], v[1] + e[1]].map(|y| x.powf(y)));
            let carried = if e[0] + e[1] == 0.0 { 0.0 } else { ends.map(|w| (w - power).abs()).fold(0.0, worst) };
            (power, carried + own(Op::Pow, v[0], v[1], power))
        }),
        BinaryOp::BitAnd => lanes(kind, &pair, bits(|a, b| a & b)),
        BinaryOp::BitOr => lanes(kind, &pair, bits(|a, b| a | b)),
        BinaryOp::BitXor => lanes(kind, &pair, bits(|a, b| a ^ b)),
        BinaryOp::Shl => lanes(kind, &pair, bits(|a, b| a.checked_shl(b as u32).unwrap_or(0))),
        BinaryOp::Shr => lanes(kind, &pair, bits(|a, b| a >> b.clamp(0, 63))),
        BinaryOp::MatMul => Err("invariant: matmul is not elementwise".to_owned()),
    }
}

/// `a op b` as a mask.
pub fn compare(op: CompareOp, a: &Array, b: &Array) -> Result<Array> {
    let holds = |x: f64, y: f64| match op {
        CompareOp::Eq | CompareOp::Is => Ok(x == y),
        CompareOp::Ne | CompareOp::IsNot => Ok(x != y),
        CompareOp::Lt => Ok(x < y),
        CompareOp::Le => Ok(x <= y),
        CompareOp::Gt => Ok(x > y),
        CompareOp::Ge => Ok(x >= y),
        CompareOp::In | CompareOp::NotIn => Err("`in` between arrays".to_owned()),
    };
    holds(0.0, 0.0)?;
    lanes(Kind::Bool, &[a, b], |v, e| {
        let doubtful = e[0] + e[1] > 0.0 && (v[0] - v[1]).abs() <= e[0] + e[1];
        (f64::from(u8::from(holds(v[0], v[1]).unwrap_or(false))), f64::from(u8::from(doubtful)))
    })
}

/// `where(condition, a, b)`.
pub fn choose(condition: &Array, a: &Array, b: &Array) -> Result<Array> {
    lanes(a.kind.max(b.kind), &[condition, a, b], |v, e| {
        let (value, error) = if v[0] != 0.0 { (v[1], e[1]) } else { (v[2], e[2]) };
        (value, if e[0] > 0.0 { e[1].max(e[2]) + (v[1] - v[2]).abs() } else { error })
    })
}

/// `maximum` and `minimum`: a NaN stays, as torch keeps it.
pub fn extreme(larger: bool, a: &Array, b: &Array) -> Result<Array> {
    lanes(a.kind.max(b.kind), &[a, b], |v, e| {
        let value = match (v[0].is_nan() || v[1].is_nan(), larger) {
            (true, _) => f64::NAN,
            (false, true) => v[0].max(v[1]),
            (false, false) => v[0].min(v[1]),
        };
        (value, e[0].max(e[1]))
    })
}

/// Rounded to an element type.
pub fn cast(a: &Array, dtype: crate::dtype::DType) -> Array {
    use crate::dtype::Carrier;
    let kind = match dtype.carrier() {
        Carrier::F64 | Carrier::F32 => Kind::Float,
        Carrier::I64 => Kind::Int,
        Carrier::Bool => Kind::Bool,
    };
    let value = a.value.iter().map(|&v| match dtype.carrier() {
        Carrier::F64 | Carrier::F32 => dtype.round(v),
        Carrier::I64 => dtype.wrap(v as i64) as f64,
        Carrier::Bool => f64::from(u8::from(v != 0.0)),
    });
    let value: Vec<f64> = value.collect();
    let step = |v: f64| match dtype.format() {
        Some(format) => format.ulp(v),
        None => 1.0,
    };
    let error = value.iter().enumerate().map(|(i, &v)| match a.error_at(i) {
        e if e == 0.0 || !v.is_finite() => 0.0,
        e => e + step(v),
    });
    let error: Vec<f64> = error.collect();
    settled(Array { kind, shape: a.shape.clone(), error, value })
}

/// The smallest error of any fp32 result: what a denormal costs.
pub fn tiny() -> f64 {
    half_ulp(0.0, crate::dtype::DType::F32)
}
