//! What a wrong output depends on: the same launch on changed inputs.
//!
//! A kernel whose output is wrong runs again with one operand's elements all equal, all zero, or equal
//! along one axis. Where the output is then right, the fault cannot show on such elements: an operand
//! that is read at wrong places looks the same when all places hold the same; one that is left out
//! looks the same when it adds nothing. That tells which part of the kernel to look at (*delta
//! debugging* on inputs: Zeller 2002), from the runs alone.
//!
//! One constant proves little: a kernel that is wrong below 0.5 is right on elements that are all 1. So
//! an operand counts as read at wrong places only when the output is right on [`PROBES`] constants spread
//! over its elements and on those at failing places. Right on one and wrong on another, the fault goes
//! by values.
//!
//! Not told apart: faults that need several operands to vary, and operands that are prepared
//! together from the same weights. Large launches are not run again.

use std::collections::BTreeSet;

use crate::conform::subject::{Launch, Operand, Subject, upstream};
use crate::dtype::Carrier;
use crate::emit::manifest::SlotEntry;
use crate::graph::{Graph, Producer, Role, ValueId};
use crate::reference::Env;
use crate::shape::{self, contiguous_strides};
use crate::tensor::{Storage, Tensor};

/// Elements of all operands above which nothing is run again.
const LARGEST: usize = 1 << 20;

/// Constants that an operand is set to, from its least to its greatest element.
const PROBES: usize = 6;

/// What is known of one operand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperandEvidence {
    /// As the wrapper calls it.
    pub name: String,
    /// The output is right when its elements are all equal.
    pub right_when_constant: bool,
    /// The output is right when its elements are all zero.
    pub right_when_zero: bool,
    /// The output is right when its elements are all one.
    pub right_when_one: bool,
    /// The output is right when the elements along this axis are equal.
    pub right_along: Vec<usize>,
    /// Axes in all.
    pub rank: usize,
    /// A constant on which the output is wrong although it is right on another, and that other.
    pub wrong_on: Option<(f64, f64)>,
}

/// What changed inputs say about a wrong output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The output is right when every operand is constant.
    pub right_when_constant: bool,
    /// The output is right when every operand is zero.
    pub right_when_zero: bool,
    pub operands: Vec<OperandEvidence>,
}

impl Evidence {
    /// Facts for the message, one a line.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for operand in self.operands.iter().filter(|o| o.right_when_constant) {
            let axes: Vec<String> = operand.right_along.iter().map(usize::to_string).collect();
            let along = if axes.is_empty() { String::new() } else { format!(" along axis {}", axes.join(" or ")) };
            notes.push(format!(
                "the output is right when {} is constant{along}: its elements are taken from wrong places",
                operand.name
            ));
        }
        for operand in &self.operands {
            if let Some((wrong, right)) = operand.wrong_on {
                notes.push(format!(
                    "the output is wrong when all of {} is {wrong} and right when it is {right}: the fault goes by values, not by places",
                    operand.name
                ));
            }
        }
        if !self.right_when_zero {
            notes.push("the output is wrong even when every operand is zero".to_owned());
        }
        notes
    }

    /// Whether the fault shows on some values and not on others, wherever they stand.
    pub fn by_values(&self) -> bool {
        self.operands.iter().any(|o| o.wrong_on.is_some())
    }

    pub fn operand(&self, name: &str) -> Option<&OperandEvidence> {
        self.operands.iter().find(|o| o.name == name)
    }
}

/// A change of the elements that enter a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    Constant,
    Zero,
    One,
    Along(usize),
    /// The element at this share (of [`PROBES`] − 1) of the way from the least to the greatest.
    Probe(usize),
    /// The element at this place.
    At(usize),
}

/// Changes the elements that a launch was given.
pub type Rewrite<'a> = &'a dyn Fn(&mut Env);

/// What a run on changed inputs shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Wrong,
    Right,
    /// Right, and all zero: behind a ReLU most faults are.
    Hidden,
}

/// Runs the launch on changed inputs; `run` says what it shows then, and `failing` which
/// elements of it are wrong on the given inputs.
///
/// `None` where the launch is too large to be run again.
pub fn gather(
    subject: &Subject,
    launch: &Launch,
    (given, failing): (&Env, &[usize]),
    run: &dyn Fn(Rewrite<'_>) -> Shown,
) -> Option<Evidence> {
    let graph = &subject.imported;
    let elements: usize = launch.operands.iter().map(|o| o.entry.storage).sum();
    if elements > LARGEST {
        return None;
    }
    let read: Vec<&Operand> = launch.operands.iter().filter(|o| !o.written()).collect();
    let groups: Vec<BTreeSet<ValueId>> = read.iter().map(|operand| group(subject, operand)).collect();
    let all: BTreeSet<ValueId> = groups.iter().flatten().copied().collect();
    let shown = |values: &BTreeSet<ValueId>, change: Change| {
        run(&|env: &mut Env| values.iter().for_each(|&value| apply(graph, env, value, change)))
    };
    let with = |values: &BTreeSet<ValueId>, change: Change| shown(values, change) != Shown::Wrong;
    let mut evidence = Evidence {
        right_when_constant: with(&all, Change::Constant),
        right_when_zero: with(&all, Change::Zero),
        operands: Vec::new(),
    };
    for (operand, group) in read.iter().zip(&groups) {
        let rank = operand.entry.shape.len();
        let places = [failing.first(), failing.get(failing.len() / 2), failing.last()].into_iter().flatten();
        let probes = (0..PROBES).map(Change::Probe).chain(places.map(|&at| Change::At(at))).chain([Change::Constant]);
        let value = |change| group.iter().find_map(|&value| constant(given.get(value)?, change));
        let probed: Vec<(f64, Shown)> = probes.filter_map(|change| Some((value(change)?, shown(group, change)))).collect();
        let wrong = probed.iter().find(|&&(_, shown)| shown == Shown::Wrong);
        // 0 and 1 hide what is left out.
        let right = probed.iter().find(|&&(v, shown)| shown == Shown::Right && v != 0.0 && v != 1.0);
        let wrong_on = wrong.zip(right).map(|(&(wrong, _), &(right, _))| (wrong, right));
        let right_when_constant = probed.iter().all(|&(_, shown)| shown != Shown::Wrong) && with(group, Change::Constant);
        let axes = (0..rank).filter(|&axis| operand.entry.shape[axis] > 1 && rank > 1 && right_when_constant);
        evidence.operands.push(OperandEvidence {
            name: operand.entry.name.clone(),
            right_when_constant,
            right_when_zero: with(group, Change::Zero),
            right_when_one: with(group, Change::One),
            right_along: axes.filter(|&axis| with(group, Change::Along(axis))).collect(),
            rank,
            wrong_on,
        });
    }
    Some(evidence)
}

/// The values of the imported graph that an operand's elements come from.
fn group(subject: &Subject, operand: &Operand) -> BTreeSet<ValueId> {
    if let Some(value) = operand.imported {
        return BTreeSet::from([value]);
    }
    let SlotEntry::Weight(name) = &operand.slot else { return BTreeSet::new() };
    let rewritten = &subject.rewritten;
    let Some(prepared) = rewritten.find(name) else { return BTreeSet::new() };
    let nodes = upstream(rewritten, &[prepared], &BTreeSet::new());
    let entering = rewritten.entering(&nodes).into_iter();
    entering.filter_map(|value| subject.imported.find(&rewritten.value(value).name)).collect()
}

/// Changes a value's elements; those whose values matter (indices, variances, constants) stay.
fn apply(graph: &Graph, env: &mut Env, value: ValueId, change: Change) {
    let role = graph.value(value).role;
    let fixed = matches!(role, Role::Variance | Role::Exact | Role::IndexBelow(_) | Role::Divisor | Role::Mask);
    let weightless = matches!(graph.value(value).producer, Producer::Node { .. }) && env.get(value).is_none();
    if fixed || weightless {
        return;
    }
    let Some(tensor) = env.get(value) else { return };
    let changed = match (change, constant(tensor, change)) {
        (Change::Along(axis), _) if tensor.shape().len() > axis && tensor.shape().len() > 1 => along(tensor, axis),
        (_, Some(value)) => filled(tensor, value),
        (_, None) => return,
    };
    env.set(value, changed);
}

/// What a change makes of every element; `None` where the tensor has no such element.
fn constant(tensor: &Tensor, change: Change) -> Option<f64> {
    let finite = || (0..tensor.len()).map(|i| tensor.storage().get_f64(i)).filter(|v| v.is_finite());
    match change {
        Change::Zero => Some(0.0),
        Change::One => Some(1.0),
        // Along: a vector beside a tensor of more axes, a scale or bias along the first of them.
        Change::Constant | Change::Along(_) => Some(typical(tensor)),
        Change::Probe(step) => {
            let (least, greatest) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
            let wanted = least + (greatest - least) * step as f64 / (PROBES - 1) as f64;
            finite().min_by(|a, b| (a - wanted).abs().total_cmp(&(b - wanted).abs()))
        }
        Change::At(place) => (place < tensor.len()).then(|| tensor.storage().get_f64(place)),
    }
}

/// The first element that is neither 0 nor 1 (a factor of 1 hides that it is left out), so that
/// divisibility and size stay what they were.
fn typical(tensor: &Tensor) -> f64 {
    (0..tensor.len()).map(|i| tensor.storage().get_f64(i)).find(|v| *v != 0.0 && *v != 1.0 && v.is_finite()).unwrap_or(1.0)
}

fn filled(tensor: &Tensor, value: f64) -> Tensor {
    let len = tensor.len();
    let storage = match tensor.dtype().carrier() {
        Carrier::F64 => Storage::F64(vec![value; len]),
        Carrier::F32 => Storage::F32(vec![value as f32; len]),
        Carrier::I64 => Storage::I64(vec![value as i64; len]),
        Carrier::Bool => Storage::Bool(vec![u8::from(value != 0.0); len]),
    };
    Tensor::new(tensor.dtype(), shape::Shape::from_slice(tensor.shape()), storage)
}

/// Every element is the first one along the axis.
fn along(tensor: &Tensor, axis: usize) -> Tensor {
    let strides = contiguous_strides(tensor.shape());
    let (stride, size) = (strides[axis] as usize, tensor.shape()[axis]);
    let source = |at: usize| at - at / stride % size * stride;
    let storage = match tensor.storage() {
        Storage::F64(v) => Storage::F64((0..v.len()).map(|i| v[source(i)]).collect()),
        Storage::F32(v) => Storage::F32((0..v.len()).map(|i| v[source(i)]).collect()),
        Storage::I64(v) => Storage::I64((0..v.len()).map(|i| v[source(i)]).collect()),
        Storage::Bool(v) => Storage::Bool((0..v.len()).map(|i| v[source(i)]).collect()),
    };
    Tensor::new(tensor.dtype(), shape::Shape::from_slice(tensor.shape()), storage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    #[test]
    fn elements_become_equal_along_an_axis() {
        let tensor = Tensor::from_f32(Shape::from_slice(&[2, 3]), vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(along(&tensor, 0).as_f32().unwrap(), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
        assert_eq!(along(&tensor, 1).as_f32().unwrap(), [0.0, 0.0, 0.0, 3.0, 3.0, 3.0]);
        assert_eq!(filled(&tensor, typical(&tensor)).as_f32().unwrap(), [2.0; 6]);
    }
}
