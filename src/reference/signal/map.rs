//! Moments through a Map's expression, node by node.

use super::moments::Moments;
use crate::expr::{Binary, Compare, Constant, Expr, ExprId, Node, Unary};
use crate::graph::op::Map;

/// Exponents that an exponential is followed to: beyond them everything saturates anyway.
const STEEPEST: f64 = 20.0;

/// The moments of a Map's output; `None` when an operand's are not known.
pub fn moments(map: &Map, operands: &[Option<Moments>]) -> Option<Moments> {
    let mut known: Vec<Moments> = Vec::with_capacity(map.body.nodes().len());
    for &(node, _) in map.body.nodes() {
        let of = |id: ExprId| known[id.0 as usize];
        known.push(match node {
            Node::Read(k) => operands.get(map.reads[k as usize].input).copied().flatten()?,
            Node::Coordinate(k) => {
                let size = map.dims[k as usize] as f64;
                Moments { mean: (size - 1.0) / 2.0, square: size * size / 3.0 }
            }
            Node::Constant(constant) => Moments::exactly(number(constant)),
            Node::Unary(op, a) => unary(op, of(a)),
            Node::Binary(op, a, b) => binary(op, of(a), of(b), a == b),
            Node::Compare(..) => Moments { mean: 0.5, square: 0.5 },
            Node::Select(condition, then, other) => select(map, &known, condition, then, other),
            Node::Cast(a) => of(a),
        });
    }
    known.pop()
}

fn number(constant: Constant) -> f64 {
    match constant {
        Constant::Float(bits) => f64::from_bits(bits),
        Constant::Int(value) => value as f64,
        Constant::Bool(value) => f64::from(u8::from(value)),
    }
}

fn unary(op: Unary, x: Moments) -> Moments {
    let size = x.square.sqrt();
    let at = |v: f64| if v.is_finite() { Moments::exactly(v) } else { x };
    match op {
        Unary::Neg => x.scaled(-1.0),
        Unary::Abs => x.absolute(),
        Unary::Exp => {
            let exponent = |e: f64| e.clamp(-STEEPEST, STEEPEST).exp();
            Moments { mean: exponent(x.mean + x.variance() / 2.0), square: exponent(2.0 * (x.mean + x.variance())) }
        }
        Unary::Log => at(size.ln()),
        Unary::Sqrt => at(size.sqrt()),
        Unary::Rsqrt => at(1.0 / size.sqrt()),
        Unary::Sin | Unary::Cos => Moments { mean: 0.0, square: 0.5 },
        Unary::Tanh | Unary::Erf => x.scaled(1.0 / (1.0 + x.square).sqrt()),
        Unary::Sigmoid => {
            let steep = 1.0 / (1.0 + x.square / 4.0).sqrt();
            Moments::exactly(0.5).plus(x.scaled(steep / 4.0))
        }
        Unary::Floor | Unary::Ceil | Unary::RoundEven | Unary::Not => x,
    }
}

fn binary(op: Binary, a: Moments, b: Moments, same: bool) -> Moments {
    match op {
        Binary::Add if same => a.scaled(2.0),
        Binary::Add => a.plus(b),
        Binary::Sub if same => Moments::exactly(0.0),
        Binary::Sub => a.plus(b.scaled(-1.0)),
        Binary::Mul if same => {
            let (m, v) = (a.mean * a.mean, a.variance());
            Moments { mean: a.square, square: 3.0 * v * v + 6.0 * m * v + m * m }
        }
        Binary::Mul => a.times(b),
        Binary::Div if b.square > 0.0 => {
            let size = b.square.sqrt();
            a.scaled(if b.mean < 0.0 { -1.0 / size } else { 1.0 / size })
        }
        Binary::Pow => {
            let power = a.square.sqrt().powf(b.mean);
            if power.is_finite() { Moments::exactly(power) } else { a }
        }
        Binary::MaxNan | Binary::MaxNum => a.larger(b),
        Binary::MinNan | Binary::MinNum => a.scaled(-1.0).larger(b.scaled(-1.0)).scaled(-1.0),
        Binary::Div | Binary::DivTrunc | Binary::DivFloor | Binary::And | Binary::Or | Binary::Xor => a,
    }
}

/// Each branch by how often it is taken: by a comparison of a value with a constant (a rectifier), by a
/// comparison of a coordinate (concat), else as often as the other.
fn select(map: &Map, known: &[Moments], condition: ExprId, then: ExprId, other: ExprId) -> Moments {
    let of = |id: ExprId| known[id.0 as usize];
    let Some((compared, bound)) = below(&map.body, condition) else { return of(then).mixed(0.5, of(other)) };
    if let Node::Coordinate(k) = map.body.nodes()[compared.0 as usize].0 {
        let share = bound / map.dims[k as usize].max(1) as f64;
        return of(then).mixed(share.clamp(0.0, 1.0), of(other));
    }
    let (share, above) = of(compared).above(bound);
    let taken = of(then).mixed(share, Moments::exactly(0.0));
    let rest = if other == compared { above } else { Moments::exactly(0.0).mixed(share, of(other)) };
    Moments { mean: taken.mean + rest.mean, square: taken.square + rest.square }
}

/// What a condition says to be below which constant.
fn below(body: &Expr, condition: ExprId) -> Option<(ExprId, f64)> {
    let node = |id: ExprId| body.nodes()[id.0 as usize].0;
    match node(condition) {
        Node::Compare(Compare::Lt | Compare::Le, value, bound) => match node(bound) {
            Node::Constant(constant) => Some((value, number(constant))),
            _ => None,
        },
        _ => None,
    }
}
