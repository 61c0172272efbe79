//! Numbers that are none, and extreme ones, among a launch's activations.
//!
//! A kernel must give what its operator gives there too: `tl.maximum` drops a NaN that the operator keeps, a
//! masked lane that is multiplied by 0 makes one, `tl.minimum(y, 1e4)` is no identity, and -1e9 is not −∞. Four
//! kinds of runs:
//!
//! * *strange*: in every activation a NaN, both infinities, 60 (whose exponential is finite and whose square's is
//!   not), 3e4 and -3e4 (finite even in float16), spread so that most of the output stays finite and says
//!   where they went, and a NaN at the end and an infinity at the beginning, where blocks have masks of their own.
//!   Those of which the output shows nothing (all of one row that ends in a NaN) run alone, too, and operands
//!   beside a contraction, weights among them, without those in its factors ([`beside`]);
//! * *lowered*, for launches with a maximum in them (pools, softmax, reductions): every activation becomes (x − 24)·2¹²², in
//!   float16 (x − 24)·2¹¹, and the last eighth −∞. Only −∞ is below all of it, so that whatever stands for it, where
//!   a maximum begins or in masked lanes, comes out instead;
//! * *wide*: elements over four orders of magnitude and more, halves among them, so that no branch that ordinary
//!   numbers do not reach and no narrower type goes unseen; whole numbers beyond 32 bits, and divisors below zero. Where
//!   lanes do not meet (Maps alone), also odd numbers around 2²³, where a float ends to have a half, and numbers whose
//!   square overflows;
//! * *led*, for softmax and sums of exponentials: the first half of every row is −∞, and with it whole blocks.
//!
//! The output is held to its derived bound, and to the reference where that is not finite. Excused is an element where
//! fp32 arithmetic, operator by operator, does not meet that bound itself: overflow on the way, or a number that fp32
//! rounds to 0 times an infinity.
//!
//! Not caught: where floats become whole numbers, anything but the wide run of what is read as it is, since the rest is
//! undefined there; what only a contraction's weights show that are no numbers, and any in those of transposed convolutions; finite results behind an infinite bound;
//! a stand-in below every number of the lowered run where the maximum is taken of something computed in the kernel.

mod beside;

use crate::conform::causes;
use crate::conform::compare;
use crate::conform::diagnose::{Clue, Finding};
use crate::conform::inputs::Kind;
use crate::conform::run::{self, Bench, Elements, Run, lost};
use crate::conform::subject::Operand;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::DType;
use crate::expr::Node;
use crate::graph::op::{ArgKind, Map, Pool, PoolKind, Reduce, ReduceKind};
use crate::graph::{Graph, NodeId, Op, Role, ValueId};
use crate::reference::{self, Env, Math, floats};
use crate::tensor::{Storage, Tensor};

/// The pass's name in messages.
const NAME: &str = "special values";

/// Numbers with the eighth of the tensor that they are put at.
type Numbers = &'static [(usize, f64)];

/// Whether nothing new is to be expected.
type Needless = fn(&Seen) -> bool;

const STRANGE: [(usize, f64); 6] = [(1, f64::NAN), (2, f64::INFINITY), (3, f64::NEG_INFINITY), (4, 3e4), (5, -3e4), (6, 60.0)];

/// What stands among the activations, run by run, each left out where what it is for has been seen.
const RUNS: [(Numbers, Needless); 5] = [
    (&STRANGE, |_| false),
    (STRANGE.split_at(3).1, |seen| seen.large),
    (STRANGE.split_at(1).1.split_at(1).0, |seen| seen.infinity),
    (STRANGE.split_at(2).1.split_at(1).0, |seen| seen.infinity),
    (STRANGE.split_at(1).0, |seen| seen.nan),
];

/// The first of the runs that does not hold; `given` is that of the numerics pass.
pub fn pass(bench: Bench, given: &Elements) -> Result<Option<Diagnostic>> {
    let (graph, nodes) = (&bench.subject.imported, bench.nodes());
    let activations = || {
        let held = bench.launch.held().into_iter().filter(|&v| graph.value(v).role == Role::Activation);
        held.filter(|&v| !meets_gaps(graph, &nodes, v))
    };
    let becomes_whole = becomes_whole(graph, &nodes);
    let wide_floats: Vec<ValueId> =
        activations().filter(|&v| is_float(graph.dtype(v)) && becomes_whole != Whole::Undefined).collect();
    let floats = if becomes_whole == Whole::No { wide_floats.clone() } else { Vec::new() };
    let wholes = activations().filter(|&v| graph.dtype(v) == DType::I64);
    let divisors: Vec<ValueId> = bench.launch.held().into_iter().filter(|&v| is_signed_divisor(graph, v)).collect();
    let run = |values: &[ValueId], change: &dyn Fn(usize, &mut Tensor)| Judged::of(bench, &given.with(values, change));
    if !floats.is_empty() {
        let found = strange(bench, &|numbers| run(&floats, &|k, tensor| scatter(tensor, k, numbers)))?;
        if found.is_some() {
            return Ok(found);
        }
        if let Some(found) = beside::pass(bench, given)? {
            return Ok(Some(found));
        }
        if has_maximum(graph, &nodes)
            && let Some(found) = run(&floats, &|_, tensor| lower(tensor))?.found(bench)
        {
            return Ok(Some(found));
        }
        if has_softmax(graph, &nodes)
            && let Some(found) = run(&floats, &|_, tensor| lead(tensor))?.found(bench)
        {
            return Ok(Some(found));
        }
    }
    let all: Vec<ValueId> = wide_floats.iter().copied().chain(wholes).collect();
    if all.is_empty() && divisors.is_empty() {
        return Ok(None);
    }
    let apart = becomes_whole == Whole::No && nodes.iter().all(|&id| matches!(graph.node(id).op, Op::Map(_) | Op::View(_)));
    let wide = given.with(&all, &|_, tensor| widen(tensor, apart));
    let wide = wide.with(&divisors, &|_, tensor| negate(tensor));
    match Judged::of(bench, &wide) {
        Err(fault) if fault.code == &codes::INTEGER_WRAPPED => wraps_rightly(bench, &wide).then_some(None).ok_or(fault),
        judged => Ok(judged?.found(bench)),
    }
}

/// Whether whole numbers only leave 64 bits where the operator's own do, as when they are multiplied thrice: the
/// reference wraps, too, and agrees.
fn wraps_rightly(bench: Bench, given: &Elements) -> bool {
    let executor = bench.executor.wrapping();
    let bench = Bench { executor: &executor, ..bench };
    Judged::of(bench, given).is_ok_and(|judged| judged.failing.is_empty())
}

/// The runs with numbers that are none, as far as they are needed.
fn strange(bench: Bench, run: &dyn Fn(Numbers) -> Result<Judged>) -> Result<Option<Diagnostic>> {
    let mut seen = Seen::default();
    for (numbers, shows) in RUNS {
        if shows(&seen) {
            continue;
        }
        let run = run(numbers)?;
        if let Some(found) = run.found(bench) {
            return Ok(Some(found));
        }
        seen.add(&run);
    }
    Ok(None)
}

/// What has come out in some run.
#[derive(Default)]
struct Seen {
    nan: bool,
    infinity: bool,
    large: bool,
}

impl Seen {
    fn add(&mut self, run: &Judged) {
        let truth = floats(run.ran.expected.tensor.storage());
        self.nan |= truth.iter().any(|v| v.is_nan());
        self.infinity |= truth.iter().any(|v| v.is_infinite());
        self.large |= truth.iter().any(|v| v.is_finite() && v.abs() > 100.0);
    }
}

/// One run, and what fp32 makes of the same elements.
struct Judged {
    ran: Run,
    /// What entered the launch.
    given: Env,
    /// Elements outside their bound that nothing excuses.
    failing: Vec<usize>,
}

impl Judged {
    fn of(bench: Bench, given: &Elements) -> Result<Judged> {
        let mut ran = bench.run(Kind::Given, given)?;
        let derived = &ran.expected.derived;
        let mut failing = compare::failing(&ran.got, &ran.expected.tensor, derived);
        if !failing.is_empty() {
            let mut single = given.env.clone();
            reference::evaluate(&bench.subject.imported, &bench.nodes(), &mut single, Math::Unrounded)?;
            let single = single.get(bench.launch.output).ok_or_else(|| lost(bench.subject, bench.launch.output))?;
            let excused = compare::failing(single, &ran.expected.tensor, derived);
            failing.retain(|at| excused.binary_search(at).is_err());
            ran.excuse(&excused);
        }
        Ok(Judged { ran, given: given.env.clone(), failing })
    }

    fn found(&self, bench: Bench) -> Option<Diagnostic> {
        if self.failing.is_empty() {
            return None;
        }
        let finding = self.ran.finding(bench.launch).expect("invariant: elements outside their bound are told");
        let finding = self.passed_on(bench).unwrap_or(finding);
        Some(causes::located(bench.subject, bench.launch, finding, NAME, None))
    }
}

/// Elements from which on a NaN ends a tensor and an infinity begins it.
const LONG: usize = 256;

impl Judged {
    /// What is said where the numbers that are none are the operands' own: nothing divides by zero there, something
    /// that should replace them is missing. `None` where they are not.
    fn passed_on(&self, bench: Bench) -> Option<Finding> {
        let (got, expected) = (floats(self.ran.got.storage()), floats(self.ran.expected.tensor.storage()));
        let births: Vec<usize> =
            self.failing.iter().copied().filter(|&at| !got[at].is_finite() && expected[at].is_finite()).collect();
        let &first = births.first()?;
        let shape = self.ran.got.shape();
        let passes = |operand: &&Operand| {
            let tensor = operand.imported.filter(|_| !operand.written()).and_then(|value| self.given.get(value));
            tensor.is_some_and(|tensor| {
                let own = floats(tensor.storage());
                tensor.shape() == shape
                    && births.iter().all(|&at| own[at].to_bits() == got[at].to_bits() || (own[at].is_nan() && got[at].is_nan()))
            })
        };
        let operand = bench.launch.operands.iter().find(passes)?;
        let at = compare::display_index(&compare::unflatten(first, shape));
        let (output, name) = (run::output_name(bench.launch), &operand.entry.name);
        let what = format!(
            "{output}: {} of {} elements are {name}'s NaN or infinity where the reference is finite, first at {at}",
            births.len(),
            got.len()
        );
        let help = "look for what should replace them: a clamp, a comparison, `tl.where`, a minimum or maximum";
        Some(Finding { diagnostic: Diagnostic::new(&codes::VALUE_MISMATCH, what).help(help), clue: Clue::Choice })
    }
}

/// Puts each number at its eighth of the `k`-th activation, each one element further than the one before, since
/// eighths of many shapes lie under each other. Places differ between operands, so that a sum is not NaN in one
/// of them alone.
fn scatter(tensor: &mut Tensor, k: usize, numbers: &[(usize, f64)]) {
    let (len, dtype) = (tensor.len(), tensor.dtype());
    if len == 0 {
        return;
    }
    for &(part, number) in numbers {
        let at = (len * part / 8 + part + k * 5) % len;
        set(tensor.storage_mut(), at, dtype.round(number));
        let end = if number.is_nan() { Some(len - 1) } else { (number == f64::INFINITY).then_some(0) };
        if let Some(end) = end.filter(|_| len >= LONG) {
            set(tensor.storage_mut(), end, number);
        }
    }
}

/// Lowers every element, and the last eighth to −∞.
fn lower(tensor: &mut Tensor) {
    let (len, dtype) = (tensor.len(), tensor.dtype());
    let far = if dtype == DType::F16 { 11 } else { 122 };
    for at in 0..len {
        let x = tensor.storage().get_f64(at);
        let lowered = if at >= len - len / 8 { f64::NEG_INFINITY } else { (x - 24.0) * 2f64.powi(far) };
        set(tensor.storage_mut(), at, dtype.round(lowered));
    }
}

/// Makes the first half of every row −∞.
fn lead(tensor: &mut Tensor) {
    let row = tensor.shape().last().copied().unwrap_or(0);
    for at in 0..tensor.len() {
        if at % row < row / 2 {
            set(tensor.storage_mut(), at, f64::NEG_INFINITY);
        }
    }
}

/// Makes every second divisor negative.
fn negate(tensor: &mut Tensor) {
    if let Storage::I64(lanes) = tensor.storage_mut() {
        lanes.iter_mut().step_by(2).for_each(|lane| *lane = -*lane);
    }
}

/// Spreads elements over more orders of magnitude: by powers of two up to 2⁹ (in float16 2⁵), every fifth to a
/// multiple of ½, every eleventh beyond float16 where the type can; `apart`, also some odd ones around 2²³ and some near
/// 1e20. Every second whole number is beyond 32 bits.
fn widen(tensor: &mut Tensor, apart: bool) {
    let (len, dtype) = (tensor.len(), tensor.dtype());
    let steps = if dtype == DType::F16 { 6 } else { 10 };
    for at in 0..len {
        if let Storage::I64(lanes) = tensor.storage_mut() {
            lanes[at] += (at as i64 % 2) * BEYOND_32_BITS;
            continue;
        }
        let x = tensor.storage().get_f64(at) * 2f64.powi((at * 7 / 3 % steps) as i32);
        let wide = match at {
            _ if apart && at % 13 == 12 && dtype == DType::F32 => f64::from(1 << (21 + at / 13 % 3)) + 2.0 * at as f64 + 1.0,
            _ if apart && at % 17 == 16 && dtype != DType::F16 => x * 1e20,
            _ if at % 11 == 10 && dtype != DType::F16 => x * 2f64.powi(12),
            _ if at % 5 == 4 => (x * 2.0).round() / 2.0,
            _ => x,
        };
        set(tensor.storage_mut(), at, dtype.round(wide));
    }
}

/// Its square still has 64 bits.
const BEYOND_32_BITS: i64 = 2_500_000_001;

fn set(storage: &mut Storage, at: usize, number: f64) {
    match storage {
        Storage::F32(lanes) => lanes[at] = number as f32,
        Storage::F64(lanes) => lanes[at] = number,
        // Not reached: activations are floats.
        Storage::I64(_) | Storage::Bool(_) => {}
    }
}

/// Whether a value becomes the weight of a transposed convolution. A kernel multiplies it by the zeros that stand
/// where a tap meets no element, of which the operator knows nothing.
fn meets_gaps(graph: &Graph, nodes: &[NodeId], value: ValueId) -> bool {
    nodes.iter().map(|&id| graph.node(id)).any(|node| match node.op {
        Op::ConvTranspose(_) => node.inputs.get(1) == Some(&Some(value)),
        Op::Map(_) | Op::View(_) => node.inputs.contains(&Some(value)) && meets_gaps(graph, nodes, node.outputs[0]),
        Op::Conv(_) | Op::MatMul | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::Softmax { .. } => false,
        Op::Lrn(_) | Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) => false,
    })
}

/// Whether a maximum is taken.
fn has_maximum(graph: &Graph, nodes: &[NodeId]) -> bool {
    nodes.iter().any(|&id| match &graph.node(id).op {
        Op::Softmax { .. } | Op::Pool(Pool { kind: PoolKind::Max, .. }) => true,
        Op::Pool(Pool { kind: PoolKind::Average { .. } | PoolKind::AdaptiveAverage, .. }) => false,
        Op::Reduce(reduce) => matches!(reduce.kind, ReduceKind::Max | ReduceKind::LogSumExp),
        Op::ArgReduce(arg) => arg.kind == ArgKind::Max,
        Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul | Op::Map(_) | Op::BatchNorm { .. } | Op::Norm(_) => false,
        Op::Lrn(_) | Op::Scan(_) | Op::View(_) => false,
    })
}

/// Whether floats become whole numbers: of NaN, infinities and what is too large that is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whole {
    No,
    /// What is read becomes one of 32 bits or more, which hold the finite numbers of the wide run.
    Read,
    Undefined,
}

fn becomes_whole(graph: &Graph, nodes: &[NodeId]) -> Whole {
    let casts = |map: &Map| {
        let whole = |&(node, to): &(Node, DType)| match node {
            Node::Cast(from) => {
                let (source, of) = map.body.nodes()[from.0 as usize];
                match source {
                    _ if !of.is_float() || to.is_float() || to == DType::Bool => Whole::No,
                    Node::Read(_) if matches!(to, DType::I32 | DType::I64) => Whole::Read,
                    _ => Whole::Undefined,
                }
            }
            Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) => Whole::No,
            Node::Unary(..) | Node::Binary(..) | Node::Compare(..) | Node::Select(..) => Whole::No,
        };
        map.body.nodes().iter().map(whole).max().unwrap_or(Whole::No)
    };
    let of = |&id: &NodeId| match &graph.node(id).op {
        Op::Map(map) => casts(map),
        Op::Conv(_) | Op::ConvTranspose(_) | Op::MatMul | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) => Whole::No,
        Op::Softmax { .. } | Op::Lrn(_) | Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) | Op::View(_) => Whole::No,
    };
    let found = nodes.iter().map(of).max().unwrap_or(Whole::No);
    // What another node computes may be larger than what is read.
    let computing = nodes.iter().filter(|&&id| !matches!(graph.node(id).op, Op::View(_))).count();
    if found == Whole::Read && computing > 1 { Whole::Undefined } else { found }
}

fn is_signed_divisor(graph: &Graph, value: ValueId) -> bool {
    let dtype = graph.dtype(value);
    graph.value(value).role == Role::Divisor && dtype.is_integer() && !dtype.is_unsigned()
}

fn has_softmax(graph: &Graph, nodes: &[NodeId]) -> bool {
    nodes.iter().any(|&id| {
        let log_sum = |reduce: &Reduce| reduce.kind == ReduceKind::LogSumExp;
        matches!(&graph.node(id).op, Op::Softmax { .. }) || matches!(&graph.node(id).op, Op::Reduce(reduce) if log_sum(reduce))
    })
}

fn is_float(dtype: DType) -> bool {
    // Formats without infinities would round them to something else.
    matches!(dtype, DType::F64 | DType::F32 | DType::F16 | DType::BF16)
}
