//! One launch in isolation: generated operands, the wrapper's launches emulated, and the result
//! compared with the reference on the *original* nodes. Twice:
//!
//! 1. *structure*: small integers, where contractions, sums, pools and copies must be bit-equal, so
//!    that a dropped term or a wrong coordinate cannot hide;
//! 2. *numerics*: seeded real numbers under a derived bound.
//!
//! both on two further draws where the launch is small, and again with numbers that are none, or extreme, among the
//! activations ([`special`]).
//!
//! Where launches are sampled, see [`super::sampled`].
//!
//! What it does not catch: faults that need other shapes, and what `run.py` does between launches
//! (that is the chain's to find).

use crate::conform::counterfactual::Evidence;
use crate::conform::execute::{Cost, Executor};
use crate::conform::inputs::Kind;
use crate::conform::run::{Bench, Elements};
use crate::conform::subject::{Launch, Subject};
use crate::conform::verdict::{Error, Verdict, Word};
use crate::conform::{causes, counterfactual, planned, special};
use crate::diag::{Class, Diagnostic, Result, codes};
use crate::reference::Env;
use crate::tensor::Tensor;

/// Verifies one launch of a suite.
pub fn verify(subject: &Subject, executor: &Executor, launch: &Launch) -> Verdict {
    if let Some(error) = subject.unreadable(launch) {
        return Verdict::fault(error.clone());
    }
    match passes(subject, executor, launch) {
        Ok(Outcome { error, exact, mismatch, cost }) => Verdict {
            bit_equal: Some(exact),
            word: match &mismatch {
                Some(mismatch) => Word::of(mismatch.class()),
                None if cost.sampled => Word::Sampled,
                None => Word::Verified,
            },
            error: Some(error),
            emulation_seconds: cost.wall_seconds,
            programs: cost.programs,
            known: false,
            seed: None,
            diagnostics: with_grid(subject, executor, launch, mismatch),
        },
        Err(fault) => {
            // An element that is never written is told with the axes of the gap where it was found.
            let told = fault.code == &codes::NEVER_WRITTEN;
            let fault = Verdict::fault(if told { *fault } else { *causes::behind(subject, launch, fault, None) });
            Verdict { diagnostics: with_grid(subject, executor, launch, fault.diagnostics), ..fault }
        }
    }
}

/// What was found wrong, and the grid where it may be the cause.
fn with_grid(
    subject: &Subject,
    executor: &Executor,
    launch: &Launch,
    found: impl IntoIterator<Item = Diagnostic>,
) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = found.into_iter().collect();
    if executor.checks().grid && found.iter().any(|diagnostic| diagnostic.class() == Class::Bug) {
        found.extend(planned::short_grid(subject, launch));
    }
    found
}

/// The passes in order, up to the first that does not hold. The figures are those of the numerics pass.
fn passes(subject: &Subject, executor: &Executor, launch: &Launch) -> Result<Outcome> {
    let bench = Bench { subject, executor, launch };
    if executor.samples() {
        bench.accesses()?;
    }
    let checks = executor.checks();
    let structure = pass(bench, Kind::Structure, &bench.inputs(Kind::Structure)?)?;
    if checks.structure && structure.mismatch.is_some() {
        return Ok(structure);
    }
    let inputs = bench.inputs(Kind::Numerics)?;
    let numerics = Outcome { exact: structure.exact, ..pass(bench, Kind::Numerics, &inputs)? };
    if checks.numerics && numerics.mismatch.is_some() {
        return Ok(numerics);
    }
    for seed in further_draws(bench) {
        for (kind, asked) in [(Kind::Structure, checks.structure), (Kind::Numerics, checks.numerics)] {
            // The cap of our law was met by one draw; a sum of 16-bit weights that are prepared may leave it on another.
            let judged = if kind == Kind::Numerics { Kind::Given } else { kind };
            let again = if asked { Some(judged_as(bench, (judged, kind.name()), &bench.drawn(kind, seed)?)?) } else { None };
            if let Some(again) = again.filter(|again| again.mismatch.is_some()) {
                return Ok(again);
            }
        }
    }
    let mismatch = if checks.special { special::pass(bench, &inputs)? } else { None };
    Ok(Outcome { mismatch, ..numerics })
}

/// Seeds of further inputs for a launch that is so small that they cost next to nothing: with few elements a single
/// draw may hit neither side of a comparison.
fn further_draws(bench: Bench) -> impl Iterator<Item = u64> + use<> {
    const SMALL: usize = 1 << 14;
    let elements: usize = bench.launch.operands.iter().map(|operand| operand.entry.storage).sum();
    let draws = if elements <= SMALL && !bench.executor.samples() { 2 } else { 0 };
    // Far from the seeds that trials count through.
    let seed = bench.subject.seed;
    (1..=draws).map(move |draw: u64| seed ^ draw.rotate_right(8))
}

/// The first pass that does not hold says why, without lines to look at and without further runs.
///
/// # Errors
/// What is wrong with the launch.
pub fn bare(subject: &Subject, executor: &Executor, launch: &Launch) -> Result<()> {
    let bench = Bench { subject, executor, launch };
    let holds = |kind, judged, seed| -> Result<Elements> {
        let given = bench.drawn(kind, seed)?;
        let finding = bench.run(judged, &given)?.finding(launch);
        finding.map_or(Ok(given), |finding| Err(Box::new(finding.diagnostic)))
    };
    holds(Kind::Structure, Kind::Structure, subject.seed)?;
    let numerics = holds(Kind::Numerics, Kind::Numerics, subject.seed)?;
    for seed in further_draws(bench) {
        holds(Kind::Structure, Kind::Structure, seed)?;
        holds(Kind::Numerics, Kind::Given, seed)?;
    }
    special::pass(bench, &numerics)?.map_or(Ok(()), |found| Err(Box::new(found)))
}

struct Outcome {
    error: Error,
    /// Held to bit-equality.
    exact: bool,
    mismatch: Option<Diagnostic>,
    cost: Cost,
}

fn pass(bench: Bench, kind: Kind, given: &Elements) -> Result<Outcome> {
    judged_as(bench, (kind, kind.name()), given)
}

/// A pass under the bound of a kind of inputs, and its name in messages.
fn judged_as(bench: Bench, (kind, name): (Kind, &str), given: &Elements) -> Result<Outcome> {
    let Bench { subject, executor: _, launch } = bench;
    let run = bench.run(kind, given)?;
    let mismatch = run.finding(launch).map(|finding| {
        let again = |change: &dyn Fn(&mut Env)| {
            let mut env = given.env.clone();
            change(&mut env);
            bench.run(kind, &Elements::of(env)).ok().map(|run| run.observed())
        };
        let evidence = counterfactual::gather(subject, launch, (&given.env, &run.observed()), &again);
        let displaced = evidence.as_ref().is_some_and(|e| e.right_when_constant && is_displaced(bench));
        let evidence = evidence.map(|evidence| Evidence { displaced, ..evidence });
        causes::located(subject, launch, finding, name, evidence.as_ref())
    });
    let exact = run.expected.derived.bound.is_none();
    Ok(Outcome { error: Error::of(&run.comparison, &run.expected.derived), exact, mismatch, cost: run.cost })
}

/// Whether the launch's wrong elements on real numbers are right ones of other places: real numbers do not come
/// twice.
fn is_displaced(bench: Bench) -> bool {
    let run = bench.inputs(Kind::Numerics).and_then(|given| bench.run(Kind::Numerics, &given));
    run.is_ok_and(|run| run.observed().is_displaced(|at| run.expected.derived.bound_at(at)))
}

/// What a launch computes on the numerics pass's inputs.
pub fn output(subject: &Subject, executor: &Executor, launch: &Launch) -> Result<Tensor> {
    let bench = Bench { subject, executor, launch };
    Ok(bench.run(Kind::Numerics, &bench.inputs(Kind::Numerics)?)?.got)
}
