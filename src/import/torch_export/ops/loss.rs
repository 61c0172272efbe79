//! Losses, each from its formula.
//!
//! | operator | of one element |
//! | --- | --- |
//! | mse_loss, l1_loss | (x − t)², abs(x − t) |
//! | smooth_l1_loss | d < β ? d²/(2β) : d − β/2, d = abs(x − t) |
//! | huber_loss | d < δ ? d²/2 : δ·(d − δ/2) |
//! | kl_div | t·ln t − t·x, t·ln t being 0 where t is 0; with log_target e^t·(t − x) |
//! | cross_entropy_loss | −log_softmax(x)[t] |
//! | triplet_margin_loss | max(0, ‖a − p‖ − ‖a − n‖ + margin), ‖d‖ = (Σ (abs(d) + ε)ᵖ)^(1/p) |

use crate::expr::index::Index;
use crate::expr::{Binary, Compare, Constant, ExprBuilder, ExprId, Node, Unary};
use crate::graph::Role;
use crate::graph::op::{Access, Map, Op, OutOfBounds, ReduceKind};
use crate::import::build::activation::{scaled, shifted};
use crate::import::build::pointwise::number;
use crate::import::build::{Failure, Operand};
use crate::import::torch_export::call::{Call, Out, Outs};
use crate::import::torch_export::ops::reduction::{finished, reduced};
use crate::import::torch_export::promote::Value;
use crate::shape::display;

/// A loss of the elements of `self` and `target`.
fn between(
    call: &mut Call,
    label: &str,
    build: impl FnOnce(&mut ExprBuilder, ExprId, ExprId) -> ExprId,
) -> Result<Outs, Failure> {
    let values = [call.value("self")?, call.value("target")?];
    let dtype = call.promoted(&values);
    let losses = call.joined(label, &values, dtype, |b, args| build(b, args[0], args[1]))?;
    Ok(finished(call, losses)?.into())
}

pub fn mse(call: &mut Call) -> Result<Outs, Failure> {
    between(call, "mse_loss", |b, x, t| {
        let difference = b.binary(Binary::Sub, x, t);
        b.binary(Binary::Mul, difference, difference)
    })
}

fn distance(b: &mut ExprBuilder, x: ExprId, t: ExprId) -> ExprId {
    let difference = b.binary(Binary::Sub, x, t);
    b.unary(Unary::Abs, difference)
}

pub fn l1(call: &mut Call) -> Result<Outs, Failure> {
    between(call, "l1_loss", distance)
}

pub fn smooth_l1(call: &mut Call) -> Result<Outs, Failure> {
    let beta = call.number("beta")?;
    between(call, "smooth_l1_loss", |b, x, t| {
        let d = distance(b, x, t);
        if beta == 0.0 {
            return d;
        }
        let square = b.binary(Binary::Mul, d, d);
        let half = scaled(b, square, 0.5);
        let near = if beta == 1.0 {
            half
        } else {
            let beta = number(b, beta, half);
            b.binary(Binary::Div, half, beta)
        };
        let offset = number(b, 0.5 * beta, d);
        let far = b.binary(Binary::Sub, d, offset);
        let limit = number(b, beta, d);
        let inside = b.compare(Compare::Lt, d, limit);
        b.select(inside, near, far)
    })
}

pub fn huber(call: &mut Call) -> Result<Outs, Failure> {
    let delta = call.number("delta")?;
    between(call, "huber_loss", |b, x, t| {
        let d = distance(b, x, t);
        let square = b.binary(Binary::Mul, d, d);
        let near = scaled(b, square, 0.5);
        let far = shifted(b, d, -0.5 * delta);
        let far = scaled(b, far, delta);
        let limit = number(b, delta, d);
        let inside = b.compare(Compare::Lt, d, limit);
        b.select(inside, near, far)
    })
}

pub fn kl_div(call: &mut Call) -> Result<Outs, Failure> {
    let log_target = call.flag("log_target")?;
    if !log_target {
        let target = call.tensor("target")?;
        call.set_positive(&target);
    }
    between(call, "kl_div", |b, x, t| {
        if log_target {
            let (power, difference) = (b.unary(Unary::Exp, t), b.binary(Binary::Sub, t, x));
            return b.binary(Binary::Mul, power, difference);
        }
        let (zero, none) = (number(b, 0.0, t), number(b, f64::NAN, t));
        let log = b.unary(Unary::Log, t);
        let entropy = b.binary(Binary::Mul, t, log);
        let empty = b.compare(Compare::Eq, t, zero);
        let entropy = b.select(empty, zero, entropy);
        let is_nan = b.compare(Compare::Ne, t, t);
        let entropy = b.select(is_nan, none, entropy);
        let cross = b.binary(Binary::Mul, t, x);
        b.binary(Binary::Sub, entropy, cross)
    })
}

/// Classes along axis 1 (0 of a vector), targets as indices of them.
pub fn cross_entropy(call: &mut Call) -> Result<Outs, Failure> {
    let (x, target) = (call.tensor("self")?, call.tensor("target")?);
    if !call.is_none("weight") || call.number("label_smoothing")? != 0.0 {
        return Err(Failure::unsupported("class weights or label smoothing"));
    }
    if call.ty(&target).dtype.is_float() {
        return Err(Failure::unsupported("probabilities as targets"));
    }
    let axis = usize::from(call.shape(&x).len() > 1);
    let logs = call.emit(Op::Softmax { axis, log: true }, &[x])?;
    Ok(picked(call, logs, &target, axis)?.into())
}

/// nll_loss and its forms: the input is logarithms already.
pub fn nll(call: &mut Call) -> Result<Outs, Failure> {
    let (x, target) = (call.tensor("self")?, call.tensor("target")?);
    if !call.is_none("weight") {
        return Err(Failure::unsupported("class weights"));
    }
    let axis = usize::from(call.shape(&x).len() > 1);
    let loss = picked(call, x, &target, axis)?;
    Ok(vec![Out::Value(loss), Out::Absent("the weight of all targets")].into())
}

/// −logs[…, target, …], 0 where the target is to be ignored; the mean is over the others.
fn picked(call: &mut Call, logs: Operand, target: &Operand, axis: usize) -> Result<Operand, Failure> {
    let (ty, t) = (call.ty(&logs), call.ty(target));
    let mut without = ty.shape.clone();
    let classes = without.remove(axis);
    if t.shape != without {
        return Err(Failure::shapes(format!("target {} does not fit {}", display(&t.shape), display(&ty.shape))));
    }
    let ignored = call.int("ignore_index")?;
    let target = call.set_entering_role(target, Role::IndexBelow(classes));
    let read = |input, index| Access { input, index, oob: OutOfBounds::InBounds };
    let mut from: Vec<Index> = (0..without.len()).map(Index::Dim).collect();
    let own = from.clone();
    from.insert(axis, Index::Mod(Box::new(Index::Read(0)), classes as i64));
    let judged = |b: &mut ExprBuilder| {
        let (index, ignored) = (b.read(0, t.dtype), b.node(Node::Constant(Constant::Int(ignored)), t.dtype));
        b.compare(Compare::Ne, index, ignored)
    };
    let mut b = ExprBuilder::new();
    let counts = judged(&mut b);
    let (log, zero) = (b.read(1, ty.dtype), b.number(0.0, ty.dtype));
    let loss = b.unary(Unary::Neg, log);
    let body = b.select(counts, loss, zero);
    let reads = vec![read(0, own.clone()), read(1, from)];
    let map = Map { label: "nll_loss".to_owned(), dims: without.clone(), reads, body: b.finish(body) };
    let losses = call.emit(Op::Map(map), &[target.clone(), logs])?;
    if call.int("reduction")? != 1 {
        return finished(call, losses);
    }
    let axes: Vec<usize> = (0..without.len()).collect();
    if (0..classes as i64).contains(&ignored) {
        return Err(Failure::unsupported("ignore_index that is a class"));
    }
    reduced(call, ReduceKind::Mean, losses, &axes, false)
}

pub fn triplet_margin(call: &mut Call) -> Result<Outs, Failure> {
    let (p, margin, epsilon) = (call.number("p")?, call.number("margin")?, call.number("eps")?);
    if p != 2.0 || call.flag("swap")? {
        return Err(Failure::unsupported("another norm than 2, or swapped pairs"));
    }
    let anchor = call.value("anchor")?;
    let mut distances = Vec::new();
    for name in ["positive", "negative"] {
        let values = [anchor.clone(), call.value(name)?];
        let dtype = call.promoted(&values);
        let squares = call.joined("squared_difference", &values, dtype, |b, args| {
            let difference = b.binary(Binary::Sub, args[0], args[1]);
            let difference = shifted(b, difference, epsilon);
            b.binary(Binary::Mul, difference, difference)
        })?;
        let axis = call.shape(&squares).len().saturating_sub(1);
        let sum = reduced(call, ReduceKind::Sum, squares, &[axis], false)?;
        distances.push(Value::Tensor(call.unary("sqrt", &sum, |b, x| b.unary(Unary::Sqrt, x))?));
    }
    let dtype = call.promoted(&distances);
    let losses = call.joined("triplet_margin", &distances, dtype, |b, args| {
        let near = shifted(b, args[0], margin);
        let loss = b.binary(Binary::Sub, near, args[1]);
        let zero = number(b, 0.0, loss);
        b.binary(Binary::MaxNan, loss, zero)
    })?;
    Ok(finished(call, losses)?.into())
}
