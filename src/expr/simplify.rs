//! Smaller expressions with the same value, lane by lane and bit by bit.
//!
//! One walk, operands first: constants fold, and each node is tried against identities that hold
//! for every operand, NaN, ∞ and −0 included (so x + 0.0 stays: −0 + 0 is +0; x · 0.0 stays: ∞ · 0
//! is NaN). Nothing is reassociated. Explicit casts go only where they change no value.

use super::eval::{apply, known};
use super::{Binary, Constant, Expr, ExprBuilder, ExprId, Node, Unary};
use crate::dtype::DType;

/// The simplified expression; may use fewer reads, never others.
pub fn simplify(expr: &Expr) -> Expr {
    let mut b = ExprBuilder::new();
    let mut map: Vec<ExprId> = Vec::with_capacity(expr.nodes().len());
    for &(node, dtype) in expr.nodes() {
        let node = node.with_operands(|id| map[id.0 as usize]);
        map.push(fold(&mut b, node, dtype).or_else(|| shorter(&mut b, node, dtype)).unwrap_or_else(|| b.node(node, dtype)));
    }
    let root = map[map.len() - 1];
    b.finish(root)
}

/// The expression over these dimensions: a coordinate along one of size 1 is 0, and what follows from it is
/// folded. Others stay as they are, unsimplified where no dimension has size 1.
pub fn over(expr: &Expr, dims: &[usize]) -> Expr {
    let still = |node: &Node| match node {
        Node::Coordinate(k) => dims.get(*k as usize) == Some(&1),
        Node::Read(_) | Node::Constant(_) | Node::Unary(..) | Node::Binary(..) => false,
        Node::Compare(..) | Node::Select(..) | Node::Cast(_) => false,
    };
    if !expr.nodes().iter().any(|(node, _)| still(node)) {
        return expr.clone();
    }
    let mut b = ExprBuilder::new();
    let mut map: Vec<ExprId> = Vec::with_capacity(expr.nodes().len());
    for &(node, dtype) in expr.nodes() {
        let node = if still(&node) { Node::Constant(Constant::Int(0)) } else { node.with_operands(|id| map[id.0 as usize]) };
        map.push(b.node(node, dtype));
    }
    let root = map[map.len() - 1];
    simplify(&b.finish(root))
}

fn constant(b: &ExprBuilder, id: ExprId) -> Option<Constant> {
    match b.get(id) {
        (Node::Constant(c), dtype) => apply(Node::Constant(c), dtype, |_| (c, dtype)),
        (Node::Read(_) | Node::Coordinate(_) | Node::Unary(..) | Node::Binary(..), _) => None,
        (Node::Compare(..) | Node::Select(..) | Node::Cast(_), _) => None,
    }
}

/// A node over constants becomes one.
fn fold(b: &mut ExprBuilder, node: Node, dtype: DType) -> Option<ExprId> {
    if matches!(node, Node::Constant(_)) {
        return None;
    }
    let value = known(node, |id| constant(b, id)).and_then(|of| apply(node, dtype, |id| (of(id), b.dtype(id))))?;
    Some(b.node(Node::Constant(value), dtype))
}

/// An existing node, or a smaller one, of the same value.
fn shorter(b: &mut ExprBuilder, node: Node, dtype: DType) -> Option<ExprId> {
    match node {
        Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) | Node::Compare(..) => None,
        Node::Unary(op, a) => {
            let Node::Unary(inner, x) = b.get(a).0 else { return None };
            match op {
                Unary::Not | Unary::Neg => (inner == op).then_some(x),
                Unary::Abs | Unary::Floor | Unary::Ceil | Unary::RoundEven => (inner == op).then_some(a),
                Unary::Exp | Unary::Log | Unary::Sqrt | Unary::Rsqrt | Unary::Sin | Unary::Cos => None,
                Unary::Tanh | Unary::Erf | Unary::Sigmoid => None,
            }
        }
        Node::Binary(op, x, y) => binary(b, op, x, y, dtype),
        Node::Select(c, x, y) => match constant(b, c) {
            Some(Constant::Bool(true)) => Some(x),
            Some(Constant::Bool(false)) => Some(y),
            Some(Constant::Float(_) | Constant::Int(_)) | None => (x == y).then_some(x),
        },
        Node::Cast(a) => {
            let (Node::Cast(x), between) = b.get(a) else { return None };
            (b.dtype(x) == dtype && represents(between, dtype)).then_some(x)
        }
    }
}

fn binary(b: &ExprBuilder, op: Binary, x: ExprId, y: ExprId, dtype: DType) -> Option<ExprId> {
    let one = |id| match constant(b, id) {
        Some(Constant::Float(bits)) => f64::from_bits(bits) == 1.0,
        Some(Constant::Int(v)) => v == 1,
        Some(Constant::Bool(_)) | None => false,
    };
    let int = |id, want| constant(b, id) == Some(Constant::Int(want));
    let truth = |id, want| constant(b, id) == Some(Constant::Bool(want));
    let (when, result) = match op {
        Binary::Mul if dtype.is_integer() && int(x, 0) => (true, x),
        Binary::Mul if dtype.is_integer() && int(y, 0) => (true, y),
        Binary::Mul if one(x) => (true, y),
        Binary::Mul | Binary::Div | Binary::DivTrunc | Binary::DivFloor => (one(y), x),
        Binary::Add if int(x, 0) => (true, y),
        Binary::Add | Binary::Sub => (int(y, 0), x),
        Binary::MinNan | Binary::MaxNan | Binary::MinNum | Binary::MaxNum => (x == y, x),
        Binary::And if truth(x, true) || truth(y, false) => (true, y),
        Binary::And => (x == y || truth(x, false) || truth(y, true), x),
        Binary::Or if truth(x, false) || truth(y, true) => (true, y),
        Binary::Or => (x == y || truth(x, true) || truth(y, false), x),
        Binary::Pow | Binary::Xor => (false, x),
    };
    when.then_some(result)
}

/// Whether every value of `narrow` is a value of `wide`.
fn represents(wide: DType, narrow: DType) -> bool {
    use DType::*;
    match narrow {
        F8E4M3 | F8E5M2 | F8E4M3Fnuz | F8E5M2Fnuz => matches!(wide, F16 | BF16 | F32 | F64),
        F16 | BF16 => matches!(wide, F32 | F64),
        F32 => wide == F64,
        Bool => true,
        I8 | U8 => matches!(wide, I16 | I32 | I64 | F16 | BF16 | F32 | F64),
        I16 | U16 => matches!(wide, I32 | I64 | F32 | F64),
        I32 | U32 => matches!(wide, I64 | F64),
        F64 | I64 | U64 => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::eval::eval;
    use super::super::parse::parse;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn identities_hold() {
        let simple = |text: &str| simplify(&parse(text, &[DType::F32, DType::F32, DType::Bool]).unwrap()).to_string();
        assert_eq!(simple("mul(r0, 1.0)"), "r0");
        assert_eq!(simple("add(r0, 0.0)"), "add(r0, 0.0)");
        assert_eq!(simple("mul(r0, 0.0)"), "mul(r0, 0.0)");
        assert_eq!(simple("add(r0, add(1.0, 2.0))"), "add(r0, 3.0)");
        assert_eq!(simple("select(lt(1.0, 2.0), r0, r1)"), "r0");
        assert_eq!(simple("select(r2, r1, r1)"), "r1");
        assert_eq!(simple("f32(f64(r0))"), "r0");
        assert_eq!(simple("f32(f16(r0))"), "f32(f16(r0))");
        assert_eq!(simple("not(not(r2))"), "r2");
        assert_eq!(simple("and(r2, true)"), "r2");
        assert_eq!(simple("or(r2, true)"), "true");
        assert_eq!(simple("add(mul(d0, 1), 0)"), "d0");
        assert_eq!(simple("div_trunc(1, 0)"), "div_trunc(1, 0)");
    }

    #[test]
    fn a_coordinate_along_one_element_is_zero() {
        let body = parse("add(f32(add(mul(d0, 7), d1)), r0)", &[DType::F32]).unwrap();
        assert_eq!(over(&body, &[1, 7]).to_string(), "add(f32(d1), r0)");
        assert_eq!(over(&body, &[1, 1]).to_string(), "add(0.0, r0)");
        assert_eq!(over(&body, &[2, 7]).to_string(), body.to_string());
    }

    /// Random well-typed f32 expressions over two reads, with special constants.
    fn expression() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("r0".to_owned()),
            Just("r1".to_owned()),
            proptest::sample::select(vec!["0.0", "-0.0", "1.0", "-1.0", "inf", "nan", "0.5", "3.0"]).prop_map(str::to_owned),
        ];
        leaf.prop_recursive(5, 40, 3, |inner| {
            let unary = proptest::sample::select(vec!["neg", "abs", "floor", "ceil", "round_even", "sqrt"]);
            let binary = proptest::sample::select(vec!["add", "sub", "mul", "div", "min_nan", "max_nan", "min_num", "max_num"]);
            let compare = proptest::sample::select(vec!["eq", "ne", "lt", "le", "gt", "ge"]);
            let logic = proptest::sample::select(vec!["and", "or", "xor"]);
            prop_oneof![
                (unary, inner.clone()).prop_map(|(op, a)| format!("{op}({a})")),
                (binary, inner.clone(), inner.clone()).prop_map(|(op, a, b)| format!("{op}({a}, {b})")),
                inner.clone().prop_map(|a| format!("f32(f64({a}))")),
                inner.clone().prop_map(|a| format!("f32(f16({a}))")),
                (logic, compare, inner.clone(), inner.clone(), inner.clone())
                    .prop_map(|(l, c, a, b, x)| format!("select({l}({c}({a}, {b}), not(not({c}({b}, {x})))), {a}, {x})")),
            ]
        })
    }

    proptest! {
        #[test]
        fn simplifying_keeps_values(text in expression(), x in any::<f32>(), y in any::<f32>()) {
            let expr = parse(&text, &[DType::F32, DType::F32]).unwrap();
            let small = simplify(&expr);
            prop_assert!(small.nodes().len() <= expr.nodes().len());
            let special = [0.0, -0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, x as f64, y as f64];
            for a in special {
                for b in special {
                    let reads = [Constant::float(a), Constant::float(b)];
                    prop_assert_eq!(eval(&expr, &reads, &[]), eval(&small, &reads, &[]), "{} became {}", expr, small);
                }
            }
        }

        #[test]
        fn printing_reads_back(text in expression()) {
            let expr = parse(&text, &[DType::F32, DType::F32]).unwrap();
            prop_assert_eq!(parse(&expr.to_string(), &[DType::F32, DType::F32]).unwrap(), expr);
        }
    }
}
