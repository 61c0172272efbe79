//! Facts about an expression that hold whatever its other reads are.
//!
//! Constant propagation with "known" and "unknown" lanes. It proves f(c) = c for the functions that
//! matter under masks (relu, scaling by a constant, |x| at 0) and is silent where a known zero
//! meets an unknown factor: 0 · ∞ is NaN.

use super::eval::{apply, known};
use super::{Constant, Expr, Node};

/// The value of the expression where its k-th read is `value`, when that alone decides it.
pub fn value_where(expr: &Expr, k: u32, value: Constant) -> Option<Constant> {
    let mut lanes: Vec<Option<Constant>> = Vec::with_capacity(expr.nodes().len());
    for &(node, dtype) in expr.nodes() {
        let of = |id: super::ExprId| lanes[id.0 as usize];
        let lane = match node {
            Node::Read(read) => (read == k).then_some(value),
            Node::Coordinate(_) => None,
            // Only the chosen side of a select needs to be known.
            Node::Select(c, a, b) => match of(c) {
                Some(Constant::Bool(true)) => of(a),
                Some(Constant::Bool(false)) => of(b),
                Some(Constant::Float(_) | Constant::Int(_)) | None => of(a).filter(|_| of(a) == of(b)),
            },
            Node::Constant(_) | Node::Unary(..) | Node::Binary(..) | Node::Compare(..) | Node::Cast(_) => {
                known(node, of).and_then(|of| apply(node, dtype, |id| (of(id), expr.nodes()[id.0 as usize].1)))
            }
        };
        lanes.push(lane);
    }
    lanes.pop().flatten()
}

/// Whether f(c) = c, bit for bit, as a function of the k-th read.
pub fn keeps(expr: &Expr, k: u32, value: Constant) -> bool {
    value_where(expr, k, value) == Some(value)
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn zero_is_kept_or_not() {
        let zero = Constant::float(0.0);
        let keeps_zero = |text: &str| keeps(&parse(text, &[DType::F32, DType::F32]).unwrap(), 0, zero);
        assert!(keeps_zero("select(lt(r0, 0.0), 0.0, r0)"));
        assert!(keeps_zero("mul(r0, 0.5)"));
        assert!(keeps_zero("select(lt(r0, 0.0), mul(r0, r1), r0)"));
        assert!(!keeps_zero("mul(r0, r1)"));
        assert!(!keeps_zero("mul(r0, -1.0)"), "-0 is another value");
        assert!(!keeps_zero("add(r0, 1.0)"));
        assert!(!keeps_zero("sigmoid(r0)"));
    }
}
