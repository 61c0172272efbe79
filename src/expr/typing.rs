//! Which operand and result types each expression node takes.
//!
//! One rule serves the parser (before a node is built) and the graph's verifier (on whole
//! expressions, where reads have the types of their operands).

use super::{Binary, Constant, Expr, ExprId, Node, Unary};
use crate::dtype::DType;

/// Why a node cannot have this result type over operands of these types; `None` when it can.
pub fn complaint(node: Node, dtype: DType, of: impl Fn(ExprId) -> DType) -> Option<String> {
    let same = |name: &str, types: &[DType]| {
        let odd = types.iter().find(|t| **t != types[0])?;
        Some(format!("{name} of {} and {odd}", types[0]))
    };
    let is = |name: &str, ok: bool, found: DType| (!ok).then(|| format!("{name} of {found}"));
    match node {
        Node::Read(_) => None,
        Node::Coordinate(_) => is("a coordinate", dtype.is_integer(), dtype),
        Node::Constant(Constant::Float(_)) => is("a float constant", dtype.is_float(), dtype),
        Node::Constant(Constant::Int(_)) => is("an integer constant", dtype.is_integer(), dtype),
        Node::Constant(Constant::Bool(_)) => is("a bool constant", dtype == DType::Bool, dtype),
        Node::Unary(op, a) => {
            let ok = match op {
                Unary::Neg | Unary::Abs => of(a) != DType::Bool,
                Unary::Not => !of(a).is_float(),
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
                | Unary::RoundEven => of(a).is_float(),
            };
            is(op.name(), ok, of(a)).or_else(|| same(op.name(), &[of(a), dtype]))
        }
        Node::Binary(op, a, b) => {
            let ok = match op {
                Binary::Add
                | Binary::Sub
                | Binary::Mul
                | Binary::MinNan
                | Binary::MaxNan
                | Binary::MinNum
                | Binary::MaxNum
                | Binary::Pow => of(a) != DType::Bool,
                Binary::Div => of(a).is_float(),
                Binary::DivTrunc | Binary::DivFloor => of(a).is_integer(),
                Binary::And | Binary::Or | Binary::Xor => !of(a).is_float(),
            };
            is(op.name(), ok, of(a)).or_else(|| same(op.name(), &[of(a), of(b), dtype]))
        }
        Node::Compare(op, a, b) => same(op.name(), &[of(a), of(b)]).or_else(|| is(op.name(), dtype == DType::Bool, dtype)),
        Node::Select(c, a, b) => {
            is("select by a condition", of(c) == DType::Bool, of(c)).or_else(|| same("select", &[of(a), of(b), dtype]))
        }
        Node::Cast(_) => None,
    }
}

impl Expr {
    /// Why the expression is not well typed over reads of these types (`reads[k]` for the k-th);
    /// `None` when it is.
    pub fn complaint(&self, reads: &[DType]) -> Option<String> {
        self.nodes().iter().find_map(|&(node, dtype)| match node {
            Node::Read(k) => match reads.get(k as usize) {
                Some(&t) if t == dtype => None,
                Some(t) => Some(format!("r{k} is {t} and used as {dtype}")),
                None => Some(format!("r{k} where there are {} reads", reads.len())),
            },
            Node::Coordinate(_)
            | Node::Constant(_)
            | Node::Unary(..)
            | Node::Binary(..)
            | Node::Compare(..)
            | Node::Select(..)
            | Node::Cast(_) => complaint(node, dtype, |id| self.nodes()[id.0 as usize].1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_checked() {
        let of = |id: ExprId| [DType::F32, DType::I64, DType::Bool][id.0 as usize];
        let (f, i, b) = (ExprId(0), ExprId(1), ExprId(2));
        assert_eq!(complaint(Node::Binary(Binary::Add, f, f), DType::F32, of), None);
        assert_eq!(complaint(Node::Binary(Binary::Add, f, i), DType::F32, of).unwrap(), "add of f32 and i64");
        assert_eq!(complaint(Node::Binary(Binary::Div, i, i), DType::I64, of).unwrap(), "div of i64");
        assert_eq!(complaint(Node::Unary(Unary::Exp, i), DType::I64, of).unwrap(), "exp of i64");
        assert_eq!(complaint(Node::Select(f, f, f), DType::F32, of).unwrap(), "select by a condition of f32");
        assert_eq!(complaint(Node::Select(b, f, i), DType::F32, of).unwrap(), "select of f32 and i64");
        assert_eq!(complaint(Node::Cast(i), DType::F16, of), None);
        assert_eq!(Expr::read(1, DType::F32).complaint(&[DType::F32]).unwrap(), "r1 where there are 1 reads");
        assert_eq!(Expr::read(0, DType::F32).complaint(&[DType::F16]).unwrap(), "r0 is f16 and used as f32");
    }
}
