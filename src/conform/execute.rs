//! Runs what host code did: allocations become buffers, launches run in the emulator.
//!
//! Kernels are specialised and compiled once per (file, function, argument types and constexprs),
//! and shared by all launches that agree in these.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::conform::checks::Checks;
use crate::conform::cpu;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::Carrier;
use crate::emulate::{self, Arg, BufferId, Memory, Options, Program, View};
use crate::host::trace::Fill;
use crate::host::{Event, HostTensor, KernelArg, KernelLaunch, Modules, Trace};
use crate::kernel::{self, ArgSpec, Kernel, Specialization, Verified};
use crate::syntax::Constant;
use crate::syntax::ast::Module;
use crate::tensor::Storage;

/// Programs that one launch may have where all of them run: minutes of emulation for the smallest kernel.
const PROGRAMS: u64 = 1 << 28;

/// What one launch cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub wall_seconds: f64,
    /// Of all threads of the process.
    pub cpu_seconds: f64,
    pub programs: u64,
    /// Whether only some programs ran.
    pub sampled: bool,
}

/// How much of a launch runs.
#[derive(Clone, Debug)]
pub enum Extent {
    Whole,
    /// Every program, but only what it touches.
    Accesses,
    /// Some programs, in ascending order.
    Programs(Arc<[u32]>),
}

impl Cost {
    pub fn add(&mut self, other: Cost) {
        self.wall_seconds += other.wall_seconds;
        self.cpu_seconds += other.cpu_seconds;
        self.programs += other.programs;
        self.sampled |= other.sampled;
    }
}

/// What is known of each parameter at compile time, by its name.
type Specs = Vec<(String, ArgSpec)>;

/// The last says whether it is the accesses alone.
type ProgramKey = (String, String, Vec<(String, String)>, bool);

/// Compiles and launches kernels of a suite's files.
pub struct Executor<'a> {
    modules: &'a Modules,
    options: Options,
    checks: Checks,
    /// Whether some programs may stand for all.
    samples: bool,
    programs: Mutex<HashMap<ProgramKey, Arc<Program>>>,
}

impl<'a> Executor<'a> {
    pub fn new(modules: &'a Modules, options: Options) -> Executor<'a> {
        let checks = Checks { emulator: options.checks, ..Checks::default() };
        Executor { modules, options, checks, samples: false, programs: Mutex::new(HashMap::new()) }
    }

    /// With some checks off.
    pub fn judged_by(self, checks: Checks) -> Executor<'a> {
        Executor { options: Options { checks: checks.emulator, ..self.options }, checks, ..self }
    }

    /// The checks that judge what it runs.
    pub fn checks(&self) -> Checks {
        self.checks
    }

    /// What cancels its launches.
    pub fn cancel(&self) -> Option<&Arc<AtomicBool>> {
        self.options.cancel.as_ref()
    }

    /// Whether some programs may stand for all of a launch ([`super::sampled`]).
    pub fn sampling(self, samples: bool) -> Executor<'a> {
        Executor { samples, ..self }
    }

    pub fn samples(&self) -> bool {
        self.samples
    }

    /// The same for other files, whose programs may execute so many instructions at most.
    pub fn of<'b>(&self, modules: &'b Modules, fuel: u64) -> Executor<'b> {
        Executor::new(modules, Options { fuel: fuel.min(self.options.fuel), ..self.options.clone() }).judged_by(self.checks)
    }

    /// The same, but whole numbers may wrap around their types.
    pub fn wrapping(&self) -> Executor<'a> {
        let mut checks = self.checks;
        checks.emulator.wrapped = false;
        Executor::new(self.modules, self.options.clone()).judged_by(checks).sampling(self.samples)
    }

    /// Adds the allocation's buffer: storages of a trace are buffers of the memory, by number.
    pub fn allocate(&self, memory: &mut Memory, trace: &Trace, event: &Event) {
        let Event::Alloc { storage, dtype, len, fill, .. } = event else { return };
        debug_assert_eq!(storage.0, memory.buffers.len(), "storages are numbered in order of allocation");
        let name = &trace.storages[storage.0].name;
        match fill {
            Fill::Empty => drop(memory.allocate(name, *dtype, *len)),
            Fill::Zeros => drop(memory.insert(name, Storage::zeros(dtype.carrier(), *len))),
            Fill::Ones => drop(memory.insert(name, ones(dtype.carrier(), *len))),
        }
    }

    /// Runs one launch on the memory.
    pub fn launch(&self, memory: &mut Memory, launch: &KernelLaunch) -> Result<Cost> {
        self.run(memory, launch, &Extent::Whole)
    }

    /// Runs one launch, or a part of it.
    pub fn run(&self, memory: &mut Memory, launch: &KernelLaunch, extent: &Extent) -> Result<Cost> {
        let (program, args) = self.prepare(launch, matches!(extent, Extent::Accesses))?;
        let programs: u64 = launch.grid.iter().map(|&size| u64::from(size)).product();
        if programs > PROGRAMS && matches!(extent, Extent::Whole) {
            let what = format!("{}: a launch of {programs} programs, of which no more than {PROGRAMS} are run", launch.function);
            return Err(Box::new(Diagnostic::new(&codes::FUEL, what)));
        }
        let only = match extent {
            Extent::Whole | Extent::Accesses => None,
            Extent::Programs(only) => Some(only.clone()),
        };
        let sampled = only.is_some();
        let options = Options { only, ..self.options.clone() };
        let (wall, busy) = (Instant::now(), cpu::seconds());
        let report = emulate::run(&program, memory, launch.grid, &args, &options)?;
        let (wall_seconds, cpu_seconds) = (wall.elapsed().as_secs_f64(), cpu::seconds() - busy);
        Ok(Cost { wall_seconds, cpu_seconds, programs: report.programs, sampled })
    }

    /// Whether a launch may read what it writes.
    pub fn is_in_place(&self, launch: &KernelLaunch) -> Result<bool> {
        let (program, args) = self.prepare(launch, false)?;
        Ok(emulate::is_in_place(&program, &args))
    }

    /// The kernel of a launch, specialised for its arguments.
    pub fn verified(&self, launch: &KernelLaunch) -> Result<Verified<Kernel>> {
        let module = self.module(launch)?;
        let (specs, _) = self.specialised(launch)?;
        kernel::compile(module, &launch.function, &Specialization { args: specs, ..Specialization::default() })
    }

    fn module(&self, launch: &KernelLaunch) -> Result<&Module> {
        let missing = || Box::new(Diagnostic::new(&codes::INTERNAL, format!("no module {}", launch.module)));
        self.modules.ast(&launch.module).ok_or_else(missing)
    }

    /// What is known of each parameter at compile time, and the run-time arguments.
    fn specialised(&self, launch: &KernelLaunch) -> Result<(Specs, Vec<Arg>)> {
        let module = self.module(launch)?;
        let constexprs = kernel::constexpr_params(module, &launch.function)?;
        let mut specs = Vec::new();
        let mut args = Vec::new();
        for (name, value) in &launch.args {
            let spec = match value {
                _ if constexprs.contains(name) => {
                    ArgSpec::Constexpr(constant(value).ok_or_else(|| misfit(launch, name, "a tensor", "a constexpr"))?)
                }
                KernelArg::Tensor(tensor) => {
                    args.push(Arg::Pointer(view(tensor)));
                    ArgSpec::Pointer(tensor.dtype)
                }
                KernelArg::Int(value) => {
                    args.push(Arg::Int(*value));
                    ArgSpec::Int { bits: if i32::try_from(*value).is_ok() { 32 } else { 64 } }
                }
                KernelArg::Float(value) => {
                    args.push(Arg::Float(*value));
                    ArgSpec::Float
                }
                KernelArg::Bool(_) | KernelArg::None => {
                    ArgSpec::Constexpr(constant(value).ok_or_else(|| misfit(launch, name, "a tensor", "a constexpr"))?)
                }
                KernelArg::Str(_) => return Err(misfit(launch, name, "a string", "a run-time parameter")),
            };
            specs.push((name.clone(), spec));
        }
        Ok((specs, args))
    }

    /// The compiled kernel, or its accesses alone, and its run-time arguments.
    fn prepare(&self, launch: &KernelLaunch, accesses: bool) -> Result<(Arc<Program>, Vec<Arg>)> {
        let (specs, args) = self.specialised(launch)?;
        let specs = specs.iter().map(|(n, s)| (n.clone(), format!("{s:?}"))).collect();
        let key = (launch.module.clone(), launch.function.clone(), specs, accesses);
        if let Some(program) = self.programs.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok((program.clone(), args));
        }
        let whole = self.verified(launch)?;
        let verified = if accesses { kernel::passes::addresses(&whole)? } else { whole };
        let program = Arc::new(Program::compile(&verified)?);
        self.programs.lock().unwrap_or_else(PoisonError::into_inner).insert(key, program.clone());
        Ok((program, args))
    }
}

fn misfit(launch: &KernelLaunch, name: &str, what: &str, param: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(
        &codes::HOST_LAUNCH,
        format!("{}: argument `{name}` is {what}, but the parameter is {param}", launch.function),
    ))
}

/// What the emulator lets a pointer made of this tensor touch.
fn view(tensor: &HostTensor) -> View {
    let origin = tensor.offset as usize;
    View {
        buffer: BufferId(tensor.storage.0),
        pointer: origin,
        shape: tensor.shape.clone(),
        strides: tensor.strides.clone(),
        origin,
    }
}

fn constant(value: &KernelArg) -> Option<Constant> {
    match value {
        KernelArg::Tensor(_) => None,
        KernelArg::Int(v) => Some(Constant::Int(*v)),
        KernelArg::Float(v) => Some(Constant::Float(*v)),
        KernelArg::Bool(v) => Some(Constant::Bool(*v)),
        KernelArg::Str(v) => Some(Constant::Str(v.clone())),
        KernelArg::None => Some(Constant::None),
    }
}

fn ones(carrier: Carrier, len: usize) -> Storage {
    match carrier {
        Carrier::F64 => Storage::F64(vec![1.0; len]),
        Carrier::F32 => Storage::F32(vec![1.0; len]),
        Carrier::I64 => Storage::I64(vec![1; len]),
        Carrier::Bool => Storage::Bool(vec![1; len]),
    }
}
