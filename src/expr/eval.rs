//! Expressions on single lanes: the plain meaning of every node.
//!
//! Floats are computed in f64 and rounded after each node to the type that its dtype is computed in
//! (fp32 for narrower ones, which only a cast or a store rounds to); for + − × ÷ √ this equals
//! computing in that type, functions come out nearly correctly rounded, which a kernel's need not.
//! Integers wrap to their width. Serves constant folding, proofs and tests; the reference has loops
//! of its own. Does not catch: u64 lanes at or above 2⁶³ count as negative.

use super::{Binary, Compare, Constant, Expr, ExprId, Node, Unary};
use crate::dtype::DType;

/// The value at an output coordinate, where the k-th read gives `reads[k]`. `None` where the
/// expression has no value: integer division by zero, a negative integer power, a float that does
/// not fit the integer type it is cast to.
pub fn eval(expr: &Expr, reads: &[Constant], at: &[usize]) -> Option<Constant> {
    let mut lanes: Vec<Constant> = Vec::with_capacity(expr.nodes().len());
    for &(node, dtype) in expr.nodes() {
        let lane = match node {
            Node::Read(k) => reads[k as usize],
            Node::Coordinate(i) => Constant::Int(dtype.wrap(at[i as usize] as i64)),
            _ => apply(node, dtype, |id| lanes[id.0 as usize])?,
        };
        lanes.push(lane);
    }
    lanes.pop()
}

/// The value of one node that is neither a read nor a coordinate, over the values of its operands.
/// `None` as in [`eval`], and where an operand's kind does not fit the operator.
pub fn apply(node: Node, dtype: DType, of: impl Fn(ExprId) -> Constant) -> Option<Constant> {
    use Constant::{Bool, Float, Int};
    match node {
        Node::Read(_) | Node::Coordinate(_) => None,
        Node::Constant(Float(bits)) => Some(Constant::float(dtype.computed_in().round(f64::from_bits(bits)))),
        Node::Constant(Int(value)) => Some(Int(dtype.wrap(value))),
        Node::Constant(Bool(value)) => Some(Bool(value)),
        Node::Unary(op, a) => match of(a) {
            Float(bits) => float_unary(op, f64::from_bits(bits)).map(|v| Constant::float(dtype.computed_in().round(v))),
            Int(value) => int_unary(op, value).map(|v| Int(dtype.wrap(v))),
            Bool(value) => (op == Unary::Not).then_some(Bool(!value)),
        },
        Node::Binary(op, a, b) => match (of(a), of(b)) {
            (Float(a), Float(b)) => {
                float_binary(op, f64::from_bits(a), f64::from_bits(b)).map(|v| Constant::float(dtype.computed_in().round(v)))
            }
            (Int(a), Int(b)) => int_binary(op, a, b).map(|v| Int(dtype.wrap(v))),
            (Bool(a), Bool(b)) => match op {
                Binary::And => Some(Bool(a & b)),
                Binary::Or => Some(Bool(a | b)),
                Binary::Xor => Some(Bool(a ^ b)),
                _ => None,
            },
            _ => None,
        },
        Node::Compare(op, a, b) => match (of(a), of(b)) {
            (Float(a), Float(b)) => Some(Bool(compare(op, &f64::from_bits(a), &f64::from_bits(b)))),
            (Int(a), Int(b)) => Some(Bool(compare(op, &a, &b))),
            (Bool(a), Bool(b)) => Some(Bool(compare(op, &a, &b))),
            _ => None,
        },
        Node::Select(c, a, b) => match of(c) {
            Bool(true) => Some(of(a)),
            Bool(false) => Some(of(b)),
            Float(_) | Int(_) => None,
        },
        Node::Cast(a) => cast(of(a), dtype),
    }
}

fn float_unary(op: Unary, a: f64) -> Option<f64> {
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

fn int_unary(op: Unary, a: i64) -> Option<i64> {
    match op {
        Unary::Neg => Some(a.wrapping_neg()),
        Unary::Abs => Some(a.wrapping_abs()),
        Unary::Not => Some(!a),
        Unary::Exp
        | Unary::Log
        | Unary::Sqrt
        | Unary::Rsqrt
        | Unary::Sin
        | Unary::Cos
        | Unary::Tanh
        | Unary::Erf
        | Unary::Sigmoid
        | Unary::Floor
        | Unary::Ceil
        | Unary::RoundEven => None,
    }
}

fn float_binary(op: Binary, a: f64, b: f64) -> Option<f64> {
    let nan = a.is_nan() || b.is_nan();
    Some(match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::MinNan | Binary::MaxNan if nan => f64::NAN,
        Binary::MinNan | Binary::MinNum => a.min(b),
        Binary::MaxNan | Binary::MaxNum => a.max(b),
        Binary::Pow => a.powf(b),
        Binary::DivTrunc | Binary::DivFloor | Binary::And | Binary::Or | Binary::Xor => return None,
    })
}

fn int_binary(op: Binary, a: i64, b: i64) -> Option<i64> {
    match op {
        Binary::Add => Some(a.wrapping_add(b)),
        Binary::Sub => Some(a.wrapping_sub(b)),
        Binary::Mul => Some(a.wrapping_mul(b)),
        Binary::DivTrunc => (b != 0).then(|| a.wrapping_div(b)),
        Binary::DivFloor => (b != 0).then(|| {
            let quotient = a.wrapping_div(b);
            if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
        }),
        Binary::MinNan | Binary::MinNum => Some(a.min(b)),
        Binary::MaxNan | Binary::MaxNum => Some(a.max(b)),
        Binary::Pow => u32::try_from(b).ok().map(|b| a.wrapping_pow(b)),
        Binary::And => Some(a & b),
        Binary::Or => Some(a | b),
        Binary::Xor => Some(a ^ b),
        Binary::Div => None,
    }
}

fn compare<T: PartialOrd>(op: Compare, a: &T, b: &T) -> bool {
    match op {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
    }
}

fn cast(value: Constant, to: DType) -> Option<Constant> {
    use Constant::{Bool, Float, Int};
    if to.is_float() {
        let float = match value {
            Float(bits) => to.round(f64::from_bits(bits)),
            // One rounding: i64 to f32 through f64 would round twice.
            Int(v) if to == DType::F32 => v as f32 as f64,
            Int(v) => to.round(v as f64),
            Bool(v) => f64::from(u8::from(v)),
        };
        return Some(Constant::float(float));
    }
    if to == DType::Bool {
        return Some(Bool(match value {
            Float(bits) => f64::from_bits(bits) != 0.0,
            Int(v) => v != 0,
            Bool(v) => v,
        }));
    }
    match value {
        Float(bits) => {
            let whole = f64::from_bits(bits).trunc();
            let fits = whole >= -(2f64.powi(63)) && whole < 2f64.powi(63) && to.wrap(whole as i64) == whole as i64;
            fits.then_some(Int(whole as i64))
        }
        Int(v) => Some(Int(to.wrap(v))),
        Bool(v) => Some(Int(i64::from(v))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    fn value(text: &str, reads: &[(DType, Constant)]) -> Option<Constant> {
        let types: Vec<DType> = reads.iter().map(|r| r.0).collect();
        let lanes: Vec<Constant> = reads.iter().map(|r| r.1).collect();
        eval(&parse(text, &types).unwrap(), &lanes, &[5, 7])
    }

    fn float(text: &str, x: f64) -> f64 {
        match value(text, &[(DType::F32, Constant::float(x))]) {
            Some(Constant::Float(bits)) => f64::from_bits(bits),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn lanes_have_their_types_arithmetic() {
        assert_eq!(float("select(lt(r0, 0.0), 0.0, r0)", -3.0), 0.0);
        assert!(float("select(lt(r0, 0.0), 0.0, r0)", f64::NAN).is_nan());
        assert_eq!(float("max_num(r0, 0.0)", f64::NAN), 0.0);
        assert!(float("max_nan(r0, 0.0)", f64::NAN).is_nan());
        assert_eq!(float("add(r0, 1e-10)", 1.0), 1.0);
        assert_eq!(float("f32(f16(r0))", 2049.0), 2048.0);
        assert_eq!(value("add(mul(d0, 10), d1)", &[]), Some(Constant::Int(57)));
        assert_eq!(value("div_floor(-7, 2)", &[]), Some(Constant::Int(-4)));
        assert_eq!(value("div_trunc(-7, 2)", &[]), Some(Constant::Int(-3)));
        assert_eq!(value("div_trunc(d0, 0)", &[]), None);
        assert_eq!(value("add(127:i8, 1:i8)", &[]), Some(Constant::Int(-128)));
        assert_eq!(value("i8(300.0)", &[]), None);
        assert_eq!(value("i8(-3.7)", &[]), Some(Constant::Int(-3)));
        assert_eq!(value("and(lt(d0, d1), not(eq(d0, 5)))", &[]), Some(Constant::Bool(false)));
    }
}
