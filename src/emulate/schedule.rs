//! Running a grid: programs in order on one thread, or batches of programs on several, committed in
//! order. Outcomes do not depend on the number of threads.
//!
//! A launch that reads a buffer which it also writes, or whose programs talk to each other, runs on one thread,
//! directly on memory: a program must see its own stores, and only one order of programs is worth reporting races in.
//! A program that waits there lets the others run (`fair`).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::exec::{Launch, Machine, Parts, Stop};
use super::fair::Fair;
use super::launch::{Memory, RunReport};
use super::memory::{Committer, Journal, Port};
use super::replay::replay;
use super::tape::Tape;
use crate::diag;

/// Programs a worker runs before its stores are committed, about.
const BATCH: u64 = 64;
/// Chunks of programs that a worker takes between commits, about: the workers end together but for one of these.
const CHUNKS: u64 = 8;

/// Programs of one round, taken chunk by chunk in order.
struct Queue {
    next: AtomicU64,
    end: u64,
    chunk: u64,
}

impl Queue {
    fn take(&self) -> Option<Range<u32>> {
        let from = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        // No program has a number beyond u32.
        (from < self.end).then(|| from as u32..self.end.min(from + self.chunk) as u32)
    }
}

/// What became of consecutive programs, up to the first that failed.
struct Chunk {
    first: u32,
    ran: Vec<Ran>,
}

/// What became of one program of a batch.
enum Ran {
    /// Its journal entries.
    Done(Range<usize>),
    Suspect,
    Fault(Box<diag::Diagnostic>),
}

/// The tape to run on, and the launch cells: the dense tape when the launch part itself is suspect.
fn prepare<'l>(
    launch: &'l Launch<'l>,
    tape: &'l Tape,
    memory: &Memory,
) -> diag::Result<(&'l Tape, Arc<Vec<super::value::Cell>>)> {
    let mut tape = tape;
    loop {
        let port = Port::Journalled { memory, journal: Journal::default() };
        let short = Launch { extents: launch.extents.clone(), names: Vec::new(), dtypes: launch.dtypes.clone(), ..*launch };
        let mut machine = Machine::new(&short, tape, port);
        match machine.prepare() {
            Ok(()) => return Ok((tape, machine.launch_cells())),
            Err(Stop::Suspect) if tape.lazy => tape = &launch.program.dense,
            Err(Stop::Suspect | Stop::Yield) => {
                return Err(Box::new(diag::Diagnostic::new(&diag::codes::INTERNAL, "the dense launch part is suspect")));
            }
            Err(Stop::Fault(diagnostic)) => return Err(diagnostic),
        }
    }
}

/// One thread, directly on memory.
pub fn run_direct<'l>(
    launch: &'l Launch<'l>,
    tape: &'l Tape,
    committer: Committer<'l>,
    programs: u32,
    report: &mut RunReport,
) -> diag::Result<()> {
    let (tape, cells) = prepare(launch, tape, committer.memory)?;
    let mut machine = Machine::new(launch, tape, Port::Direct(committer));
    machine.adopt(cells);
    machine.talk.may_wait = true;
    let mut fair = Fair::new(launch);
    for n in 0..programs {
        let program = launch.nth(if launch.reverse { programs - 1 - n } else { n });
        if let Port::Direct(Committer { undo: Some(undo), .. }) = &mut machine.port {
            undo.clear();
        }
        match machine.run(program) {
            Ok(()) => {}
            Err(Stop::Fault(diagnostic)) => return Err(diagnostic),
            Err(Stop::Suspect | Stop::Yield) => {
                let mut port = std::mem::replace(&mut machine.port, Port::Closed);
                if let Port::Direct(committer) = &mut port {
                    committer.roll_back();
                }
                let (port, outcome) = replay(launch, port, program, &mut machine.report);
                machine.port = port;
                if let Some(waiting) = outcome? {
                    fair.wait(waiting)?;
                }
            }
        }
        if fair.is_crowded() {
            fair.round(&mut machine.port)?;
        }
    }
    fair.finish(&mut machine.port)?;
    fair.count(&mut machine.report);
    add(report, &machine.report);
    if let Port::Direct(committer) = &machine.port {
        report.noticed.twice = committer.shadows.twice;
    }
    Ok(())
}

/// Several threads, journalled.
pub fn run_batches<'l>(
    launch: &'l Launch<'l>,
    tape: &'l Tape,
    mut committer: Committer<'_>,
    programs: u32,
    threads: usize,
    report: &mut RunReport,
) -> diag::Result<()> {
    let (tape, cells) = prepare(launch, tape, committer.memory)?;
    let pool = thread_pool(threads)?;
    let round = threads as u64 * BATCH;
    let chunk = (u64::from(programs).min(round) / (threads as u64 * CHUNKS)).max(1);
    let mut workers: Vec<Option<(Parts, Journal)>> = (0..threads).map(|_| None).collect();
    let mut next = 0;
    while next < u64::from(programs) {
        let memory: &Memory = committer.memory;
        let queue = Queue { next: AtomicU64::new(next), end: u64::from(programs).min(next + round), chunk };
        let mut outcomes: Vec<Vec<Chunk>> = (0..threads).map(|_| Vec::new()).collect();
        pool.scope(|scope| {
            for (worker, outcome) in workers.iter_mut().zip(&mut outcomes) {
                let (cells, queue) = (&cells, &queue);
                scope.spawn(move |_| *outcome = run_chunks(launch, tape, memory, cells, worker, queue));
            }
        });
        let mut chunks: Vec<(usize, Chunk)> = outcomes
            .into_iter()
            .enumerate()
            .flat_map(|(index, chunks)| chunks.into_iter().map(move |chunk| (index, chunk)))
            .collect();
        chunks.sort_unstable_by_key(|(_, chunk)| chunk.first);
        for (index, Chunk { first, ran }) in chunks {
            for (n, ran) in (first..).zip(ran) {
                let program = launch.nth(n);
                let (_, journal) = workers[index].as_ref().expect("invariant: a worker that ran leaves its journal");
                let clean = match ran {
                    Ran::Fault(diagnostic) => return Err(diagnostic),
                    Ran::Done(entries) => committer.commit(program, journal, entries).is_ok(),
                    Ran::Suspect => false,
                };
                if !clean {
                    let again =
                        Committer { memory: &mut *committer.memory, shadows: std::mem::take(&mut committer.shadows), undo: None };
                    let (shadows, outcome) = replay_committed(launch, again, program, report);
                    outcome?;
                    committer.shadows = shadows;
                }
            }
        }
        next = queue.end;
    }
    for (parts, _) in workers.into_iter().flatten() {
        add(report, &parts.report);
    }
    report.noticed.twice = committer.shadows.twice;
    Ok(())
}

fn replay_committed(
    launch: &Launch<'_>,
    committer: Committer<'_>,
    program: u32,
    report: &mut RunReport,
) -> (super::check::race::Shadows, diag::Result<()>) {
    let short = launch.shortened();
    let (port, outcome) = replay(&short, Port::Direct(committer), program, report);
    match port {
        Port::Direct(committer) => (committer.shadows, outcome.map(|_| ())),
        Port::Journalled { .. } | Port::Closed => unreachable!("invariant: a replay gives back the port it was given"),
    }
}

/// Takes chunks until there are none, or a program of one fails.
fn run_chunks(
    launch: &Launch<'_>,
    tape: &Tape,
    memory: &Memory,
    cells: &Arc<Vec<super::value::Cell>>,
    worker: &mut Option<(Parts, Journal)>,
    queue: &Queue,
) -> Vec<Chunk> {
    let short = launch.shortened();
    let mut machine = match worker.take() {
        None => {
            let mut machine = Machine::new(&short, tape, Port::Journalled { memory, journal: Journal::default() });
            machine.adopt(cells.clone());
            machine
        }
        Some((parts, mut journal)) => {
            journal.clear();
            Machine::assemble(&short, tape, Port::Journalled { memory, journal }, parts)
        }
    };
    let entries = |machine: &Machine<'_>| match &machine.port {
        Port::Journalled { journal, .. } => journal.len(),
        Port::Direct(_) | Port::Closed => unreachable!("invariant: a share of a batch is journalled"),
    };
    let mut chunks: Vec<Chunk> = Vec::new();
    while !matches!(chunks.last().and_then(|chunk| chunk.ran.last()), Some(Ran::Fault(_)))
        && let Some(programs) = queue.take()
    {
        let mut chunk = Chunk { first: programs.start, ran: Vec::new() };
        for program in programs.map(|n| launch.nth(n)) {
            let mark = entries(&machine);
            match machine.run(program) {
                Ok(()) => chunk.ran.push(Ran::Done(mark..entries(&machine))),
                Err(stop) => {
                    if let Port::Journalled { journal, .. } = &mut machine.port {
                        journal.truncate(mark);
                    }
                    match stop {
                        Stop::Suspect | Stop::Yield => chunk.ran.push(Ran::Suspect),
                        Stop::Fault(diagnostic) => {
                            chunk.ran.push(Ran::Fault(diagnostic));
                            break;
                        }
                    }
                }
            }
        }
        chunks.push(chunk);
    }
    let (parts, port) = machine.take_apart();
    let journal = match port {
        Port::Journalled { journal, .. } => journal,
        Port::Direct(_) | Port::Closed => unreachable!("invariant: a share of a batch is journalled"),
    };
    *worker = Some((parts, journal));
    chunks
}

fn add(to: &mut RunReport, from: &RunReport) {
    to.instructions += from.instructions;
    to.tiles_viewed += from.tiles_viewed;
    to.lines_copied += from.lines_copied;
    to.lines_masked += from.lines_masked;
    to.lines_gathered += from.lines_gathered;
    to.replayed += from.replayed;
    to.noticed.merge(&from.noticed);
}

/// One pool a thread count, kept for the process.
fn thread_pool(threads: usize) -> diag::Result<Arc<ThreadPool>> {
    static POOLS: OnceLock<Mutex<HashMap<usize, Arc<ThreadPool>>>> = OnceLock::new();
    let mut pools = POOLS.get_or_init(Mutex::default).lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(pool) = pools.get(&threads) {
        return Ok(pool.clone());
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
        Box::new(diag::Diagnostic::new(&diag::codes::INTERNAL, format!("cannot start {threads} threads: {error}")))
    })?;
    let pool = Arc::new(pool);
    pools.insert(threads, pool.clone());
    Ok(pool)
}
