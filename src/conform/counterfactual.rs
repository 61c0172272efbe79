//! What a wrong output depends on: the same launch on changed inputs.
//!
//! A kernel whose output is wrong runs again with one operand's elements all equal, all zero, or equal
//! along one axis. Where the output is then right, the fault cannot show on such elements: an operand
//! that is read at wrong places looks the same when all places hold the same; one that is left out
//! looks the same when it adds nothing. That tells which part of the kernel to look at (*delta
//! debugging* on inputs: Zeller 2002), from the runs alone.
//!
//! One constant proves little: a kernel that is wrong below 0.5 is right on elements that are all 1. So
//! an operand counts as misread only when the output is right on [`PROBES`] constants spread over its elements and on
//! those at failing places, when the reference tells these constants apart (a softmax gives the same on each), and
//! when the fault does not go with its elements wherever they stand ([`moves`]). Right on one constant and wrong on
//! another, the fault goes by values, if equal operands then give equal results at every place.
//!
//! A statement of [`Evidence::notes`] is what the runs showed; what they did not decide is not said.
//!
//! Not told apart: faults that need several operands to vary, and operands that are prepared
//! together from the same weights. Large launches are not run again.

mod change;
mod moves;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::conform::subject::{Launch, Operand, Subject, upstream};
use crate::diag::number;
use crate::emit::manifest::SlotEntry;
use crate::graph::ValueId;
use crate::reference::{Env, floats};
use crate::tensor::Tensor;

use change::{Change, PROBES, apply, constant};
pub use moves::Moves;

/// Elements of all operands above which nothing is run again.
const LARGEST: usize = 1 << 20;

/// What is known of one operand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperandEvidence {
    /// As the wrapper calls it.
    pub name: String,
    /// The output is right when its elements are all equal.
    pub right_when_constant: bool,
    /// The reference gives something else on another constant.
    pub told_apart: bool,
    /// The output is right when its elements are all zero.
    pub right_when_zero: bool,
    /// The output is right when its elements are all one.
    pub right_when_one: bool,
    /// The output is right when the elements along this axis are equal.
    pub right_along: Vec<usize>,
    /// Axes in all.
    pub rank: usize,
    /// The fault goes with its elements along each of its axes.
    pub carries: bool,
    /// A constant on which the output is wrong although it is right on another.
    pub wrong_on: Option<WrongOn>,
}

/// Two constants of an operand, and what the output is on them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrongOn {
    pub wrong: f64,
    pub right: f64,
    /// Of elements that must be equal because all operands are constant, how many are wrong, where any is.
    pub alike: Option<(usize, usize)>,
}

/// What changed inputs say about a wrong output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The output is right when every operand is constant.
    pub right_when_constant: bool,
    /// The output is right when every operand is zero.
    pub right_when_zero: bool,
    pub operands: Vec<OperandEvidence>,
    /// What reversing the operands does to the fault.
    pub moves: Moves,
    /// On real numbers the wrong elements are right ones of other places.
    pub displaced: bool,
}

impl Evidence {
    /// Facts for the message, one a line.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for operand in self.operands.iter().filter(|o| o.right_when_constant && o.told_apart) {
            let axes: Vec<String> = operand.right_along.iter().map(usize::to_string).collect();
            let along = if axes.is_empty() { String::new() } else { format!(" along axis {}", axes.join(" or ")) };
            let so = if self.is_misread(operand) { ": which of its elements are read is wrong" } else { "" };
            notes.push(format!("the output is right when {} is constant{along}{so}", operand.name));
        }
        for (operand, on) in self.operands.iter().filter_map(|o| Some((&o.name, o.wrong_on?))) {
            let (wrong, right) = (number(on.wrong), number(on.right));
            let so = match on.alike {
                Some((failing, all)) if failing == all => {
                    ", at every place alike: the fault goes by values, not by places".to_owned()
                }
                Some((failing, all)) => {
                    let what = format!("{failing} of {all} elements that must be equal");
                    format!(", and then, with all operands constant, wrong at {what}: the fault goes by places, too")
                }
                None => String::new(),
            };
            notes.push(format!("the output is wrong when all of {operand} is {wrong} and right when it is {right}{so}"));
        }
        if !self.right_when_zero {
            notes.push("the output is wrong even when every operand is zero".to_owned());
        }
        if self.displaced {
            notes.push("the wrong elements are right ones of other places".to_owned());
        } else if !self.operands.iter().any(|o| self.is_misread(o)) {
            notes.extend(self.moves.note(self.with_elements()));
        }
        notes
    }

    /// Whether the wrong elements of an operand are read, or not all that must be.
    pub fn is_misread(&self, operand: &OperandEvidence) -> bool {
        operand.right_when_constant && operand.told_apart && !operand.carries
    }

    /// Whether the fault goes with the elements of all operands, wherever they stand.
    pub fn with_elements(&self) -> bool {
        !self.moves.with.is_empty() && self.operands.iter().all(|operand| operand.carries)
    }

    /// Whether the fault shows on some values and not on others; it may go by places, too.
    pub fn by_values(&self) -> bool {
        self.operands.iter().any(|o| o.wrong_on.is_some()) || self.with_elements()
    }

    /// Whether the fault was seen to go by values, and at every place alike.
    pub fn by_values_alone(&self) -> bool {
        let alike = |on: WrongOn| on.alike.is_some_and(|(failing, all)| failing == all);
        let mut wrong = self.operands.iter().filter_map(|o| o.wrong_on).peekable();
        wrong.peek().is_some() && wrong.all(alike)
    }

    pub fn operand(&self, name: &str) -> Option<&OperandEvidence> {
        self.operands.iter().find(|o| o.name == name)
    }
}

/// Changes the elements that a launch was given.
pub type Rewrite<'a> = &'a dyn Fn(&mut Env);

/// What a run gave, and what it must give.
pub struct Observed {
    pub got: Tensor,
    pub expected: Arc<Tensor>,
    /// Elements outside their bound.
    pub failing: Vec<usize>,
    pub passed: bool,
}

/// What a run on changed inputs shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Wrong,
    Right,
    /// Right, and all zero: behind a ReLU most faults are.
    Hidden,
}

impl Observed {
    fn shown(&self) -> Shown {
        match self.passed {
            true if floats(self.expected.storage()).iter().all(|&v| v == 0.0) => Shown::Hidden,
            true => Shown::Right,
            false => Shown::Wrong,
        }
    }
}

impl Observed {
    /// Whether most failing elements are, within `bound`, elements of the reference that stand elsewhere, and these
    /// are too many different ones to be found by accident.
    pub fn is_displaced(&self, bound: impl Fn(usize) -> f64) -> bool {
        const TELLING: usize = 8;
        let (got, expected) = (floats(self.got.storage()), floats(self.expected.storage()));
        let mut sorted: Vec<f64> = expected.iter().copied().filter(|v| v.is_finite() && *v != 0.0).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let found = |at: &&usize| {
            let (y, near) = (got[**at], bound(**at));
            let first = sorted.partition_point(|&r| r < y - near);
            sorted.get(first).is_some_and(|&r| r <= y + near)
        };
        let mut values: Vec<u64> = self.failing.iter().filter(found).map(|&at| got[at].to_bits()).collect();
        let count = values.len();
        values.sort_unstable();
        values.dedup();
        values.len() >= TELLING && count * 100 >= self.failing.len() * 95
    }
}

/// Runs the launch on changed inputs; `run` gives what it shows then (`None`: a fault), and `first` is what it showed
/// on the given ones.
///
/// `None` where the launch is too large to be run again.
pub fn gather(
    subject: &Subject,
    launch: &Launch,
    (given, first): (&Env, &Observed),
    run: &dyn Fn(Rewrite<'_>) -> Option<Observed>,
) -> Option<Evidence> {
    let graph = &subject.imported;
    let elements: usize = launch.operands.iter().map(|o| o.entry.storage).sum();
    if elements > LARGEST {
        return None;
    }
    let read: Vec<&Operand> = launch.operands.iter().filter(|o| !o.written()).collect();
    let groups: Vec<BTreeSet<ValueId>> = read.iter().map(|operand| group(subject, operand)).collect();
    let all: BTreeSet<ValueId> = groups.iter().flatten().copied().collect();
    let observed = |values: &BTreeSet<ValueId>, change: Change| {
        run(&|env: &mut Env| values.iter().for_each(|&value| apply(graph, env, value, change)))
    };
    let shown = |values: &BTreeSet<ValueId>, change: Change| observed(values, change).map_or(Shown::Wrong, |o| o.shown());
    let with = |values: &BTreeSet<ValueId>, change: Change| shown(values, change) != Shown::Wrong;
    let mut evidence = Evidence {
        right_when_constant: with(&all, Change::Constant),
        right_when_zero: with(&all, Change::Zero),
        operands: Vec::new(),
        moves: Moves::test(graph, &all, (given, first), run),
        displaced: false,
    };
    for (operand, group) in read.iter().zip(&groups) {
        let rank = operand.entry.shape.len();
        let failing = &first.failing;
        let places = [failing.first(), failing.get(failing.len() / 2), failing.last()].into_iter().flatten();
        let probes = (0..PROBES).map(Change::Probe).chain(places.map(|&at| Change::At(at))).chain([Change::Constant]);
        let value = |change| group.iter().find_map(|&value| constant(given.get(value)?, change));
        let mut told: Vec<(f64, Arc<Tensor>)> = Vec::new();
        let mut probed: Vec<(f64, Change, Shown)> = Vec::new();
        for change in probes {
            let Some(value) = value(change) else { continue };
            let observed = observed(group, change);
            let shown = observed.as_ref().map_or(Shown::Wrong, Observed::shown);
            if told.len() < 2 && told.first().is_none_or(|(known, _)| *known != value) {
                told.extend(observed.map(|o| (value, o.expected)));
            }
            probed.push((value, change, shown));
        }
        let wrong = probed.iter().find(|&&(_, _, shown)| shown == Shown::Wrong);
        // 0 and 1 hide what is left out.
        let right = probed.iter().find(|&&(v, _, shown)| shown == Shown::Right && v != 0.0 && v != 1.0);
        let wrong_on = wrong.zip(right).map(|(&(wrong, change, _), &(right, _, _))| {
            let constants = |env: &mut Env| {
                all.iter().for_each(|&value| apply(graph, env, value, Change::Constant));
                group.iter().for_each(|&value| put(graph, env, value, given, change));
            };
            WrongOn { wrong, right, alike: run(&constants).and_then(|observed| alike(&observed)) }
        });
        let right_when_constant = probed.iter().all(|&(_, _, shown)| shown != Shown::Wrong) && with(group, Change::Constant);
        let axes = (0..rank).filter(|&axis| operand.entry.shape[axis] > 1 && rank > 1 && right_when_constant);
        evidence.operands.push(OperandEvidence {
            name: operand.entry.name.clone(),
            right_when_constant,
            told_apart: told.first().zip(told.get(1)).is_some_and(|((_, a), (_, b))| differ(a, b)),
            right_when_zero: with(group, Change::Zero),
            right_when_one: with(group, Change::One),
            carries: group.iter().all(|value| evidence.moves.carry(*value, graph.shape(*value))),
            right_along: axes.filter(|&axis| with(group, Change::Along(axis))).collect(),
            rank,
            wrong_on,
        });
    }
    Some(evidence)
}

/// Sets a value to what a change makes of its given elements, not of those that another change left.
fn put(graph: &crate::graph::Graph, env: &mut Env, value: ValueId, given: &Env, change: Change) {
    if let Some(tensor) = given.get(value) {
        env.set(value, tensor.clone());
        apply(graph, env, value, change);
    }
}

/// Whether two outputs differ by more than rounding.
fn differ(a: &Tensor, b: &Tensor) -> bool {
    let (a, b) = (floats(a.storage()), floats(b.storage()));
    let size = a.iter().chain(b.iter()).filter(|v| v.is_finite()).fold(0.0f64, |m, v| m.max(v.abs()));
    a.iter().zip(b.iter()).any(|(x, y)| x.to_bits() != y.to_bits() && !((x - y).abs() <= 1e-6 * size))
}

/// Of the elements whose reference equals that of the first failing one, how many fail, and how many there are.
/// `None` where nothing fails, or one element is alone with its reference.
fn alike(observed: &Observed) -> Option<(usize, usize)> {
    let expected = floats(observed.expected.storage());
    let truth = expected[*observed.failing.first()?];
    let same = |v: f64| v == truth || (v - truth).abs() <= 1e-9 * truth.abs();
    let failing = observed.failing.iter().filter(|&&at| same(expected[at])).count();
    let all = expected.iter().filter(|&&v| same(v)).count();
    (all > 1).then_some((failing, all))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn observed(got: &[f32], expected: &[f32]) -> Observed {
        let tensor = |lanes: &[f32]| Tensor::from_f32(Shape::from_slice(&[lanes.len()]), lanes.to_vec());
        let failing: Vec<usize> = (0..got.len()).filter(|&i| got[i] != expected[i]).collect();
        Observed { got: tensor(got), expected: Arc::new(tensor(expected)), passed: failing.is_empty(), failing }
    }

    #[test]
    fn equal_operands_tell_whether_places_matter() {
        assert_eq!(alike(&observed(&[2.0, 2.0, 5.0], &[1.0, 1.0, 5.0])), Some((2, 2)));
        assert_eq!(alike(&observed(&[1.0, 2.0, 1.0], &[1.0, 1.0, 1.0])), Some((1, 3)));
        assert_eq!(alike(&observed(&[3.0, 1.0], &[2.0, 1.0])), None);
        assert_eq!(alike(&observed(&[1.0], &[1.0])), None);
    }

    #[test]
    fn what_the_runs_left_open_is_not_said() {
        let on = |alike| Some(WrongOn { wrong: 1e-20, right: 2.5, alike });
        let said = |wrong_on, right_when_constant, told_apart| {
            let operand =
                OperandEvidence { name: "x".to_owned(), right_when_constant, told_apart, wrong_on, ..OperandEvidence::default() };
            let evidence = Evidence { right_when_zero: true, operands: vec![operand], ..Evidence::default() };
            evidence.notes().join("\n")
        };
        let open = "the output is wrong when all of x is 1e-20 and right when it is 2.5";
        assert_eq!(said(on(None), false, true), open);
        assert_eq!(
            said(on(Some((4, 4))), false, true),
            format!("{open}, at every place alike: the fault goes by values, not by places")
        );
        assert!(said(on(Some((1, 4))), false, true).contains("1 of 4 elements that must be equal: the fault goes by places"));
        assert_eq!(said(None, true, true), "the output is right when x is constant: which of its elements are read is wrong");
        assert_eq!(said(None, true, false), "");
    }
}
