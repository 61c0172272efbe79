//! Verdicts for a suite's kernels, each distinct one or every launch, and for its chain.
//!
//! With several seeds a kernel is verified on the inputs of each, up to the first on which it does not
//! hold. The figures of a verdict are those of the trial that comes closest to its tolerance.
//!
//! Not caught: what a kernel that several launches share does wrong only on the elements of a later one, unless
//! every launch is asked for; of that the chain sees what its own inputs show.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::conform::chain::{self, ChainReport};
use crate::conform::execute::Executor;
use crate::conform::kernel;
use crate::conform::minimise;
use crate::conform::subject::{Launch, Subject};
use crate::conform::verdict::{Verdict, Word};
use crate::diag::{Diagnostic, Place, Result, codes};
use crate::emulate;

use super::data;
use super::only::selected;
use super::repeat::told;
use super::seeds::Seeds;
use super::verdicts::Known;
use super::{Cancel, Layer, Observer, Report, Verification, VerifyScope};

/// Instructions that one program of a kernel may execute. A program of a convolution needs thousands;
/// an endless one is found within seconds.
pub(super) const FUEL: u64 = 1 << 26;

/// How many times as large generated inputs are when a signal dies on them. What 64 times does not wake is dead.
const GAINS: [f64; 2] = [8.0, 64.0];

/// Judges what is asked for. What is `known` holds already and is not run again. The subject's seed is
/// that of the last trial afterwards.
pub(super) fn judge(
    subject: &mut Subject,
    asked: &Verification,
    known: &Known,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<Report> {
    let modules = Arc::clone(&subject.modules);
    let emulating =
        emulate::Options { threads: asked.jobs, fuel: FUEL, cancel: Some(cancel.flag()), ..emulate::Options::default() };
    let whole = Executor::new(&modules, emulating.clone()).judged_by(asked.checks);
    let sampled = asked.scope == VerifyScope::Sampled;
    let executor = Executor::new(&modules, emulating).judged_by(asked.checks).sampling(sampled);
    let selected = selected(subject, asked.only.as_deref())?;
    let seeds = Seeds::new(asked.seed.unwrap_or(subject.manifest.seed), asked.trials);
    subject.seed = seeds.first();
    let data = data::read(subject, &asked.data, asked.only.as_deref(), &selected)?;
    let mut trials = Trials { executor, seeds, own_seed: subject.manifest.seed, mends: asked.mends, cancel };
    let mut report = Report {
        model: subject.manifest.name.clone(),
        kernels: subject.manifest.kernels.len(),
        buffers: (subject.manifest.buffers.len(), buffer_bytes(subject)),
        seeds,
        ..Report::default()
    };
    if seeds != Seeds::new(subject.manifest.seed, 1) {
        report.notes.push(format!("inputs are generated from {seeds}"));
    }
    let mut by_kernel: HashMap<usize, usize> = HashMap::new();
    observer.stage("verify", selected.iter().filter(|&&s| s).count());
    for (index, &selected) in selected.iter().enumerate() {
        cancel.check()?;
        let kernel = subject.launches[index].kernel;
        let shared = by_kernel.get(&kernel).copied().filter(|_| asked.scope != VerifyScope::All);
        let verdict = match shared {
            Some(at) => at,
            None => {
                let verdict = match asked.scope {
                    _ if !selected => Verdict::not_verified(),
                    VerifyScope::None => Verdict::not_verified(),
                    VerifyScope::Unique | VerifyScope::All | VerifyScope::Sampled => {
                        match known.kernel(&subject.manifest.kernels[kernel].file, seeds) {
                            Some(verdict) => verdict,
                            None => trials.kernel(subject, index)?,
                        }
                    }
                };
                report.verdicts.push(verdict);
                if selected {
                    by_kernel.insert(kernel, report.verdicts.len() - 1);
                }
                report.verdicts.len() - 1
            }
        };
        let launch = &subject.launches[index];
        if selected {
            observer.step(&launch.layer);
        }
        report.layers.push(Layer { asked: selected, ..layer(subject, launch, verdict) });
    }
    // What a launch that was interrupted left behind is no verdict.
    cancel.check()?;
    let fails = |&(_, &verdict): &(&usize, &usize)| {
        let word = report.verdicts[verdict].word;
        !word.holds() && word != Word::NotVerified
    };
    let failed: BTreeSet<usize> = by_kernel.iter().filter(fails).map(|(&kernel, _)| kernel).collect();
    report.missing = subject.manifest.refused.iter().chain(&subject.manifest.missing).cloned().collect();
    if !subject.manifest.missing.is_empty() {
        let missing = subject.manifest.missing.join(", ");
        report.notes.push(format!("no kernel computes {missing}, so the model as a whole is not run"));
    } else if asked.scope == VerifyScope::Sampled && asked.only.is_none() {
        report.notes.push("a chain needs every value, so the model as a whole is not run when kernels are sampled".to_owned());
    } else if asked.scope != VerifyScope::None && asked.only.is_none() {
        observer.stage("chain", subject.launches.len());
        report.chain = Some(match known.chain(seeds) {
            Some(chain) => ChainReport { launches: subject.launches.len(), ..chain },
            None => trials.chain(subject, &failed, observer)?,
        });
        report.notes.extend(report.chain.iter().flat_map(|chain| chain.notes.clone()));
    }
    let asked_for = |module: &str| subject.launches.iter().zip(&selected).any(|(l, &s)| s && subject.is_of(l, module));
    let others = subject.unreadable.iter().filter(|(module, _)| *module != "run" && !asked_for(module));
    report.notes.extend(others.map(|(_, error)| format!("{}not asked for, and cannot be read: {}", whose(error), error.message)));
    // The chain tells it where there is one.
    if report.chain.is_none() {
        report.problems.extend(subject.unreadable.get("run").cloned());
    }
    if let Some(data) = data {
        observer.stage("given data", 0);
        subject.seed = seeds.first();
        report.on_data = Some(data::run(subject, &whole, data, &failed, cancel)?);
    }
    Ok(report)
}

/// The same judgement on the inputs of each seed.
struct Trials<'a> {
    executor: Executor<'a>,
    seeds: Seeds,
    /// The suite's, which a command that repeats a trial need not name.
    own_seed: u64,
    /// Whether edits of a wrong kernel are tried.
    mends: bool,
    cancel: &'a Cancel,
}

impl Trials<'_> {
    fn kernel(&mut self, subject: &mut Subject, launch: usize) -> Result<Verdict> {
        let mut worst: Option<Verdict> = None;
        for seed in self.seeds.iter() {
            self.cancel.check()?;
            subject.seed = seed;
            let at = &subject.launches[launch];
            let verdict =
                minimise::launch::explained(subject, &self.executor, at, kernel::verify(subject, &self.executor, at), self.mends);
            if !verdict.word.holds() {
                let file = &subject.manifest.kernels[subject.launches[launch].kernel].file;
                let diagnostics = self.told(verdict.diagnostics, subject, Some(stem(file)), seed);
                return Ok(Verdict { seed: Some(seed), diagnostics, ..verdict });
            }
            let distance = |verdict: &Verdict| verdict.error.as_ref().map_or(0.0, |e| e.over_tolerance);
            worst = Some(match worst {
                Some(worst) => {
                    let bit_equal = worst.bit_equal.zip(verdict.bit_equal).map(|(a, b)| a && b);
                    let kept = if distance(&verdict) > distance(&worst) { verdict } else { worst };
                    Verdict { bit_equal, ..kept }
                }
                None => verdict,
            });
        }
        Ok(worst.expect("invariant: there is at least one seed"))
    }

    fn chain(&mut self, subject: &mut Subject, failed: &BTreeSet<usize>, observer: &dyn Observer) -> Result<ChainReport> {
        let mut worst: Option<ChainReport> = None;
        let cancel = self.cancel;
        for seed in self.seeds.iter() {
            subject.seed = seed;
            let step = |layer: &str| {
                observer.step(layer);
                cancel.check()
            };
            let chain = alive(subject, &mut |subject: &Subject| {
                let chain = chain::verify(subject, &self.executor, failed, &step);
                cancel.check()?;
                chain
            })?;
            if chain.word != Word::Verified {
                let diagnostics = self.told(chain.diagnostics, subject, None, seed);
                return Ok(ChainReport { seed: Some(seed), diagnostics, ..chain });
            }
            let distance = |chain: &ChainReport| chain::share(chain.max_abs_err, chain.allowed);
            worst = Some(worst.filter(|worst| distance(worst) >= distance(&chain)).unwrap_or(chain));
        }
        Ok(worst.expect("invariant: there is at least one seed"))
    }

    /// Messages, with what repeats them where plain verification would not.
    fn told(&self, found: Vec<Diagnostic>, subject: &Subject, only: Option<&str>, seed: u64) -> Vec<Diagnostic> {
        if self.seeds == Seeds::new(self.own_seed, 1) { found } else { told(found, &subject.name, only, seed, self.seeds) }
    }
}

/// What `--only` takes for a kernel's file.
fn stem(file: &str) -> &str {
    file.trim_start_matches("kernels/").trim_end_matches(".py")
}

/// Runs the chain; where nothing is wrong but that a signal dies, on larger generated inputs: a threshold that those
/// of our law never cross is no fault of the model. If it dies on these, too, the first run stands.
fn alive(subject: &mut Subject, run: &mut dyn FnMut(&Subject) -> Result<ChainReport>) -> Result<ChainReport> {
    let first = run(subject)?;
    let dead =
        |chain: &ChainReport| !chain.diagnostics.is_empty() && chain.diagnostics.iter().all(|d| d.code == &codes::SIGNAL_DEAD);
    if !dead(&first) || !subject.given.is_empty() {
        return Ok(first);
    }
    for gain in GAINS {
        subject.gain = gain;
        let again = run(subject);
        subject.gain = 1.0;
        let mut again = again?;
        if again.word == Word::Verified {
            let layers: Vec<String> = first.diagnostics.iter().map(named).collect();
            let note = format!("the model ran on inputs {gain} times as large as those of weights.py");
            again.notes.push(format!("{note}, on which these carry no signal: {}", layers.join(", ")));
            return Ok(again);
        }
    }
    Ok(first)
}

/// The file that a message is about, with its line, and a colon.
fn whose(diagnostic: &Diagnostic) -> String {
    match &diagnostic.place {
        Some(Place::Text { file, span }) => format!("{}:{}: ", file.name(), file.position(span.start).line),
        Some(Place::Node { file, .. } | Place::File { file }) => format!("{file}: "),
        None => String::new(),
    }
}

/// The layer that a message is about.
fn named(diagnostic: &Diagnostic) -> String {
    match &diagnostic.place {
        Some(Place::Node { node, .. }) => node.clone(),
        Some(Place::Text { .. } | Place::File { .. }) | None => diagnostic.message.clone(),
    }
}

fn layer(subject: &Subject, launch: &Launch, verdict: usize) -> Layer {
    let entry = &subject.manifest.kernels[launch.kernel];
    let graph = &subject.imported;
    let mut sources: Vec<(String, String)> = Vec::new();
    for source in launch.covers.iter().flat_map(|&n| &graph.node(n).sources) {
        let source = (source.node.clone(), source.operator.clone());
        // Several nodes of the graph may come from one of the model's (Gemm).
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    let grid = entry.launches.last().map(|l| l.grid.map(|g| u32::try_from(g).unwrap_or(u32::MAX)));
    Layer {
        layer: launch.layer.clone(),
        sources,
        template: entry.template.clone(),
        kernel: entry.file.clone(),
        shape: graph.shape(launch.output).to_vec(),
        grid,
        verdict,
        asked: true,
    }
}

fn buffer_bytes(subject: &Subject) -> u64 {
    // Sizes were checked when the suite was read.
    let size = |name: &str| crate::dtype::DType::from_name(name).map_or(0, crate::dtype::DType::size);
    subject.manifest.buffers.iter().map(|b| b.len as u64 * size(&b.dtype) as u64).sum()
}
