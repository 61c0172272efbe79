//! Runs a verified kernel on the CPU and watches what it does: a sanitiser that computes values.
//!
//! ```text
//! Verified<Kernel> ─ tape::compile ▶ Program (lazy tape, dense tape) ─ schedule ▶ exec::Machine ▶ memory
//!                                                                        │ suspect program
//!                                                                        └ replay ▶ check::* writes the message
//! ```
//!
//! [`Program::compile`] compiles, [`run`] launches a grid over a [`Memory`], and [`coverage`] asks
//! after the last writer of a buffer whether every element was written. `value` says how blocks are
//! held, `tape` how index arithmetic is split and hoisted, `exec` how instructions work on cells,
//! `check` what is watched, `simd` where the processor is asked for more.
//!
//! **Invariant:** the lazy tape and the dense tape give the same bits and the same first fault, for
//! any number of threads.

pub mod check;
pub mod exec;
pub mod fair;
mod findings;
pub mod launch;
pub mod memory;
pub mod observe;
pub mod ptx;
pub mod replay;
pub mod running_error;
pub mod schedule;
pub mod simd;
pub mod stats;
pub mod tape;
pub mod value;
pub mod view;

#[cfg(test)]
mod tests;

pub use check::coverage::coverage;
pub use launch::{Arg, Buffer, BufferId, Checks, Memory, Options, RunReport, View};
pub use tape::Program;
pub use tape::provenance::stored_at;

use crate::diag::{self, Diagnostic, codes};
use crate::dtype::{Carrier, DType};
use crate::kernel::ir::Elem;
use check::race::{Shadows, Told, Watched};
use exec::Launch;
use memory::{Committer, Journal};
use view::Extent;

/// Runs every program of a grid.
///
/// # Errors
/// The first fault in program order, with the kernel's line; [`codes::HOST_LAUNCH`] when arguments do
/// not fit the parameters; [`codes::INTERRUPTED`] when cancelled.
pub fn run(program: &Program, memory: &mut Memory, grid: [u32; 3], args: &[Arg], options: &Options) -> diag::Result<RunReport> {
    check_arguments(program, memory, args)?;
    let Some(programs) = grid[0].checked_mul(grid[1]).and_then(|n| n.checked_mul(grid[2])).filter(|&n| n < u32::MAX) else {
        return Err(Box::new(Diagnostic::new(&codes::HOST_LAUNCH, format!("the grid {grid:?} has too many programs"))));
    };
    let extents: Vec<Option<Extent>> = args
        .iter()
        .map(|arg| match arg {
            Arg::Pointer(view) => Some(Extent::new(view)),
            Arg::Int(_) | Arg::Float(_) => None,
        })
        .collect();
    let names = args
        .iter()
        .zip(&program.kernel.params)
        .map(|(arg, param)| match arg {
            Arg::Pointer(view) => memory.buffers[view.buffer.0].name.clone(),
            Arg::Int(_) | Arg::Float(_) => param.name.to_string(),
        })
        .collect();
    let access = Accesses::new(program, memory, args);
    let stored: Vec<BufferId> = (0..memory.buffers.len()).map(BufferId).filter(|&id| access.stores(id)).collect();
    let talk = program.uses.programs_talk();
    let in_place = talk || stored.iter().any(|&id| access.loads(id));
    let shadows = shadows(&access, memory, &stored, talk, (only_programs(options, programs), programs), options.checks);
    // What a run in the reverse order begins with, or one that looks at casts.
    let reverses = talk && options.checks.order && !options.reverse;
    let casts = options.checks.casts && !talk && check::lossy::may_lose(&program.kernel);
    let before = (reverses || casts && in_place).then(|| memory.clone());
    let cancel = options.cancel.as_deref();
    let (checks, fuel, memory_limit) = (options.checks, options.fuel, options.memory);
    let only = options.only.as_deref();
    let dtypes = dtypes(program, memory, args);
    let launch = Launch {
        program,
        grid,
        args,
        extents,
        names,
        dtypes,
        checks,
        fuel,
        memory: memory_limit,
        only,
        cancel,
        reverse: options.reverse,
    };
    let tape = if options.dense { &program.dense } else { &program.lazy };
    let programs = only_programs(options, programs);
    let mut report = RunReport { programs: programs.into(), ..RunReport::default() };
    let outcome = {
        let committer = Committer { memory: &mut *memory, shadows, undo: in_place.then(Journal::default) };
        if options.threads <= 1 || in_place || programs == 1 {
            schedule::run_direct(&launch, tape, committer, programs, &mut report)
        } else {
            schedule::run_batches(&launch, tape, committer, programs, options.threads, &mut report)
        }
    };
    let mut before = before;
    if outcome.is_ok() {
        report.findings = findings::after(&launch, memory, &report.noticed);
        if casts {
            report.findings.extend(findings::lossy(&launch, programs, memory, before.as_mut()));
        }
    }
    drop(launch);
    if let (Ok(()), Some(before), true) = (&outcome, before, reverses) {
        let reverse = findings::in_reverse(program, before, memory, (grid, args, &stored), options)?;
        report.findings.extend(reverse);
    }
    for id in stored {
        let buffer = &mut memory.buffers[id.0];
        if buffer.undefined.as_ref().is_some_and(|bits| bits.first_set(0, bits.len).is_none()) {
            buffer.undefined = None;
        }
    }
    outcome.map(|()| report)
}

/// Whether a launch may read a buffer that it also writes.
pub fn is_in_place(program: &Program, args: &[Arg]) -> bool {
    let loaded = buffers(args, &program.loads);
    buffers(args, &program.stores).iter().any(|id| loaded.contains(id))
}

/// How many of a grid's programs run.
fn only_programs(options: &Options, programs: u32) -> u32 {
    options.only.as_deref().map_or(programs, |only| only.partition_point(|&p| p < programs) as u32)
}

/// By buffer: what a launch may do with it.
struct Accesses {
    plain_loads: Vec<bool>,
    plain_stores: Vec<bool>,
    atomics: Vec<bool>,
    other_loads: Vec<bool>,
}

impl Accesses {
    fn new(program: &Program, memory: &Memory, args: &[Arg]) -> Accesses {
        let [loads_anywhere, stores_anywhere, atomics_anywhere] = program.uses.anywhere();
        let by_buffer = |flags: &[bool], anywhere: bool| {
            let mut all = vec![anywhere; memory.buffers.len()];
            buffers(args, flags).into_iter().for_each(|id| all[id.0] = true);
            all
        };
        Accesses {
            plain_loads: by_buffer(&program.uses.plain_loads(), loads_anywhere),
            plain_stores: by_buffer(&program.uses.plain_stores(), stores_anywhere),
            atomics: by_buffer(&program.uses.atomics(), atomics_anywhere),
            other_loads: by_buffer(&program.loads, loads_anywhere),
        }
    }

    fn loads(&self, id: BufferId) -> bool {
        self.other_loads[id.0]
    }

    fn stores(&self, id: BufferId) -> bool {
        self.plain_stores[id.0] || self.atomics[id.0]
    }
}

/// What is kept to find programs and lanes that meet, where so many programs run of all. A buffer that is touched by
/// atomics alone needs nothing.
fn shadows(
    access: &Accesses,
    memory: &Memory,
    stored: &[BufferId],
    talk: bool,
    (running, programs): (u32, u32),
    checks: Checks,
) -> Shadows {
    let told = Told { plain: checks.races, mixed: checks.mixed };
    let watched = |&id: &BufferId| {
        let (loads, stores, atomics) = (access.plain_loads[id.0], access.plain_stores[id.0], access.atomics[id.0]);
        let between = told.plain || told.mixed && atomics;
        let lanes = checks.exchange && loads && stores;
        let twice = checks.dead_stores && stores && !access.loads(id);
        let watched = Watched { writes: (between || lanes) && (stores || atomics && loads), reads: loads, lanes, twice };
        (id, memory.buffers[id.0].lanes.len(), watched)
    };
    let few = !talk || running <= check::order::MANY;
    let watched: Vec<_> = stored.iter().map(watched).filter(|(_, _, watched)| (watched.writes || watched.twice) && few).collect();
    let synchronise = talk && watched.iter().any(|(_, _, watched)| watched.writes);
    Shadows::new(memory.buffers.len(), watched.into_iter(), programs, synchronise, told)
}

/// By buffer: the type of its elements, as the parameters of the launch say it, or who made it.
fn dtypes(program: &Program, memory: &Memory, args: &[Arg]) -> std::sync::Arc<[DType]> {
    let carried = |carrier: Carrier| match carrier {
        Carrier::F32 => DType::F32,
        Carrier::F64 => DType::F64,
        Carrier::I64 => DType::I64,
        Carrier::Bool => DType::Bool,
    };
    let mut all: Vec<DType> = memory.buffers.iter().map(|b| b.dtype.unwrap_or_else(|| carried(b.lanes.carrier()))).collect();
    for (arg, param) in args.iter().zip(&program.kernel.params) {
        if let (Arg::Pointer(view), Elem::Ptr(dtype)) = (arg, program.kernel.ty(param.value).elem) {
            all[view.buffer.0] = dtype;
        }
    }
    all.into()
}

/// The buffers of the arguments that have a flag.
fn buffers(args: &[Arg], flags: &[bool]) -> Vec<BufferId> {
    let flagged = args.iter().zip(flags).filter(|(_, flag)| **flag);
    flagged.filter_map(|(arg, _)| if let Arg::Pointer(view) = arg { Some(view.buffer) } else { None }).collect()
}

fn check_arguments(program: &Program, memory: &Memory, args: &[Arg]) -> diag::Result<()> {
    let kernel = &program.kernel;
    let mismatch = |what: String| {
        Err(Box::new(
            Diagnostic::new(&codes::HOST_LAUNCH, what)
                .at(&kernel.source, kernel.params.first().map_or_else(Default::default, |p| p.span)),
        ))
    };
    if args.len() != kernel.params.len() {
        return mismatch(format!("{} takes {} arguments, the launch gives {}", kernel.name, kernel.params.len(), args.len()));
    }
    for (param, arg) in kernel.params.iter().zip(args) {
        let elem = kernel.ty(param.value).elem;
        let other = || mismatch(format!("`{}` is {elem}; the launch gives {arg:?}", param.name));
        match arg {
            Arg::Pointer(view) => {
                let Elem::Ptr(dtype) = elem else { return other() };
                let Some(buffer) = memory.buffers.get(view.buffer.0) else {
                    return mismatch(format!("`{}` points into a buffer that does not exist", param.name));
                };
                let carrier = buffer.lanes.carrier();
                let fits = dtype.carrier() == carrier || carrier == Carrier::Bool && dtype.size() == 1 && dtype.is_integer();
                if !fits {
                    return mismatch(format!(
                        "`{}` points to {dtype}, the buffer {} holds another type",
                        param.name, buffer.name
                    ));
                }
                let extent = Extent::new(view);
                if view.pointer > buffer.lanes.len() {
                    return mismatch(format!("`{}` points beyond its buffer {}", param.name, buffer.name));
                }
                if extent.lo <= extent.hi && (extent.lo < 0 || extent.hi as usize >= buffer.lanes.len()) {
                    return mismatch(format!("the view of `{}` leaves its buffer {}", param.name, buffer.name));
                }
            }
            Arg::Int(value) if elem.is_integer() => {
                let (min, max) = value::int::bounds(elem);
                if !(min..=max).contains(value) {
                    return mismatch(format!("`{}` is {elem} and cannot hold {value}", param.name));
                }
            }
            Arg::Float(_) if elem.is_float() => {}
            Arg::Int(_) | Arg::Float(_) => return other(),
        }
    }
    Ok(())
}
