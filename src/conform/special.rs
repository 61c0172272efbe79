//! Numbers that are none, and extreme ones, among a launch's activations.
//!
//! A kernel must give what its operator gives there too: `tl.maximum` drops a NaN that the operator keeps, a
//! masked lane that is multiplied by 0 makes one, `tl.minimum(y, 1e4)` is no identity, and -1e9 is not −∞. Two
//! runs, and where they would say nothing, more:
//!
//! * *strange*: in every activation a NaN, both infinities, 60 (whose exponential is finite and whose square's is
//!   not), 3e4 and -3e4 (finite even in float16), spread so that most of the output stays finite and says
//!   where they went. Those of which the output shows nothing (all of one row that ends in a NaN) run alone,
//!   too;
//! * *lowered*, for launches with a maximum in them (pools, softmax): every activation becomes (x − 24)·2¹²², in
//!   float16 (x − 24)·2¹¹, and what enters a pool ends in a run of −∞. Only −∞ is below all of it, so that
//!   whatever stands for it, where a maximum begins or in masked lanes, comes out instead.
//!
//! The output is held to its derived bound, not finite places included. Excused is an element where fp32 arithmetic,
//! operator by operator, does not meet that bound itself: overflow on the way, or a number that fp32 rounds to
//! 0 times an infinity.
//!
//! Not caught: what only weights that are no numbers show; finite results behind an infinite bound; a stand-in
//! below every number of the lowered run where the maximum is taken of something computed in the kernel.

use crate::conform::causes;
use crate::conform::compare;
use crate::conform::inputs::Kind;
use crate::conform::run::{Bench, Elements, Run, lost};
use crate::diag::{Diagnostic, Result};
use crate::dtype::DType;
use crate::graph::op::{Pool, PoolKind};
use crate::graph::{Graph, NodeId, Op, Role, ValueId};
use crate::reference::{self, Math, floats};
use crate::tensor::{Storage, Tensor};

/// The pass's name in messages.
const NAME: &str = "special values";

/// Numbers with the eighth of the tensor that they are put at.
type Numbers = &'static [(usize, f64)];

const STRANGE: [(usize, f64); 6] = [(1, f64::NAN), (2, f64::INFINITY), (3, f64::NEG_INFINITY), (4, 3e4), (5, -3e4), (6, 60.0)];

/// What stands among the activations, run by run, each left out where what it is for has been seen.
const RUNS: [(Numbers, fn(&Seen) -> bool); 5] = [
    (&STRANGE, |_| false),
    (STRANGE.split_at(3).1, |seen| seen.large),
    (STRANGE.split_at(1).1.split_at(1).0, |seen| seen.infinity),
    (STRANGE.split_at(2).1.split_at(1).0, |seen| seen.infinity),
    (STRANGE.split_at(1).0, |seen| seen.nan),
];

/// The first of the runs that does not hold; `given` is that of the numerics pass.
pub fn pass(bench: Bench, given: &Elements) -> Result<Option<Diagnostic>> {
    let graph = &bench.subject.imported;
    let operands = bench.launch.operands.iter().filter(|o| o.in_memory()).filter_map(|o| o.imported);
    let activations: Vec<ValueId> =
        operands.filter(|&v| graph.value(v).role == Role::Activation && is_float(graph.dtype(v))).collect();
    if activations.is_empty() {
        return Ok(None);
    }
    let run = |change: &dyn Fn(usize, &mut Tensor)| {
        let changed = given.with_activations(|env| {
            for (k, &value) in activations.iter().enumerate() {
                let Some(tensor) = env.get(value) else { continue };
                let mut tensor = tensor.as_ref().clone();
                change(k, &mut tensor);
                env.set(value, tensor);
            }
        });
        Judged::of(bench, &changed)
    };
    let mut seen = Seen::default();
    for (numbers, shows) in RUNS {
        if shows(&seen) {
            continue;
        }
        let run = run(&|k, tensor| scatter(tensor, k, numbers))?;
        if let Some(found) = run.found(bench) {
            return Ok(Some(found));
        }
        seen.add(&run);
    }
    if let Some(ends) = maximum(graph, &bench.nodes()) {
        return Ok(run(&|_, tensor| lower(tensor, ends))?.found(bench));
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
        Ok(Judged { ran, failing })
    }

    fn found(&self, bench: Bench) -> Option<Diagnostic> {
        if self.failing.is_empty() {
            return None;
        }
        let finding = self.ran.finding(bench.launch).expect("invariant: elements outside their bound are told");
        Some(causes::located(bench.subject, bench.launch, finding, NAME, None))
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
    }
}

/// Lowers every element, and the last eighth to −∞ when it `ends` so.
fn lower(tensor: &mut Tensor, ends: bool) {
    let (len, dtype) = (tensor.len(), tensor.dtype());
    let far = if dtype == DType::F16 { 11 } else { 122 };
    for at in 0..len {
        let x = tensor.storage().get_f64(at);
        let end = ends && at >= len - len / 8;
        let lowered = if end { f64::NEG_INFINITY } else { (x - 24.0) * 2f64.powi(far) };
        set(tensor.storage_mut(), at, dtype.round(lowered));
    }
}

fn set(storage: &mut Storage, at: usize, number: f64) {
    match storage {
        Storage::F32(lanes) => lanes[at] = number as f32,
        Storage::F64(lanes) => lanes[at] = number,
        // Not reached: activations are floats.
        Storage::I64(_) | Storage::Bool(_) => {}
    }
}

/// Whether a maximum is taken, and if so, whether of windows: a line of −∞ has no softmax.
fn maximum(graph: &Graph, nodes: &[NodeId]) -> Option<bool> {
    let each = nodes.iter().filter_map(|&id| match &graph.node(id).op {
        Op::Softmax { .. } => Some(false),
        Op::Pool(Pool { kind: PoolKind::Max, .. }) => Some(true),
        Op::Pool(Pool { kind: PoolKind::Average { .. } | PoolKind::AdaptiveAverage, .. }) => None,
        Op::Conv(_) | Op::MatMul | Op::Map(_) | Op::BatchNorm { .. } | Op::Lrn(_) | Op::View(_) => None,
    });
    each.reduce(|a, b| a && b)
}

fn is_float(dtype: DType) -> bool {
    // Formats without infinities would round them to something else.
    matches!(dtype, DType::F64 | DType::F32 | DType::F16 | DType::BF16)
}
