//! Whether a fault goes with the elements or stays where it is: all operands reversed along one axis.
//!
//! Where the reference of reversed operands is the reversed reference (a softmax of rows in another order, or of a
//! row backwards), a kernel that is wrong in what it makes of its elements gives its wrong elements reversed; one
//! that is wrong in where it reads, writes or stops gives other ones (a *metamorphic relation*: Chen et al. 1998).
//!
//! An operand that is reduced has axes that the output has not; of these nothing is known.
//!
//! Not told: axes along which the reference itself is not reversed, as those under a window with padding on one
//! side; a kernel that reads the mirrored place.

use std::collections::BTreeSet;

use super::change::{opposite, reversed};
use super::{Observed, Rewrite};
use crate::graph::{Graph, ValueId};
use crate::reference::{Env, floats};

/// Of 100 failing elements, how many must be found again at the mirrored place.
const MOST: usize = 98;

/// Axes of the output by what reversing the operands along them does to the fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moves {
    /// The wrong elements are reversed, too.
    pub with: Vec<usize>,
    /// They are not.
    pub stays: Vec<usize>,
    /// The axes along which each value was reversed, and the wrong elements with it.
    carried: BTreeSet<(ValueId, usize)>,
}

impl Moves {
    /// Tests every axis of the output.
    pub(super) fn test(
        graph: &Graph,
        values: &BTreeSet<ValueId>,
        (given, first): (&Env, &Observed),
        run: &dyn Fn(Rewrite<'_>) -> Option<Observed>,
    ) -> Moves {
        let shape = first.got.shape().to_vec();
        let mut moves = Moves::default();
        for axis in (0..shape.len()).filter(|&axis| shape[axis] > 1) {
            let turned = |value: &ValueId| along(graph.shape(*value), &shape, axis).map(|own| (*value, own));
            let turned: Vec<(ValueId, usize)> = values.iter().filter_map(turned).collect();
            let change = |env: &mut Env| {
                for &(value, own) in &turned {
                    if let Some(tensor) = given.get(value) {
                        env.set(value, std::sync::Arc::new(reversed(tensor, own)));
                    }
                }
            };
            let observed = if turned.is_empty() { None } else { run(&change) };
            match observed.and_then(|observed| judged(first, &observed, opposite(&shape, axis))) {
                Some(true) => {
                    moves.with.push(axis);
                    moves.carried.extend(turned);
                }
                Some(false) => moves.stays.push(axis),
                None => {}
            }
        }
        moves
    }

    /// Whether the fault goes with a value along each of its axes.
    pub(super) fn carry(&self, value: ValueId, shape: &[usize]) -> bool {
        (0..shape.len()).filter(|&axis| shape[axis] > 1).all(|axis| self.carried.contains(&(value, axis)))
    }

    /// What was seen, for people; `all`: along each axis of all operands.
    pub(super) fn note(&self, all: bool) -> Option<String> {
        let axes = |axes: &[usize]| axes.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ");
        if all {
            let along = axes(&self.with);
            let what = format!("operands reversed along axis {along} give the same wrong elements, reversed");
            return Some(format!("{what}: the fault goes with the elements, not by places"));
        }
        let along = Some(axes(&self.stays)).filter(|axes| !axes.is_empty())?;
        Some(format!("operands reversed along axis {along} give other wrong elements: the fault goes by places"))
    }
}

/// The axis of an operand that the output's axis is, when the operand has it under numpy's rules of broadcasting.
fn along(operand: &[usize], output: &[usize], axis: usize) -> Option<usize> {
    let own = (axis + operand.len()).checked_sub(output.len())?;
    (operand[own] == output[axis]).then_some(own)
}

/// Whether the failing elements of the first run stand at the mirrored places of the second; `None` where the
/// references do not.
fn judged(first: &Observed, second: &Observed, opposite: impl Fn(usize) -> usize) -> Option<bool> {
    let (r, s) = (floats(first.expected.storage()), floats(second.expected.storage()));
    let size = r.iter().filter(|v| v.is_finite()).fold(0.0f64, |m, v| m.max(v.abs()));
    let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-5 * size.max(a.abs());
    if !(0..r.len()).all(|at| same(r[at], s[opposite(at)])) {
        return None;
    }
    let (y, z) = (floats(first.got.storage()), floats(second.got.storage()));
    let found = first.failing.iter().filter(|&&at| same(y[at], z[opposite(at)])).count();
    Some(found * 100 >= first.failing.len() * MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;
    use crate::tensor::Tensor;
    use std::sync::Arc;

    /// y = 2·x is right; a kernel is given by what it makes of x.
    fn moves(kernel: impl Fn(&[f32]) -> Vec<f32>) -> Moves {
        let shape = Shape::from_slice(&[6]);
        let mut graph = Graph::new("net");
        let ty = crate::graph::TensorType { dtype: crate::dtype::DType::F32, shape: shape.clone() };
        let x = graph.add_input("x", ty, crate::graph::Role::Activation).unwrap();
        let mut given = Env::new();
        given.set(x, Tensor::from_f32(shape.clone(), vec![1.0, -2.0, 3.0, -4.0, 5.0, -6.0]));
        let run = |change: Rewrite| {
            let mut env = given.clone();
            change(&mut env);
            let lanes = env.get(x).unwrap().as_f32().unwrap().to_vec();
            let expected: Vec<f32> = lanes.iter().map(|v| v * 2.0).collect();
            let got = kernel(&lanes);
            let failing: Vec<usize> = (0..6).filter(|&i| got[i] != expected[i]).collect();
            let tensor = |lanes| Tensor::from_f32(shape.clone(), lanes);
            Some(Observed { passed: failing.is_empty(), failing, got: tensor(got), expected: Arc::new(tensor(expected)) })
        };
        let first = run(&|_: &mut Env| {}).unwrap();
        Moves::test(&graph, &BTreeSet::from([x]), (&given, &first), &run)
    }

    #[test]
    fn faults_of_values_move_and_faults_of_places_stay() {
        let values = moves(|x| x.iter().map(|v| if *v < 0.0 { 0.0 } else { v * 2.0 }).collect());
        assert!(values.note(true).unwrap().ends_with("the fault goes with the elements, not by places"));
        assert_eq!((values.with.as_slice(), values.stays.len(), values.carried.len()), ([0].as_slice(), 0, 1));
        let place = moves(|x| x.iter().enumerate().map(|(i, v)| if i == 1 { 0.0 } else { v * 2.0 }).collect());
        assert_eq!((place.stays.as_slice(), place.with.len()), ([0].as_slice(), 0));
        assert!(place.note(false).unwrap().ends_with("the fault goes by places"));
        let misread = moves(|x| (0..6).map(|i| x[(i + 1) % 6] * 2.0).collect());
        assert_eq!(misread.stays, [0]);
    }

    #[test]
    fn axes_are_found_as_numpy_broadcasts() {
        assert_eq!([along(&[3], &[2, 3], 1), along(&[3], &[2, 3], 0), along(&[1, 3], &[2, 3], 0)], [Some(0), None, None]);
        assert_eq!(along(&[4, 2, 3], &[2, 3], 1), Some(2));
    }
}
