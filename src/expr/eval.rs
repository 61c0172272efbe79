//! Expressions on single lanes: the plain meaning of every node.
//!
//! Floats are computed in f64 and rounded after each node to the type that its dtype is computed in
//! (fp32 for narrower ones, which only a cast or a store rounds to); for + − × ÷ √ this equals
//! computing in that type, functions come out nearly correctly rounded, which a kernel's need not. The
//! operators are [`scalar`]'s. Serves constant folding, proofs and tests; the reference has loops of its
//! own over the same operators.

use super::{Constant, Expr, ExprId, Node, scalar};
use crate::dtype::DType;

/// The value at an output coordinate, where the k-th read gives `reads[k]`. `None` where the
/// expression has no value: integer division by zero, a float that does not fit the integer type it is
/// cast to. A `select` asks for a value of the chosen side only.
pub fn eval(expr: &Expr, reads: &[Constant], at: &[usize]) -> Option<Constant> {
    let mut lanes: Vec<Option<Constant>> = Vec::with_capacity(expr.nodes().len());
    for &(node, dtype) in expr.nodes() {
        let lane = match node {
            Node::Read(k) => Some(reads[k as usize]),
            Node::Coordinate(i) => Some(Constant::Int(dtype.wrap(at[i as usize] as i64))),
            Node::Select(c, a, b) => match lanes[c.0 as usize] {
                Some(Constant::Bool(true)) => lanes[a.0 as usize],
                Some(Constant::Bool(false)) => lanes[b.0 as usize],
                Some(Constant::Float(_) | Constant::Int(_)) | None => None,
            },
            Node::Constant(_) | Node::Unary(..) | Node::Binary(..) | Node::Compare(..) | Node::Cast(_) => {
                known(node, |id| lanes[id.0 as usize])
                    .and_then(|of| apply(node, dtype, |id| (of(id), expr.nodes()[id.0 as usize].1)))
            }
        };
        lanes.push(lane);
    }
    lanes.pop().flatten()
}

/// The values of a node's operands when all of them have one.
pub(super) fn known(node: Node, lanes: impl Fn(ExprId) -> Option<Constant>) -> Option<impl Fn(ExprId) -> Constant> {
    let mut all = true;
    super::operands(node, |id| all &= lanes(id).is_some());
    all.then_some(move |id| lanes(id).expect("invariant: all operands have values"))
}

/// The value of one node that is neither a read nor a coordinate, over its operands' values and types.
/// `None` as in [`eval`], and where an operand's kind does not fit the operator.
pub fn apply(node: Node, dtype: DType, of: impl Fn(ExprId) -> (Constant, DType)) -> Option<Constant> {
    use Constant::{Bool, Float, Int};
    let rounded = |value: f64| Constant::float(dtype.computed_in().round(value));
    match node {
        Node::Read(_) | Node::Coordinate(_) => None,
        Node::Constant(Float(bits)) => Some(rounded(f64::from_bits(bits))),
        Node::Constant(Int(value)) => Some(Int(dtype.wrap(value))),
        Node::Constant(Bool(value)) => Some(Bool(value)),
        Node::Unary(op, a) => match of(a).0 {
            Float(bits) => scalar::unary(op, f64::from_bits(bits)).map(rounded),
            Int(value) => scalar::unary_integer(op, value, dtype).map(Int),
            Bool(value) => scalar::unary_bool(op, value).map(Bool),
        },
        Node::Binary(op, a, b) => match (of(a).0, of(b).0) {
            (Float(a), Float(b)) => scalar::binary(op, f64::from_bits(a), f64::from_bits(b)).map(rounded),
            (Int(a), Int(b)) => scalar::binary_integer(op, a, b, dtype).map(Int),
            (Bool(a), Bool(b)) => scalar::binary_bool(op, a, b).map(Bool),
            (Float(_) | Int(_) | Bool(_), _) => None,
        },
        Node::Compare(op, a, b) => match (of(a), of(b).0) {
            ((Float(a), _), Float(b)) => Some(Bool(scalar::compare(op, f64::from_bits(a), f64::from_bits(b)))),
            ((Int(a), dtype), Int(b)) => Some(Bool(scalar::compare_integers(op, a, b, dtype))),
            ((Bool(a), _), Bool(b)) => Some(Bool(scalar::compare(op, a, b))),
            ((Float(_) | Int(_) | Bool(_), _), _) => None,
        },
        Node::Select(c, a, b) => match of(c).0 {
            Bool(true) => Some(of(a).0),
            Bool(false) => Some(of(b).0),
            Float(_) | Int(_) => None,
        },
        Node::Cast(a) => cast(of(a), dtype),
    }
}

fn cast((value, from): (Constant, DType), to: DType) -> Option<Constant> {
    use Constant::{Bool, Float, Int};
    match value {
        Float(bits) if to.is_float() => Some(Constant::float(to.round(f64::from_bits(bits)))),
        Int(v) if to.is_float() => Some(Constant::float(scalar::integer_to_float(v, from, to))),
        Bool(v) if to.is_float() => Some(Constant::float(f64::from(u8::from(v)))),
        Float(bits) if to == DType::Bool => Some(Bool(f64::from_bits(bits) != 0.0)),
        Int(v) if to == DType::Bool => Some(Bool(v != 0)),
        Bool(v) if to == DType::Bool => Some(Bool(v)),
        Float(bits) => scalar::float_to_integer(f64::from_bits(bits), to).map(Int),
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
        assert_eq!(value("select(eq(d0, 5), 1, div_trunc(1, 0))", &[]), Some(Constant::Int(1)));
        assert_eq!(value("select(eq(d0, 5), div_trunc(1, 0), 1)", &[]), None);
        assert_eq!(value("i8(-3.7)", &[]), Some(Constant::Int(-3)));
        assert_eq!(value("and(lt(d0, d1), not(eq(d0, 5)))", &[]), Some(Constant::Bool(false)));
    }

    #[test]
    fn u64_lanes_count_up_from_two_to_the_63() {
        let most = [(DType::U64, Constant::Int(-1)), (DType::U64, Constant::Int(1))];
        assert_eq!(value("gt(r0, r1)", &most), Some(Constant::Bool(true)));
        assert_eq!(value("min_num(r0, r1)", &most), Some(Constant::Int(1)));
        assert_eq!(value("div_trunc(r0, 2:u64)", &most), Some(Constant::Int(i64::MAX)));
        assert_eq!(value("f64(r0)", &most), Some(Constant::float(2f64.powi(64))));
        assert_eq!(value("u64(-1.0)", &[]), None);
    }
}
