//! The error of a Map as another Map: each node of its expression beside the error that it carries.
//!
//! Not known, and so refused: what a quotient by a wrong divisor, a power or a comparison makes of an error.

use crate::dtype::DType;
use crate::expr::{self, Binary, Compare, ExprBuilder, ExprId, Node, Unary};
use crate::graph::op::{Access, Map, OutOfBounds};
use crate::tolerance::rounding;

use super::WIDE;
use crate::emit::torch_expr;

/// The Map that gives a Map's error: its operands are those of `map`, then the errors of those that are `wrong`.
pub(super) fn map_error(map: &Map, wrong: &[bool]) -> Option<Map> {
    let mut reads = map.reads.clone();
    let mut place = wrong.len();
    let places: Vec<Option<usize>> = wrong
        .iter()
        .map(|&wrong| {
            place += usize::from(wrong);
            wrong.then(|| place - 1)
        })
        .collect();
    let errors: Vec<Option<u32>> = map
        .reads
        .iter()
        .map(|access| {
            let input = places[access.input]?;
            let oob = match access.oob {
                OutOfBounds::InBounds => OutOfBounds::InBounds,
                OutOfBounds::Fill(_) => OutOfBounds::Fill(0.0),
            };
            reads.push(Access { input, index: access.index.clone(), oob });
            Some(reads.len() as u32 - 1)
        })
        .collect();
    let mut growth = Growth { b: ExprBuilder::new(), values: Vec::new(), errors: Vec::new() };
    if let Some(read) = torch_expr::relu_operand(map.body.nodes()) {
        let root = growth.of_relu(map.body.nodes(), read, errors[read]?);
        return Some(Map { reads, body: growth.b.finish(root), ..map.clone() });
    }
    for &(node, dtype) in map.body.nodes() {
        let value = growth.b.node(node.with_operands(|id| growth.values[id.0 as usize]), dtype);
        let error = growth.of(node, dtype, value, &errors)?;
        growth.values.push(value);
        growth.errors.push(error);
    }
    let root = match *growth.errors.last()? {
        Some(error) => error,
        None => growth.b.float(0.0, WIDE),
    };
    Some(Map { reads, body: growth.b.finish(root), ..map.clone() })
}

/// The error of each node of an expression beside its value.
struct Growth {
    b: ExprBuilder,
    values: Vec<ExprId>,
    /// `None`: exact.
    errors: Vec<Option<ExprId>>,
}

impl Growth {
    /// The outer `None`: not known.
    fn of(&mut self, node: Node, dtype: DType, value: ExprId, reads: &[Option<u32>]) -> Option<Option<ExprId>> {
        let error = |id: ExprId| self.errors[id.0 as usize];
        let exact = {
            let mut exact = true;
            expr::operands(node, |id| exact &= error(id).is_none());
            exact
        };
        let narrowed = |from: DType| matches!((from.format(), dtype.format()), (Some(a), Some(b)) if b.digits < a.digits);
        match node {
            Node::Read(k) => Some(reads[k as usize].map(|k| self.b.read(k, WIDE))),
            Node::Coordinate(_) | Node::Constant(_) => Some(None),
            Node::Cast(a) if narrowed(self.b.dtype(self.values[a.0 as usize])) => {
                let unit = self.b.float(rounding(dtype), WIDE);
                let own = self.weighed(unit, value);
                Some(self.sum(self.errors[a.0 as usize], Some(own)))
            }
            Node::Unary(..) | Node::Binary(..) | Node::Compare(..) | Node::Select(..) | Node::Cast(_) if exact => Some(None),
            Node::Unary(op, a) => {
                let error = error(a)?;
                let constant = lipschitz(op)?;
                let factor = self.b.float(constant, WIDE);
                Some(Some(if constant == 1.0 { error } else { self.b.binary(Binary::Mul, error, factor) }))
            }
            Node::Binary(op, a, b) => {
                let (ea, eb) = (error(a), error(b));
                let (a, b) = (self.values[a.0 as usize], self.values[b.0 as usize]);
                match op {
                    Binary::Add | Binary::Sub => Some(self.sum(ea, eb)),
                    Binary::MinNan | Binary::MaxNan | Binary::MinNum | Binary::MaxNum => Some(match (ea, eb) {
                        (Some(ea), Some(eb)) => Some(self.b.binary(Binary::MaxNan, ea, eb)),
                        (one, other) => one.or(other),
                    }),
                    Binary::Mul => {
                        let first = ea.map(|ea| self.weighed(ea, b));
                        let second = eb.map(|eb| self.weighed(eb, a));
                        let both = ea.zip(eb).map(|(ea, eb)| self.b.binary(Binary::Mul, ea, eb));
                        let sum = self.sum(first, second);
                        Some(self.sum(sum, both))
                    }
                    Binary::Div if eb.is_none() => {
                        let divisor = self.b.cast(b, WIDE);
                        let divisor = self.b.unary(Unary::Abs, divisor);
                        Some(Some(self.b.binary(Binary::Div, ea?, divisor)))
                    }
                    Binary::Div | Binary::DivTrunc | Binary::DivFloor | Binary::Pow => None,
                    Binary::And | Binary::Or | Binary::Xor => None,
                }
            }
            Node::Compare(..) => None,
            Node::Select(condition, _, _) if error(condition).is_some() => None,
            Node::Select(condition, a, b) => {
                let (ea, eb) = (error(a), error(b));
                let zero = self.b.float(0.0, WIDE);
                let condition = self.values[condition.0 as usize];
                Some(Some(self.b.select(condition, ea.unwrap_or(zero), eb.unwrap_or(zero))))
            }
            Node::Cast(a) => dtype.is_float().then(|| error(a)),
        }
    }

    /// Below 0 only what an error lifts above it counts.
    fn of_relu(&mut self, nodes: &[(Node, DType)], read: usize, error: u32) -> ExprId {
        let reads = |&&(node, _): &&(Node, DType)| node == Node::Read(read as u32);
        let dtype = nodes.iter().find(reads).map_or(WIDE, |&(_, dtype)| dtype);
        let x = self.b.read(read as u32, dtype);
        let x = self.b.cast(x, WIDE);
        let (error, zero) = (self.b.read(error, WIDE), self.b.float(0.0, WIDE));
        let below = self.b.compare(Compare::Lt, x, zero);
        let lifted = self.b.binary(Binary::Add, x, error);
        let lifted = self.b.binary(Binary::MaxNan, lifted, zero);
        self.b.select(below, lifted, error)
    }

    fn weighed(&mut self, error: ExprId, factor: ExprId) -> ExprId {
        let factor = self.b.cast(factor, WIDE);
        let magnitude = self.b.unary(Unary::Abs, factor);
        self.b.binary(Binary::Mul, error, magnitude)
    }

    fn sum(&mut self, a: Option<ExprId>, b: Option<ExprId>) -> Option<ExprId> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.b.binary(Binary::Add, a, b)),
            (one, other) => one.or(other),
        }
    }
}

/// How many times as far a function's values can be apart as its arguments.
fn lipschitz(op: Unary) -> Option<f64> {
    match op {
        Unary::Neg | Unary::Abs | Unary::Sin | Unary::Cos | Unary::Tanh => Some(1.0),
        Unary::Sigmoid => Some(0.25),
        // 2/√π.
        Unary::Erf => Some(std::f64::consts::FRAC_2_SQRT_PI),
        Unary::Exp | Unary::Log | Unary::Sqrt | Unary::Rsqrt => None,
        Unary::Floor | Unary::Ceil | Unary::RoundEven | Unary::Not => None,
    }
}

#[cfg(test)]
mod tests {
    use smallvec::SmallVec;

    use super::*;
    use crate::expr::Expr;
    use crate::graph::Op;
    use crate::reference::{Math, apply, floats};
    use crate::tensor::Tensor;

    const F16: DType = DType::F16;

    fn pointwise(reads: usize, build: impl FnOnce(&mut ExprBuilder) -> ExprId) -> Map {
        let mut b = ExprBuilder::new();
        let root = build(&mut b);
        let body: Expr = b.finish(root);
        Map::pointwise("test", &[2], &vec![[2].as_slice(); reads], body)
    }

    /// Errors of a Map at two elements, for operands and the errors of the wrong ones.
    fn errors(map: &Map, wrong: &[bool], lanes: &[[f64; 2]]) -> Option<Vec<f64>> {
        let grown = map_error(map, wrong)?;
        let tensors: Vec<Tensor> = lanes
            .iter()
            .map(|lanes| {
                let lanes = crate::tensor::Storage::F64(lanes.to_vec());
                Tensor::new(WIDE, SmallVec::from_slice(&[2]), lanes)
            })
            .collect();
        let operands: Vec<Option<&Tensor>> = tensors.iter().map(Some).collect();
        let error = apply(&Op::Map(grown), &operands, WIDE, Math::F64).unwrap();
        Some(floats(error.storage()).into_owned())
    }

    #[test]
    fn a_sum_adds_errors_and_a_product_weighs_them() {
        let sum = pointwise(2, |b| {
            let (x, y) = (b.read(0, F16), b.read(1, F16));
            b.binary(Binary::Sub, x, y)
        });
        assert_eq!(errors(&sum, &[true, true], &[[8.0, 1.0], [8.0, 2.0], [0.5, 0.25], [0.125, 1.0]]).unwrap(), [0.625, 1.25]);
        assert_eq!(errors(&sum, &[false, true], &[[8.0, 1.0], [8.0, 2.0], [0.125, 1.0]]).unwrap(), [0.125, 1.0]);
        let product = pointwise(2, |b| {
            let (x, y) = (b.read(0, F16), b.read(1, F16));
            b.binary(Binary::Mul, x, y)
        });
        let lanes = [[2.0, -3.0], [-4.0, 1.0], [0.5, 0.0], [0.25, 0.5]];
        assert_eq!(errors(&product, &[true, true], &lanes).unwrap(), [2.0 + 0.5 + 0.125, 1.5]);
        assert_eq!(errors(&product, &[true, false], &lanes[..3]).unwrap(), [2.0, 0.0]);
    }

    #[test]
    fn a_relu_passes_below_zero_only_what_is_lifted() {
        let relu = pointwise(1, |b| {
            let (x, zero) = (b.read(0, F16), b.float(0.0, F16));
            b.binary(Binary::MaxNan, x, zero)
        });
        assert_eq!(errors(&relu, &[true], &[[-0.25, 3.0], [0.5, 0.5]]).unwrap(), [0.25, 0.5]);
        assert_eq!(errors(&relu, &[true], &[[-8.0, -0.5], [0.5, 0.5]]).unwrap(), [0.0, 0.0]);
    }

    #[test]
    fn a_narrowing_rounds_and_a_step_is_not_derived() {
        let narrowed = pointwise(1, |b| {
            let x = b.read(0, DType::F32);
            b.cast(x, F16)
        });
        assert_eq!(errors(&narrowed, &[true], &[[4.0, -2.0], [0.5, 0.0]]).unwrap(), [0.5 + 4.0 / 2048.0, 2.0 / 2048.0]);
        for (op, known) in [(Unary::Floor, false), (Unary::Exp, false), (Unary::Tanh, true)] {
            let map = pointwise(1, |b| {
                let x = b.read(0, F16);
                b.unary(op, x)
            });
            assert_eq!(map_error(&map, &[true]).is_some(), known, "{op:?}");
        }
    }
}
